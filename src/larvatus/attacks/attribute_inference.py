"""Predict a confidential value of a target from what is known of it, by models fitted to the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import ALONE, BY_X, EVEN, HIT, OUT, credits_to_score
from larvatus.attacks.linkage.joined_releases import with_average
from larvatus.attacks.linkage.linkage_keys import TARGET, Keys, keys_of
from larvatus.attacks.scoring.credits import distance_from_centre, outlyingness
from larvatus.core.arrays import Floats
from larvatus.core.errors import RiskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.alignment import common_numbers
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.design import design_of
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

_KINDS = (HIT, ALONE, BY_X)


class AttributeInference(Attack):
    """The intruder knows some columns of a target, fits models to the release, and predicts a column it does not know.

    Each confidential column is predicted in turn from the others that are known and from S, by a ridge regression and by the
    one and the five nearest released records; the most successful model, those on S alone among them, is reported. A
    prediction succeeds when it comes within `tolerance` standard deviations of the original. S alone is the best that models
    of the same kinds do without the known confidential columns, chance what the released mean does: part of what a model
    finds holds for the population and would be found without the target's record, and only the gain over these belongs to
    the release.

    Parameters:
        columns: predict only these confidential columns; all that are not known where intruder.known names some, else each
            in turn from all others.
        tolerance: how close a prediction must come, in standard deviations of the originals in the sub-group.
        targets: try about this many records, drawn by record id, instead of all.
    """

    assumes: ClassVar[str] = (
        "Knows S and the other confidential values of every target, or what the intruder holds of them, and fits ordinary "
        "models to the release in which the target is."
    )

    columns: tuple[str, ...] | None = Field(default=None, description="predict only these confidential columns")
    tolerance: Annotated[float, Field(gt=0, le=10)] = Field(default=0.1, description="how close is success, in deviations")
    targets: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="about how many records to try; all where none is given"
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        from larvatus.stats.models.attribute_predictors import MODELS

        original, release = with_average(original, release)
        data = release.data
        keys = keys_of("attribute_inference", original, release, intruder, random, self.targets, needed=False)
        names = common_numbers(original, data)
        asked = self._asked(names, intruder)
        made = [_cell(kind, n, i) for kind in _KINDS for n in asked for i in range(len(MODELS))]
        made += [_cell(EVEN, n, 0) for n in asked]
        found = self._predicted(original, keys, names, asked, made)
        _, group, values = collect(data.holding(data.table.pair(found.table, {n: n for n in (*made, OUT)})), [*made, OUT])
        means = {
            (kind, i): _mean([values[_cell(kind, n, i)] for n in asked]) for kind in _KINDS for i in range(len(MODELS))
        }
        alone = max((k for k in means if k[0] == ALONE), key=lambda k: _share(means[k]))
        by_x = max((k for k in means if k[0] == BY_X), key=lambda k: _share(means[k]))
        both = max(((HIT, i) for i in range(len(MODELS))), key=lambda k: _share(means[k]))
        best = both if _share(means[both]) >= _share(means[alone]) else alone
        credits = {HIT: means[best], ALONE: means[alone], BY_X: means[by_x], OUT: values[OUT],
                   EVEN: _mean([values[_cell(EVEN, n, 0)] for n in asked])}
        unused = [f"{n} holds names and is not predicted" for n in data.confidential if n not in names]
        unused += [*keys.notes, *intruder.unused("presence", "guesses")]
        score = credits_to_score(self, "share of confidential values predicted closely from the others", data, group, credits,
                                 unused,
                       self.targets)
        by_variable: list[Row] = [{
            "variable": n, "value": _share(values[_cell(best[0], n, best[1])]), "chance": _share(values[_cell(EVEN, n, 0)]),
            "s_alone": _share(values[_cell(ALONE, n, alone[1])]),
        } for n in asked]
        models: list[Row] = [
            {"model": model, "value": _share(means[HIT, i]), "s_alone": _share(means[ALONE, i])}
            for i, model in enumerate(MODELS)
        ]
        told = "what statistics tell of anyone counts here too, whether in the file or not: relations that are kept raise it"
        return replace(
            score, by_variable=Rows.of(by_variable), details={**score.details, "models": Rows.of(models)}, weighs=False,
            notes=(*score.notes, told),
        )

    def _asked(self, names: Sequence[str], intruder: Intruder) -> list[str]:
        for name in self.columns or ():
            if name not in names:
                raise RiskError(f"attribute_inference.columns: {name!r} is not a numeric confidential column of the release; "
                                f"{nearest_names(name, names)}")
        if self.columns:
            return list(self.columns)
        known = intruder.columns(tuple(names), ())[0]
        return [n for n in names if n not in known] or list(names)

    def _predicted(
        self, original: Microdata, keys: Keys, names: Sequence[str], asked: Sequence[str], made: Sequence[str]
    ) -> Microdata:
        """The pool with whether each model came close, by column and by what it was given."""
        from larvatus.stats.models.attribute_predictors import MODELS, predictions

        originals = {scratch("original", n): n for n in names}
        joined = keys.joined.holding(keys.joined.table.pair(original.table, originals))
        design = design_of(joined, keys.exact)
        centres = outlyingness(joined, list(originals))
        soft = [n for n in keys.soft if n not in keys.codes]

        def predict(group: int, block: Block) -> Mapping[str, Array]:
            chosen = block[TARGET] == 1
            s = np.hstack([design.matrix(group, block), block.matrix(soft)])
            held_s = np.hstack([design.matrix(group, block), block.matrix([keys.held(n) for n in soft])])
            out = {n: np.full(len(block), np.nan) for n in made}
            for n in asked:
                others = [m for m in keys.numbers if m != n]
                y, x = block.matrix(others), block.matrix([keys.held(m) for m in others])
                truth = block[scratch("original", n)]
                near = self._near(truth)
                tried = chosen & ~np.isnan(truth)
                for kind, train, test in (
                    (HIT, np.hstack([y, s]), np.hstack([x, held_s])), (ALONE, s, held_s), (BY_X, y, x),
                ):
                    guess = predictions(train, block[n], test[tried])
                    for i in range(len(MODELS)):
                        out[_cell(kind, n, i)][tried] = np.abs(guess[i] - truth[tried]) <= near[tried]
                mean = predictions(np.zeros((len(block), 0)), block[n], np.zeros((int(tried.sum()), 0)))[0]
                out[_cell(EVEN, n, 0)][tried] = np.abs(mean - truth[tried]) <= near[tried]
            return {**out, OUT: distance_from_centre(*centres[group], block, list(originals))}

        columns = list(dict.fromkeys([*originals, *names, *design.columns, *keys.columns]))
        return joined.map_groups(predict, columns, [Column(n, "number") for n in (*made, OUT)])

    def _near(self, truth: Floats) -> Floats:
        there = truth[~np.isnan(truth)]
        sd = float(there.std()) if len(there) and float(there.max()) > float(there.min()) else 0.0
        return np.asarray(np.maximum(self.tolerance * sd, 1e-9 * np.abs(truth)))


def _cell(kind: str, name: str, model: int) -> str:
    return scratch(f"model {model}", scratch(kind, name))


def _mean(columns: Sequence[Floats]) -> Floats:
    """Means of the values that are there, record by record."""
    table = np.array(columns)
    count = (~np.isnan(table)).sum(axis=0)
    return np.asarray(np.where(count > 0, np.nansum(table, axis=0) / np.maximum(count, 1), np.nan))


def _share(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else 0.0
