"""Absolute change of rank correlations, over the pairs of columns with at least one masked column (001 §4).

    loss of a pair = |r(rank y_a, rank y_b) − r(rank x_a, rank x_b)|   (Spearman, average ranks for ties)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.alignment import common_groups, common_numbers, common_terms
from larvatus.data.contracts import Measure
from larvatus.data.exposure.rank_agreement import RANKS_TOGETHER, rank_pair
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Rows, Score, mean_of
from larvatus.data.verbs import add_ranks, as_one_group, moments_by_group
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


class RankCorrelation(Measure):
    """Compare Spearman correlations among confidential columns, and between confidential and non-confidential columns.

    The loss of a pair is the absolute difference of its rank correlations; the value is the mean over pairs, with ranks over
    the whole file. In sub-groups, ranks are taken within the sub-group. Ties get their average rank. If values are missing, a
    pair is ranked over the records that have both. A pair with a column that became constant or blank counts as lost, with a
    loss of 1. There is no weighted form, because ranks count records.

    Look at it if columns are skewed, or relations monotone but not linear. It misses relations that are not monotone.

    Parameters:
        shown: number of sub-groups whose pairs are reported, those that changed most.
    """

    shown: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=SHOWN, description="number of sub-groups whose pairs are reported"
    )

    @model_validator(mode="before")
    @classmethod
    def _unweighted(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("weighted"):
            raise ValueError("ranks count records and cannot be weighted. Omit weighted, or use correlation")
        return {k: v for k, v in given.items() if k != "weighted"} if isinstance(given, Mapping) else given

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        return column_pairs(original, released)

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        before, after, terms = common_terms(original, release.data)
        labels = (*names, *terms.values())
        columns = [*names, *terms]
        whole = [_spearman(as_one_group(data), columns, len(names))[0] for data in (before, after)]
        rows, pairs = pair_rows(labels, len(names), *whole), compared_pairs(len(names), whole[0])
        inside = [_spearman(data, columns, len(names)) for data in (before, after)]
        groups, worst = in_groups(labels, len(names), [
            (name, original.groups.sizes[a], inside[0][a], inside[1][b])
            for name, a, b in common_groups(original, release.data)
        ], self.shown)
        return Score(
            "rank_correlation", "loss", mean_of(rows), "mean absolute change of rank correlations over pairs",
            self.settings(), by_pair=Rows.of(rows), by_group=groups, by_variable=by_variable(labels, rows, pairs),
            details={"sub_group_pairs": worst} if len(worst) else {}, notes=() if rows else (NO_PAIRS,),
        )


def _spearman(data: Microdata, columns: Sequence[str], masked: int) -> list[NDArray[np.float64]]:
    """Rank correlations per sub-group; pairs with values missing in different records are ranked again, pair by pair."""
    ranks = {scratch("rank", c): c for c in columns}
    moments = moments_by_group(add_ranks(data, ranks), list(ranks))
    out = [m.correlation for m in moments]
    for i, j in _missing_apart(moments, masked):
        together = moments_by_group(rank_pair(data, columns[i], columns[j]), RANKS_TOGETHER)
        for r, m in zip(out, together, strict=True):
            r[i, j] = r[j, i] = m.correlation[0, 1]
    return out


def _missing_apart(moments: Sequence[SampleMoments], masked: int) -> list[tuple[int, int]]:
    """Pairs with a masked column whose values are missing in different records of some sub-group."""
    apart = np.any([m.count < np.maximum.outer(m.present, m.present) for m in moments], axis=0)
    return [(int(i), int(j)) for i, j in np.argwhere(np.triu(apart, 1)) if i < masked]
