"""A confidential table with its roles and sub-groups. It is read-only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.display import view
from larvatus.core.errors import ReadError
from larvatus.core.frames import as_arrow, as_pandas, as_polars, first_rows
from larvatus.data.contracts import Block, Engine, RecordTable
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.labelling.labels import LABELLED, NO_LABELS, FileLabels
from larvatus.data.roles import Roles, SubGroups, changeable_columns, released_columns
from larvatus.data.sub_groups import Groups

_FILES = {".csv", ".tsv", ".txt", ".gz", ".zst", ".zip", ".parquet", ".pq", ".feather", ".arrow"} | LABELLED


@dataclass(frozen=True, slots=True, repr=False)
class Microdata:
    """A table held by an engine, the roles of its columns, and the sub-groups within which masks run.

    `inputs` are the files, folders and patterns that it was read from: nothing is written over them. `labels` are those of
    a labelled file; masks do not change them. `dialect` is how the CSV file was written, if it was one. `holdout` are
    records of the same population that no mask sees (`lv.hold_out`).

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> data
        Microdata(300 records, confidential: home_value, net_assets, 2 sub-groups by gender)
        >>> data.columns, data.shape
        (('gender', 'home_value', 'net_assets'), (300, 3))
        >>> data.frame().column_names == list(data.columns)  # a frame of the same kind as the source, here of Arrow
        True
    """

    table: RecordTable
    roles: Roles
    sub_groups: SubGroups
    engine: Engine
    inputs: tuple[str, ...] = ()
    labels: FileLabels = NO_LABELS
    dialect: CsvDialect | None = None
    holdout: Microdata | None = None

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
        """Keys and non-confidential columns that vary within sub-groups, in role order: S, as released.

        A key that a step is masking is confidential in the view of that step.
        """
        apart = {*self.sub_groups.columns, *self.roles.confidential}
        return tuple(c for c in (*self.roles.key, *self.roles.non_confidential) if c not in apart and c in self.table.columns)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys that a step may change: those in the table that form no sub-groups, in role order."""
        return tuple(c for c in self.roles.key if c in self.table.columns and c not in self.sub_groups.columns)

    @property
    def changeable(self) -> tuple[str, ...]:
        """Keys and confidential columns in the table: the columns that steps may change."""
        return tuple(c for c in changeable_columns(self.roles, self.sub_groups) if c in self.table.columns)

    @property
    def known(self) -> tuple[str, ...]:
        """Columns known as they are released, apart from the sub-group columns: non-confidential columns and the weight.

        A weight that is not released, or that has noise, is not among them.
        """
        weight = self.roles.weight if self.roles.release_weight else None
        there = weight is not None and weight in self.table.columns and weight not in self.non_confidential
        extra = (weight,) if there and weight is not None and not self.table.columns[weight].noisy else ()
        return (*self.non_confidential, *extra)

    @property
    def released(self) -> tuple[str, ...]:
        """Columns that may be released."""
        return tuple(c for c in released_columns(self.roles, self.sub_groups) if c in self.table.columns)

    def numeric(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the columns that are numeric."""
        return tuple(n for n in names if self.table.columns[n].kind == "number")

    def with_confidential(self, names: Sequence[str]) -> Microdata:
        """The same data with only these columns confidential; the others are neither masked nor visible."""
        return replace(self, roles=self.roles.model_copy(update={"confidential": tuple(names)}))

    def __repr__(self) -> str:
        groups = f", {len(self.groups)} sub-groups by {', '.join(self.groups.columns)}" if self.groups.columns else ""
        return f"Microdata({self.rows:,} records, confidential: {', '.join(self.confidential)}{groups})"

    def _repr_html_(self) -> str:
        return str(view(self, "html_of_microdata"))

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
        """The columns that may be released, as a pandas data frame."""
        return as_pandas(self.frame())

    def to_polars(self) -> Any:
        """The columns that may be released, as a Polars data frame."""
        return as_polars(self.frame())

    def to_arrow(self) -> Any:
        """The columns that may be released, as a pyarrow table."""
        return as_arrow(self.frame())


def check_microdata(data: object) -> None:
    """Refuse what is not microdata, such as a file that has not been read. A text is shown only if it is a file's name."""
    if isinstance(data, Microdata):
        return
    path = isinstance(data, Path) or (isinstance(data, str) and "\n" not in data and Path(data).suffix.lower() in _FILES)
    frame = hasattr(data, "columns") or hasattr(data, "schema")
    source = repr(str(data)) if path else "frame" if frame else "source"
    why = ", which does not say which columns are confidential" if frame else ""
    raise ReadError(f"needs what lv.read returns, got {type(data).__name__}{why}. Use lv.read({source}, confidential=[…]).",
                    subject="data")


def collect(
    data: Microdata, names: Sequence[str], where: Callable[[Block], NDArray[np.bool_]] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[str, Any]]:
    """Record ids, sub-groups and columns in record order; only of the records that `where` marks, if given."""
    parts = []
    for g, block in data.table.blocks(names):
        keep = slice(None) if where is None else np.flatnonzero(where(block))
        parts.append((g, Block(block.record[keep], {n: block[n][keep] for n in names})))
    record = np.concatenate([b.record for _, b in parts])
    group = np.concatenate([np.full(len(b), g, dtype=np.int64) for g, b in parts])
    order = order_of_records(record)
    values = {n: np.concatenate([b[n] for _, b in parts])[order] for n in names}
    return record[order], group[order], values


def order_of_records(record: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of record ids, each there once, in increasing order. Ids without gaps say it themselves and are not sorted."""
    n = len(record)
    low = int(record.min()) if n else 0
    if not n or int(record.max()) - low != n - 1:
        return np.argsort(record, kind="stable")
    order = np.empty(n, dtype=np.int64)
    order[record - low] = np.arange(n)
    return order
