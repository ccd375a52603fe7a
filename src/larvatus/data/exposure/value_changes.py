"""How much of each confidential column a release changes, judged by the spread of the column:

    value i is unchanged  ⟺  |yᵢ − xᵢ| ≤ 10⁻⁷ · SD(x) + 10⁻¹⁵ · |xᵢ|

SD(x) is that of the sub-group, so a sub-group with giant values does not hide changes in the others. The second term is the
rounding error of the arithmetic. The mean of a column does not matter: noise with SD 1 is a change of a column with SD 10,
whether its mean is 0 or 10⁹.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.steps import codes_in
from larvatus.data.verbs import reduce_groups

ALIKE = 1e-7
_N, _MEAN, _SQUARES, _LOW, _HIGH = range(5)


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """Values of one column that are unchanged, those present in the original, and whether it varies within a sub-group."""

    name: str
    same: int
    present: int
    varies: bool

    @property
    def unchanged(self) -> bool:
        """Whether there are values and none was changed."""
        return 0 < self.present == self.same


def column_changes(released: Microdata, original: Microdata) -> tuple[ColumnChange, ...]:
    """The changes in every confidential column of the released records."""
    names = released.confidential
    if not names:
        return ()
    spread = _spreads(original, names)
    limits = _limits(spread, names)
    place = {label: g for g, label in enumerate(original.groups.labels)}
    joined = released.table.pair(original.table, {scratch("original", n): n for n in names})
    read = [*names, *(scratch("original", n) for n in names)]
    there = [limits[place[label]] for label in released.groups.labels]
    same, present = np.sum(joined.reduce(read, _counts(released, original, there), np.add), axis=0).T
    varies = np.any([s[:, _HIGH] - s[:, _LOW] > list(most.values()) for s, most in zip(spread, limits, strict=True)], axis=0)
    return tuple(ColumnChange(n, int(same[j]), int(present[j]), bool(varies[j])) for j, n in enumerate(names))


def limits_of_change(original: Microdata, names: Sequence[str]) -> list[dict[str, float]]:
    """For each sub-group, how much the values of each column may change and still count as unchanged, rounding errors aside."""
    return _limits(_spreads(original, names), names)


def _limits(spread: Sequence[NDArray[np.float64]], names: Sequence[str]) -> list[dict[str, float]]:
    return [{n: ALIKE * _deviation(part[j]) for j, n in enumerate(names)} for part in spread]


def _counts(
    released: Microdata, original: Microdata, limits: Sequence[dict[str, float]]
) -> Callable[[int, Block], NDArray[np.int64]]:
    """For a block, the number of unchanged and of present values in each column."""
    from larvatus.stats.ranks.ranks import alike

    after, before = released.table.columns, original.table.columns
    names = dict.fromkeys(n for by_column in limits for n in by_column)
    codes = {n: codes_in(after[n], before[n]) for n in names if after[n].kind == before[n].kind == "nominal"}

    def count(group: int, block: Block) -> NDArray[np.int64]:
        out = []
        for n, limit in limits[group].items():
            now, was = block[n], block[scratch("original", n)]
            if after[n].kind != before[n].kind:
                out.append((0, int(np.count_nonzero(~np.isnan(was) if was.dtype.kind == "f" else was >= 0))))
            elif was.dtype.kind == "f":
                out.append(alike(now, was, limit))
            else:
                now = codes[n][now]
                out.append((int(np.count_nonzero((now == was) & (was >= 0))), int(np.count_nonzero(was >= 0))))
        return np.array(out, dtype=np.int64)

    return count


def _spreads(data: Microdata, names: Sequence[str]) -> list[NDArray[np.float64]]:
    """For each sub-group and column: number of values, mean, sum of squared deviations, smallest and largest value."""

    def look(group: int, block: Block) -> NDArray[np.float64]:
        return np.array([_spread(block[n]) for n in names])

    return reduce_groups(data, names, look, _merged)


def _spread(values: NDArray[np.float64] | NDArray[np.int32]) -> tuple[float, ...]:
    there = values[~np.isnan(values)] if values.dtype.kind == "f" else values[values >= 0].astype(np.float64)
    if not len(there):
        return 0.0, 0.0, 0.0, np.inf, -np.inf
    mean = float(there.mean())
    with np.errstate(over="ignore"):
        return len(there), mean, float(np.square(there - mean).sum()), float(there.min()), float(there.max())


def _merged(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """The figures of two sets of rows together (Chan, Golub and LeVeque 1979)."""
    n = one[:, _N] + other[:, _N]
    share = other[:, _N] / np.maximum(n, 1)
    apart = other[:, _MEAN] - one[:, _MEAN]
    out = np.empty_like(one)
    out[:, _N], out[:, _MEAN] = n, one[:, _MEAN] + share * apart
    with np.errstate(over="ignore"):
        out[:, _SQUARES] = one[:, _SQUARES] + other[:, _SQUARES] + np.square(apart) * one[:, _N] * share
    out[:, _LOW] = np.minimum(one[:, _LOW], other[:, _LOW])
    out[:, _HIGH] = np.maximum(one[:, _HIGH], other[:, _HIGH])
    return out


def _deviation(figures: NDArray[np.float64]) -> float:
    """The standard deviation; a quarter of the range if squares overflow, 0 without values."""
    if figures[_N] < 2:
        return 0.0
    deviation = math.sqrt(figures[_SQUARES] / (figures[_N] - 1)) if np.isfinite(figures[_SQUARES]) else math.inf
    return deviation if math.isfinite(deviation) else float(figures[_HIGH] / 4 - figures[_LOW] / 4)
