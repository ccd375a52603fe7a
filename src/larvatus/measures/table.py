"""Change of cross-tabulations: categories as they are, numbers in classes between quartiles of the original.

    loss of a table = ½ Σ_cells |p − q|,  with p and q the shares of original and released records in a cell
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated, Self

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Ints
from larvatus.core.errors import UtilityError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups
from larvatus.data.contracts import Measure
from larvatus.data.design import MOST_LEVELS
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.measures.binning.bins import bin_difference
from larvatus.measures.binning.table_categories import TableCategories, table_counts
from larvatus.measures.scoring.correlation_pairs import by_variable

_Names = tuple[str, ...]
_MOST_CELLS = 1_000_000


class Table(Measure):
    """Compare two-way tables of both files, over the pairs of columns with at least one masked column.

    The loss of a table is the share of records that would have to move to another cell to make the tables equal, which is
    half the sum of absolute differences of shares. The value is the mean over tables. A numeric column with at most ten
    distinct values has a class for each value; otherwise it has four classes between quartiles of the original. Two more
    classes hold values outside the range of the original. A missing value is a category of its own. The measure detects
    changed relations between columns only as coarsely as such tables do.

    Look at it if users cross-tabulate. Numbers are compared in quarters only.

    Parameters:
        tables: tables to compare, each a list of columns, such as [["job", "income"], ["job"]] (default: all pairs with a
            masked column, without columns of more than fifty categories).
        shown: number of cells reported in the details, those that changed most.
    """

    tables: Annotated[tuple[Annotated[_Names, Field(min_length=1)], ...], Field(min_length=1)] | None = Field(
        default=None, description="tables to compare, each a list of columns (default: all pairs with a masked column)"
    )
    shown: Annotated[int, Field(ge=0, le=1000)] = Field(default=10, description="number of changed cells that are reported")

    def parts(self, original: Microdata, released: Microdata) -> Sequence[_Names]:
        return self._tables(original, original)[0] if self.tables is None else [tuple(dict.fromkeys(t)) for t in self.tables]

    def restrict_to(self, parts: Sequence[_Names]) -> Self:
        return self if self.tables is None else self.model_copy(update={"tables": tuple(parts)})

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        released = release.data
        tables, left_out = self._tables(original, released)
        columns = list(dict.fromkeys(n for t in tables for n in t))
        cuts = {n: TableCategories.of(original, released, n) for n in columns}
        _check_size(tables, cuts)
        before, after = (table_counts(d, tables, [cuts[n].codes[k] for n in columns], columns, cuts)
                         for k, d in enumerate((original, released)))
        whole = [[np.sum([g[i] for g in side], axis=0) for i in range(len(tables))] for side in (before, after)]
        rows: list[Row] = [
            {"first": t[0], "second": " × ".join(t[1:]), "loss": bin_difference(a, b)}
            for t, a, b in zip(tables, *whole, strict=True)
        ]
        groups: list[Row] = [
            {"sub_group": name, "records": original.groups.sizes[a],
             "value": float(np.mean([bin_difference(x, y) for x, y in zip(before[a], after[b], strict=True)]))}
            for name, a, b in common_groups(original, released)
        ]
        return Score(
            self.name(), "loss", mean_of(rows), "share of records that would have to move to another cell, mean over tables",
            self.settings(), by_pair=Rows.of(rows), by_group=Rows.of(groups), by_variable=by_variable(columns, rows),
            details={"cells": self._cells(tables, cuts, *whole)},
            notes=(f"without {', '.join(left_out)}: more than {MOST_LEVELS} categories. List them in tables to include them",)
            if left_out else (),
        )

    def _tables(self, original: Microdata, released: Microdata) -> tuple[list[_Names], list[str]]:
        """The tables to compare, and the columns left out because they have too many categories."""
        mine, theirs = original.table.columns, released.table.columns
        there = [
            n for n in original.released if n != original.roles.weight and n in theirs and mine[n].kind == theirs[n].kind
        ]
        if self.tables is not None:
            for name in (n for t in self.tables for n in t):
                if name not in there:
                    raise UtilityError(f"{name!r} is not a column that both files have; {nearest_names(name, there)}",
                                       subject="table")
            return [tuple(dict.fromkeys(t)) for t in self.tables], []
        many = [n for n in there if max(len(mine[n].levels), len(theirs[n].levels)) > MOST_LEVELS]
        masked = [n for n in original.confidential if n in there and n not in many]
        if not masked:
            raise UtilityError(f"the release has no masked column with at most {MOST_LEVELS} categories. List the "
                               "tables to compare (tables).", subject="table")
        others = [n for n in there if n not in many and n not in masked]
        pairs = [*combinations(masked, 2), *((n, s) for n in masked for s in others)]
        return [tuple(p) for p in pairs] or [(masked[0],)], many

    def _cells(
        self, tables: Sequence[_Names], cuts: Mapping[str, TableCategories], before: Sequence[Ints], after: Sequence[Ints]
    ) -> Rows:
        """The cells of all tables whose share changed most."""
        found: list[tuple[float, int, int]] = []
        for i, (a, b) in enumerate(zip(before, after, strict=True)):
            change = b / max(b.sum(), 1) - a / max(a.sum(), 1)
            worst = np.argsort(-np.abs(change), kind="stable")[: self.shown]
            found += [(float(change[c]), i, int(c)) for c in worst if change[c] != 0]
        out: list[Row] = []
        for change, i, cell in sorted(found, key=lambda f: (-abs(f[0]), f[1:]))[: self.shown]:
            place = np.unravel_index(cell, [cuts[n].size for n in tables[i]])
            named = ", ".join(f"{n}: {cuts[n].name(int(c))}" for n, c in zip(tables[i], place, strict=True))
            out.append({
                "cell": named, "original": int(before[i][cell]), "released": int(after[i][cell]), "change": change,
            })
        return Rows.of(out)


def _check_size(tables: Sequence[_Names], cuts: Mapping[str, TableCategories]) -> None:
    for t in tables:
        cells = int(np.prod([float(cuts[n].size) for n in t]))
        if cells > _MOST_CELLS:
            raise UtilityError(
                f"{' × '.join(t)} has {cells:,} cells; at most {_MOST_CELLS:,} are allowed. List fewer columns (tables).",
                subject="table",
            )
