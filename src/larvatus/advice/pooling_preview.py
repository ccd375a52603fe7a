"""What pooling small sub-groups would do to the declared ones, predicted before masking."""

from __future__ import annotations

from dataclasses import dataclass

from larvatus.core.errors import SubGroupError
from larvatus.data.microdata import Microdata
from larvatus.data.pooling.sub_group_pools import level_nearness, resolved_columns, usable
from larvatus.data.sub_groups import settle
from larvatus.data.verbs import count_present

_MOST, POOLED = 0.5, 'small = "pool"'


@dataclass(frozen=True, slots=True)
class Pooling:
    """Sub-groups and records before and after pooling: `few` sub-groups are too small, `merged` records lose columns `gone`.

    `left` is the number of sub-groups after pooling, 0 if it cannot help. `dropped` is the number of records that suppression
    would drop. `mixed` tells whether some of the merged records lose fewer columns than others.
    """

    limit: int
    sizes: tuple[int, ...]
    few: int
    left: int
    merged: int
    gone: tuple[str, ...]
    dropped: int
    mixed: bool = False

    @property
    def share(self) -> float:
        """The share of records whose sub-group is pooled."""
        return self.merged / max(sum(self.sizes), 1)

    @property
    def within(self) -> str:
        """The part of the file in which masks keep what they promise."""
        if not self.merged:
            return "in every sub-group"
        if self.left > 1:
            return "in every sub-group after pooling"
        return "in the whole file and not in each declared sub-group"

    @property
    def suppress(self) -> bool:
        """Whether to suggest suppression: pooling merges most records, and suppression drops fewer."""
        return self.share > _MOST and self.dropped < self.merged and self.few < len(self.sizes)

    def sentence(self) -> str:
        """The sub-groups, how the study pools them, and what else could be done."""
        least = _records(min(self.sizes))
        said = f"{_groups(len(self.sizes))}, the smallest of {least}; "
        if not self.few:
            return f"{said}none under {self.limit}."
        said += self._small()
        if not self.left:
            return f"{said}, and pooling cannot help: in some column the whole file has fewer. Leave that column out."
        left = f"{_groups(self.left)} remain{'s' * (self.left == 1)}"
        said += f", and the study pools them: {left}, and {self._lost()}."
        if self.share <= _MOST:
            return said
        recode = f"put {', '.join(self.gone)} into fewer classes, or declare fewer columns"
        if self.suppress:
            return f'{said} To preserve them, {recode}, or set small = "suppress", which leaves {_records(self.dropped)} out.'
        return f"{said} To preserve them, {recode}."

    def _small(self) -> str:
        """How many sub-groups are too small, and of what they have too few."""
        if self.few == sum(n < self.limit for n in self.sizes):
            return f"{self.few} {'has' if self.few == 1 else 'have'} fewer than {self.limit}"
        return f"in {self.few} of them, some confidential column has fewer than {self.limit} values"

    def _lost(self) -> str:
        some = "some of " * (self.mixed and len(self.gone) > 1)
        who = f"{self.merged:,} of {_records(sum(self.sizes))}"
        return f"relations with {some}{', '.join(self.gone)} are not preserved for {who}"

    def choice(self) -> list[str]:
        """Commented lines of a study file, placed after the pooling setting."""
        if self.share <= _MOST:
            return []
        merges = f"# With pooling, {self._lost()}."
        if not self.suppress:
            return [merges, "# Put these columns into fewer classes, or declare fewer of them."]
        other = f"# Instead of {POOLED}, this leaves {_records(self.dropped)} out and keeps the other sub-groups separate:"
        return [merges, other, '# small = "suppress"']


def foreseen_pooling(data: Microdata, limit: int) -> Pooling:
    """Pool sub-groups as masking would with this limit, without changing the data."""
    groups, present = data.groups, count_present(data).tolist()
    small = [g for g, counts in enumerate(present) if usable(counts, limit) < limit]
    dropped = sum(groups.sizes[g] for g in small)
    try:
        near = level_nearness(data.roles, data.table.columns, groups.columns)
        outcome = settle(groups, present, limit, "pool", "advise", nearness=near)
    except SubGroupError:
        return Pooling(limit, groups.sizes, len(small), 0, 0, (), dropped)
    pools = {t: resolved_columns(outcome.labels[t]) for t in outcome.target if len(outcome.declared[t]) > 1}
    merged = sum(n for n, t in zip(groups.sizes, outcome.target, strict=True) if t in pools)
    gone = groups.columns[min(pools.values(), default=len(groups.columns)):]
    mixed = len(set(pools.values())) > 1
    return Pooling(limit, groups.sizes, len(small), len(outcome.labels), merged, gone, dropped, mixed)


def _records(count: int) -> str:
    return f"{count:,} record{'s' * (count != 1)}"


def _groups(count: int) -> str:
    return f"{count:,} sub-group{'s' * (count != 1)}"
