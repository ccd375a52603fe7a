"""Labelled files (SPSS, Stata, SAS, Excel, OpenDocument): converted once to Parquet in a private folder, with their labels.

All engines read the Parquet file, so that they see the same values. The folder is removed when reading is over.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.errors import ReadError
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.data.labelling.labels import LABELLED, NO_LABELS, SHEETS, CodeValue, FileLabels, is_missing_code
from larvatus.engines._files import spreadsheets, statistical_files
from larvatus.engines._files.arrow_sources import is_arrow_file, is_arrow_stream, write_as_parquet
from larvatus.engines._files.missing_codes import all_whole, is_tag, is_text, tags_of, with_tags
from larvatus.engines._files.statistical_files import as_moment, moment_of, program_of
from larvatus.engines._files.texts_in_numbers import with_sheet_mark
from larvatus.engines._layout.parquet_writer import close_writer, parquet_writer

if TYPE_CHECKING:
    import pyarrow as pa

MANY_UNLABELLED = 12  # more distinct values without a label than this: a column of numbers, a few of which have a label


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """A source that every engine can read: the source itself, or a Parquet file made from a labelled one.

    `unlabelled` are the values without a label in each column that has value labels; None if they are many.
    """

    source: Any
    labels: FileLabels = NO_LABELS
    unlabelled: Mapping[str, tuple[CodeValue, ...] | None] = field(default_factory=dict)
    note: str = ""


def is_labelled(source: Any) -> bool:
    """Whether a source is the path of a labelled file."""
    return isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in LABELLED and Path(source).is_file()


def labelled_names(path: Any, sheet: str | None = None) -> list[str]:
    """The columns of a labelled file."""
    file = _filled(Path(path))
    _check_options(file, sheet, None)
    return spreadsheets.sheet_names(file, sheet) if is_sheet(file) else statistical_files.statistical_names(file)


def is_sheet(path: Path) -> bool:
    """Whether a file is a spreadsheet."""
    return path.suffix.lower() in SHEETS


def _filled(path: Path) -> Path:
    try:
        if path.stat().st_size == 0:
            raise ReadError(f"{path.name} is empty.")
    except OSError as error:
        raise ReadError(f"{path.name} cannot be read: {error.strerror}.") from None
    return path


@contextmanager
def open_as_parquet(source: Any, sheet: str | None = None, catalog: str | Path | None = None) -> Iterator[OpenedSource]:
    """The source, or the Parquet file made from it if it is a labelled file. That file exists only while it is open."""
    _check_options(source, sheet, catalog)
    if is_arrow_file(source) or is_arrow_stream(source):
        with _arrow_as_parquet(source) as made:
            yield OpenedSource(made)
        return
    if not is_labelled(source):
        yield OpenedSource(source)
        return
    path, folder = _filled(Path(source)), WorkFolder()
    try:
        yield _converted(path, folder, sheet, Path(catalog) if catalog is not None else None)
    finally:
        folder.close()


@contextmanager
def _arrow_as_parquet(source: Any) -> Iterator[Path]:
    folder = WorkFolder()
    try:
        target = folder.file(".parquet")
        write_as_parquet(source, target)
        yield target
    finally:
        folder.close()


def _check_options(source: Any, sheet: str | None, catalog: str | Path | None) -> None:
    suffix = Path(source).suffix.lower() if isinstance(source, str | os.PathLike) else ""
    if sheet is not None and suffix not in SHEETS:
        raise ReadError("the source is not a spreadsheet. Leave sheet out.", subject="sheet")
    if catalog is not None and suffix != ".sas7bdat":
        raise ReadError("the source is not a file .sas7bdat. Leave catalog out.", subject="catalog")
    if catalog is not None and not Path(catalog).is_file():
        raise ReadError(f"no file {catalog}.", subject="catalog")


def _converted(path: Path, folder: WorkFolder, sheet: str | None, catalog: Path | None) -> OpenedSource:
    note = ""
    if is_sheet(path):
        labels, chunks, note = spreadsheets.sheet_chunks(path, sheet)
    else:
        labels, chunks = statistical_files.file_chunks(path, catalog)
    looks: dict[str, _Looks] = {}
    first = folder.file(".parquet")
    types = _write_chunks(first, chunks, labels, looks, list(labels.columns), path)
    labels = _with_tags(labels, looks)
    target = folder.file(".parquet")
    _write_typed(first, target, {n: looks[n].type(types[n]) for n in types}, looks, is_sheet(path))
    first.unlink()
    return OpenedSource(target, labels, {n: look.unlabelled for n, look in looks.items() if labels[n].categories}, note)


class _Looks:
    """What the values of a column look like, over all chunks: whole numbers, dates, extended missing values, no label."""

    def __init__(self, name: str, labels: FileLabels) -> None:
        self.name, self.tags, self.whole = name, set[str](), True
        self._labels = labels[name]
        self._program = program_of(labels.suffix)
        self._moment = moment_of(self._program, self._labels.format) if not self._labels.missing else ""
        self._known = {code for code, _ in self._labels.values}
        self.unlabelled: tuple[CodeValue, ...] | None = ()

    def take(self, values: pa.Array) -> None:
        """Note what a chunk of the column contains."""
        import pyarrow as pa

        if pa.types.is_floating(values.type):
            numbers = values.to_numpy(zero_copy_only=False)
            self.tags |= {f".{chr(t)}" for t in np.unique(tags_of(numbers)) if t}
            self.whole &= all_whole(values)
            if self._moment and as_moment(values, self._program, self._moment) is None:
                self._moment = ""
        if self._labels.categories and self.unlabelled is not None:
            there = [_plain(v) for v in values.unique().drop_null().to_pylist() if v == v]
            new = {v for v in there if v not in self._known and not is_missing_code(v, self._labels.missing)}
            every = sorted({*self.unlabelled, *new}, key=lambda v: (isinstance(v, str), v))
            self.unlabelled = tuple(every) if len(every) <= MANY_UNLABELLED else None

    def type(self, stored: Any) -> Any:
        """The type in which engines read the column."""
        import pyarrow as pa

        if not pa.types.is_floating(stored) or self.tags:
            return stored
        if self._moment:
            return pa.date32() if self._moment == "date" else pa.timestamp("ms")
        return pa.int64() if self.whole else stored

    def typed(self, values: pa.Array, wanted: Any) -> pa.Array:
        """A chunk of the column in that type."""
        import pyarrow as pa

        if pa.types.is_temporal(wanted) and pa.types.is_floating(values.type):
            return as_moment(values, self._program, self._moment)
        return values.cast(wanted)


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _write_chunks(
    target: Path, chunks: Iterator[dict[str, Any]], labels: FileLabels, looks: dict[str, _Looks], names: list[str], path: Path
) -> dict[str, Any]:
    """Write all chunks as they are stored, and note what each column contains. Returns the types."""
    import pyarrow as pa
    from pyarrow import parquet

    looks |= {n: _Looks(n, labels) for n in names}
    if not names:
        raise ReadError(f"{path.name} has no columns.")
    writer, types = None, dict[str, Any]()
    try:
        for chunk in chunks:
            batch = pa.record_batch([chunk[n] for n in names], names=names)
            for name in names:
                looks[name].take(batch.column(name))
            if writer is None:
                types = {n: batch.schema.field(n).type for n in names}
                writer = parquet.ParquetWriter(target, batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            close_writer(writer)
    if writer is None:
        raise ReadError(f"{path.name} has no records.")
    return types


def _write_typed(
    source: Path, target: Path, types: Mapping[str, Any], looks: Mapping[str, _Looks], sheet: bool
) -> None:
    """Write the file again with the types that all of its values allow."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema(list(types.items()))
    schema = with_sheet_mark(schema) if sheet else schema
    with parquet.ParquetFile(source) as file, parquet_writer(target, schema) as writer:
        for batch in file.iter_batches():
            arrays = [looks[n].typed(batch.column(i), types[n]) for i, n in enumerate(types)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _with_tags(labels: FileLabels, looks: Mapping[str, _Looks]) -> FileLabels:
    """The labels, with the extended missing values that occur or have a label as codes of missing values."""
    columns = {}
    for name, given in labels.columns.items():
        tags = looks[name].tags | {str(code) for code, _ in given.values if is_tag(code)}
        columns[name] = replace(given, missing=(*given.missing, *sorted(tags))) if tags else given
    return replace(labels, columns=columns)


def as_labelled(batch: pa.RecordBatch, labels: FileLabels) -> pa.RecordBatch:
    """A batch of a released file with the types of the labelled source, which a CSV file does not have.

    Dates are dates again, and columns with extended missing values are numbers again.
    """
    import pyarrow as pa

    for place, name in enumerate(batch.schema.names):
        moment = moment_of(program_of(labels.suffix), labels[name].format)
        if moment and is_text(batch.schema.field(place).type):
            kind = pa.date32() if moment == "date" else pa.timestamp("ms")
            with suppress(pa.ArrowInvalid):
                batch = batch.set_column(place, name, batch.column(place).cast(kind))
    return with_tags(batch, labels)
