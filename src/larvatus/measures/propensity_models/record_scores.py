"""The propensity score of every record of both files, by one model, for measures of how well it separates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.microdata import Microdata, collect
from larvatus.measures.propensity_models.files import TwoFiles, two_files
from larvatus.measures.propensity_models.logistic import SCORE, Model, fit_all, with_propensity
from larvatus.measures.propensity_models.trees import encode_files, tree_of
from larvatus.stats.models.design_terms import recipe_of

ScoreModel = Literal["cart", "logit"]
_MOST_TERMS, _RECORDS_PER_TERM, _DIGITS = 200, 10, 9


@dataclass(frozen=True, slots=True)
class RecordScores:
    """Scores of the records of both files; for each masked column alone too, if the model is a tree."""

    score: Floats
    released: Ints
    by_variable: dict[str, Floats]
    notes: tuple[str, ...]
    sampled: bool

    @property
    def share(self) -> float:
        """The share of released records, c."""
        return float(self.released.mean())


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """A model of the probability of being a released record."""

    model: ScoreModel
    columns: tuple[str, ...] | None
    smallest_leaf: int
    complexity: float
    sample: int


def record_scores(original: Microdata, released: Microdata, settings: ScoreSettings, random: RecordRandom) -> RecordScores:
    """Fit the model and score the records. The tree uses a random sample of large files."""
    files = two_files(original, released, settings.columns, False)
    return _by_logit(files) if settings.model == "logit" else _by_tree(files, settings, random)


def _by_tree(files: TwoFiles, settings: ScoreSettings, random: RecordRandom) -> RecordScores:
    data = encode_files(files, settings.sample, random)

    def scores(keep: Sequence[bool]) -> Floats:
        return tree_of(data, settings.smallest_leaf, settings.complexity, keep).share

    alone = {v.name: scores([w.name == v.name for w in data.variables]) for v in files.variables if v.masked}
    some = (f"fitted on {sum(data.rows):,} of {sum(files.rows):,} records",) if data.sampled else ()
    return RecordScores(scores([True] * len(data.variables)), data.released, alone, (*files.notes, *some), data.sampled)


def _by_logit(files: TwoFiles) -> RecordScores:
    """Main effects and products of pairs, as many as there are ten records for."""
    atoms = [a for v in files.variables for a in v.atoms()]
    most = max(sum(a.masked for a in atoms), min(_MOST_TERMS, min(files.rows) // _RECORDS_PER_TERM))
    recipe = recipe_of(atoms, 1, "first", most, False)
    released = np.repeat([0, 1], files.rows)
    if not recipe.terms:
        return RecordScores(np.full(len(released), files.share), released, {}, (*files.notes, "no masked column varies"), False)
    rows = recipe.first + np.arange(len(recipe.terms) + 1)
    fit = fit_all(files, recipe, [Model(rows, None, files.share)])[0]
    sides = [collect(data, [SCORE])[2][SCORE] for data in with_propensity(files, recipe, fit)]
    return RecordScores(np.round(np.concatenate(sides), _DIGITS), released, {}, files.notes, False)


def separation(score: Floats, released: Ints) -> float:
    """The largest distance between the distribution functions of the scores of both files (Kolmogorov and Smirnov)."""
    values, place = np.unique(score, return_inverse=True)
    counts = [np.bincount(place[released == side], minlength=len(values)) for side in (0, 1)]
    return float(np.abs(counts[0].cumsum() / counts[0].sum() - counts[1].cumsum() / counts[1].sum()).max())


def right_above_half(score: Floats, released: Ints) -> float:
    """The share of records that are assigned to their file, the mean over both files, less one half.

    A record is assigned to the release if its score is above the share of released records. A model that does worse than chance
    counts as one that does no better.
    """
    guess = score > float(released.mean()) * (1 + 1e-12)
    return max(float(guess[released == 1].mean() + (~guess[released == 0]).mean()) / 2 - 0.5, 0.0)
