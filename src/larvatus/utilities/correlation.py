"""How far product-moment correlations moved, pair by pair, wherever a masked column takes part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_given, common_groups, common_numbers
from larvatus.data.contracts import Block, Measure
from larvatus.data.design import Design, design_of
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.stats.gaussian import Moments as Sample


class Correlation(Measure):
    """Compare Pearson correlations among confidential columns and between them and non-confidential ones.

    The loss of a pair is the absolute difference; the value is the mean over pairs. Missing values are left out pair
    by pair; a pair that is constant in the original is not counted, one that became constant counts as zero correlation.

    Parameters: none.
    """

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        given = common_given(original, release.data)
        designs = [design_of(data, given) for data in (original, release.data)]
        shared = [t for t in designs[0].names if t in designs[1].names]
        labels = (*names, *shared)
        before, after = (
            _moments(data, names, Design(tuple(t for t in design.terms if t.name in shared)))
            for data, design in zip((original, release.data), designs, strict=True)
        )
        rows = _pairs(labels, len(names), Sample.total(before).correlation, Sample.total(after).correlation)
        groups: list[Row] = []
        for name, a, b in common_groups(original, release.data):
            inside = _pairs(labels, len(names), before[a].correlation, after[b].correlation)
            groups.append({"sub_group": name, "records": original.groups.sizes[a], "value": mean_of(inside)})
        return Score(
            "correlation", "loss", mean_of(rows), "mean absolute change of correlations over pairs",
            self.settings(), by_pair=Rows.of(rows), by_group=Rows.of(groups), by_variable=_by_variable(labels, rows),
        )


def _moments(data: Microdata, names: Sequence[str], design: Design) -> list[Sample]:
    def of(group: int, block: Block) -> Sample:
        return Sample.of(np.hstack([block.matrix(names), design.matrix(group, block)]))

    return data.reduce(list(dict.fromkeys([*names, *design.columns])), of, Sample.merge)


def _pairs(
    labels: Sequence[str], masked: int, before: NDArray[np.float64], after: NDArray[np.float64]
) -> list[Row]:
    """One row for every pair with a masked column whose original correlation exists."""
    rows: list[Row] = []
    for i in range(masked):
        for j in range(i + 1, len(labels)):
            if np.isnan(before[i, j]):
                continue
            now = 0.0 if np.isnan(after[i, j]) else float(after[i, j])
            was = float(before[i, j])
            rows.append({"first": labels[i], "second": labels[j], "loss": abs(now - was), "original": was, "released": now})
    return rows


def _by_variable(labels: Sequence[str], rows: Sequence[Row]) -> Rows:
    out: list[Row] = []
    for label in labels:
        inside = [r for r in rows if label in (r["first"], r["second"])]
        if inside:
            out.append({"variable": label, "loss": mean_of(inside)})
    return Rows.of(out)
