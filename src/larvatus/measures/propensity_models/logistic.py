"""Logistic regressions of file membership, many at once, by reductions over the two files.

    logit Pr(released | z) = β₀ + Σ_k β_k t_k(z), unpenalised, by Newton steps with step halving
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import map_rows, reduce_groups
from larvatus.measures.propensity_models.files import TwoFiles, fill_design
from larvatus.stats.models.design_terms import Recipe
from larvatus.stats.models.logistic import LogisticFit, Newton, Sums, sums_at

_STEP = 2048
SCORE = scratch("propensity score")


@dataclass(frozen=True, slots=True)
class Model:
    """The terms to fit (rows of the design), over all records or over one sub-group (its numbers in the two files)."""

    rows: Ints
    group: tuple[int, int] | None
    share: float


def fit_all(files: TwoFiles, recipe: Recipe, models: Sequence[Model]) -> list[LogisticFit]:
    """Fit every model; each round is one pass over each file and one Newton step of every unfinished model."""
    newtons = [Newton(len(m.rows), m.share) for m in models]
    while any(n.fit is None for n in newtons):
        open_ = [i for i, n in enumerate(newtons) if n.fit is None]
        found: dict[int, Sums] = {}
        for side in (0, 1):
            for i, sums in _pass(files, recipe, side, {i: (models[i], newtons[i].asks()) for i in open_}).items():
                found[i] = found[i] + sums if i in found else sums
        for i in open_:
            newtons[i].tell(found[i])
    return [n.fit for n in newtons if n.fit is not None]


_Asked = Mapping[int, tuple[Model, NDArray[np.float64]]]


def _pass(files: TwoFiles, recipe: Recipe, side: int, asked: _Asked) -> dict[int, Sums]:
    """The sums of one file for each model, added in the order of its sub-groups."""
    data = files.sides[side]
    rows = _rows_by_variable(recipe)
    wanted = {g: [i for i, (m, _) in asked.items() if m.group is None or m.group[side] == g] for g in range(len(data.groups))}

    def sums(group: int, block: Block) -> dict[int, Sums]:
        out: dict[int, Sums] = {}
        if not wanted[group]:
            return out
        width = min(_STEP, len(block))
        design, room = np.empty((recipe.rows, width)), np.empty((recipe.rows, width))
        for low in range(0, len(block), _STEP):
            high = min(low + _STEP, len(block))
            if high - low < width:
                design, room = design[:, : high - low].copy(), room[:, : high - low].copy()
                width = high - low
            fill_design(files.variables, rows, side, block, low, high, design)
            recipe.multiply(design)
            for i in wanted[group]:
                model, at = asked[i]
                terms = _chosen(design, model.rows)
                more = sums_at(terms, at, float(side), model.share, room[: len(terms)])
                out[i] = out[i] + more if i in out else more
        return out

    total: dict[int, Sums] = {}
    for part in reduce_groups(data, files.columns, sums, _added):
        for i, more in part.items():
            total[i] = total[i] + more if i in total else more
    return total


def _chosen(design: NDArray[np.float64], rows: Ints) -> NDArray[np.float64]:
    """Rows of a design; a view instead of a copy if they are the last rows."""
    return design[rows[0] :] if len(rows) == len(design) - rows[0] else design[rows]


def _added(one: dict[int, Sums], other: dict[int, Sums]) -> dict[int, Sums]:
    return {i: one[i] + other[i] for i in one}


def _rows_by_variable(recipe: Recipe) -> dict[str, list[int]]:
    out: dict[str, list[int]] = {}
    for atom, row in zip(recipe.atoms, recipe.row_of, strict=True):
        out.setdefault(atom.variable, []).append(row)
    return out


def with_propensity(files: TwoFiles, recipe: Recipe, fit: LogisticFit) -> tuple[Microdata, Microdata]:
    """Both files with the propensity score of every record as a column."""
    rows = _rows_by_variable(recipe)

    def score(side: int, block: Block) -> Mapping[str, Array]:
        out = np.empty(len(block))
        for low in range(0, len(block), _STEP):
            high = min(low + _STEP, len(block))
            design = np.empty((recipe.rows, high - low))
            fill_design(files.variables, rows, side, block, low, high, design)
            recipe.multiply(design)
            out[low:high] = 0.5 + 0.5 * np.tanh(fit.coefficient @ design[recipe.first :] / 2)
        return {SCORE: out}

    def side_of(side: int) -> Microdata:
        return map_rows(files.sides[side], lambda g, b: score(side, b), files.columns, [Column(SCORE, "number")])

    return side_of(0), side_of(1)
