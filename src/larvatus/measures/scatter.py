"""Counts of pairs of columns on a grid, original and released; scatter plots are drawn from them.

    loss of a pair = ½ Σ_cells |p − q|,  with p and q the shares of original and released records in a cell
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_non_confidential, common_numbers
from larvatus.data.contracts import Block, Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.data.verbs import moments_by_group, reduce_groups
from larvatus.measures.binning.bins import bin_difference, edges_of
from larvatus.measures.scoring.correlation_pairs import column_pairs

Pair = tuple[str, str]
_MOST_PAIRS = 60


class Scatter(Measure):
    """Count the records of both files on the same grid for pairs of columns, and report the pairs that changed most.

    The loss of a pair is the share of records that would have to move to another cell to make the grids equal; the value is
    the mean over pairs. Cells at the border are open and edges are rounded, so that no extreme value is shown.

    Look at it for pictures of pairs of columns. It compares pairs on a grid, and no relation of three columns.

    Parameters:
        cells: number of cells along each axis.
        shown: number of pairs whose grids are reported, those that changed most.
    """

    decides: ClassVar[bool] = False

    cells: Annotated[int, Field(ge=4, le=60)] = Field(default=20, description="number of cells along each axis")
    shown: Annotated[int, Field(ge=1, le=50)] = Field(default=3, description="number of pairs whose grids are reported")

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        return column_pairs(original, released, numbers=True)

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        given = original.numeric(common_non_confidential(original, release.data))
        edges = edges_of(original, [*names, *given], self.cells)
        pairs = _chosen(original, names, given)
        before, after = _counted(original, pairs, edges), _counted(release.data, pairs, edges)
        rows: list[Row] = [
            {"first": a, "second": b, "loss": bin_difference(before[a, b], after[a, b])} for a, b in pairs
        ]
        worst = sorted(pairs, key=lambda pair: -bin_difference(before[pair], after[pair]))[: self.shown]
        notes = () if len(pairs) == _possible(names, given) else (
            f"{len(pairs)} of {_possible(names, given)} pairs, those most correlated in the original",
        )
        return Score(
            "scatter", "loss", mean_of(rows), "share of records that would have to move to another cell, mean over pairs",
            self.settings(), by_pair=Rows.of(rows), notes=notes,
            details={"grid": Rows.of(
                r for pair in worst for r in _grid(pair, edges, before[pair], after[pair], _dated(original, pair)))},
        )


def _possible(names: Sequence[str], given: Sequence[str]) -> int:
    return len(names) * (len(names) - 1) // 2 + len(names) * len(given)


def _chosen(original: Microdata, names: Sequence[str], given: Sequence[str]) -> list[Pair]:
    """Every pair with a masked column; if there are very many, those most correlated in the original."""
    pairs = [*combinations(names, 2), *((n, s) for n in names for s in given)]
    if len(pairs) <= _MOST_PAIRS:
        return pairs
    from larvatus.stats.linear.moments import SampleMoments

    columns = [*names, *given]
    r = np.abs(np.nan_to_num(SampleMoments.total(moments_by_group(original, columns)).correlation))
    place = {c: i for i, c in enumerate(columns)}
    return sorted(pairs, key=lambda pair: -r[place[pair[0]], place[pair[1]]])[:_MOST_PAIRS]


def _counted(data: Microdata, pairs: Sequence[Pair], edges: Mapping[str, Floats]) -> dict[Pair, NDArray[np.int64]]:
    columns = list(dict.fromkeys(c for pair in pairs for c in pair))
    if not pairs:
        return {}

    def count(group: int, block: Block) -> list[NDArray[np.int64]]:
        place = {c: np.searchsorted(edges[c], block[c], side="right") for c in columns}
        out = []
        for a, b in pairs:
            there = ~(np.isnan(block[a]) | np.isnan(block[b]))
            width = len(edges[b]) + 1
            cells = np.bincount(place[a][there] * width + place[b][there], minlength=(len(edges[a]) + 1) * width)
            out.append(cells)
        return out

    parts = reduce_groups(data, columns, count, lambda one, other: [x + y for x, y in zip(one, other, strict=True)])
    return {pair: np.sum([part[i] for part in parts], axis=0) for i, pair in enumerate(pairs)}


def _dated(data: Microdata, pair: Pair) -> Row:
    """Which axes have dates."""
    return {f"{axis}_dates": True for axis, n in zip("xy", pair, strict=True) if data.table.columns[n].dates is not None}


def _grid(
    pair: Pair, edges: Mapping[str, Floats], before: NDArray[np.int64], after: NDArray[np.int64], dated: Row
) -> list[Row]:
    """One row for every cell with a record of either file."""
    x, y = ([None, *edges[c].tolist(), None] for c in pair)
    width = len(y) - 1
    return [
        {
            "first": pair[0], "second": pair[1], "x_low": x[i // width], "x_high": x[i // width + 1],
            "y_low": y[i % width], "y_high": y[i % width + 1], "original": int(before[i]), "released": int(after[i]), **dated,
        }
        for i in np.flatnonzero(before + after).tolist()
    ]
