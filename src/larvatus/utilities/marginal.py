"""How far the distribution of each column moved: whether it is the same set of values, and how far apart otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups, common_numbers
from larvatus.data.contracts import Array, Block, Column, Measure
from larvatus.data.groups import Label
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of

RELEASED = " released"
MADE = (" originals before", " released before", " step")
Carry = tuple[float, float, float]


class Marginal(Measure):
    """Compare the empirical distribution of every confidential column, in the file and in each sub-group.

    The loss of a column is the largest difference between the two distribution functions (Kolmogorov and Smirnov); the
    value is the mean over columns. Beside it stand the area between the functions in standard deviations (Wasserstein)
    and whether the released values are exactly the original ones.

    Parameters: none.
    """

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        whole = _distances(original.ungrouped(), release.data.ungrouped(), names, random)
        inside = _distances(original, release.data, names, random)
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
    """Of one column in one group: largest difference, area in standard deviations, and whether the values are the same."""

    def __init__(self, largest: float, area: float, counts: NDArray[np.int64]) -> None:
        self.largest, self.area = largest, area
        self.same = bool(largest == 0 and counts[0] == counts[1])


def _labels(original: Microdata, released: Microdata) -> list[Label]:
    there = set(released.groups.labels)
    return [label for label in original.groups.labels if label in there]


def _row(name: str, distance: _Distance) -> Row:
    return {"variable": name, "loss": distance.largest, "wasserstein": distance.area, "same_values": distance.same}


def _distances(
    original: Microdata, released: Microdata, names: Sequence[str], random: RecordRandom
) -> dict[str, dict[Label, _Distance]]:
    """For every column and group, by one sorted pass over both files together."""
    both = original.holding(original.table.stack(released.table, names, RELEASED))
    spread = dict(zip(original.groups.labels, original.moments(names), strict=True))
    out: dict[str, dict[Label, _Distance]] = {}
    for j, name in enumerate(names):
        counts = both.reduce([name, RELEASED], partial(_counts, name), np.add)
        scanned = both.holding(both.table.scan(
            name, [name, RELEASED], (0.0, 0.0, np.nan), partial(_passed, name), random, [Column(n, "number") for n in MADE]
        ))
        found = scanned.reduce(MADE, partial(_apart, counts), lambda a, b: (max(a[0], b[0]), a[1] + b[1]))
        out[name] = {}
        for g, label in enumerate(both.groups.labels):
            m = spread.get(label)
            sd = 1.0 if m is None or m.constant[j] else float(np.sqrt(m.variance[j]))
            lost = min(counts[g]) == 0 < max(counts[g])
            gap, area = (1.0, np.nan) if lost else found[g]
            out[name][label] = _Distance(gap, area / sd, counts[g])
    return out


def _counts(name: str, group: int, block: Block) -> NDArray[np.int64]:
    there, new = ~np.isnan(block[name]), block[RELEASED] == 1
    return np.array([int((there & ~new).sum()), int((there & new).sum())])


def _passed(name: str, carry: Carry, block: Block) -> tuple[Carry, Mapping[str, Array]]:
    """Records of either file before each row in sorted order, and the step in value up to it."""
    value, new = block[name], block[RELEASED]
    after = carry[0] + np.cumsum(new == 0), carry[1] + np.cumsum(new == 1)
    before = after[0] - (new == 0), after[1] - (new == 1)
    step = np.diff(value, prepend=value[0] if np.isnan(carry[2]) else carry[2])
    last = float(after[0][-1]), float(after[1][-1]), float(value[-1])
    return last, dict(zip(MADE, (*before, step), strict=True))


def _apart(counts: Sequence[NDArray[np.int64]], group: int, block: Block) -> tuple[float, float]:
    """Largest difference of the distribution functions, and the area between them, over the rows of a block."""
    n = np.maximum(counts[group], 1)
    step = np.nan_to_num(block[MADE[2]])
    gap = np.abs(np.nan_to_num(block[MADE[0]]) / n[0] - np.nan_to_num(block[MADE[1]]) / n[1])
    return float(gap[step > 0].max(initial=0.0)), float((gap * step).sum())
