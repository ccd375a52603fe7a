"""Apply the deterministic steps of a release to the original again, as an intruder who holds the whole file can.

A column is known exactly if every step that masked it draws no random numbers. Ties that a step breaks by the secret are broken
by a key of the intruder. After reverse mapping, a record has one of the values that records with its masked value share.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from larvatus.attacks.linkage.agreement import RowAgreement
from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup
from larvatus.attacks.linkage.linkage_keys import TARGET, keys_of
from larvatus.attacks.linkage.target_sample import TargetCount
from larvatus.core.arrays import Floats
from larvatus.core.errors import LarvatusError, MachineError, RiskError, SubGroupError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Attack, Block, Column, Mask
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.pooling.sub_group_pools import level_nearness
from larvatus.data.record_selection import MARK
from larvatus.data.release import Release
from larvatus.data.steps import apply_step, codes_in, columns_by_step, columns_of_step
from larvatus.data.sub_groups import settle
from larvatus.data.verbs import as_one_group, count_present, map_groups, settle_groups, with_table

if TYPE_CHECKING:
    from larvatus.stats.linkage.rerun_boxes import Boxes

_TIE, _HERE = scratch("tie"), scratch("here")
LOW, HIGH, _WAS = "rerun from", "rerun to", "before the rerun"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunGroup(LinkedGroup):
    """One sub-group with the box of every record."""

    boxes: Boxes


@dataclass(frozen=True, slots=True)
class RerunKeys(GroupKeys):
    """The released columns that the intruder can compute (`masked`), with the codes of categorical ones.

    In columns that a random step masked (`noisy`), the intruder knows the values before that step.
    """

    codes: Mapping[str, Array]
    noisy: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        made = [scratch(kind, n) for kind in (LOW, HIGH, _WAS) for n in self.masked]
        made += [scratch(LOW, n) for n in self.noisy]
        return list(dict.fromkeys([*self.masked, *self.noisy, *made, *self.keys.exact, *self.keys.reasons.columns, TARGET]))

    def sides(self, block: Block) -> RerunGroup:
        from larvatus.stats.linkage.coordinates import same_rows
        from larvatus.stats.linkage.rerun_boxes import Boxes

        n = len(block)
        low, high = (self._matrix([self._coded(kind, c, block) for c in self.masked], n) for kind in (LOW, HIGH))
        y = self._matrix([block[c] for c in self.masked], n)
        equal = same_rows([block[scratch(_WAS, c)] for c in self.masked], n)
        own = np.flatnonzero(block[TARGET] == 1)
        near, z = block.matrix([scratch(LOW, c) for c in self.noisy]), block.matrix(self.noisy)
        agree, boxes = RowAgreement.of(self.keys, block), Boxes(low, high, y, near, z, equal)
        return RerunGroup(low, y, agree, own, np.arange(n), self.masked, boxes=boxes)

    def _coded(self, kind: str, name: str, block: Block) -> Array:
        values = block[scratch(kind, name)]
        return self.codes[name][values] if name in self.codes else values

    @staticmethod
    def _matrix(columns: Sequence[Array], n: int) -> Floats:
        numbers = [c if c.dtype.kind == "f" else np.where(c >= 0, c.astype(np.float64), np.nan) for c in columns]
        return np.array(numbers, dtype=np.float64).reshape(len(columns), n).T


def rerun_keys(
    attack: Attack, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom, targets: TargetCount
) -> tuple[RerunKeys, list[str]]:
    """The columns that can be computed from the original, and notes; an error if the attack does not apply."""
    check_knowledge(attack.name(), release, intruder)
    original = original.with_confidential([n for n in original.roles.confidential
                                           if n not in release.internals.original_columns])
    found = [RerunSteps.of(attack.name(), original, release, intruder, random)]
    shown = [{n: n for n in found[0].exact + tuple(found[0].ranked)}]
    for other in release.internals.other_releases:
        more = _other_rerun(attack.name(), original, release, other, intruder, random)
        if more is not None:
            found.append(more)
            shown.append({n: b for n, b in other.internals.original_columns.items() if b in more.exact + tuple(more.ranked)})
    columns, mine = release.data.table.columns, original.table.columns
    recoded = {n: n for n in shown[0] if columns[n].kind != mine[n].kind}  # numbers released as labels of classes
    seen = with_table(original, original.table.pair(found[0].data.table, recoded, partly=True)) if recoded else original
    keys = keys_of(attack.name(), seen, release, intruder, random, targets, needed=False)
    table, codes = keys.joined.table, dict[str, Array]()
    for rerun, names in zip(found, shown, strict=True):
        limits = rerun.limits()
        for kind in (LOW, HIGH):
            table = table.pair(limits.table, {scratch(kind, n): scratch(kind, b) if b in rerun.ranked else b
                                              for n, b in names.items()})
        table = table.pair(original.table, {scratch(_WAS, n): b for n, b in names.items()})
        codes |= {n: codes_in(limits.table.columns[b], columns[n]) for n, b in names.items() if columns[n].kind == "nominal"}
    noisy = tuple(n for n in release.data.numeric(found[0].noisy))
    table = table.pair(found[0].data.table, {scratch(LOW, n): n for n in noisy})
    masked = tuple(n for n in release.data.confidential if any(n in names for names in shown))
    keys = replace(
        keys, joined=with_table(keys.joined, table), numbers=tuple(n for n in keys.numbers if n in (*masked, *noisy)),
    )
    unused = [n for n in release.data.confidential if n not in (*masked, *noisy)]
    said = [f"{', '.join(noisy)}: the nearest values are used, because they cannot be computed exactly"] if noisy else []
    said += [f"{', '.join(unused)}: not used, because they cannot be computed from the original"] if unused else []
    return RerunKeys(keys, masked, (), (), codes, noisy), said


def check_knowledge(method: str, release: Release, intruder: Intruder) -> None:
    """Raise an error unless the intruder knows all columns of all records, and how they were masked."""
    first = [n for n in release.data.confidential if n not in release.internals.original_columns]
    known = intruder.known and not set(release.data.released) - set(release.internals.original_columns) <= set(intruder.known)
    if known or (not intruder.known and intruder.keys is not None and intruder.keys < len(first)):
        raise RiskError("the steps can be rerun only by an intruder who knows every released column.", subject=method)
    if intruder.file is not None or intruder.error:
        what = "the original values, not an own file" if intruder.file is not None else "the original values without error"
        raise RiskError(f"the steps can be rerun only by an intruder who knows {what}.", subject=method)
    if not release.steps:
        raise RiskError("how the file was masked is not known, so the steps cannot be rerun.", subject=method)
    if not intruder.knows_settings_of(release.steps):
        raise RiskError("the intruder does not know all settings of the steps (intruder.published).", subject=method)


@dataclass(frozen=True, slots=True)
class RerunSteps:
    """The original after the steps: columns known `exact`, and `ranked` ones with the data before reverse mapping.

    `noisy` columns are masked by a random step too; their values are those before it.
    """

    data: Microdata
    exact: tuple[str, ...]
    noisy: tuple[str, ...]
    ranked: Mapping[str, tuple[Microdata, str]]  # by column, and the scope of reverse mapping

    @classmethod
    def of(cls, method: str, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> RerunSteps:
        data = as_masked(original, release)
        current, steps = data, release.steps
        exact, masked, computed = set(data.confidential), set[str](), set[str]()
        ranked: dict[str, tuple[Microdata, str]] = {}
        why = ""
        for i, step in enumerate(steps):
            taken = columns_of_step(step, current)
            reason, lost = "", set[str]()
            if step.drops:
                current = in_release(current, release)
                if intruder.presence == "unknown" or any(s.drops for s in steps[i + 1 :]):
                    reason = f"it is not known which records {step.name()} kept"
                    lost = {n for names in columns_by_step(data, steps[i + 1 :]) for n in names}
            else:
                masked |= set(taken)
                known = set(taken) & (exact | ranked.keys())
                reason = _obstacle(step, taken, exact, ranked)
                after = _again(step, current, data, random.child("rerun", str(i))) if known and not reason else None
                if after is not None:
                    computed |= known
                    if _reverses(step):
                        ranked |= {n: (current, step.scope) for n in current.numeric(taken) if n in exact}
                        exact -= set(taken)
                    current = after
                elif known:
                    reason, lost = reason or f"{step.name()} fails when it is applied to the original again", set(taken)
            why = why or reason
            exact, ranked = exact - lost, {n: r for n, r in ranked.items() if n not in lost}
        here = [n for n in data.confidential if n in masked and n in release.data.confidential]
        if not computed & set(here):
            raise RiskError(f"{why or 'no step masks a column of the release'}, so the steps cannot be rerun.", subject=method)
        noisy = (n for n in current.numeric(here) if n not in exact and n not in ranked)
        return cls(current, tuple(n for n in here if n in exact), tuple(noisy), {n: ranked[n] for n in here if n in ranked})

    def limits(self) -> Microdata:
        """The data with the smallest and the largest value of the records with the same masked value, for ranked columns."""
        current = self.data
        for name, (before, scope) in self.ranked.items():
            low, high = scratch(LOW, name), scratch(HIGH, name)
            tied = with_table(self.data, self.data.table.pair(before.table, {_TIE: name}))

            def share(group: int, block: Block, name: str = name, low: str = low, high: str = high) -> Mapping[str, Array]:
                _, code = np.unique(block[_TIE], return_inverse=True)
                least, most = np.full(len(block), np.inf), np.full(len(block), -np.inf)
                there = ~np.isnan(block[name])
                np.minimum.at(least, code[there], block[name][there])
                np.maximum.at(most, code[there], block[name][there])
                return {low: np.where(there, least[code], np.nan), high: np.where(there, most[code], np.nan)}

            made = [Column(low, "number"), Column(high, "number")]
            done = map_groups((as_one_group(tied) if scope == "file" else tied), share, [name, _TIE], made)
            current = with_table(current, current.table.pair(done.table, {low: low, high: high}))
        return current


def _other_rerun(
    method: str, original: Microdata, release: Release, other: Release, intruder: Intruder, random: RecordRandom
) -> RerunSteps | None:
    """The rerun of another release of the same records in the same sub-groups, if it is possible."""
    if not other.steps or not intruder.knows_settings_of(other.steps) or other.data.groups.labels != release.data.groups.labels:
        return None
    try:
        return RerunSteps.of(method, original, other, intruder, random)
    except RiskError:
        return None


def after_exact_steps(data: Microdata, steps: Sequence[Mask], random: RecordRandom) -> Microdata:
    """The data as if every random step left them as they are: after the other steps, as far as they can be computed."""
    current, exact = data, set(data.confidential)
    for i, step in enumerate(steps):
        taken = columns_of_step(step, current)
        if step.drops:
            continue
        if not step.random and not _reverses(step) and not _obstacle(step, taken, exact, ()):
            current = _again(step, current, data, random.child("image", str(i))) or current
        elif set(taken) <= set(current.confidential):
            exact -= set(taken)
    return current


def image_after_steps(original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Microdata:
    """The original as an intruder compares it with a release: after the steps that draw no random numbers.

    A value that a swap leaves where it was, and that is then rounded, equals the rounded original. The original itself is
    returned if the intruder does not know the steps, knows values with error or from a file, or if no such step is mixed with
    random ones; without random steps the whole release can be computed again (rerun).
    """
    steps = release.steps
    mixed = any(s.random for s in steps) and any(not s.random and not s.drops and not _reverses(s) for s in steps)
    if not mixed or intruder.file is not None or intruder.error or not intruder.knows_settings_of(steps):
        return original
    data = as_masked(original, release)
    image = after_exact_steps(data, steps, random)
    taken = {n for names in columns_by_step(data, steps) for n in names}
    names = {n: n for n in data.confidential if n in taken and n in original.table.columns and n in image.table.columns}
    return with_table(original, original.table.pair(image.table, names, partly=True)) if image is not data else original


def as_masked(original: Microdata, release: Release) -> Microdata:
    """The original as the first step had it: without columns that rules derive, in the sub-groups in which it was masked."""
    derived = derived_columns(release)
    data = original.with_confidential([n for n in original.confidential if n not in derived])
    seen = zip(release.steps, columns_by_step(data, release.steps), strict=True)
    needs = [s.smallest(data.with_confidential(names)) for s, names in seen if s.scope == "sub_group"]
    limit = max([data.sub_groups.smallest, *needs])
    try:
        near = level_nearness(data.roles, data.table.columns, data.groups.columns)
        outcome = settle(data.groups, count_present(data).tolist(), limit, data.sub_groups.small, "rerun", nearness=near)
    except SubGroupError:  # masked elsewhere, in sub-groups that the steps would refuse here
        return data
    return data if outcome.target == tuple(range(len(data.groups))) else settle_groups(data, outcome)


def derived_columns(release: Release) -> set[str]:
    """Columns that a rule of the release computes from others after the steps."""
    from larvatus.constraints.rules import readable_rules
    from larvatus.constraints.settings import derived_order

    return set(derived_order(readable_rules(str(row["rule"]) for row in release.rules)))


def in_release(data: Microdata, release: Release) -> Microdata:
    """The records that the release contains, with its weight, unless that has noise."""
    marked = release.data.table.map_rows(lambda g, b: {_HERE: np.ones(len(b))}, (), [Column(_HERE, "number")])
    table = data.table.pair(marked, {_HERE: _HERE}, partly=True).take(lambda g, b: b[_HERE] == 1, [_HERE])
    weight = data.roles.weight
    if weight and weight in release.data.table.columns and not release.data.table.columns[weight].noisy:
        table = table.pair(release.data.table, {weight: weight})
    return with_table(data, table)


def _reverses(step: Mask) -> bool:
    return step.name() == "reverse_map"


def _obstacle(step: Mask, taken: Sequence[str], exact: Collection[str], ranked: Collection[str]) -> str:
    """Why the intruder cannot compute what the step does; empty if nothing prevents it.

    Masks that keep the order of values and blank none treat each column on its own: a column that is not known does not matter.
    """
    if isinstance(step.where, str) and step.where.startswith(MARK):
        return f"the records of {step.name()} are listed in a file"
    if _reverses(step):
        return f"{step.name()} maps some records only" if step.where is not None else ""
    if step.random:
        return f"{step.name()} draws random numbers"
    if step.keeps_ranks and not step.blanks:
        return ""
    unknown = [n for n in taken if n not in exact]
    if not unknown:
        return ""
    how = "by rank" if unknown[0] in ranked else "at random"
    return f"{step.name()} follows a step that moves the values of {unknown[0]} {how}"


def _again(step: Mask, current: Microdata, original: Microdata, random: RecordRandom) -> Microdata | None:
    """The data after the step; None if it fails, because columns masked at random lack the values it had."""
    try:
        return apply_step(step, current, original, random).data
    except MachineError:
        raise
    except LarvatusError:
        return None
