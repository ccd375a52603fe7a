"""Absolute change of Pearson correlations, over the pairs of columns with at least one masked column.

    loss of a pair = |r(y_a, y_b) − r(x_a, x_b)|
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from larvatus.core.errors import UtilityError
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups, common_numbers, common_terms
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Rows, Score, mean_of
from larvatus.data.verbs import moments_by_group
from larvatus.data.weights import weight_column, weighted_moments
from larvatus.measures.scoring.correlation_pairs import (
    NO_PAIRS,
    SHOWN,
    by_variable,
    column_pairs,
    compared_pairs,
    in_groups,
    pair_rows,
)
from larvatus.stats.linear.moments import SampleMoments


class Correlation(Measure):
    """Compare Pearson correlations among confidential columns, and between confidential and non-confidential columns.

    The loss of a pair is the absolute difference of its correlations; the value is the mean over pairs. Missing values are
    left out pair by pair. A pair with a constant column in the original is not counted. A pair with a column that became
    constant or blank counts as lost, with a loss of 1.

    Look at it if users run linear regressions or factor analyses. It misses relations that are not linear, and reacts to few
    extreme records.

    Parameters:
        weighted: use the survey weight.
        shown: number of sub-groups whose pairs are reported, those that changed most.
    """

    weighted: bool = Field(default=False, description="use the survey weight")
    shown: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=SHOWN, description="number of sub-groups whose pairs are reported"
    )

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        return column_pairs(original, released)

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        before, after, terms = common_terms(original, release.data)
        labels = (*names, *terms.values())
        columns = [*names, *terms]
        moments = [self._moments(data, columns) for data in (before, after)]
        whole = [SampleMoments.total(m).correlation for m in moments]
        rows, pairs = pair_rows(labels, len(names), *whole), compared_pairs(len(names), whole[0])
        groups, worst = in_groups(labels, len(names), [
            (name, original.groups.sizes[a], moments[0][a].correlation, moments[1][b].correlation)
            for name, a, b in common_groups(original, release.data)
        ], self.shown)
        return Score(
            "correlation", "loss", mean_of(rows), "mean absolute change of correlations over pairs", self.settings(),
            by_pair=Rows.of(rows), by_group=groups, by_variable=by_variable(labels, rows, pairs),
            details={"sub_group_pairs": worst} if len(worst) else {}, notes=() if rows else (NO_PAIRS,),
        )

    def _moments(self, data: Microdata, columns: list[str]) -> list[SampleMoments]:
        if not self.weighted:
            return moments_by_group(data, columns)
        return weighted_moments(data, columns, weight_column(data, self.name(), UtilityError, zeros=True))
