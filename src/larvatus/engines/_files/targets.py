"""Writing a release at full precision, in the format of the path's suffix: CSV, Parquet or a labelled file.

A path without a suffix is a folder of Parquet files.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from larvatus.core.errors import WriteError
from larvatus.core.files import ZIPPED_CSV, check_free, file_suffix, folder_in_place, replace_file
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.csv_files.formula_cells import for_spreadsheets
from larvatus.data.dates.date_forms import form_of_field, stated_form, without_forms
from larvatus.data.dates.date_numbers import is_date
from larvatus.data.labelling.labels import INSTEAD, WRITTEN, FileLabels
from larvatus.engines._files.csv_writer import LIKE_ARROW, DialectWriter
from larvatus.engines._files.file_packages import check_packages
from larvatus.engines._files.labelled_targets import LabelledFile
from larvatus.engines._files.missing_codes import TAGS, tags_as_text
from larvatus.engines._files.texts_in_numbers import has_texts, with_mark
from larvatus.engines._layout.parquet_writer import close_writer

if TYPE_CHECKING:
    import pyarrow as pa

ROW_ORDER = b"larvatus.row_order"
_FILES, ROWS_WRITTEN, PART = {".csv", ".parquet", ".pq"}, 1 << 19, 1 << 22


def check_target(path: Path, overwrite: bool, folder: bool = True) -> None:
    """Raise an error early if the file could not be written later."""
    suffix = file_suffix(path)
    if suffix not in _FILES | ({"", ZIPPED_CSV, *WRITTEN} if folder else set()):
        if suffix in INSTEAD and folder:
            raise WriteError(f"{path.name}: {suffix} files can be read, but not written with their labels. Write a "
                             f"{INSTEAD[suffix]} file.")
        raise WriteError(
            f"{path.name}: releases are written as .csv, .csv.gz or .parquet files, as {', '.join(sorted(WRITTEN))}, or as a "
            "folder of Parquet files if the name has no suffix. Change the suffix." if folder else
            f"{path.name}: must be a .csv or .parquet file. Change the suffix."
        )
    check_packages(suffix, path.name)
    check_free(path, overwrite)


def write_batches(
    batches: Iterable[tuple[pa.RecordBatch, Any]], path: Path, row_order: str, pairing: Path | None,
    dialect: CsvDialect | None = None, labels: FileLabels | None = None,
) -> None:
    """Write batches with their record ids: the release and its pairing file (readable by the owner only), or neither.

    A release in CSV has the dialect of the source, and a labelled file has its labels.
    """
    import pyarrow as pa

    with ExitStack() as stack:
        inside = stack.enter_context(replace_file(pairing, private=True)) if pairing is not None else None
        place = replace_file(path) if path.suffix else folder_in_place(path)
        outside = stack.enter_context(place)
        pairs = stack.enter_context(_File(inside, pairing.suffix, row_order)) if inside and pairing else None
        released: _File | _Folder | LabelledFile
        if path.suffix.lower() in WRITTEN:
            released = LabelledFile(outside, path, labels or FileLabels())
        else:
            released = _File(outside, file_suffix(path), row_order, dialect) if path.suffix else _Folder(outside, row_order)
        stack.enter_context(released)
        for batch, record in batches:
            if pairs is not None:
                pairs.write(pa.record_batch({"record": record}))
            for low in range(0, batch.num_rows, ROWS_WRITTEN):
                released.write(batch.slice(low, ROWS_WRITTEN))


@contextmanager
def open_to_write(path: Path, packed: bool) -> Iterator[BinaryIO]:
    """A file to write bytes to. A compressed one has neither a name nor a time in it, so that the same bytes come out again."""
    with path.open("wb") as file:
        if not packed:
            yield file
            return
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as content:
            yield cast(BinaryIO, content)


class _File:
    """One CSV or Parquet file, opened when its types are known."""

    def __init__(self, path: Path, suffix: str, row_order: str, dialect: CsvDialect | None = None) -> None:
        self._path, self._csv, self._row_order = path, suffix.lower() in (".csv", ZIPPED_CSV), row_order
        self._zip = suffix == ZIPPED_CSV
        self._dialect = LIKE_ARROW if dialect is None else replace(dialect, thousands="")
        self._writer: Any = None
        self._stack = ExitStack()

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa
        from pyarrow import csv, parquet

        if self._csv:
            for name in [f.name for f in batch.schema if TAGS in (f.metadata or {})]:
                place = batch.schema.get_field_index(name)
                batch = batch.set_column(place, name, tags_as_text(batch.column(place)))
                batch = batch.cast(with_mark(batch.schema, [name]))
            for name, form in {f.name: form_of_field(f) for f in batch.schema}.items():
                if form and is_date(batch.schema.field(name).type):
                    place = batch.schema.get_field_index(name)
                    batch = batch.set_column(place, name, stated_form(form).write(batch.column(place)))
            batch = for_spreadsheets(batch)
            self._writer = self._writer or (
                csv.CSVWriter(self._open() if self._zip else self._path, batch.schema)
                if self._dialect == LIKE_ARROW and not any(map(has_texts, batch.schema))
                else DialectWriter(self._open(), batch.schema, self._dialect)
            )
            self._writer.write_batch(batch)
            return
        schema = without_forms(batch.schema).with_metadata({ROW_ORDER: self._row_order.encode()})
        self._writer = self._writer or parquet.ParquetWriter(self._path, schema, use_dictionary=_repeating(schema))
        self._writer.write_batch(pa.record_batch(batch.columns, schema=schema))

    def _open(self) -> BinaryIO:
        return self._stack.enter_context(open_to_write(self._path, self._zip))

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            if self._writer is not None:
                close_writer(self._writer)


def _repeating(schema: pa.Schema) -> list[str]:
    """Columns worth a dictionary: real numbers rarely repeat, and looking for repetitions doubles the time to write them."""
    import pyarrow as pa

    return [f.name for f in schema if not pa.types.is_floating(f.type)]


class _Folder:
    """A folder of Parquet files of a few million rows each."""

    def __init__(self, path: Path, row_order: str) -> None:
        self._path, self._row_order = path, row_order
        self._part: _File | None = None
        self._rows = self._parts = 0

    def write(self, batch: pa.RecordBatch) -> None:
        if self._part is None or self._rows >= PART:
            self.__exit__()
            self._part = _File(self._path / f"part-{self._parts:05d}.parquet", ".parquet", self._row_order)
            self._rows, self._parts = 0, self._parts + 1
        self._part.write(batch)
        self._rows += batch.num_rows

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._part is not None:
            self._part.__exit__()
