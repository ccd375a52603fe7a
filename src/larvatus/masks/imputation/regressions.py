"""The regression of X on S in every sub-group, from reductions, and keyed draws of its coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block
from larvatus.data.design import Design
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import reduce_groups
from larvatus.stats.linear.bayesian_regression import (
    Regression,
    RegressionDraw,
    draws_needed,
    line_of,
    posterior_draw,
    regress,
    spread_basis,
)
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.linear.portable_algebra import product

_NAMED, _NOTABLE = 5, 1e-6


def regressions(data: Microdata, names: Sequence[str], design: Design) -> list[Regression]:
    """X on S in each sub-group: each column over its present values, residual covariances over pairs of present values."""
    gaps = [n for n in names if data.table.columns[n].missing]
    whole = [n for n in names if n not in gaps]
    columns = list(dict.fromkeys([*names, *design.columns]))

    def first(group: int, block: Block) -> list[SampleMoments]:
        s = design.matrix(group, block)
        parts = [SampleMoments.of(np.hstack([block.matrix(whole), s]))]
        for n in gaps:
            there = ~np.isnan(block[n])
            parts.append(SampleMoments.of(np.hstack([block[n][there, None], s[there]])))
        return parts

    found = reduce_groups(data, columns, first, lambda a, b: [SampleMoments.merge(x, y) for x, y in zip(a, b, strict=True)])
    lines = [
        tuple(
            line_of(parts[1 + gaps.index(n)], 0, 1) if n in gaps else line_of(parts[0], whole.index(n), len(whole))
            for n in names
        )
        for parts in found
    ]
    slopes = [np.array([line.slope for line in here]).reshape(len(names), len(design.terms)).T for here in lines]
    centres = [np.array([line.centre - product(line.at, line.slope) for line in here]) for here in lines]

    def second(group: int, block: Block) -> SampleMoments:
        return SampleMoments.of(block.matrix(names) - centres[group] - product(design.matrix(group, block), slopes[group]))

    residuals = reduce_groups(data, columns, second, SampleMoments.merge)
    return [
        regress(lines[g], residuals[g], spread_basis(parts[0], len(whole))) for g, parts in enumerate(found)
    ]


def draw_coefficients(fits: Sequence[Regression], data: Microdata, random: RecordRandom, asked_by: str) -> list[RegressionDraw]:
    """One keyed draw of the coefficients of every sub-group."""
    out = []
    for g, fit in enumerate(fits):
        if fit.factor.shape[1] and fit.freedom < fit.factor.shape[1] + 2:
            raise MaskError(
                f"{asked_by}: sub-group ({data.groups.name(g)}) has {fit.freedom:g} residual degrees of freedom for "
                f"{fit.factor.shape[1]} confidential columns given {fit.basis.shape[1]} terms of S, but "
                f"{fit.factor.shape[1] + 2} are needed. Pool small sub-groups (small = \"pool\"), or drop a column."
            )
        normals, uniforms = draws_needed(fit)
        key = np.array([g], dtype=np.int64)
        out.append(posterior_draw(
            fit, random.normal(key, max(normals, 1), purpose="posterior")[:, 0],
            random.uniform(key, max(uniforms, 1), purpose="posterior scale")[:, 0],
        ))
    return out


def expected_values(draw: RegressionDraw, design: Design, group: int, block: Block) -> NDArray[np.float64]:
    """Columns × rows: E(X | S) under drawn coefficients."""
    from larvatus.stats.linear.row_maps import rows_times_weights

    terms = np.vstack([np.ones((1, len(block))), design.matrix(group, block).T])
    return rows_times_weights(terms, np.vstack([draw.intercept[None], draw.slope]))


def with_missing_unchanged(block: Block, names: Sequence[str], values: Sequence[Array]) -> Mapping[str, Array]:
    """New values by column; values that were missing stay missing."""
    return {n: np.where(np.isnan(block[n]), np.nan, y) for n, y in zip(names, values, strict=True)}


def fit_notes(data: Microdata, names: Sequence[str], fits: Sequence[Regression]) -> list[Note]:
    """Notes on columns that S determines, and on pairwise correlations that had to be repaired."""
    notes = []
    for j, name in enumerate(names):
        where = [g for g, fit in enumerate(fits) if fit.fixed[j] and fit.lines[j].count]
        if where:
            named = "; ".join(f"({data.groups.name(g)})" for g in where[:_NAMED]) + (" …" if len(where) > _NAMED else "")
            notes.append(Note(
                f"{name} does not vary beyond what S determines in sub-group {named} and is released as it is", "status"
            ))
    repaired = [fit.repaired for fit in fits if fit.repaired > _NOTABLE]
    if repaired:
        notes.append(Note(
            f"missing values: the pairwise correlations of {len(repaired)} sub-groups do not form a correlation matrix; they "
            f"were moved to the nearest one (by {max(repaired):.2g} at most)"
        ))
    return notes
