"""Records whose values follow from the exact totals of several releases with different sub-groups or a different S."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.attacks.linkage.exact_steps import ExactStep, exact_design, exact_steps
from larvatus.core.arrays import Floats, Ints
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows
from larvatus.stats.linear.joint_leverage import ExactDesign, joint_leverage

_MOST_VALUES = 20_000_000
_EXACT = 1e-3  # standard errors by which a total may differ: rules may have rounded single values
EXACT_TOTALS = "exact_totals"


@dataclass(frozen=True, slots=True)
class TotalsOutcome:
    """Ids of records that totals determine, pairs of which they determine a sum or difference, and the number not examined."""

    known: Ints
    pairs: tuple[tuple[int, int], ...] = ()
    skipped: int = 0

    @property
    def count(self) -> int:
        """Records that are known, alone or as one of a pair."""
        return len({*self.known.tolist(), *(r for pair in self.pairs for r in pair)})

    def rows(self) -> Rows:
        """The figures as a table; empty if nothing is known or left out."""
        every: list[Row] = [
            {"records": "known exactly", "count": len(self.known)},
            {"records": "in pairs of which a sum or difference is known exactly", "count": 2 * len(self.pairs)},
            {"records": "not examined: too many overlapping sub-groups", "count": self.skipped},
        ]
        return Rows.of(every if self.count or self.skipped else ())

    def in_words(self) -> list[str]:
        """Notes for the score."""
        out = []
        if self.count:
            out.append(f"the exact totals of the releases together give the values of {len(self.known):,} records, and a sum "
                       f"or difference of {len(self.pairs):,} pairs: their sub-groups or S differ between releases")
        if self.skipped:
            out.append(f"the totals of {self.skipped:,} records were not compared: too many overlapping sub-groups")
        return out


def records_from_totals(original: Microdata, release: Release, others: Sequence[Release], intruder: Intruder) -> TotalsOutcome:
    """The records that the totals of all releases determine. Releases without an exact step are left out."""
    none = TotalsOutcome(np.zeros(0, dtype=np.int64))
    steps = [(r, s) for r in (release, *others) if intruder.knows_settings_of(r.steps) for s in exact_steps(r)
             if _knows_design(s, r.data, intruder)]
    if len({id(r) for r, _ in steps}) < 2 or steps[0][0] is not release:
        return none
    names = [n for n in dict.fromkeys(n for _, s in steps for n in s.names) if n in original.numeric(original.confidential)]
    if original.rows * len(names) * len(steps) > _MOST_VALUES:
        return TotalsOutcome(none.known, skipped=original.rows)
    record, _, values = collect(original, names)
    designs = [_design_of(s, r.data, record) for r, s in steps]
    known: set[int] = set()
    pairs: set[tuple[int, int]] = set()
    skipped, done = 0, set[bytes]()
    for name in names:
        used = []
        for (r, s), design in zip(steps, designs, strict=True):
            if design is not None and name in s.names:
                used.append(_exact_part(design, values[name], _values_of(r.data, name, record)))
        key = b"".join(d.group.tobytes() for d in used)
        if len(used) < 2 or key in done:
            continue
        done.add(key)
        found = joint_leverage(used)
        known |= set(record[found.known].tolist())
        pairs |= {(int(record[a]), int(record[b])) for a, b in found.pairs}
        skipped = max(skipped, found.skipped)
    return TotalsOutcome(np.array(sorted(known), dtype=np.int64), tuple(sorted(pairs)), skipped)


def _knows_design(step: ExactStep, data: Microdata, intruder: Intruder) -> bool:
    """Whether the intruder knows the sub-group and the S of every record."""
    needed = {*(() if step.whole else data.sub_groups.columns), *data.non_confidential}
    return not intruder.known or needed <= set(intruder.known)


def _values_of(data: Microdata, name: str, record: Ints) -> Floats:
    """A column of a file for these records, NaN if the file does not have them."""
    mine, _, values = collect(data, [name])
    place = np.minimum(np.searchsorted(mine, record), len(mine) - 1)
    return np.where(mine[place] == record, values[name][place], np.nan)


def _design_of(step: ExactStep, data: Microdata, record: Ints) -> ExactDesign | None:
    """Groups and terms of these records; weighted totals are not used."""
    if step.noise.weighted:
        return None
    masked = step.data_masked(data) if step.rows_known else data
    design = exact_design(masked, step.noise)
    if design is None:
        return None
    names = list(step.names)
    parts = [(block.record, np.column_stack([np.full(len(block), g), np.isnan(block.matrix(names))]), design.matrix(g, block))
             for g, block in masked.table.blocks(list(dict.fromkeys([*names, *design.columns])))]
    mine, cells, terms = (np.concatenate([p[k] for p in parts]) for k in range(3))
    group = np.unique(cells, axis=0, return_inverse=True)[1].ravel()  # records with other cells missing are masked apart
    order = np.argsort(mine, kind="stable")
    place = np.minimum(np.searchsorted(mine[order], record), len(mine) - 1)
    there = mine[order][place] == record
    return ExactDesign(np.where(there, group[order][place], -1), np.where(there[:, None], terms[order][place], 0.0))


def _exact_part(design: ExactDesign, before: Floats, after: Floats) -> ExactDesign:
    """The design of the groups whose totals of this column are exact."""
    missing = np.isnan(before) | np.isnan(after)
    present = ExactDesign(np.where(missing, -1, design.group), design.terms)
    difference = np.where(missing, 0.0, after - before)
    scale = float(np.nanstd(before)) or 1.0
    return present.without(present.inexact_groups(difference, scale, _EXACT))
