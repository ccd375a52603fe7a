"""Train a model on released records and test it on original ones (train on synthetic, test on real).

    loss of a target = max(0, success of the model trained on the original − success of the model trained on the release)

Success is R² for a number and the share of right predictions for a category, on original records that neither model was
trained on: records held out, or the fold of the original that was left out. The comparison is that of Esteban, Hyland and
Rätsch 2017, with trees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import UtilityError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.data.verbs import take_share
from larvatus.measures.training.trained_models import (
    TrainingFile,
    cross_predicted,
    predicted,
    success,
    training_files,
)

Tests = Sequence[tuple[TrainingFile, Callable[[str], Floats]]]  # for either model: the records it is tested on, its guesses


class SyntheticTraining(Measure):
    """Predict a column of original records by a tree that was trained on the release, and by one trained on the original.

    The loss of a target is how much worse the model trained on the release does: the difference of R² for a number, and of the
    share of right predictions for a category. All other columns predict. Both models are tested on original records that they
    were not trained on. If records were held out, these are the test. Otherwise the files are divided into folds, a released
    record and its original are in the same fold, and each fold is predicted from the others. The value is the mean over
    targets.

    Look at it if users train models. A target that cannot be predicted from the original loses nothing.

    Parameters:
        targets: columns to predict (default: all masked columns).
        folds: number of parts, each predicted from the others, if no records were held out.
        smallest_leaf: smallest number of records in a leaf of the tree.
        complexity: share of the impurity of the whole that a branch must remove for each of its divisions.
        sample: largest number of records of either file.
    """

    decides: ClassVar[bool] = False
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})

    targets: tuple[str, ...] | None = Field(default=None, description="columns to predict (default: all masked columns)")
    folds: Annotated[int, Field(ge=2, le=20)] = Field(
        default=5, description="number of parts, each predicted from the others, if no records were held out"
    )
    smallest_leaf: Annotated[int, Field(ge=1)] = Field(default=20, description="smallest number of records in a leaf")
    complexity: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.001, description="share of the impurity that a branch must remove for each of its divisions"
    )
    sample: Annotated[int, Field(ge=100)] = Field(default=50_000, description="largest number of records of either file")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(folds=3, complexity=0.01)

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        columns = original.table.columns
        return [(n,) for n in self.targets or original.confidential if columns[n].kind in self.handles]

    def restrict_to(self, parts: Sequence[tuple[str, ...]]) -> Self:
        return self if self.targets is None else self.model_copy(update={"targets": tuple(p[0] for p in parts)})

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names, targets = self._columns(original, release.data)
        share = min(1.0, self.sample / max(original.rows, release.data.rows))
        held = [] if original.holdout is None else [original.holdout]
        sides = [take_share(data, share, random) for data in (original, release.data)]
        before, after, *tested = (f.rows(f.content_order()) for f in training_files([*sides, *held], names))
        tests = self._on_holdout(before, after, tested[0]) if tested else self._by_folds(before, after, release.is_paired)
        rows: list[Row] = []
        for target in targets:
            own, other = (success(truth.values[target], guess(target)) for truth, guess in tests)
            if own == own:
                rows.append({"variable": target, "loss": max(own - other, 0.0), "original": own, "released": other})
        tried = "records held out" if tested else "original records"
        return Score(
            self.name(), "loss", mean_of(rows), f"how much worse {tried} are predicted by models trained on the release",
            self.settings(), by_variable=Rows.of(rows), sampled=share < 1,
            notes=() if rows else (f"no target varies in the {tried}",),
        )

    def _on_holdout(self, before: TrainingFile, after: TrainingFile, held: TrainingFile) -> Tests:
        """Both models are trained on whole files and predict the records held out."""
        return [(held, partial(self._predicted, train, held)) for train in (before, after)]

    def _by_folds(self, before: TrainingFile, after: TrainingFile, paired: bool) -> Tests:
        """Each fold of the original is predicted by models trained on the other folds of either file."""
        folds = fold_numbers(before, after, self.folds, paired)

        def guess(train: TrainingFile, fold: Ints, target: str) -> Floats:
            return cross_predicted(train, before, (fold, folds[0]), self.folds, target, self.smallest_leaf, self.complexity)

        return [(before, partial(guess, train, fold)) for train, fold in zip((before, after), folds, strict=True)]

    def _predicted(self, train: TrainingFile, test: TrainingFile, target: str) -> Floats:
        return predicted(train, test, target, self.smallest_leaf, self.complexity)

    def _columns(self, original: Microdata, released: Microdata) -> tuple[list[str], list[str]]:
        """The columns of both files, and the targets among them."""
        mine, theirs = original.table.columns, released.table.columns
        names = sorted(n for n in original.released if n != original.roles.weight and n in theirs
                       and mine[n].kind == theirs[n].kind)
        for name in self.targets or ():
            if name not in names:
                raise UtilityError(f"{name!r} is not a column that both files have; {nearest_names(name, names)}",
                                   subject=f"{self.name()}.targets")
        targets = [n for n in names if n in (self.targets or original.confidential)]
        if not targets or len(names) < 2:
            raise UtilityError("needs a masked column and another column to predict it from, and the files have none in "
                               "common.", subject=self.name())
        return names, targets


def fold_numbers(before: TrainingFile, after: TrainingFile, folds: int, paired: bool) -> tuple[Ints, Ints]:
    """The fold of every record of both files: by content, and for paired records that of the original."""
    mine = np.arange(len(before.record)) % folds
    theirs = np.arange(len(after.record)) % folds
    if paired:
        order = np.argsort(before.record)
        place = order[np.minimum(np.searchsorted(before.record, after.record, sorter=order), len(order) - 1)]
        theirs = np.where(before.record[place] == after.record, mine[place], theirs)
    return mine, theirs
