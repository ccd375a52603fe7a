"""The law of released values by their place among the record's own simulated values, column by column:

    −cost = Σ_j log( P(class of place | own record) / P(class of place | another record) )

A new value of a record is equally likely in each of the m + 1 gaps between its m simulated values. This needs no form of the
law. It sees bounds above all: a value outside all simulated ones is nearly impossible. Records with the nearest original
values share theirs, so that a bound of many records is seen sharply.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from larvatus.core.arrays import Floats, Ints

_CLASSES = 10
_SHIFTS = 4
_PSEUDO = 0.3
_NEAR = 5  # records on each side


class PlaceLaw:
    """`simulated` is simulations × records × columns; missing cells are NaN and say nothing."""

    def __init__(self, x: Floats, simulated: Floats, y: Floats) -> None:
        self.y = y
        shared = _with_neighbours(x, simulated)
        self._sorted = np.sort(np.ascontiguousarray(np.moveaxis(shared, 0, 2)), axis=2)  # missing cells come last
        self._there = np.isfinite(shared).sum(axis=0)
        n = simulated.shape[1]
        others = np.unique(np.linspace(0, n, _SHIFTS + 2)[1:-1].astype(np.int64))
        self._ratio = []
        for j in range(y.shape[1]):
            rows = np.flatnonzero(self._there[:, j])[:: max(n // 500, 1)]
            random, own = np.zeros(_CLASSES + 2), np.zeros(_CLASSES + 2)
            for part in np.array_split(rows, len(rows) // 50 + 1):
                m = self._there[part, j]
                drawn = np.moveaxis(simulated[:, (part[:, None] + others) % n, j], 0, 1).reshape(len(part), -1)
                below = (self._sorted[part, j, :, None] < drawn[:, None, :]).sum(axis=1)
                for k, places, there in zip(m.tolist(), below, np.isfinite(drawn), strict=True):
                    own += _shares(_classes(k))
                    random += _shares(_classes(k)[places[there]])
            total = max(float(random.sum()), _PSEUDO)
            self._ratio.append(np.log((own + 1e-9) / (random + _PSEUDO / total)))

    def log_densities(self, records: Ints, rows: Ints) -> Floats:
        """Logarithms of the ratios of every pair, records × rows."""
        out = np.zeros((len(records), len(rows)))
        for j, ratio in enumerate(self._ratio):
            there = np.flatnonzero(np.isfinite(self.y[rows, j]))
            shown = self.y[rows[there], j]
            order = np.argsort(shown, kind="stable")
            places = _numbers_below(self._sorted[records, j], shown[order])
            counts, which = np.unique(self._there[records, j], return_inverse=True)
            table = np.zeros((len(counts), self._sorted.shape[2] + 1))
            for k, m in enumerate(counts.tolist()):
                if m:
                    table[k, : m + 1] = ratio[_classes(m)]
            out[:, there[order]] += table[which[:, None], places]
        return out


def _numbers_below(values: Floats, limits: Floats) -> Ints:
    """How many of the values of each row are below each of the limits, which ascend; missing values are below none."""
    rows, size = len(values), len(limits) + 1
    first = np.searchsorted(limits, values, "right") + size * np.arange(rows)[:, None]
    return np.cumsum(np.bincount(first.ravel(), minlength=rows * size).reshape(rows, size)[:, :-1], axis=1)


def _with_neighbours(x: Floats, simulated: Floats) -> Floats:
    """The simulated values of each record and of those with the nearest original values, column by column."""
    n = len(x)
    half = min(_NEAR, (n - 1) // 2)
    out = np.empty(((2 * half + 1) * len(simulated), *simulated.shape[1:]))
    for j in range(x.shape[1]):
        order = np.argsort(x[:, j], kind="stable")
        first = np.clip(np.arange(n) - half, 0, n - 2 * half - 1)
        near = order[first[:, None] + np.arange(2 * half + 1)]
        out[:, order, j] = np.moveaxis(simulated[:, near, j], 1, 2).reshape(-1, n)
    return out


def _shares(classes: Ints) -> Floats:
    return np.bincount(classes, minlength=_CLASSES + 2) / max(len(classes), 1)


@lru_cache(64)
def _classes(m: int) -> Ints:
    """The class of each place among m values: below all, above all, or one of ten equal parts between."""
    place = np.arange(m + 1)
    inner = 1 + np.minimum((place - 1) * _CLASSES // max(m - 1, 1), _CLASSES - 1)
    return np.where(place == 0, 0, np.where(place == m, _CLASSES + 1, inner))
