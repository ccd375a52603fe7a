"""From columns on disk to data frames and files: in the requested order, at full precision, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Column, Words
from larvatus.data.dates.date_numbers import dates_from
from larvatus.data.labelling.labels import FileLabels, code_column
from larvatus.engines._disk.layout import ColumnBlocks, rechunk
from larvatus.engines._disk.reading import Origin
from larvatus.engines._disk.table import DiskTable
from larvatus.engines._files.columns import fits_integer_type, from_exact, names_array, number_array, with_marks
from larvatus.engines._files.missing_codes import with_codes
from larvatus.engines._files.targets import check_target, write_batches
from larvatus.engines._layout.stored_columns import WIDE, type_name

if TYPE_CHECKING:
    import pyarrow as pa

_T = TypeVar("_T")
_RECORD = scratch("record")  # beside columns of the user, who may have one called "record"
_SHORT = {"float": np.float32, "halffloat": np.float16}


@dataclass(frozen=True, slots=True)
class Way:
    """How a stored column becomes an Arrow array: categories, exact original values, integers of a type, or floats."""

    column: Column
    like: Any
    exact: bool
    whole: bool

    def array(self, block: Array, exact: Array | None) -> pa.Array:
        if self.column.kind == "nominal":
            return names_array(self.column, block, self.like)
        if exact is not None:
            return from_exact(exact, np.isnan(block), self.like)
        if self.column.dates is not None and self.like is not None:
            return dates_from(self.column.name, block, self.column.dates, self.like)
        return number_array(block, self.like, self.whole)


def _streamed(table: Any, name: str, function: Callable[[Array], _T]) -> list[_T]:
    """The result of a function on every block of a column, computed on this machine."""
    return [function(b) for _, b in table.held[name].stored().stream()]


def ways_of(table: Any, names: Sequence[str], over: Callable[[Any, str, Callable[[Array], Any]], list[Any]]) -> dict[str, Way]:
    """How each column is written; `over` evaluates a function on every block of a column."""
    origin: Origin = table.source
    from larvatus.engines._files.frames import as_read

    out = {}
    for name in names:
        column = table.columns[name]
        like = origin.types.get(name) if as_read(column, origin.columns) else None
        if like is not None and hasattr(like, "value_type") and hasattr(like, "index_type"):
            like = like.value_type
        exact = scratch("exact", name) in table.held
        dated = column.dates is not None and column.kind == "number"
        whole = column.kind == "number" and column.integer and not exact and not dated
        if whole:
            blocks = over(table, name, partial(fits_integer_type, like=like))
            whole = all(w for w, _ in blocks)
            like = like if all(f for _, f in blocks) else None
        elif column.kind == "number" and not exact and not dated and not (
            name in origin.given and str(like) in _SHORT and all(over(table, name, partial(_same_in, kind=str(like))))
        ):
            like = None
        out[name] = Way(column, like, exact, whole)
    return out


def _same_in(block: Array, kind: str) -> bool:
    """Whether a shorter float type represents every value exactly, as it does if nothing was changed."""
    return np.array_equal(block, block.astype(_SHORT[kind]).astype(np.float64), equal_nan=True)


def _in_order(table: Any, names: Sequence[str], order: Words | None) -> ColumnBlocks:
    """Stored values and record ids, in keyed order or in the order of the source."""
    beside = [c for n in names for c in (scratch("exact", n), code_column(n)) if c in table.held]
    ways = [*names, *beside]
    columns = {f"column_{i}": table.held[n] for i, n in enumerate(ways)}
    kinds = {c: type_name(h.stored().dtype) for c, h in columns.items()}
    if order is None and _ascending(table):
        for low in range(0, table.rows, WIDE):
            high = min(low + WIDE, table.rows)
            record = table.layout.record.stored().read(low, high)
            yield {_RECORD: record, **{n: table.held[n].stored().read(low, high) for n in ways}}
        return

    def rows() -> ColumnBlocks:
        position = rechunk(table.layout.position.stream())
        for low, record in table.layout.record.stored().stream():
            key = order(record) if order is not None else next(position).astype(np.uint64)
            block = {c: h.stored().read(low, low + len(record)) for c, h in columns.items()}
            yield {"word": key, "record": record, **block}

    if table.room.arranges(table.rows, len(ways) + 2):
        parts = list(rows())
        whole = {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}
        at = _by_word(whole["word"], whole["record"])
        found: ColumnBlocks = ({k: v[at[a : a + WIDE]] for k, v in whole.items()} for a in range(0, table.rows, WIDE))
    else:
        dtypes = {"word": "uint64", "record": "int64", **kinds}
        found = table.room.sorter.ordered(rows(), dtypes, ["word", "record"], ["record", *columns])
    for block in found:
        yield {_RECORD: block["record"], **{n: block[c] for n, c in zip(ways, columns, strict=True)}}


def _by_word(word: Array, record: Array) -> Array:
    """Order by keyed word; by record among equal words, which 64 bits hardly ever give."""
    at = np.argsort(word)
    placed = word[at]
    return np.lexsort((record, word)) if (placed[1:] == placed[:-1]).any() else at


def _ascending(table: Any) -> bool:
    last = -1
    for block in table.layout.position.stream():
        if len(block) and (block[0] <= last or (np.diff(block) <= 0).any()):
            return False
        last = int(block[-1]) if len(block) else last
    return True


def _batches(table: Any, names: Sequence[str], order: Words | None) -> Iterator[tuple[pa.RecordBatch, Array]]:
    import pyarrow as pa

    ways = ways_of(table, names, _streamed)
    for block in _in_order(table, names, order):
        arrays = [ways[n].array(block[n], block.get(scratch("exact", n))) for n in names]
        arrays = [
            with_codes(a, block[code_column(n)], table.columns[code_column(n)].levels) if code_column(n) in block else a
            for n, a in zip(names, arrays, strict=True)
        ]
        schema = pa.schema([(n, a.type) for n, a in zip(names, arrays, strict=True)])
        yield pa.record_batch(arrays, schema=with_marks(schema, table.columns)), block[_RECORD]


def disk_frame(
    table: Any, names: Sequence[str], origin: Origin, batches: Iterator[tuple[pa.RecordBatch, Array]] | None = None
) -> Any:
    """The named columns in the row order of the source, as its kind of data frame."""
    import pyarrow as pa

    from larvatus.engines._files.frames import as_frame, as_read

    out = pa.Table.from_batches([b for b, _ in batches or _batches(table, names, None)])
    index = None
    if origin.index is not None:
        position = np.concatenate(list(table.layout.position.stream()))
        index = origin.index[np.sort(position)]
    dtypes = {n: d for n, d in origin.dtypes.items() if n in names and as_read(table.columns[n], origin.columns)}
    if origin.kind == "pyarrow":
        for i, name in enumerate(out.column_names):
            like, column = origin.types.get(name), table.columns[name]
            coded = like is not None and pa.types.is_dictionary(like) and as_read(column, origin.columns)
            if coded and (column.kind == "nominal" or name in origin.given):
                out = out.set_column(i, name, out.column(i).combine_chunks().dictionary_encode().cast(like))
            elif like is not None and pa.types.is_null(like) and name in origin.given:
                out = out.set_column(i, name, pa.nulls(out.num_rows))
    types = {n: out.schema.field(n).type if hasattr(d, "categories") else origin.types[n] for n, d in dtypes.items()}
    return as_frame(out, origin.kind, types, dtypes, index)


def check_targets(path: Path, pairing: Path | None, overwrite: bool) -> None:
    """Raise an error early if a file could not be written later."""
    check_target(path, overwrite)
    if pairing is not None:
        check_target(pairing, overwrite, folder=False)


def write_from_disk(
    table: DiskTable, names: Sequence[str], path: Path, order: Words | None, pairing: Path | None,
    labels: FileLabels | None = None,
) -> None:
    """Write a file or a folder of files, and the record ids to a pairing file if asked for."""
    row_order = "keep" if order is None else "keyed"
    batches = ((b, r) for b, r in _batches(table, names, order))
    write_batches(batches, path, row_order, pairing, table.source.dialect, labels)
