"""Tables of one and two columns, compared as synthpop does (Raab, Nowok and Dibben 2021).

    pMSE = (1/N) Σ_j (o_j + s_j) (p_j − c)²,  p_j = s_j / (o_j + s_j);      S_pMSE = N pMSE / ((k − 1) c (1 − c)²)

o_j and s_j count original and released records in cell j of k, and c is the share of released records. S_pMSE is 1 on average
if the released records are drawn from the shares in the original, and about 2 if they are a new sample of the population.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Ints
from larvatus.core.errors import UtilityError, nearest_names
from larvatus.core.number_format import plural
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Measure
from larvatus.data.design import MOST_LEVELS
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.data.verbs import as_one_group
from larvatus.measures.binning.table_categories import TableCategories, table_counts
from larvatus.measures.scoring.correlation_pairs import by_variable

Statistic = Literal["pMSE", "S_pMSE", "SPECKS", "PO50"]
_LARGE = 10.0  # of S_pMSE


class UtilityTables(Measure):
    """Compare all tables of one column and of two columns, cell by cell, and draw them as a heat map.

    Numbers are put in classes between quantiles of the original; a missing value is a category of its own. The loss of a table
    is the statistic that you choose; all of them are reported for each table. The value is the mean over the tables of two
    columns with a masked one. An S_pMSE above 10 means that users see the difference in that table.

    Look at it to see which columns and which pairs were synthesised badly. It says nothing about three columns at once.

    Parameters:
        statistic: "pMSE", "S_pMSE", "SPECKS" (half the sum of differences of shares) or "PO50".
        columns: columns to compare (default: all columns in both files with at most fifty categories).
        classes: number of classes of a numeric column with more than ten values.
    """

    decides: ClassVar[bool] = False
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})

    statistic: Statistic = Field(default="pMSE", description="the statistic of each table that is its loss")
    columns: tuple[str, ...] | None = Field(
        default=None, description="columns to compare (default: all columns in both files)"
    )
    classes: Annotated[int, Field(ge=2, le=50)] = Field(default=5, description="number of classes of a numeric column")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(statistic="SPECKS", classes=10)

    def worst_value(self, original: Microdata, released: Microdata) -> float:
        c = released.rows / max(original.rows + released.rows, 1)
        worst = {"pMSE": c * (1 - c), "S_pMSE": original.rows + released.rows, "SPECKS": 1.0, "PO50": 0.5}
        return float(worst[self.statistic])

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = self._names(original, release.data)
        masked = [n for n in names if n in original.confidential]
        pairs = [p for p in combinations(names, 2) if set(p) & set(masked)]
        tables = [*((n,) for n in masked), *pairs]
        cuts = {n: TableCategories.of(original, release.data, n, self.classes) for n in names}
        sides = [
            table_counts(as_one_group(data), tables, [cuts[n].codes[k] for n in names], names, cuts)[0]
            for k, data in enumerate((original, release.data))
        ]
        every = [table_figures(a, b) for a, b in zip(*sides, strict=True)]
        rows: list[Row] = [
            {"first": t[0], "second": t[1], "loss": f[self.statistic]}
            for t, f in zip(tables, every, strict=True) if len(t) == 2
        ]
        alone: list[Row] = [
            {"variable": t[0], "loss": f[self.statistic]} for t, f in zip(tables, every, strict=True) if len(t) == 1
        ]
        details: list[Row] = [
            {"table": " × ".join(t), **f, "cells": int(f["cells"])} for t, f in zip(tables, every, strict=True)
        ]
        large = sum(f["S_pMSE"] > _LARGE for f in every)
        notes = (f"S_pMSE is above {_LARGE:g} in {plural(large, 'table')} of {len(tables)}",) if large else ()
        return Score(
            self.name(), "loss", mean_of(rows or alone), f"{self.statistic} of tables of two columns, mean over tables",
            self.settings(), by_pair=Rows.of(rows), by_variable=by_variable(names, rows) if rows else Rows.of(alone),
            details={"tables": Rows.of(details)}, notes=notes,
        )

    def _names(self, original: Microdata, released: Microdata) -> list[str]:
        """The columns of both files that can be compared, in an order that does not depend on the files."""
        mine, theirs = original.table.columns, released.table.columns
        there = sorted(n for n in original.released if n != original.roles.weight and n in theirs
                       and mine[n].kind == theirs[n].kind)
        for name in self.columns or ():
            if name not in there:
                raise UtilityError(f"{name!r} is not a column that both files have; {nearest_names(name, there)}",
                                   subject=self.name())
        names = [n for n in there if n in self.columns] if self.columns is not None else [
            n for n in there if max(len(mine[n].levels), len(theirs[n].levels)) <= MOST_LEVELS]
        if not set(names) & set(original.confidential):
            raise UtilityError(f"the release has no masked column with at most {MOST_LEVELS} categories. Name the columns to "
                               "compare (columns).", subject=self.name())
        return names


def table_figures(original: Ints, released: Ints) -> dict[str, float]:
    """The statistics of a table from the counts of both files in its cells."""
    there = (original + released) > 0
    o, s = original[there].astype(np.float64), released[there].astype(np.float64)
    n, m = o.sum(), s.sum()
    c, cells = m / (n + m), len(o)
    p = s / (o + s)
    departure = float(((o + s) * (p - c) ** 2).sum() / (n + m))
    expected = (cells - 1) * c * (1 - c) ** 2 / (n + m)
    released_side = p > c * (1 + 1e-12)
    right = (s[released_side].sum() / m + o[~released_side].sum() / n) / 2
    return {
        "pMSE": departure, "S_pMSE": departure / expected if cells > 1 else 0.0,
        "SPECKS": float(np.abs(o / n - s / m).sum() / 2), "PO50": float(right) - 0.5, "cells": float(cells),
    }
