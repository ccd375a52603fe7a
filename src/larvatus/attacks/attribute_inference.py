"""Predict a confidential value of a target from its other values, with models fitted to the release.

    Success for column j of target i:  |m̂_j(x_i,−j , s_i) − x_ij| ≤ tolerance · sd(x_j),  with m̂_j fitted to (Y, S);
    for a categorical column, arg max_k m̂_jk = x_ij with m̂_jk fitted to the indicator of category k.
    Baselines:  S alone  m̂_j(s_i), fitted without record i;   X alone  m̂_j(x_i,−j);
                chance   the released mean of column j over the other records, or their most frequent category.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import credits_to_score
from larvatus.attacks.linkage.joined_releases import with_average
from larvatus.attacks.linkage.linkage_keys import TARGET, Keys, keys_of
from larvatus.attacks.linkage.target_sample import QUICK_ATTACK_TARGETS, Targets
from larvatus.attacks.scoring.credits import (
    CHANCE,
    OUTLYING,
    S_ALONE,
    SUCCESS,
    X_ALONE,
    distance_from_centre,
    outlyingness,
)
from larvatus.attacks.values.decoded_labels import with_decoded_labels
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.alignment import common_numbers
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.design import MOST_LEVELS, design_of
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.steps import codes_in
from larvatus.data.verbs import map_groups, with_table
from larvatus.stats.estimates.unequal_sampling import hajek_mean

_FITTED = (SUCCESS, S_ALONE, X_ALONE)  # figures of fitted models; chance is the released mean
_CELLS = 10_000_000  # results of models that are held at once, unless one column has more


class AttributeInference(Attack):
    """The intruder knows some columns of a target, fits models to the release, and predicts an unknown column.

    Each confidential column is predicted in turn from S and the other known confidential columns, with a ridge regression and
    with the nearest and the five nearest released records. The most successful model is reported; models on S alone compete
    too. A prediction succeeds if it lies within `tolerance` standard deviations of the original value; for a category, if it
    is the original one. The baseline S alone
    is the best of the same models without the known confidential columns, fitted without the target; chance is the success of
    the released mean of the others. Part
    of what a model finds is true of the population and could be learnt without the target's record, so only the gain over
    the baselines is due to the release. One model serves all targets, for which the interval allows.

    Look at it if the intruder has some values of a person and wants another one. It says little about re-identification: a good
    prediction may come from a relation that is worth publishing.

    Parameters:
        columns: predict only these confidential columns (default: the columns not in intruder.known; if that is empty, each
            column in turn from all others).
        tolerance: largest error of a successful prediction, in standard deviations of the original values in the sub-group.
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = QUICK_ATTACK_TARGETS
    shares_estimates: ClassVar[bool] = True
    assumes: ClassVar[str] = (
        "The intruder knows S and the other confidential values of every target, as far as stated, and fits ordinary models "
        "to the release that contains the target."
    )

    columns: tuple[str, ...] | None = Field(default=None, description="predict only these confidential columns (default: all)")
    tolerance: Annotated[float, Field(gt=0, le=10)] = Field(
        default=0.1, description="largest error of a successful prediction, in standard deviations"
    )
    targets: Targets = None

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        from larvatus.stats.models.attribute_predictors import MODELS

        release, decoded = with_decoded_labels(original, release, random)
        original, release = with_average(original, release)
        data = release.data
        keys = keys_of("attribute_inference", original, release, intruder, random, self.targets, needed=False)
        classes = _categories(original, data)
        names = common_numbers(original, data) if not classes or data.numeric(data.confidential) else ()
        asked = self._asked((*names, *classes), intruder)
        found: dict[str, NDArray[np.int8]] = {}
        sample = keys.sample
        where = None if sample is None else (lambda block: sample.contains(block.record))
        step = max(1, _CELLS // (max(data.rows, 1) * (len(_FITTED) * len(MODELS) + 1)))
        for some in (asked[i : i + step] for i in range(0, len(asked), step)):
            made = [*(_cell(figure, n, i) for figure in _FITTED for n in some for i in range(len(MODELS))),
                    *(_cell(CHANCE, n, 0) for n in some)]
            predicted = self._predicted(original, keys, names, classes, some, made)
            back = with_table(data, data.table.pair(predicted.table, {n: n for n in (*made, OUTLYING)}))
            record, _, values = collect(back, made, where)
            found |= {n: np.where(np.isnan(values[n]), -1, values[n]).astype(np.int8) for n in made}
            every, group, far = collect(back, [OUTLYING])
        weight, place = keys.weight_of(record), np.searchsorted(every, record)

        def credit(figure: str, name: str, model: int) -> Floats:
            success = found[_cell(figure, name, model)]
            return np.where(success < 0, np.nan, success)

        means = {(figure, i): _mean([credit(figure, n, i) for n in asked]) for figure in _FITTED for i in range(len(MODELS))}

        def share(success: Floats) -> float:
            there = ~np.isnan(success)
            return hajek_mean(success[there], None if weight is None else weight[there]) if there.any() else 0.0

        def best_model(figure: str) -> tuple[str, int]:
            return max(((figure, i) for i in range(len(MODELS))), key=lambda k: share(means[k]))

        both, s_alone, x_alone = (best_model(figure) for figure in _FITTED)
        best = both if share(means[both]) >= share(means[s_alone]) else s_alone
        chance = _mean([credit(CHANCE, n, 0) for n in asked])
        credits = {SUCCESS: means[best], S_ALONE: means[s_alone], X_ALONE: means[x_alone], CHANCE: chance}
        credits = {figure: _at(place, of, len(every)) for figure, of in credits.items()} | far
        unused = [f"{n} is not predicted: it has more than {MOST_LEVELS} categories, or has changed its type"
                  for n in data.confidential if n not in (*names, *classes)]
        unused += [*decoded, *keys.notes, *intruder.fields_without_effect("presence", "guesses")]
        score = credits_to_score(
            self, "share of confidential values predicted closely from the others", data, group, credits, unused,
            keys.weight_of(every),
        )
        by_variable: list[Row] = [{
            "variable": n, "value": share(credit(best[0], n, best[1])), "chance": share(credit(CHANCE, n, 0)),
            "s_alone": share(credit(S_ALONE, n, s_alone[1])),
        } for n in asked]
        models: list[Row] = [
            {"model": model, "value": share(means[SUCCESS, i]), "s_alone": share(means[S_ALONE, i])}
            for i, model in enumerate(MODELS)
        ]
        population = ("this figure includes what statistics reveal about anyone, in the file or not; it rises if the release "
                      "preserves relations between columns")
        return replace(
            score, by_variable=Rows.of(by_variable), details={**score.details, "models": Rows.of(models)}, decides=False,
            notes=(*score.notes, population),
        )

    def _asked(self, names: Sequence[str], intruder: Intruder) -> list[str]:
        for name in self.columns or ():
            if name not in names:
                raise RiskError(f"{name!r} is not a confidential column that can be predicted; "
                                f"{nearest_names(name, names)}", subject="attribute_inference.columns")
        if self.columns:
            return list(self.columns)
        known = intruder.columns(tuple(names), ())[0]
        return [n for n in names if n not in known] or list(names)

    def _predicted(
        self, original: Microdata, keys: Keys, names: Sequence[str], classes: Mapping[str, Array], asked: Sequence[str],
        made: Sequence[str],
    ) -> Microdata:
        """The pool with the success of each model, by predicted column and by the columns it used."""
        from larvatus.stats.models.attribute_predictors import MODELS, category_predictions, predictions

        wanted = {scratch("original", n): n for n in (*names, *classes)}
        originals = [scratch("original", n) for n in names]
        joined = with_table(keys.joined, keys.joined.table.pair(original.table, wanted))
        design = design_of(joined, keys.exact, frequent=True)
        centres = outlyingness(joined, originals)
        soft = [n for n in keys.soft if n not in keys.codes]

        def predict(group: int, block: Block) -> Mapping[str, Array]:
            chosen = block[TARGET] == 1
            s = np.hstack([design.matrix(group, block), block.matrix(soft)])
            held_s = np.hstack([design.matrix(group, block), block.matrix([keys.known_column(n) for n in soft])])
            out = {n: np.full(len(block), np.nan) for n in made}
            for n in asked:
                others = [m for m in keys.numbers if m != n]
                y, x = block.matrix(others), block.matrix([keys.known_column(m) for m in others])
                truth = block[scratch("original", n)]
                if n in classes:
                    truth = classes[n][truth].astype(np.float64)
                    truth[block[scratch("original", n)] < 0] = np.nan
                near = self._near(truth) if n not in classes else np.full(len(truth), 0.5)
                model = predictions if n not in classes else category_predictions
                released = block[n].astype(np.float64) if n not in classes else np.where(block[n] < 0, np.nan, block[n])
                tried = chosen & ~np.isnan(truth)
                for figure, train, test in (
                    (SUCCESS, np.hstack([y, s]), np.hstack([x, held_s])), (S_ALONE, s, held_s), (X_ALONE, y, x),
                ):
                    own = np.flatnonzero(tried) if figure == S_ALONE else None
                    predicted = model(train, released, test[tried], own)
                    for i in range(len(MODELS)):
                        out[_cell(figure, n, i)][tried] = np.abs(predicted[i] - truth[tried]) <= near[tried]
                none = np.zeros((len(block), 0))
                mean = model(none, released, none[tried], np.flatnonzero(tried))[0]
                out[_cell(CHANCE, n, 0)][tried] = np.abs(mean - truth[tried]) <= near[tried]
            return {**out, OUTLYING: distance_from_centre(*centres[group], block, originals)}

        columns = list(dict.fromkeys([*wanted, *wanted.values(), *design.columns, *keys.columns]))
        return map_groups(joined, predict, columns, [Column(n, "number") for n in (*made, OUTLYING)])

    def _near(self, truth: Floats) -> Floats:
        there = truth[~np.isnan(truth)]
        sd = float(there.std()) if len(there) and float(there.max()) > float(there.min()) else 0.0
        return np.asarray(np.maximum(self.tolerance * sd, 1e-9 * np.abs(truth)))


def _categories(original: Microdata, data: Microdata) -> dict[str, Array]:
    """Categorical confidential columns that can be predicted, with the code in the release of each original category."""
    mine, theirs = original.table.columns, data.table.columns
    return {
        n: codes_in(mine[n], theirs[n]) for n in data.confidential
        if n in mine and mine[n].kind == theirs[n].kind == "nominal" and len(theirs[n].levels) <= MOST_LEVELS
    }


def _cell(figure: str, name: str, model: int) -> str:
    """The scratch column with the success of one model for one predicted column."""
    return scratch(f"model {model}", f"{figure} {name}")


def _at(place: Ints, values: Floats, size: int) -> Floats:
    """Values at their places among all records; NaN elsewhere."""
    out = np.full(size, np.nan)
    out[place] = values
    return out


def _mean(columns: Sequence[Floats]) -> Floats:
    """Mean of the values present, record by record."""
    table = np.array(columns)
    count = (~np.isnan(table)).sum(axis=0)
    return np.asarray(np.where(count > 0, np.nansum(table, axis=0) / np.maximum(count, 1), np.nan))
