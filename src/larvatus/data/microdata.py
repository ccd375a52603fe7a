"""A confidential table with its roles and sub-groups. It is read-only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.core.frames import as_arrow, as_pandas, as_polars, first_rows
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Column, Engine, ManyGroupsFunction, RecordTable, RowFunction
from larvatus.data.roles import Roles, SubGroups, released_columns
from larvatus.data.sub_groups import Groups, GroupSettlement

if TYPE_CHECKING:
    from larvatus.stats.linear.moments import SampleMoments

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, repr=False)
class Microdata:
    """A table held by an engine, the roles of its columns, and the sub-groups within which masks run.

    `inputs` are the files, folders and patterns that it was read from: nothing is written over them.
    """

    table: RecordTable
    roles: Roles
    sub_groups: SubGroups
    engine: Engine
    inputs: tuple[str, ...] = ()

    @property
    def groups(self) -> Groups:
        return self.table.groups

    @property
    def rows(self) -> int:
        return self.table.rows

    @property
    def confidential(self) -> tuple[str, ...]:
        """Confidential columns in the table, in role order."""
        return tuple(c for c in self.roles.confidential if c in self.table.columns)

    @property
    def non_confidential(self) -> tuple[str, ...]:
        """Non-confidential columns that vary within sub-groups, in role order."""
        inside = (c for c in self.roles.non_confidential if c not in self.sub_groups.columns)
        return tuple(c for c in inside if c in self.table.columns)

    @property
    def known(self) -> tuple[str, ...]:
        """Columns released unmasked, apart from the sub-group columns: non-confidential columns and the weight."""
        weight = self.roles.weight
        extra = (weight,) if weight and weight in self.table.columns and weight not in self.non_confidential else ()
        return (*self.non_confidential, *extra)

    @property
    def released(self) -> tuple[str, ...]:
        """Columns that may be released."""
        return tuple(c for c in released_columns(self.roles, self.sub_groups) if c in self.table.columns)

    def numeric(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the columns that are numeric."""
        return tuple(n for n in names if self.table.columns[n].kind == "number")

    def map_rows(self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = ()) -> Microdata:
        """Replace or add columns by a function that treats each row on its own."""
        return self.holding(self.table.map_rows(function, names, made))

    def map_groups(
        self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = (),
        together: ManyGroupsFunction | None = None,
    ) -> Microdata:
        """Replace or add columns by a function of whole sub-groups.

        `together` does the same for many sub-groups in one call; an engine may use it where sub-groups are small.
        """
        if together is None or "together" not in signature(self.table.map_groups).parameters:  # an engine from elsewhere
            return self.holding(self.table.map_groups(function, names, made))
        return self.holding(self.table.map_groups(function, names, made, together))

    def reduce(
        self, names: Sequence[str], function: Callable[[int, Block], _T], combine: Callable[[_T, _T], _T]
    ) -> list[_T]:
        """One result per sub-group: a function of canonical chunks of rows, combined in record order."""
        return self.table.reduce(names, function, combine)

    def moments(self, names: Sequence[str]) -> list[SampleMoments]:
        """Counts, means and covariances per sub-group, over pairs of non-missing values."""
        from larvatus.stats.linear.moments import SampleMoments

        return self.reduce(names, lambda group, block: SampleMoments.of(block.matrix(names)), SampleMoments.merge)

    def ranks(self, names: Mapping[str, str], random: RecordRandom | None = None) -> Microdata:
        """Add columns with ranks of others; ties are averaged, or broken by random words if `random` is given."""
        return self.holding(self.table.ranks(names, random))

    def place(
        self, placed: Mapping[str, tuple[str, str]], random: RecordRandom, source: Microdata | None = None
    ) -> Microdata:
        """Add columns (new name → (order, values)): the row ranked r-th by `order` gets the r-th smallest of `values`."""
        return self.holding(self.table.place(placed, random, None if source is None else source.table))

    def carried(
        self, order: str, names: Sequence[str], start: _T, function: Callable[[int, _T, Block], _T],
        random: RecordRandom | None = None,
    ) -> list[_T]:
        """The final state of one pass over each sub-group in the order of a column; rows with no value of it are skipped.

        Without `random`, tied rows come in any order and blocks have no record ids.
        """
        return self.table.carried(order, names, start, function, random)

    def take(self, keep: Callable[[int, Block], Array], names: Sequence[str]) -> Microdata:
        """Only the rows for which `keep` is true."""
        return self.holding(self.table.take(keep, names))

    def settled(self, outcome: GroupSettlement) -> Microdata:
        """The same data in effective sub-groups."""
        target = np.array(outcome.target, dtype=np.int64)
        return self.holding(
            self.table.regroup(
                lambda group, block: np.full(len(block), target[group]),
                (), self.groups.columns, outcome.labels, outcome.declared,
            )
        )

    def ungrouped(self) -> Microdata:
        """The same data as one group."""
        whole = self.table.regroup(lambda group, block: np.zeros(len(block), dtype=np.int64), (), (), [()])
        return self.holding(whole)

    def holding(self, table: RecordTable) -> Microdata:
        """The same roles with another table."""
        return replace(self, table=table)

    def present(self) -> NDArray[np.int64]:
        """Number of non-missing values, sub-groups × confidential columns (number of records if no column is confidential)."""
        names = self.confidential
        if not any(self.table.columns[n].missing for n in names):
            return np.repeat(np.array(self.groups.sizes, dtype=np.int64)[:, None], max(len(names), 1), axis=1)
        return np.array(self.reduce(names, _present(names, self.table.columns), np.add))

    def with_confidential(self, names: Sequence[str]) -> Microdata:
        """The same data with only these columns confidential; the others are neither masked nor visible."""
        return replace(self, roles=self.roles.model_copy(update={"confidential": tuple(names)}))

    def __repr__(self) -> str:
        groups = f", {len(self.groups)} sub-groups by {', '.join(self.groups.columns)}" if self.groups.columns else ""
        return f"Microdata({self.rows:,} records, confidential: {', '.join(self.confidential)}{groups})"

    def __len__(self) -> int:
        """The number of records."""
        return self.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns with a role that allows release; others are never shown."""
        return self.released

    @property
    def shape(self) -> tuple[int, int]:
        """Records and columns."""
        return self.rows, len(self.columns)

    def frame(self) -> Any:
        """The columns that may be released, as the same kind of data frame as the source, in its row order."""
        return self.engine.frame(self.table, self.released, self.table)

    def head(self, n: int = 5) -> Any:
        """The first records, as the kind of frame the source was."""
        return first_rows(self.frame(), n)

    def to_pandas(self) -> Any:
        """The columns that may leave, as a pandas data frame."""
        return as_pandas(self.frame())

    def to_polars(self) -> Any:
        """The columns that may leave, as a Polars data frame."""
        return as_polars(self.frame())

    def to_arrow(self) -> Any:
        """The columns that may leave, as a pyarrow table."""
        return as_arrow(self.frame())


def _present(names: Sequence[str], columns: Mapping[str, Column]) -> Callable[[int, Block], NDArray[np.int64]]:
    def count(group: int, block: Block) -> NDArray[np.int64]:
        there = [np.isfinite(block[n]) if columns[n].kind == "number" else block[n] >= 0 for n in names]
        return np.array([int(t.sum()) for t in there], dtype=np.int64)

    return count


def collect(data: Microdata, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[str, Any]]:
    """Record ids, sub-groups and columns in record order."""
    parts = [(g, block) for g, block in data.table.blocks(names)]
    record = np.concatenate([b.record for _, b in parts])
    group = np.concatenate([np.full(len(b), g, dtype=np.int64) for g, b in parts])
    order = np.argsort(record, kind="stable")
    values = {n: np.concatenate([b[n] for _, b in parts])[order] for n in names}
    return record[order], group[order], values
