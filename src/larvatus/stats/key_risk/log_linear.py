"""Log-linear models for the cells of a table of key variables, fitted by iterative proportional fitting.

    f_k ~ Poisson(μ_k),   log μ = sum of main effects and of two-way interactions, one for each margin M of the model

    For each margin in turn:   μ_k ← μ_k · f_M(k) / μ_M(k)                  (f_M, μ_M: sums over the cells that agree in M)

The table has a cell for every combination of the levels that occur, empty cells included. If empty margins put the best fit on
the boundary (some μ = 0), the differences f_M − μ_M shrink only like one over the number of rounds. So a fit that takes long
has converged as soon as no margin differs by more than a hundredth of a record. A fit that does not reach that is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TypeAlias

import numpy as np

from larvatus.core.arrays import Floats, Ints

Margin: TypeAlias = tuple[int, ...]
MOST_KEY_CELLS = 2_000_000
_ROUNDS, _MORE_ROUNDS = 200, 800
_CLOSE = 1e-8  # of the number of records
_ENOUGH = 0.01  # of a record, after _ROUNDS
_MOST_CELLS_ROUNDED_LONG = 200_000
_STEPS = 200
_SETTLED = 1e-6


@dataclass(frozen=True, slots=True)
class FittedTable:
    """Fitted means of all cells, in the shape of the table, and whether the fit converged."""

    mean: Floats
    margins: tuple[Margin, ...]
    converged: bool

    @property
    def interactions(self) -> tuple[Margin, ...]:
        return tuple(m for m in self.margins if len(m) > 1)


def cells_of(levels: Sequence[int]) -> int:
    """Number of cells of the table."""
    return prod(levels)


def cell_table(codes: Ints, count: Ints, levels: Sequence[int]) -> Floats:
    """Counts as a table with one axis per key, from the codes (combinations × keys) and counts of combinations that occur."""
    table = np.zeros(tuple(levels))
    np.add.at(table, tuple(codes.T), count)
    return table


def main_effects(keys: int) -> tuple[Margin, ...]:
    """The margins of the independence model."""
    return tuple((j,) for j in range(keys))


def two_way_margins(keys: int) -> tuple[Margin, ...]:
    """All pairs of keys."""
    return tuple(combinations(range(keys), 2))


def fit_margins(table: Floats, margins: Sequence[Margin], start: Floats | None = None) -> FittedTable:
    """Fit the model with these margins.

    `start` may be the fit of a smaller model; its interactions must be among the margins.
    """
    keys = table.ndim
    total = float(table.sum())
    mean = np.full(table.shape, total / max(table.size, 1)) if start is None else start.copy()
    axes = [tuple(a for a in range(keys) if a not in m) for m in margins]
    target = [table.sum(axis=a, keepdims=True) for a in axes]
    simple = all(len(m) == 1 for m in margins)
    worst, most = 0.0, _ROUNDS + (_MORE_ROUNDS if table.size <= _MOST_CELLS_ROUNDED_LONG else 0)
    for done in range(1 if simple else most):
        worst = 0.0
        for axis, wanted in zip(axes, target, strict=True):
            now = mean.sum(axis=axis, keepdims=True)
            worst = max(worst, float(np.abs(wanted - now).max(initial=0.0)))
            mean *= np.divide(wanted, now, out=np.zeros_like(wanted), where=now > 0)
        if worst <= max(_CLOSE * total, _ENOUGH if done >= _ROUNDS else 0.0):
            break
    return FittedTable(mean, tuple(margins), simple or worst <= max(_CLOSE * total, _ENOUGH))


def observed_levels(codes: Ints) -> tuple[Ints, tuple[int, ...]]:
    """Codes that count the levels that occur, missing (−1) among them, and the number of levels of each key."""
    found = [np.unique(column, return_inverse=True) for column in codes.T]
    return np.column_stack([place.reshape(-1) for _, place in found]), tuple(len(levels) for levels, _ in found)


def shared_variance(fitted: FittedTable, gradient: Floats) -> float:
    """gᵀ (Xᵀ diag(μ) X)⁻¹ g of the sum g = Σ_k gradient_k x_k: what the estimated parameters add to a variance.

    One parameter for each level of each margin; products with X and Xᵀ are sums over cells, and conjugate gradients solve the
    equations. They have many solutions, of which each gives the same variance. Each step adds a part that is not negative.
    """
    axes = [tuple(a for a in range(gradient.ndim) if a not in m) for m in fitted.margins]

    def margins(cells: Floats) -> list[Floats]:
        return [np.asarray(cells.sum(axis=a, keepdims=True)) for a in axes]

    weight = [np.where(m > 0, m, np.inf) for m in margins(fitted.mean)]
    left = margins(gradient)
    scaled = [r / w for r, w in zip(left, weight, strict=True)]
    direction, size, total = scaled, _product(left, scaled), 0.0
    for _ in range(_STEPS):
        if size <= 0:
            break
        image = margins(fitted.mean * sum(direction))
        length = _product(direction, image)
        if length <= 0:
            break
        total += size**2 / length
        left = [r - size / length * v for r, v in zip(left, image, strict=True)]
        scaled = [r / w for r, w in zip(left, weight, strict=True)]
        last, size = size, _product(left, scaled)
        if size <= _SETTLED * total:
            break
        direction = [z + size / last * d for z, d in zip(scaled, direction, strict=True)]
    return total


def missed_interactions(table: Floats, fitted: FittedTable) -> tuple[Margin, ...]:
    """Pairs of keys that are not in the model, and by which the likelihood shows that they interact (criterion of Akaike).

        2 Σ f_pair log(f_pair / μ_pair) > 2 (levels_i − 1) (levels_j − 1)

    The left side is what the first step of a fit with this pair adds to twice the log-likelihood, so the whole fit adds more.
    """
    return tuple(pair for pair in two_way_margins(table.ndim)
                 if pair not in fitted.margins and likelihood_gain(table, fitted.mean, pair) > 0)


def likelihood_gain(table: Floats, mean: Floats, pair: Margin) -> float:
    """Σ f_pair log(f_pair / μ_pair) − (levels_i − 1) (levels_j − 1) of a pair of keys that is not in the model."""
    i, j = pair
    axes = tuple(a for a in range(table.ndim) if a not in pair)
    f, expected = table.sum(axis=axes), mean.sum(axis=axes)
    there = f > 0
    gain = float((f[there] * np.log(f[there] / np.maximum(expected[there], 1e-300))).sum())
    return gain - float((table.shape[i] - 1) * (table.shape[j] - 1))


def with_first_step(table: Floats, fitted: FittedTable, pair: Margin) -> FittedTable:
    """The means scaled once to the margin of a pair: what the first step of a fit with this pair gives."""
    axes = tuple(a for a in range(table.ndim) if a not in pair)
    wanted, now = (np.asarray(t.sum(axis=axes, keepdims=True)) for t in (table, fitted.mean))
    scaled = fitted.mean * np.divide(wanted, now, out=np.zeros_like(wanted), where=now > 0)
    return FittedTable(scaled, (*fitted.margins, pair), False)


def leverages(fitted: FittedTable) -> Floats:
    """xᵀ (Xᵀ diag(μ) X)⁻¹ x of every cell: how much one record more in the cell raises the logarithm of its own mean.

        l_k = Σ_pairs 1 / μ_pair(k) − Σ_j (d_j − 1) / μ_j(k) + (1 − J + P) / n      d_j: pairs with key j, P pairs of J keys

    This is exact if the model is decomposable. Otherwise only its sum over all records is, the number of parameters.
    """
    mean, keys = fitted.mean, fitted.mean.ndim
    pairs = fitted.interactions

    def inverse(margin: Margin) -> Floats:
        total = mean.sum(axis=tuple(a for a in range(keys) if a not in margin), keepdims=True)
        return np.asarray(np.divide(1.0, total, out=np.zeros_like(total), where=total > 0))

    out = np.full(mean.shape, (1 - keys + len(pairs)) / max(float(mean.sum()), 1e-300))
    for j in range(keys):
        out -= (sum(j in p for p in pairs) - 1) * inverse((j,))
    for pair in pairs:
        out += inverse(pair)
    return np.asarray(np.maximum(out, 0.0))


def _product(one: Sequence[Floats], other: Sequence[Floats]) -> float:
    return float(sum((a * b).sum() for a, b in zip(one, other, strict=True)))
