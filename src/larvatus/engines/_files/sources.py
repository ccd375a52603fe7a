"""Reading sources: CSV and Parquet by path, folder or pattern, and data frames. Errors never quote a value."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from larvatus.core.errors import ReadError, nearest_names
from larvatus.core.file_signatures import likeness
from larvatus.core.input_paths import matching_paths
from larvatus.core.memory_size import usable_memory
from larvatus.core.safe_files.trial_process import survives
from larvatus.data.csv_files.dialect import NOTHING_STATED, CsvDialect, CsvFormat, stated_format
from larvatus.data.csv_files.number_notation import Notation
from larvatus.data.csv_files.recognition import recognise_dialect
from larvatus.data.dates.date_forms import stated_form, with_forms
from larvatus.data.labelling.labels import LABELLED
from larvatus.engines._files.arrow_sources import ARROW, arrow_names, is_arrow_file, is_arrow_stream
from larvatus.engines._files.csv import Uses, csv_header, csv_looks, csv_texts
from larvatus.engines._files.date_cells import looks_with_forms, readers_of_dates
from larvatus.engines._files.labelled_files import is_labelled, labelled_names
from larvatus.engines._files.looks import Looks
from larvatus.engines._files.table_formats import delta_files, is_delta, refuse_iceberg
from larvatus.engines._files.text_stream import CSV, csv_start, is_compressed, is_csv, size_up_to
from larvatus.engines._files.texts_in_numbers import are_numbers, has_texts, is_sheet_text, usual_cells, with_mark
from larvatus.engines._layout.parquet_writer import file_identity, is_written_here

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET = {".parquet", ".pq"}
ROWS_READ, BUFFER = 1 << 18, 1 << 20
LARGEST_TRIED = 1 << 24  # bytes of a Parquet file


@dataclass(frozen=True, slots=True)
class Parts:
    """The files of a source in path order, and the values in their folder names (`region=7/part.parquet`)."""

    paths: tuple[Path, ...]
    keys: Mapping[str, tuple[str, ...]]
    stated: CsvFormat = NOTHING_STATED
    like: CsvDialect | None = None
    _dialects: dict[Path, CsvDialect] = field(default_factory=dict, compare=False, repr=False)

    @property
    def text(self) -> bool:
        return is_csv(self.paths[0])

    def own_names(self, path: Path) -> list[str]:
        """The columns stored in a part itself."""
        return csv_header(path, self.dialect(path)) if self.text else _parquet_names(path)

    def dialect(self, path: Path) -> CsvDialect:
        """How a part is written. All parts have the notation of numbers of the first one."""
        if path not in self._dialects:
            first = self.paths[0]
            like = self.like if path == first else self.dialect(first)
            self._dialects[path] = recognise_dialect(csv_start(path), self.stated, like)
            if like is not None and path != first:
                self._check_notation(path, like)
        return self._dialects[path]

    def _check_notation(self, path: Path, first: CsvDialect) -> None:
        other = self._dialects[path]
        if (other.decimal, other.thousands) != (first.decimal, first.thousands):
            raise ReadError(f"{path.name} ({other.text()}) and {self.paths[0].name} ({first.text()}) have different notations "
                            'of numbers. State the notation (decimal = "…", thousands = "…"), or convert one of them.')


def parts_of(source: str | os.PathLike[str]) -> Parts:
    """The files of a path, a folder or a pattern."""
    text, (stated, like) = str(source), stated_format(source)
    if glob.has_magic(text) and not Path(source).exists():
        root = Path(text[: min(text.index(c) for c in "*?[" if c in text)]).parent
        paths = sorted(Path(p) for p in matching_paths(text) if Path(p).is_file())
        if not paths:
            raise ReadError(f"no file matches the pattern {text}.")
    elif Path(source).is_dir():
        root = Path(source)
        refuse_iceberg(root)
        inside = delta_files(root) if is_delta(root) else [p for p in root.rglob("*") if p.is_file() and _seen(p, root)]
        paths = sorted(p for p in inside if is_table(p))
        if not paths:
            raise ReadError(f"{source} is a folder without CSV or Parquet files.")
    else:
        return Parts((existing(source),), {}, stated, like)
    paths = [existing(p) for p in paths]
    if len({is_csv(p) for p in paths}) > 1:
        raise ReadError(f"{source} contains both CSV and Parquet files. Give a pattern such as *.parquet.")
    named = [dict(part.split("=", 1) for part in p.relative_to(root).parts[:-1] if "=" in part) for p in paths]
    if len({tuple(n) for n in named}) > 1:
        raise ReadError(f"{source}: its sub-folders are not all named after the same columns (name=value).")
    return Parts(tuple(paths), {k: tuple(n[k] for n in named) for k in named[0]}, stated, like)


def is_table(path: Path) -> bool:
    """Whether a file is CSV or Parquet by its name."""
    return is_csv(path) or path.suffix.lower() in PARQUET


def dialect_of(source: Any) -> CsvDialect | None:
    """The dialect of a source, from its first part; None if it is not CSV."""
    if not isinstance(source, str | os.PathLike):
        return None
    parts = parts_of(source)
    return parts.dialect(parts.paths[0]) if parts.text else None


def _seen(path: Path, root: Path) -> bool:
    """Whether a file is data. Names that start with a dot or an underscore mark files of other programs."""
    return not any(part.startswith((".", "_")) for part in path.relative_to(root).parts)


def column_names(source: Any) -> list[str]:
    """The column names of the source. Duplicates and sources without columns are refused."""
    if is_labelled(source):
        names = labelled_names(source)
    elif is_arrow_file(source) or is_arrow_stream(source):
        names = arrow_names(source)
    elif isinstance(source, str | os.PathLike):
        parts = parts_of(source)
        own = parts.own_names(parts.paths[0])
        names = [*own, *(k for k in parts.keys if k not in own)]
    else:
        names = [str(c) for c in _native_columns(source)]
    return distinct_names(names)


def source_names(source: Any, sheet: str | None = None) -> list[str]:
    """The column names of a source, or of a sheet of it."""
    return column_names(source) if sheet is None else distinct_names(labelled_names(source, sheet))


def distinct_names(names: list[str]) -> list[str]:
    """The names, if there are any and all differ."""
    twice = [n for n, times in Counter(names).items() if times > 1]
    if twice:
        raise ReadError(f"duplicate column names: {', '.join(map(repr, twice[:5]))}. Give each column a different name.")
    if not names:
        raise ReadError("the source has no columns.")
    return names


def arrow_table(source: Any, names: Sequence[str], uses: Uses = Uses()) -> pa.Table:  # noqa: B008 (frozen)
    """The named columns as an Arrow table. A source without rows is refused."""
    import pyarrow as pa

    if isinstance(source, str | os.PathLike):
        _check_fits(parts_of(source))
        schema, batches = batches_of(source, names, uses)
        table = pa.Table.from_batches(list(batches()), schema)
    else:
        table = _from_frame(source, names)
    if table.num_rows == 0:
        raise ReadError("the source has a header but no records.")
    return without_views(table)


def batches_of(
    source: str | os.PathLike[str], names: Sequence[str], uses: Uses = Uses()  # noqa: B008 (frozen)
) -> tuple[pa.Schema, Callable[[], Iterator[pa.RecordBatch]]]:
    """The types of the named columns, and their rows in batches, part by part."""
    import pyarrow as pa

    parts = parts_of(source)
    for path in parts.paths[1:]:
        lacking = [n for n in names if n not in parts.keys and n not in parts.own_names(path)]
        if lacking:
            raise ReadError(f"{path.name} has no column {lacking[0]!r}, which the first part has.")
    own = [n for n in names if n in parts.own_names(parts.paths[0])]
    keys = {n: _key(values, n in uses.codes) for n, values in parts.keys.items() if n in names and n not in own}
    fields, forms, mixed, read = _csv_parts(parts, own, uses) if parts.text else _parquet_parts(parts, own, uses)
    schema = pa.schema([pa.field(n, keys[n].type if n in keys else fields[n]) for n in names])
    schema = with_mark(with_forms(schema, forms), mixed)

    def batches() -> Iterator[pa.RecordBatch]:
        for i, batch in read():
            size = batch.num_rows
            columns = [pa.repeat(keys[n][i], size) if n in keys else batch.column(n).cast(schema.field(n).type) for n in names]
            yield pa.record_batch(columns, schema=schema)

    return schema, batches


Read = Callable[[], Iterator[tuple[int, Any]]]


def _key(values: tuple[str, ...], code: bool) -> pa.Array:
    import pyarrow as pa

    texts = pa.array([None if v == "__HIVE_DEFAULT_PARTITION__" else v for v in values], type=pa.string())
    filled = texts.fill_null("")
    return Looks.of(filled, code).typed(filled)


def _csv_parts(parts: Parts, names: Sequence[str], uses: Uses) -> tuple[dict[str, Any], dict[str, str], list[str], Read]:
    """Column types and forms of dates from all cells of all parts: one pass to determine them, another to read.

    Columns of numbers with stated texts among them stay text, and are named.
    """
    import pyarrow as pa

    looks = {n: Looks() for n in names}
    for path in parts.paths:
        found = csv_looks(path, names, uses, parts.dialect(path))
        looks = {n: looks[n] | found[n] for n in names}
    first = parts.paths[0]
    looks = looks_with_forms(first, csv_header(first, parts.dialect(first)), looks, parts.stated.dates, parts.like, uses)
    fields = {n: look.typed(pa.array([], type=pa.string())).type for n, look in looks.items()}
    mixed = [n for n in names if n in uses.texts and pa.types.is_string(fields[n]) and are_numbers(
        _cells(parts, n), uses.texts[n], n in uses.masked)]

    def typed(name: str, cells: Any, notation: Notation) -> Any:
        return usual_cells(cells, uses.texts[name], notation) if name in mixed else looks[name].typed(cells, notation)

    def read() -> Iterator[tuple[int, Any]]:
        for i, path in enumerate(parts.paths):
            dialect = parts.dialect(path)
            notation = Notation(dialect.decimal, dialect.thousands)
            for batch in csv_texts(path, names, dialect):
                yield i, pa.record_batch([typed(n, batch.column(n), notation) for n in names], names=list(names))

    return fields, {n: look.form for n, look in looks.items()}, mixed, read


def _cells(parts: Parts, name: str) -> Iterator[tuple[Any, Notation]]:
    """A column of CSV files as text, with the notation of its numbers."""
    for path in parts.paths:
        dialect = parts.dialect(path)
        for batch in csv_texts(path, [name], dialect):
            yield batch.column(0), Notation(dialect.decimal, dialect.thousands)


def _parquet_parts(parts: Parts, names: Sequence[str], uses: Uses) -> tuple[dict[str, Any], dict[str, str], list[str], Read]:
    import pyarrow as pa
    from pyarrow import parquet

    schemas = [_parquet_schema(p) for p in parts.paths]
    try:
        whole = pa.unify_schemas([pa.schema([s.field(n) for n in names]) for s in schemas], promote_options="permissive")
    except pa.ArrowException:
        raise ReadError("a column has different types in different parts. Write all parts with the same types.") from None

    dated = readers_of_dates(names, schemas[0], parts.stated.dates, uses)
    forms = {n: parts.stated.dates[n] for n in dated}

    def read() -> Iterator[tuple[int, Any]]:
        for i, path in enumerate(parts.paths):
            try:
                with parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER, page_checksum_verification=True) as file:
                    for batch in file.iter_batches(ROWS_READ, columns=list(names)):
                        yield i, _with_dates(batch, dated)
            except MemoryError:
                raise
            except (pa.ArrowException, OSError):
                raise ReadError(f"{path.name} is not a readable Parquet file; it may be incomplete.") from None

    fields = {n: whole.field(n) for n in names if n in uses.texts and n not in dated}
    mixed = [n for n, about in fields.items() if has_texts(about) or (is_sheet_text(about) and are_numbers(
        ((batch.column(n), Notation()) for _, batch in read()), uses.texts[n], n in uses.masked))]
    return {n: stated_form(forms[n]).type if n in forms else whole.field(n).type for n in names}, forms, mixed, read


def _with_dates(batch: pa.RecordBatch, dated: Mapping[str, Callable[[Any], Any]]) -> pa.RecordBatch:
    """A batch in which texts of a stated form are dates."""
    for name, as_dates in dated.items():
        batch = batch.set_column(batch.schema.get_field_index(name), name, as_dates(batch.column(name)))
    return batch


def without_views(table: Any) -> Any:
    """String views as plain strings, because Arrow cannot reorder views."""
    import pyarrow as pa

    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    if not any(field.type in plain for field in table.schema):
        return table
    return table.cast(pa.schema([field.with_type(plain.get(field.type, field.type)) for field in table.schema]))


def keyed_order_of(source: Any) -> bool:
    """Whether a released file states that its rows are in keyed random order."""
    if not isinstance(source, str | os.PathLike) or is_labelled(source):
        return False
    first = parts_of(source).paths[0]
    return first.suffix.lower() in PARQUET and (_parquet_schema(first).metadata or {}).get(b"larvatus.row_order") == b"keyed"


def _check_fits(parts: Parts) -> None:
    """Refuse compressed files that are larger than the memory that may be used."""
    if not any(is_compressed(p) for p in parts.paths):
        return
    most = usable_memory()
    if sum(size_up_to(p, most) for p in parts.paths) > most:
        raise ReadError(f"{parts.paths[0].name} is larger than the memory that may be used ({most / 1e9:.1f} GB) when "
                        "decompressed. Use engine duckdb, which works on disk.")


def existing(source: str | os.PathLike[str]) -> Path:
    """The path, if it is an existing file of a supported type."""
    path = Path(source)
    if not path.exists():
        beside = path.parent.glob("*") if path.parent.is_dir() else []
        near = sorted(p.name for p in beside if p.exists() and (is_table(p) or p.suffix.lower() in LABELLED | ARROW))
        raise ReadError(f"no file {path}; in that folder {nearest_names(path.name, near)}")
    if path.suffix.lower() in LABELLED | ARROW:
        kind = "labelled files" if path.suffix.lower() in LABELLED else "Arrow files"
        raise ReadError(f"{path.name}: {kind} are read one at a time. Name one file, not a folder or a pattern.")
    if not is_table(path):
        listed = ", ".join([*sorted(CSV | PARQUET | ARROW), *sorted(LABELLED)])
        raise ReadError(f"{path.name}: only files ending in {listed} can be read, and CSV files compressed as .gz, .zst or "
                        ".zip. Convert it, or rename it if it is one of these.")
    if path.stat().st_size == 0:
        raise ReadError(f"{path.name} is empty.")
    return path


def _refuse_crashes(path: Path) -> None:
    """Refuse a Parquet file that crashes the library, as some damaged files do. A copy of this process reads it first.

    That takes as long as reading, so that it is done once for a file that does not change. It is not done for a large one, nor
    for one that this process has just made of a file of another format. Pages of a large one are compared with their checksums,
    if they have any.
    """
    told = file_identity(path)
    if path.stat().st_size <= LARGEST_TRIED and not is_written_here(told) and not _is_read(*told):
        raise ReadError(f"{path.name} is damaged: the library that reads Parquet files crashes. Copy it again, or save it "
                        "again.")


@lru_cache(maxsize=1024)
def _is_read(path: str, *_: int) -> bool:
    """Whether a copy of this process reads a file without a crash."""
    from pyarrow import parquet

    def read() -> None:
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            for _ in file.iter_batches(ROWS_READ, use_threads=False):
                pass

    return survives(read)


def _parquet_schema(path: Path) -> pa.Schema:
    import pyarrow as pa
    from pyarrow import parquet

    _refuse_crashes(path)
    try:
        return parquet.read_schema(path)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        like = likeness(path)
        like = "" if "Parquet" in like else like
        raise ReadError(f"{path.name} is not a readable Parquet file{like}. Check its extension, or copy it again.") from None


def _parquet_names(path: Path) -> list[str]:
    return list(_parquet_schema(path).names)


def _native_columns(source: Any) -> Sequence[Any]:
    if type(source).__name__ == "LazyFrame":
        raise ReadError("a lazy frame has no rows yet. Pass it after .collect().")
    if type(source).__name__ == "DuckDBPyRelation":
        raise ReadError("a DuckDB relation needs engine duckdb. Leave engine out, or pass relation.to_arrow_table().")
    columns = getattr(source, "column_names", None)
    if columns is None:
        columns = getattr(source, "columns", None)
    if columns is None or callable(columns):
        raise ReadError(
            f"cannot read a {type(source).__name__}. Pass a path to CSV or Parquet, or a pandas, polars or pyarrow data frame."
        )
    return list(columns)


def _from_frame(source: Any, names: Sequence[str]) -> pa.Table:
    import narwhals as nw
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source.select(list(names))
    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        raise ReadError(
            f"cannot read a {type(source).__name__}. Pass a path to CSV or Parquet, or a pandas, polars or pyarrow data frame."
        ) from None
    if not all(isinstance(c, str) for c in frame.columns):
        raise ReadError("column names must be text. Rename the columns of the frame.")
    try:
        return frame.select(list(names)).to_arrow()
    except UnicodeEncodeError:
        raise ReadError("a column contains text that is not valid Unicode. Correct it.") from None
    except pa.ArrowException:
        raise ReadError("a column contains values of several types. Convert it to numbers or to text.") from None
