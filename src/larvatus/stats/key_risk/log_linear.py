"""Log-linear models for the cells of a table of key variables, fitted by iterative proportional fitting.

    f_k ~ Poisson(μ_k),   log μ = sum of main effects and of two-way interactions, one for each margin M of the model

    For each margin in turn:   μ_k ← μ_k · f_M(k) / μ_M(k)                  (f_M, μ_M: sums over the cells that agree in M)

The table has a cell for every combination of the levels that occur, empty cells included.
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
_ROUNDS = 200
_CLOSE = 1e-8  # of the number of records


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
    for _ in range(1 if simple else _ROUNDS):
        worst = 0.0
        for axis, wanted in zip(axes, target, strict=True):
            now = mean.sum(axis=axis, keepdims=True)
            worst = max(worst, float(np.abs(wanted - now).max(initial=0.0)))
            mean *= np.divide(wanted, now, out=np.zeros_like(wanted), where=now > 0)
        if worst <= _CLOSE * max(total, 1.0):
            break
    return FittedTable(mean, tuple(margins), simple or worst <= _CLOSE * max(total, 1.0))


def design_rows(levels: Sequence[int], margins: Sequence[Margin], cells: Ints) -> Floats:
    """Dummy variables of some cells (cells × keys, as codes): intercept, main effects and interactions of the model."""
    columns = [np.ones(len(cells))]
    hot = [cells[:, j, None] == np.arange(1, levels[j]) for j in range(len(levels))]
    for j in range(len(levels)):
        columns += list(hot[j].T.astype(np.float64))
    for a, b in (m for m in margins if len(m) == 2):
        both = hot[a][:, :, None] & hot[b][:, None, :]
        columns += list(both.reshape(len(cells), -1).T.astype(np.float64))
    return np.array(columns).T
