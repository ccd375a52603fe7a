"""A tree trained on the records of one file and tested on records of another, by its own columns as predictors.

    number:    R² = 1 − Σ (y − ŷ)² / Σ (y − ȳ)²          category:  share of records whose category is predicted
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Array, Column
from larvatus.data.microdata import Microdata, collect
from larvatus.stats.trees.tree import Predictor, fit_tree, tree_values


@dataclass(frozen=True, slots=True)
class TrainingFile:
    """The columns of a file in memory, with categories coded by one list of levels for all files."""

    record: Ints
    values: Mapping[str, Array]
    levels: Mapping[str, int]
    ordered: frozenset[str]

    def rows(self, keep: Ints) -> TrainingFile:
        """Some of the records, in the given order."""
        return TrainingFile(self.record[keep], {n: v[keep] for n, v in self.values.items()}, self.levels, self.ordered)

    def content_order(self) -> Ints:
        """The records by their values, so that the order of the file does not matter."""
        return np.lexsort([np.nan_to_num(tree_values(self.values[n]), nan=-np.inf) for n in sorted(self.values, reverse=True)])


def training_files(files: Sequence[Microdata], names: Sequence[str]) -> list[TrainingFile]:
    """The named columns of each file; the first file, the original, says which ones have an order."""
    columns = [{n: data.table.columns[n] for n in names} for data in files]
    levels = {n: tuple(dict.fromkeys(v for c in columns for v in c[n].levels)) for n in names}
    ordered = frozenset(n for n in names if n in files[0].roles.ordered)
    sizes = {n: len(levels[n]) for n in names}
    out = []
    for data, here in zip(files, columns, strict=True):
        record, _, values = collect(data, list(names))
        out.append(TrainingFile(record, {n: _recoded(values[n], here[n], levels[n]) for n in names}, sizes, ordered))
    return out


def _recoded(values: Array, column: Column, levels: Sequence[object]) -> Array:
    if column.kind == "number":
        return values
    place = {v: i for i, v in enumerate(levels)}
    return np.array([*(place[v] for v in column.levels), -1], dtype=np.int32)[values]


def predicted(train: TrainingFile, test: TrainingFile, target: str, smallest: int, complexity: float) -> Floats:
    """The target of each test record as a tree predicts it that was trained on the other columns of the training file."""
    y = train.values[target]
    number = y.dtype.kind == "f"
    there = np.flatnonzero(~np.isnan(y) if number else y >= 0)
    if len(there) == 0:
        return np.full(len(test.record), np.nan)
    others = [n for n in sorted(train.values) if n != target]
    predictors = [
        Predictor.of_numbers(train.values[n]) if train.values[n].dtype.kind == "f"
        else Predictor.of_levels(train.values[n], train.levels[n], n not in train.ordered)
        for n in others
    ]
    tree = fit_tree(predictors, y, "number" if number else "classes", there, min(smallest, len(there)), complexity)
    leaf = tree.leaf_of([tree_values(test.values[n]) for n in others], len(test.record))
    number_of_leaf = np.repeat(np.arange(len(tree.leaves.sizes)), tree.leaves.sizes)
    held = y[tree.leaves.rows]
    if number:
        return np.asarray((np.bincount(number_of_leaf, weights=held) / tree.leaves.sizes)[leaf])
    counts = np.zeros((len(tree.leaves.sizes), int(held.max()) + 1), dtype=np.int64)
    np.add.at(counts, (number_of_leaf, held), 1)
    return np.asarray(counts.argmax(axis=1)[leaf], dtype=np.float64)


def success(truth: Array, guess: Floats) -> float:
    """R² of a number, at least 0, or the share of categories predicted; NaN if there is nothing to predict."""
    if truth.dtype.kind != "f":
        there = truth >= 0
        return float((truth[there] == guess[there]).mean()) if there.any() else float("nan")
    there = ~np.isnan(truth)
    y = truth[there]
    whole = float(((y - y.mean()) ** 2).sum()) if len(y) else 0.0
    if whole == 0 or np.isnan(guess[there]).any():
        return float("nan") if whole == 0 else 0.0
    return max(1 - float(((y - guess[there]) ** 2).sum()) / whole, 0.0)


def cross_predicted(
    train: TrainingFile, test: TrainingFile, fold_of: tuple[Ints, Ints], folds: int, target: str, smallest: int,
    complexity: float,
) -> Floats:
    """Predictions for all test records, each by a tree that was trained without the records of its fold."""
    out = np.full(len(test.record), np.nan)
    for fold in range(folds):
        here = np.flatnonzero(fold_of[1] == fold)
        others = train.rows(np.flatnonzero(fold_of[0] != fold))
        if len(here) and len(others.record):
            out[here] = predicted(others, test.rows(here), target, smallest, complexity)
    return out
