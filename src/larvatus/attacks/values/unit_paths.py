"""The mean of the released values of the rows of a person that are near in a number of S: incomes of nearby months.

    ȳ_i = Σ_j w_ij y_j  over rows j of the unit of i,    w_ij ∝ exp(−(s_i − s_j)² / 2h²),
    h = arg min mean((x − W x)²) + Var(y − x) mean(Σ_j w_ij²)

If values of a person change slowly, noise is averaged out over a few months, and a mean over all rows says less. A column gets
a mean if the other rows nearby predict original values clearly better than all other rows of the unit do, which does not
depend on the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints

_WIDTHS = (0.02, 0.04, 0.08, 0.15, 0.3, 0.6)  # h, in standard deviations of the column of S
_MOST_NEAR = 50  # rows of the unit on each side
_MOST_ROWS = 200_000
_LEAST_GAIN = 0.05  # of the variance
_FEWEST = 50  # rows


@dataclass(frozen=True, slots=True)
class _Path:
    """Rows in the order of unit and S: their places, units, and S in standard deviations."""

    rows: Ints
    unit: Ints
    s: Floats

    @classmethod
    def of(cls, unit: Ints, s: Floats, there: Ints) -> _Path:
        rows = there[np.lexsort((s[there], unit[there]))]
        spread = float(s[rows].std())
        return cls(rows, unit[rows], s[rows] / (spread if spread > 0 else 1.0))

    def sums(self, values: Floats, width: float) -> tuple[Floats, Floats, Floats]:
        """Weighted sums of the values of the other rows nearby, sums of the weights, and of their squares."""
        total, weight, squares = (np.zeros(len(values)) for _ in range(3))
        for apart in range(1, min(_MOST_NEAR, len(values) - 1) + 1):
            same = self.unit[apart:] == self.unit[:-apart]
            if not same.any():
                break
            w = np.where(same, np.exp(-((self.s[apart:] - self.s[:-apart]) ** 2) / (2 * width**2)), 0.0)
            for here, other in ((slice(apart, None), slice(None, -apart)), (slice(None, -apart), slice(apart, None))):
                total[here] += w * values[other]
                weight[here] += w
                squares[here] += w**2
        return total, weight, squares


def path_means(unit: Ints, x: Floats, y: Floats, numbers: Mapping[str, Floats]) -> tuple[Floats, float] | None:
    """The means near each row by the column of S that predicts x best, and how much they explain by chance; None without."""
    if not _FEWEST <= len(x) <= _MOST_ROWS:
        return None
    best, least = None, _by_all_others(unit, x) + _LEAST_GAIN
    for s in numbers.values():
        there = np.flatnonzero(np.isfinite(x) & np.isfinite(y) & np.isfinite(s))
        if len(there) >= _FEWEST:
            path = _Path.of(unit, s, there)
            share = max(_by_others(path, x[path.rows], h) for h in _WIDTHS)
            if share > least:
                best, least = path, share
    if best is None:
        return None
    before, shown = x[best.rows], y[best.rows]
    noise = float(np.var(shown - before))
    tried = []
    for h in _WIDTHS:
        total, weight, squares = best.sums(before, h)
        off = before - (total + before) / (weight + 1)
        own = float(((squares + 1) / (weight + 1) ** 2).mean())
        tried.append((float((off**2).mean()) + noise * own, h, own))
    _, h, own = min(tried)
    total, weight, _ = best.sums(shown, h)
    out = np.full(len(x), np.nan)
    out[best.rows] = (total + shown) / (weight + 1)
    return out, min(least / max(own * len(before), 1.0), 1.0)


def _by_others(path: _Path, x: Floats, width: float) -> float:
    """The share of variance that the other rows nearby explain."""
    total, weight, _ = path.sums(x, width)
    return _share(x, np.where(weight > 1e-6, total / np.maximum(weight, 1e-6), 0.0))


def _by_all_others(unit: Ints, x: Floats) -> float:
    """The share of variance that the mean of all other rows of the unit explains."""
    there = np.isfinite(x)
    size = int(unit.max(initial=0)) + 1
    count, total = (np.bincount(unit[there], weights=w, minlength=size) for w in (None, x[there]))
    others = count[unit[there]] - 1
    return _share(x[there], np.where(others > 0, (total[unit[there]] - x[there]) / np.maximum(others, 1), 0.0))


def _share(x: Floats, predicted: Floats) -> float:
    total = float((x**2).sum())
    return max(1 - float(((x - predicted) ** 2).sum()) / total, 0.0) if total > 0 else 0.0


def varying_numbers(values: Mapping[str, Floats], names: Sequence[str]) -> dict[str, Floats]:
    """These columns, without those of one value."""
    return {n: values[n] for n in names if np.nanstd(values[n]) > 0}
