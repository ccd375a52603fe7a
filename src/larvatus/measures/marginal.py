"""Difference between the distribution functions of each column, original and released.

    Kolmogorov–Smirnov (the loss)         max_t |F_x(t) − F_y(t)|
    Wasserstein, in standard deviations   ∫ |F_x(t) − F_y(t)| dt / sd(x)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.alignment import common_groups, common_numbers
from larvatus.data.contracts import Block, Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.data.sub_groups import GroupLabel
from larvatus.data.verbs import as_one_group, fold_in_order, moments_by_group, reduce_groups, with_table

if TYPE_CHECKING:
    from larvatus.stats.ranks.distribution_gap import SortedRun

_RELEASED = scratch("released")
_TOGETHER = 32  # columns whose moments are computed at once: the time grows with the square of their number
_MOST_ROWS = 20_000_000  # rows of which one column of both files is held at once
_MOST_IN_MEMORY = 4_000_000  # the same if the engine sorts sub-groups on disk


class _Passed(NamedTuple):
    """State of a pass over sorted values: records of each file so far, last value, largest gap, and area."""

    originals: int = 0
    released: int = 0
    last: float = np.nan
    gap: float = 0.0
    area: float = 0.0


class Marginal(Measure):
    """Compare the empirical distribution of every confidential column, in the file and in each sub-group.

    The loss of a column is the largest difference between the two distribution functions (the Kolmogorov–Smirnov
    statistic); the value is the mean over columns. Also reported are the area between the two functions in standard
    deviations (the Wasserstein distance), and whether the released values are exactly the original values.

    Look at it if users tabulate single columns. It is 0 for every permutation, however much the relations suffer.

    Parameters: none.
    """

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        whole, inside = _way(original, release.data)(original, release.data, names)
        rows = [_row(name, whole[name][()]) for name in names]
        groups: list[Row] = []
        for label, (name, a, _) in zip(_labels(original, release.data), common_groups(original, release.data), strict=True):
            value = float(np.mean([inside[n][label].largest for n in names]))
            groups.append({"sub_group": name, "records": original.groups.sizes[a], "value": value})
        return Score(
            "marginal", "loss", mean_of(rows), "largest difference between distribution functions, mean over columns",
            self.settings(), by_variable=Rows.of(rows), by_group=Rows.of(groups),
        )


class _Distance:
    """For one column in one group: largest difference, area in standard deviations, and whether the values are the same."""

    def __init__(self, largest: float, area: float, counts: NDArray[np.int64]) -> None:
        self.largest, self.area = largest, area
        self.same = bool(largest == 0 and counts[0] == counts[1])


def _labels(original: Microdata, released: Microdata) -> list[GroupLabel]:
    there = set(released.groups.labels)
    return [label for label in original.groups.labels if label in there]


def _row(name: str, distance: _Distance) -> Row:
    return {"variable": name, "loss": distance.largest, "wasserstein": distance.area, "same_values": distance.same}


_Distances = dict[str, dict[GroupLabel, _Distance]]  # by column and sub-group


def _way(original: Microdata, released: Microdata) -> Callable[..., tuple[_Distances, _Distances]]:
    """In memory if columns are short; otherwise by sub-groups that the engine sorts, or in order if it sorts none."""
    both = original, released
    sorts = all(hasattr(d.table, "sorted_groups") for d in both)
    most = _MOST_IN_MEMORY if sorts else _MOST_ROWS
    held = all(d.engine.name != "spark" and d.rows <= most for d in both)
    return _distances_in_memory if held else _distances_by_runs if sorts else _distances_in_order


def _distances_by_runs(original: Microdata, released: Microdata, names: Sequence[str]) -> tuple[_Distances, _Distances]:
    """The same by sorted sub-groups on disk: the sub-groups one by one, and then all of them merged from cut to cut."""
    from larvatus.stats.ranks.distribution_gap import distribution_gap_of_runs

    def distance(x: Sequence[SortedRun], y: Sequence[SortedRun], sd: float) -> _Distance:
        n = np.array([sum(map(len, x)), sum(map(len, y))], dtype=np.int64)
        gap, area = distribution_gap_of_runs(x, y) if n.min() > 0 else (float(n.max() > 0), np.nan if n.max() > 0 else 0.0)
        return _Distance(gap, area / sd, n)

    labels = list(dict.fromkeys([*original.groups.labels, *released.groups.labels]))
    in_groups, in_file = _spreads(original, names), _spread_of_all(original, names)
    whole: _Distances = {}
    inside: _Distances = {}
    for data in (original, released):
        getattr(data.table, "sort_columns", list)(names)
    for j, name in enumerate(names):
        x, y = (dict(zip(d.groups.labels, d.table.sorted_groups(name), strict=True))  # type: ignore[attr-defined]
                for d in (original, released))
        inside[name] = {
            label: distance([x[label]] if label in x else [], [y[label]] if label in y else [],
                            in_groups[label][j] if label in in_groups else 1.0)
            for label in labels
        }
        whole[name] = {(): distance(list(x.values()), list(y.values()), in_file[j])}
    return whole, inside


def _spread_of_all(data: Microdata, names: Sequence[str]) -> list[float]:
    """The standard deviation of each column in the file, from the moments of the sub-groups; 1 if it is constant."""
    from larvatus.stats.linear.moments import SampleMoments

    out: list[float] = []
    for low in range(0, len(names), _TOGETHER):
        m = reduce(SampleMoments.merge, moments_by_group(data, names[low : low + _TOGETHER]))
        out += np.where(m.constant, 1.0, np.sqrt(m.variance)).tolist()
    return out


def _distances_in_memory(original: Microdata, released: Microdata, names: Sequence[str]) -> tuple[_Distances, _Distances]:
    """Distances in the file and in every sub-group, column by column: values are sorted by sub-group, and then in all."""
    from larvatus.stats.ranks.distribution_gap import distribution_gap

    def distance(x: Floats, y: Floats, sd: float) -> _Distance:
        n = np.array([len(x), len(y)], dtype=np.int64)
        gap, area = distribution_gap(x, y) if n.min() > 0 else (float(n.max() > 0), np.nan if n.max() > 0 else 0.0)
        return _Distance(gap, area / sd, n)

    labels = list(dict.fromkeys([*original.groups.labels, *released.groups.labels]))
    in_file, in_groups = _spreads(as_one_group(original), names)[()], _spreads(original, names)
    none = np.zeros(0)
    whole: _Distances = {}
    inside: _Distances = {}
    for j, name in enumerate(names):
        x, y = (dict(zip(d.groups.labels, _sorted_by_group(d, name), strict=True)) for d in (original, released))
        inside[name] = {
            label: distance(x.get(label, none), y.get(label, none), in_groups[label][j] if label in in_groups else 1.0)
            for label in labels
        }
        all_x, all_y = (np.sort(np.concatenate([none, *v.values()])) for v in (x, y))
        whole[name] = {(): distance(all_x, all_y, in_file[j])}
    return whole, inside


def _sorted_by_group(data: Microdata, name: str) -> list[Floats]:
    """The values of a column in each sub-group, sorted, without missing ones. An engine may have sorted them before."""
    in_memory, on_disk = (getattr(data.table, known, None) for known in ("sorted_values", "sorted_groups"))
    if in_memory is not None:
        return list(in_memory(name))
    if on_disk is not None:
        return [run.all() for run in on_disk(name)]

    def values(group: int, block: Block) -> tuple[Floats, ...]:
        return (block[name][~np.isnan(block[name])],)

    return [np.sort(np.concatenate(parts)) for parts in reduce_groups(data, [name], values, tuple.__add__)]


def _spreads(data: Microdata, names: Sequence[str]) -> dict[GroupLabel, list[float]]:
    """The standard deviation of each column in each sub-group; 1 if it is constant."""
    found: dict[GroupLabel, list[float]] = {label: [] for label in data.groups.labels}
    for low in range(0, len(names), _TOGETHER):
        for label, m in zip(data.groups.labels, moments_by_group(data, names[low : low + _TOGETHER]), strict=True):
            found[label] += np.where(m.constant, 1.0, np.sqrt(m.variance)).tolist()
    return found


def _distances_in_order(original: Microdata, released: Microdata, names: Sequence[str]) -> tuple[_Distances, _Distances]:
    """The same by sorted passes over both files together, for files of any size."""
    return (_distances_by_group(as_one_group(original), as_one_group(released), names),
            _distances_by_group(original, released, names))


def _distances_by_group(original: Microdata, released: Microdata, names: Sequence[str]) -> _Distances:
    """Distances for every column and group, by one sorted pass over both files together."""
    both = with_table(original, original.table.stack(released.table, names, _RELEASED))
    spread = _spreads(original, names)
    there = [
        dict(zip(d.groups.labels, reduce_groups(d, names, partial(_counts, names), np.add), strict=True))
        for d in (original, released)
    ]
    none = np.zeros(len(names), dtype=np.int64)
    counts = {label: np.array([t.get(label, none) for t in there]) for label in both.groups.labels}
    out: _Distances = {}
    for j, name in enumerate(names):
        sizes = [counts[label][:, j] for label in both.groups.labels]
        found = fold_in_order(both, name, [name, _RELEASED], _Passed(), partial(_passed, name, sizes))
        out[name] = {}
        for label, carry in zip(both.groups.labels, found, strict=True):
            sd, n = spread[label][j] if label in spread else 1.0, counts[label][:, j]
            lost = min(n) == 0 < max(n)
            out[name][label] = _Distance(1.0 if lost else carry.gap, np.nan if lost else carry.area / sd, n)
    return out


def _counts(names: Sequence[str], group: int, block: Block) -> NDArray[np.int64]:
    return np.array([np.count_nonzero(~np.isnan(block[n])) for n in names], dtype=np.int64)


def _passed(name: str, sizes: Sequence[NDArray[np.int64]], group: int, carry: _Passed, block: Block) -> _Passed:
    """The state after more sorted rows."""
    value, new = block[name], block[_RELEASED] == 1
    step = np.diff(value, prepend=value[0] if np.isnan(carry.last) else carry.last)
    after = carry.released + np.cumsum(new)
    all_before = carry.originals + carry.released + np.arange(len(value))
    released = after - new
    n = np.maximum(sizes[group], 1)
    gap = np.abs((all_before - released) / n[0] - released / n[1])
    return _Passed(
        carry.originals + int(np.count_nonzero(~new)), int(after[-1]), float(value[-1]),
        max(carry.gap, float(gap[step > 0].max(initial=0.0))), carry.area + float((gap * step).sum()),
    )
