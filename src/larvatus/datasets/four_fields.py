"""Files of four numeric fields with the correlations of Tables 1 and 9 of 004."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

_FIELDS = ("x1", "x2", "x3", "x4")
_FOUR = np.array([
    [1, 0.895, 0.186, -0.102], [0.895, 1, 0.218, -0.065], [0.186, 0.218, 1, 0.329], [-0.102, -0.065, 0.329, 1],
])
EXTRACTED = np.array([
    [1, -0.274, 0.316, 0.273], [-0.274, 1, 0.044, 0.039], [0.316, 0.044, 1, 0.935], [0.273, 0.039, 0.935, 1],
])
_EVEN, DRAWN = [0, 2], [1, 3]
_LOW, _WIDE = np.array([17.0, 61.0]), np.array([191.0, 450.0])
_NEAR = 1e-4


def four_fields(n: int = 100, seed: int = 0) -> pa.Table:
    """Four integer fields: x1 and x3 evenly spaced on 1 … 100, x2 and x4 linear in them plus normal error.

    Matches the published ranges (1 to 100, 17 to 208, 1 to 100, 61 to 511) and all six correlations of Table 1 of 004 to the
    printed digits: errors are made uncorrelated with x1 and x3 before they are added. The records are not published, and the
    paper does not say how x1 and x3 were drawn. Figures that depend on single records differ by seed.

    Examples:
        >>> import larvatus as lv
        >>> lv.datasets.four_fields().shape
        (100, 4)
    """
    rng = np.random.Generator(np.random.Philox(seed))
    while True:
        fields = _drawn(rng, n)
        if np.abs(np.corrcoef(fields.T) - _FOUR).max() < 0.0005:
            return _table(fields)


def _drawn(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    spread = np.round(np.linspace(1, 100, n))
    root = np.linalg.cholesky(_FOUR[np.ix_(_EVEN, _EVEN)])
    scores = rng.standard_normal((n, 2)) @ root.T
    even = np.column_stack([spread[column.argsort().argsort()] for column in scores.T])
    a = (even - even.mean(axis=0)) / even.std(axis=0)
    order = _nearer(a[:, 0], a[:, 1], _FOUR[0, 2], rng)
    even[:, 1], a[:, 1] = even[order, 1], a[order, 1]
    error = _white(rng.standard_normal((n, 2)), a)
    inside = a.T @ a / n
    slope = _FOUR[np.ix_(DRAWN, _EVEN)] @ np.linalg.inv(inside)
    left = _FOUR[np.ix_(DRAWN, DRAWN)] - slope @ inside @ slope.T
    drawn = a @ slope.T + error @ np.linalg.cholesky(left).T
    drawn = np.round((drawn - drawn.min(axis=0)) / np.ptp(drawn, axis=0) * _WIDE + _LOW)
    return np.column_stack([even[:, 0], drawn[:, 0], even[:, 1], drawn[:, 1]])


def _nearer(first: NDArray[np.float64], second: NDArray[np.float64], aim: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """An order of the second column, reached by exchanges, that gives almost the target correlation with the first."""
    n = len(first)
    order = np.arange(n)
    gap = float(first @ second) / n - aim
    while abs(gap) > _NEAR:
        i, j = rng.integers(n, size=2)
        change = (first[i] - first[j]) * (second[order[j]] - second[order[i]]) / n
        if abs(gap + change) < abs(gap):
            order[[i, j]] = order[[j, i]]
            gap += change
    return order


def extracted_fields(n: int = 100, seed: int = 0) -> pa.Table:
    """Four normal fields with exactly the correlations of Table 9 of 004: two highly correlated, the others hardly.

    The published file is an extract of a larger one that is not described. Only its correlations are matched.

    Examples:
        >>> import larvatus as lv
        >>> lv.datasets.extracted_fields().column_names
        ['x1', 'x2', 'x3', 'x4']
    """
    rng = np.random.Generator(np.random.Philox(seed))
    error = _white(rng.standard_normal((n, 4)), np.empty((n, 0)))
    return _table(50 + 10 * error @ np.linalg.cholesky(EXTRACTED).T)


def _white(error: NDArray[np.float64], given: NDArray[np.float64]) -> NDArray[np.float64]:
    """Errors of mean 0 and variance 1, uncorrelated with each other and with the given columns."""
    n = len(error)
    design = np.column_stack([np.ones(n), given])
    error = error - design @ np.linalg.lstsq(design, error, rcond=None)[0]
    return np.asarray(error @ np.linalg.inv(np.linalg.cholesky(error.T @ error / n)).T)


def _table(fields: NDArray[np.float64]) -> pa.Table:
    import pyarrow as pa

    return pa.table({name: fields[:, j] for j, name in enumerate(_FIELDS)})
