"""Synthesise the columns of a sub-group one after another, each given S and the columns before it.

    y_j ~ leaf of (s, y_1, …, y_{j−1})   in the tree of x_j on (s, x_1, …, x_{j−1})

Trees are fitted to original values. Records find their leaf by S and the values that were drawn for them before. If missing
cells are drawn, so are their codes, such as -8 for refused: each code is one category more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch, stream_text
from larvatus.data.contracts import Array, Block
from larvatus.data.exposure.kinds_of_missing import code_in_cell
from larvatus.data.labelling.labels import code_column
from larvatus.masks.trees.columns import ABSENT_STAGE, TreeColumn
from larvatus.masks.trees.leaf_draws import draw_donors, one_valued, smoothed
from larvatus.stats.trees.tree import Predictor, fit_tree, tree_values


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """What the columns of a synthesis have in common."""

    smallest: int
    complexity: float
    smooth: bool
    draw_missing: bool


def mark_name(name: str) -> str:
    """The column that is 1 for records whose value was drawn from a leaf in which all have the same value."""
    return scratch("settled", name)


def synthesise(
    block: Block, kept: Sequence[TreeColumn], drawn: Sequence[TreeColumn], settings: TreeSettings, random: RecordRandom
) -> Mapping[str, Array]:
    """New values of the columns `drawn`, in their order, and for each the column `mark_name`."""
    so_far = _SoFar(block.record, settings, random, [c.predictor(block[c.name]) for c in kept],
                    [tree_values(block[c.name]) for c in kept])
    out: dict[str, Array] = {}
    for i, column in enumerate(drawn):
        x, mark = block[column.name], code_column(column.name)
        has_codes = settings.draw_missing and mark in block.values
        y, codes, sure = so_far.column(column, x, code_in_cell(block, column.name).astype(np.int64) if has_codes else None)
        out[column.name], out[mark_name(column.name)] = y, sure.astype(np.float64)
        out |= {mark: codes.astype(np.int32)} if has_codes else {}
        if i + 1 < len(drawn):
            so_far.predictors.append(column.predictor(x))
            so_far.values.append(tree_values(y))
    return out


@dataclass(slots=True)
class _SoFar:
    """A synthesis after some columns: original predictors, and the values of the synthetic records."""

    record: Ints
    settings: TreeSettings
    random: RecordRandom
    predictors: list[Predictor]
    values: list[Floats] = field(default_factory=list)

    def column(self, column: TreeColumn, x: Array, codes: Ints | None) -> tuple[Array, Ints, Bools]:
        """New values of a column, the codes of its missing cells, and whether all records of the leaf have the same value."""
        at, spikes = column.stages(x, self.settings.smallest)
        absent = np.isnan(x) if column.is_number else x < 0
        if codes is not None and not column.is_number:
            drawn, sure = self._categories(column, x, codes)
            return np.maximum(drawn, -1).astype(x.dtype), np.where(drawn < 0, -2 - drawn, -1), sure
        if codes is not None:  # a stage for each code, before that of empty cells
            at = np.where(absent, ABSENT_STAGE - 1 - codes, at)
        fitted = np.full(len(x), True) if self.settings.draw_missing else ~absent
        stage, sure = at.copy(), np.full(len(x), True)
        if len(np.unique(at[fitted])) > 1:
            stage[fitted], sure[fitted] = self._draw(column, "stage", at, at.astype(np.float64), fitted, fitted)
        new = np.where(stage < ABSENT_STAGE, ABSENT_STAGE - 1 - stage, -1)
        y = x.copy()
        if column.is_number:
            y[stage <= ABSENT_STAGE] = np.nan
            first = (stage > ABSENT_STAGE) & (stage <= len(spikes))
            y[first] = spikes[stage[first] - 1]
        wanted = fitted & (stage > len(spikes))
        if wanted.any():
            y[wanted], same = self._draw(column, "leaf", None, x, fitted & (at > len(spikes)), wanted)
            sure[wanted] &= same
        return y, new, sure

    def _categories(self, column: TreeColumn, x: Array, codes: Ints) -> tuple[Array, Bools]:
        """New categories, -1 if the cell is empty and -2, -3, … for its codes 0, 1, …"""
        target = np.where(codes >= 0, -2 - codes, x)
        every = np.full(len(x), True)
        return self._draw(column, "leaf", target, target.astype(np.float64), every, every)

    def _draw(
        self, column: TreeColumn, what: str, classes: Ints | None, x: Array, fitted: Bools, wanted: Bools
    ) -> tuple[Array, Bools]:
        """Draws for the records `wanted` from the leaves of a tree that is fitted to the rows `fitted`."""
        kind, target = ("classes", classes - min(classes.min(), 0)) if classes is not None else ("number", x)
        if classes is None and not column.is_number:
            kind, target = "classes", x + 1
        rows = np.flatnonzero(fitted)
        tree = fit_tree(self.predictors, target, kind, rows, self.settings.smallest, self.settings.complexity)  # type: ignore[arg-type]
        leaf = tree.leaf_of([v[wanted] for v in self.values], int(wanted.sum()))
        record = self.record[wanted]
        donors = draw_donors(tree.leaves, leaf, self.random.uniform(record, purpose=f"{what} {stream_text(column.name)}")[0])
        same = one_valued(tree.leaves, tree_values(x))[leaf]
        if kind == "number" and self.settings.smooth:
            noise = self.random.normal(record, purpose=f"smoothing {stream_text(column.name)}")[0]
            y = smoothed(x, tree.leaves, leaf, donors, noise)
            return np.rint(y) if column.integer else y, same
        return x[donors] if classes is None else classes[donors], same
