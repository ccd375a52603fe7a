"""Releases of the original made again by an intruder who knows the steps and holds the file, but not the secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from larvatus.attacks.linkage.intruder_file import file_of_intruder, with_known_steps
from larvatus.attacks.linkage.rerun_steps import after_exact_steps, as_masked, in_release
from larvatus.core.arrays import Floats, Ints, UInts
from larvatus.core.errors import LarvatusError, MachineError, RiskError
from larvatus.core.progress import report_progress
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Array, Column, Mask
from larvatus.data.copies import average, copies_of_steps
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.record_selection import MARK
from larvatus.data.release import Release
from larvatus.data.steps import apply_step, columns_of_step
from larvatus.stats.ranks.row_order import row_order

_RECORDS, _FEWEST, _MOST = 16_000, 2, 40  # simulated records in all, and simulations of small and of large files


@dataclass(frozen=True, slots=True)
class SimulatedPart:
    """Columns of one release that the intruder has, as made again and as released.

    `names` are the columns of the joined release. `record`, `group` and `canonical` are the records, their sub-groups and
    their places in an order that does not depend on that of the rows, for each row of the arrays. `simulated` has one array
    for each copy, simulations × records × columns, and `shown` one, records × columns. `image` has the original values after
    the steps that draw no random numbers.
    """

    names: tuple[str, ...]
    categorical: tuple[bool, ...]
    record: Ints
    group: Ints
    canonical: Ints
    original: Floats
    simulated: tuple[Floats, ...]
    shown: tuple[Floats, ...]
    image: Floats

    def in_canonical_order(self, record: Ints) -> Ints:
        """The places of these records in an order that does not depend on that of the rows."""
        return np.argsort(self.canonical[np.searchsorted(self.record, record)])

    def of(self, record: Ints) -> tuple[Floats, list[Floats], list[Floats]]:
        """The original values of these records, and by copy the simulated and the released ones."""
        place = np.searchsorted(self.record, record)
        return self.original[place], [v[:, place] for v in self.simulated], [v[place] for v in self.shown]

    def image_of(self, record: Ints) -> Floats:
        """The values of these records if every random step leaves them as they are."""
        return self.image[np.searchsorted(self.record, record)]

    @property
    def times(self) -> int:
        return len(self.simulated[0])


def simulate_parts(
    method: str, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom, names: Sequence[str],
) -> list[SimulatedPart]:
    """The columns `names` of the release, and of the others joined with it, made again from what the intruder knows.

    A release whose steps cannot be simulated is left out, unless it is the first one.
    """
    base = release.internals.original_columns
    bare = file_of_intruder(original, release, intruder)
    first = {n: n for n in names if n not in base}
    parts = [_simulate(method, bare, release, intruder, random, first, release)]
    for i, other in enumerate(release.internals.other_releases):
        theirs = {n: b for n, b in other.internals.original_columns.items() if n in names}
        if theirs and other.steps and intruder.knows_settings_of(other.steps):
            with suppress(RiskError):
                parts.append(_simulate(method, bare, other, intruder, random.child("other", str(i)), theirs, release))
    return parts


def _simulate(
    method: str, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom, names: Mapping[str, str],
    joined: Release,
) -> SimulatedPart:
    """One release made again; `names` maps columns of the joined release to its own. Small files are made more often.

    Rules are not applied: they change few values.
    """
    first, release = release is joined, with_known_steps(method, original, release)
    for step in release.steps:
        if isinstance(step.where, str) and step.where.startswith(MARK):
            raise RiskError(f"the records of {step.name()} are listed in a file, so the step cannot be simulated.",
                            subject=method)
        if step.drops and intruder.presence == "unknown":
            raise RiskError(f"it is not known which records {step.name()} kept, so it cannot be simulated.", subject=method)
    data = as_masked(original, release)
    times = int(np.clip(_RECORDS // max(data.rows, 1), _FEWEST, _MOST))
    last = release.steps[-1]
    undone = last.name() == "reverse_map" and last.where is None and release.internals.copies_averaged == 1
    upto = len(release.steps) - 1 if undone else len(release.steps)
    codes = _Codes()
    ids = _canonical_ids(data, joined)
    record = group = np.zeros(0, dtype=np.int64)
    simulated: tuple[Floats, ...] = ()
    for m in range(times):
        report_progress("simulating the release", m, times)
        draws = RenumberedRandom(random.child("simulation", str(m)).key, None, None, *ids)
        copies = _made_again(method, release, data, draws, upto)
        if release.internals.copies_averaged > 1:
            copies = [average(copies)]
        found = [collect(in_release(copy, joined), list(names.values())) for copy in copies]
        record, group = found[0][:2]
        simulated = simulated or tuple(np.empty((times, len(record), len(names))) for _ in copies)
        for copy, (_, _, values), room in zip(copies, found, simulated, strict=True):
            for j, b in enumerate(names.values()):
                room[m, :, j] = codes.numbers(b, values[b], copy.table.columns[b])
        del found, copies
    mine, _, values = collect(original, list(names.values()))
    place = np.searchsorted(mine, record)
    before = np.array([codes.numbers(b, values[b], original.table.columns[b])[place] for b in names.values()]).T
    same = after_exact_steps(data, release.steps[:upto], random)
    mine, _, values = collect(same, list(names.values()))
    place = np.searchsorted(mine, record)
    image = np.array([codes.numbers(b, values[b], same.table.columns[b])[place] for b in names.values()]).T
    image = before if np.array_equal(image, before, equal_nan=True) else image
    del same, values, place
    held = joined.copies if first else joined.copies[:1]
    shown = []
    for copy in held:
        mine, _, values = collect(copy, list(names))
        place = np.searchsorted(mine, record)
        shown.append(np.array([codes.numbers(b, values[n], copy.table.columns[n])[place] for n, b in names.items()]).T)
    if undone:
        mapped = set(data.numeric(columns_of_step(last, data)))
        within = group if last.scope == "sub_group" else np.zeros_like(group)
        for j, b in enumerate(names.values()):
            if b in mapped:
                for drawn, seen in zip(simulated, shown, strict=True):
                    seen[:, j] = before_reverse_map(drawn[..., j], seen[:, j], within)
    kinds = tuple(joined.data.table.columns[n].kind == "nominal" for n in names)
    canonical = ids[1][np.searchsorted(ids[0], record)]
    return SimulatedPart(tuple(names), kinds, record, group, canonical, before, simulated, tuple(shown), image)


def before_reverse_map(simulated: Floats, shown: Floats, group: Ints) -> Floats:
    """Released values as they were before a reverse map, about: the mean simulated value of their rank in the sub-group.

    `simulated` is simulations × records. Ranks of equal released values share their mean.
    """
    out = np.full(len(shown), np.nan)
    for g in np.unique(group):
        rows = np.flatnonzero((group == g) & np.isfinite(shown))
        ordered = np.sort(simulated[:, rows], axis=1)
        mean = np.where((ordered == ordered[0]).all(axis=0), ordered[0], ordered.mean(axis=0))
        order = rows[np.argsort(shown[rows], kind="stable")]
        _, first, count = np.unique(shown[order], return_index=True, return_counts=True)
        total = np.concatenate([[0.0], np.cumsum(mean)])
        shared = np.where(count == 1, mean[first], (total[first + count] - total[first]) / count)
        out[order] = np.repeat(shared, count)
    return out


def _made_again(method: str, release: Release, data: Microdata, random: RenumberedRandom, upto: int) -> list[Microdata]:
    """All copies after the first steps, with other draws."""
    steps: Sequence[Mask] = release.steps
    copies, first = copies_of_steps(steps)
    current = [data]
    for i, step in enumerate(steps[:upto]):
        if i == first:
            current *= copies
        for c, copy in enumerate(current):
            if step.drops:
                current[c] = in_release(copy, release)
                continue
            draws = random.child(str(i), f"copy {c}")
            try:
                current[c] = apply_step(step, copy, data, replace(draws, common=random.child(str(i), "all").key)).data
            except MachineError:
                raise
            except LarvatusError as error:
                raise RiskError(f"{step.name()} fails when it is applied to the original again "
                                f"({error.reason_for(step.name())})", subject=method) from None
    return current


@dataclass(frozen=True, slots=True)
class RenumberedRandom(RecordRandom):
    """Draws by other numbers than record ids: record `record[i]` draws as `number[i]`."""

    record: Ints = field(repr=False, default_factory=lambda: np.zeros(0, dtype=np.int64))
    number: Ints = field(repr=False, default_factory=lambda: np.zeros(0, dtype=np.int64))

    def child(self, *context: str) -> RenumberedRandom:
        return replace(self, key=stream_key(self.key, *context), common=None)

    def shared_draws(self) -> RenumberedRandom:
        return replace(self, key=self.common or self.key, common=None)

    def normal(self, record: Ints, lanes: int = 1, purpose: str = "noise", attempt: int = 0) -> Floats:
        return RecordRandom(self.key).normal(self._numbers(record), lanes, purpose, attempt)

    def uniform(self, record: Ints, lanes: int = 1, purpose: str = "uniform", attempt: int = 0) -> Floats:
        return RecordRandom(self.key).uniform(self._numbers(record), lanes, purpose, attempt)

    def words(self, record: Ints, lanes: int = 1, purpose: str = "order", attempt: int = 0) -> UInts:
        return RecordRandom(self.key).words(self._numbers(record), lanes, purpose, attempt)

    def _numbers(self, record: Ints) -> Ints:
        place = np.minimum(np.searchsorted(self.record, record), len(self.record) - 1)
        return np.where(self.record[place] == record, self.number[place], record)


def _canonical_ids(data: Microdata, release: Release) -> tuple[Ints, Ints]:
    """Records, and numbers for them that follow their original and released values instead of the order of the rows."""
    record, group, _ = collect(data, ())
    mine = collect(release.data, ())[0]
    place = np.minimum(np.searchsorted(mine, record), len(mine) - 1)
    parts = [np.nan_to_num(collect(data, [n])[2][n].astype(np.float64)) for n in reversed(data.released)]
    parts += [np.nan_to_num(collect(release.data, [n])[2][n][place].astype(np.float64))
              for n in reversed(release.data.confidential)]
    number = np.empty(len(record), dtype=np.int64)
    number[row_order(parts, group)] = np.arange(len(record))
    return record, number


class _Codes:
    """Values as numbers: those of numeric columns, and for categories one code for each level, whatever the file."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, int]] = {}

    def numbers(self, name: str, values: Array, column: Column) -> Floats:
        if column.kind == "number":
            return np.asarray(values, dtype=np.float64)
        place = self._places.setdefault(name, {})
        code = np.array([*(place.setdefault(str(level), len(place)) for level in column.levels), -1])[values]
        return np.where(code >= 0, code, np.nan).astype(np.float64)
