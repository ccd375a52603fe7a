"""A function of single values, learnt from known pairs, for files that were masked elsewhere: y ≈ m(x), column by column,

    f(y | x) = k(|y − m(x)|) + (1 − w) g(y),      m(x) from the known values next to x:
        y₁,   y₁ + (x − x₁),   y₁ − (x − x₁)   or   the line through (x₀, y₀) and (x₁, y₁)

m may be any function that is simple between neighbours: a transformation, a fold, a remainder (x modulo 1,000), a code for each
value. The best of the four is taken, by how many pairs it predicts without their own value. k and w are those of
`stats/linkage/kept_values.py`. Where x occurs often, its y is a code: other x do not have that y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.stats.linkage.kept_values import KeptValues

if TYPE_CHECKING:
    from larvatus.stats.linkage.assignment import Costs

_FEWEST = 40  # pairs to learn from
_NEAR = 0.02  # share of random pairs that are as near as a predicted value must be
_GAIN = 0.2  # share of pairs that a map predicts beyond random pairs, and beyond x itself, at least
_OFTEN = 3  # times that a value occurs among the known pairs to have a code
_SURE = 0.9  # share of its pairs that have this code, at least


class _Map(NamedTuple):
    """The law of one column: predicted values of all records, and which records and released values have codes."""

    predicted: Floats
    law: KeptValues
    coded: Bools
    is_code: Bools
    without: tuple[float, float]  # log ratios for records without a code: of a value that is no code, and of a code


def costs_of_learnt_maps(x: Floats, y: Floats, known: Ints, half: Ints) -> Costs | None:
    """Costs of pairs of rows of x and y, relative to the density of y; None if no column is predicted better than by x itself.

    The map for a record is learnt from the known pairs of the other `half`. A missing value says nothing.
    """
    if len(known) < _FEWEST or not y.shape[1]:
        return None
    sides = [[_learn(x[:, j], y[:, j], known[half[known] != side]) for j in range(y.shape[1])] for side in (0, 1)]
    if all(m is None for maps in sides for m in maps):
        return None
    plain = [[KeptValues.learn(x[some, j], y[some, j], y[:, j]) for j in range(y.shape[1])]
             for some in (known[half[known] != side] for side in (0, 1))]

    def costs(a: Ints, b: Ints) -> Floats:
        out = np.zeros((len(a), len(b)))
        for side in (0, 1):
            rows = np.flatnonzero(half[a] == side)
            for j, found in enumerate(sides[side]):
                if found is None:
                    out[rows] -= plain[side][j].log_ratios(x[a[rows], j], y[b, j])
                    continue
                out[rows] -= found.law.log_ratios(found.predicted[a[rows]], y[b, j])
                uncoded = np.where(found.is_code[b], found.without[1], found.without[0])
                out[rows] -= np.where(found.coded[a[rows]][:, None], 0.0, uncoded[None])
        return out

    return costs


def _learn(u: Floats, v: Floats, known: Ints) -> _Map | None:
    """The map of a column, from the known pairs; None if none predicts clearly more values than x itself."""
    pairs = known[np.isfinite(u[known]) & np.isfinite(v[known])]
    if len(pairs) < _FEWEST // 2:
        return None
    pairs = pairs[np.lexsort((v[pairs], u[pairs]))]
    before, after = u[pairs], v[pairs]
    place = np.arange(len(pairs))
    without_own = _predictions(before, after, before, place - 1, place + 1)
    gains = [_gain(p, after) for p in without_own]
    best = int(np.argmax(gains))
    if gains[best] < _GAIN or gains[best] < _gain(before, after) + _GAIN:
        return None
    spot = np.searchsorted(before, u)
    predicted = _predictions(before, after, u, spot - 1, spot)[best]
    coded, is_code = _codes(u, v, before, after)
    rest = ~coded[pairs]
    shares = [(some.sum() + 0.5) / (len(some) + 1) for some in (is_code[pairs][rest], is_code)]
    without = float(np.log((1 - shares[0]) / (1 - shares[1]))), float(np.log(shares[0] / shares[1]))
    return _Map(predicted, KeptValues.learn(without_own[best], after, v), coded, is_code, without)


def _predictions(before: Floats, after: Floats, u: Floats, low: Ints, high: Ints) -> list[Floats]:
    """Four predictions of the value of u from the pairs below and above it, which are given by their places."""
    last = len(before) - 1
    low, high = np.where(low < 0, np.minimum(high, last), low), np.where(high > last, np.maximum(low, 0), high)
    x0, x1, y0, y1 = before[low], before[high], after[low], after[high]
    lower = np.abs(u - x0) < np.abs(x1 - u)
    at, value = np.where(lower, x0, x1), np.where(lower, y0, y1)
    share = np.divide(u - x0, x1 - x0, out=np.zeros(len(u)), where=x1 > x0)
    return [value, value + (u - at), value - (u - at), y0 + share * (y1 - y0)]


def _gain(predicted: Floats, after: Floats) -> float:
    """How much larger the share of pairs near their prediction is than that of random pairs."""
    apart = np.abs(after - predicted)
    random = np.abs(np.roll(after, len(after) // 2) - predicted)
    near = np.quantile(random, _NEAR)
    return float((apart <= near).mean() - (random <= near).mean())


def _codes(u: Floats, v: Floats, before: Floats, after: Floats) -> tuple[Bools, Bools]:
    """Which records have a value that occurs often, with one code among the pairs, and which released values are such codes."""
    values, first, times = np.unique(before, return_index=True, return_counts=True)
    sources, codes = [], []
    for value, start, count in zip(values, first, times, strict=True):
        if count >= _OFTEN:
            shown, often = np.unique(after[start : start + count], return_counts=True)
            if often.max() >= _SURE * count:
                sources.append(value)
                codes.append(shown[often.argmax()])
    return np.isin(u, sources), np.isin(v, codes)
