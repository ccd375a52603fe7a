"""Histograms of original and released columns in the same bins; figures of distributions are drawn from them.

    loss of a column = ½ Σ_b |p_b − q_b|,  with p_b and q_b the shares of original and released values in bin b
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups, common_numbers
from larvatus.data.contracts import Column, Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.measures.binning.bins import bin_counts, bin_difference, edges_of

Counts = Mapping[str, NDArray[np.int64]]


class Distributions(Measure):
    """Count original and released values in the same bins, for the file and for the sub-groups that changed most.

    The loss of a column is the share of records that would have to move to another bin to make the histograms equal; the
    value is the mean over columns. The outer bins are open and bin edges are rounded, so that no extreme value is shown.

    Look at it for pictures of single columns. It says nothing about relations.

    Parameters:
        bins: number of bins; a column with fewer distinct values has one bin for each.
        shown: number of sub-groups whose histograms are reported, those that changed most.
    """

    decides: ClassVar[bool] = False

    bins: Annotated[int, Field(ge=5, le=200)] = Field(default=40, description="number of bins")
    shown: Annotated[int, Field(ge=0, le=100)] = Field(
        default=3, description="number of sub-groups whose histograms are reported"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(bins=10, shown=0)

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        edges = edges_of(original, names, self.bins)
        before, after = bin_counts(original, edges), bin_counts(release.data, edges)
        whole = _summed(before, names), _summed(after, names)
        rows: list[Row] = [{"variable": n, "loss": bin_difference(whole[0][n], whole[1][n])} for n in names]
        groups: list[Row] = []
        kept: list[tuple[float, str, Counts, Counts]] = []
        for name, a, b in common_groups(original, release.data):
            value = float(np.mean([bin_difference(before[a][n], after[b][n]) for n in names]))
            groups.append({"sub_group": name, "records": original.groups.sizes[a], "value": value})
            kept.append((value, name, before[a], after[b]))
        worst = sorted(kept, key=lambda k: -k[0])[: self.shown] if len(kept) > 1 else []
        places = [("all records", *whole), *((name, a, b) for _, name, a, b in worst)]
        columns = original.table.columns
        return Score(
            "distributions", "loss", mean_of(rows), "share of records that would have to move to another bin", self.settings(),
            by_variable=Rows.of(rows), by_group=Rows.of(groups),
            details={"histogram": Rows.of(
                r for n in names for place in places for r in _histogram(columns[n], edges[n], *place))},
        )


def _summed(groups: Sequence[Counts], names: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    return {n: np.sum([g[n] for g in groups], axis=0) for n in names}


def _histogram(column: Column, edges: Floats, place: str, before: Counts, after: Counts) -> list[Row]:
    name, dates = column.name, {} if column.dates is None else {"dates": column.dates.unit}
    lows, highs = [None, *edges.tolist()], [*edges.tolist(), None]
    return [
        {"variable": name, "sub_group": place, "low": low, "high": high, "original": int(a), "released": int(b), **dates}
        for low, high, a, b in zip(lows, highs, before[name], after[name], strict=True)
    ]
