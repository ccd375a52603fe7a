"""Reading: CSV and Parquet by path, frames of any library; only columns with a role; no value is ever quoted in an error."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from larvatus.core.errors import ReadError, nearest_names

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK, LONGEST_HEADER = 1 << 24, 10_000
CSV, PARQUET = {".csv", ".tsv", ".txt"}, {".parquet", ".pq"}
MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "#N/A", "."]


def column_names(source: Any) -> list[str]:
    """The names of the source's columns, refusing duplicates and sources without any."""
    if isinstance(source, str | Path):
        path = existing(source)
        names = _csv_header(path)[0] if path.suffix.lower() in CSV else _parquet_names(path)
    else:
        names = [str(c) for c in _native_columns(source)]
    twice = [n for n, times in Counter(names).items() if times > 1]
    if twice:
        raise ReadError(f"duplicate column names: {', '.join(map(repr, twice[:5]))}. Give each column a name of its own.")
    if not names:
        raise ReadError("the source has no columns.")
    return names


def arrow_table(source: Any, names: Sequence[str]) -> pa.Table:
    """The named columns as an Arrow table, refusing a source without rows."""
    if isinstance(source, str | Path):
        path = existing(source)
        table = _read_csv(path, names) if path.suffix.lower() in CSV else _read_parquet(path, names)
    else:
        table = _from_frame(source, names)
    if table.num_rows == 0:
        raise ReadError("the source has a header but no records.")
    return _without_views(table)


def _without_views(table: pa.Table) -> pa.Table:
    """Text views as plain text: Arrow cannot reorder them."""
    import pyarrow as pa

    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    if not any(field.type in plain for field in table.schema):
        return table
    return table.cast(pa.schema([field.with_type(plain.get(field.type, field.type)) for field in table.schema]))


def keyed_order_of(source: Any) -> bool:
    """Whether a released file says that its rows were written in keyed random order."""
    if not isinstance(source, str | Path) or Path(source).suffix.lower() not in PARQUET:
        return False
    from pyarrow import parquet

    return (parquet.read_schema(source).metadata or {}).get(b"larvatus.row_order") == b"keyed"


def existing(source: str | Path) -> Path:
    """The path, if a file of a kind that can be read lies there."""
    path = Path(source)
    if path.is_dir():
        raise ReadError(f"{path} is a folder; name a CSV or Parquet file.")
    if not path.exists():
        beside = path.parent.glob("*") if path.parent.is_dir() else []
        near = sorted(p.name for p in beside if p.suffix.lower() in CSV | PARQUET)
        raise ReadError(f"no file {path}; in that folder {nearest_names(path.name, near)}")
    if path.suffix.lower() not in CSV | PARQUET:
        raise ReadError(f"{path.name}: files ending in {', '.join(sorted(CSV | PARQUET))} are read; convert it first.")
    if path.stat().st_size == 0:
        raise ReadError(f"{path.name} is empty.")
    return path


def _csv_header(path: Path) -> tuple[list[str], str]:
    """Column names and the delimiter: the one of comma, semicolon, tab and bar most frequent outside quotes in the header."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            bare = re.sub(r'"[^"]*"', "", _first_record(file))
            delimiter = max(",;\t|", key=lambda d: (bare.count(d), d == ","))
            file.seek(0)
            names = next(csv.reader(file, delimiter=delimiter), [])
    except UnicodeDecodeError:
        raise ReadError(f"{path.name} is not UTF-8 text. Convert it first, for example with iconv.") from None
    except csv.Error:
        raise ReadError(f"{path.name} has a header that cannot be read. Look for a quotation mark left open in it.") from None
    except OSError as error:
        raise ReadError(f"{path.name} cannot be read: {error.strerror}.") from None
    blank = [str(i) for i, n in enumerate(names, 1) if not n.strip()]
    if not names or len(blank) == len(names):
        raise ReadError(f"{path.name} has no header line.")
    if blank:
        names = [n if n.strip() else f"column {i}" for i, n in enumerate(names, 1)]
    return names, delimiter


def _first_record(file: IO[str]) -> str:
    """The first line, and those after it while a quotation mark is open."""
    lines, marks = [file.readline()], 0
    while (marks := marks + lines[-1].count('"')) % 2 and lines[-1] and len(lines) < LONGEST_HEADER:
        lines.append(file.readline())
    return "".join(lines)


def _read_csv(path: Path, names: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    header, delimiter = _csv_header(path)
    read = arrow_csv.ReadOptions(column_names=header, skip_rows=_header_lines(path, delimiter), block_size=BLOCK)
    parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(header) > 1)
    convert = arrow_csv.ConvertOptions(
        include_columns=list(names), column_types={n: pa.string() for n in names}, strings_can_be_null=False
    )
    try:
        raw = arrow_csv.read_csv(path, read, parse, convert)
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "skip initial" in str(error):
            raise ReadError(f"{path.name} has a header but no records.") from None
        raise ReadError(f"{path.name} cannot be read as CSV with {delimiter!r} between columns: "
                        f"{_shape_of(str(error))}. Check for rows with too many or too few cells.") from None
    return pa.table({n: _typed(raw.column(n)) for n in names})


def _header_lines(path: Path, delimiter: str) -> int:
    """Lines taken up by the header: more than one where a quoted name holds a line break."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        next(reader)
        return reader.line_num


def _shape_of(message: str) -> str:
    """What Arrow says of a row's shape, without the row itself."""
    head = message.split(":")
    for part in head:
        if "Expected" in part:
            return part.strip()
    return "its rows do not have the same number of cells, or its text is not UTF-8"


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers, then numbers, then truth values, else text; codes with leading zeros or too many digits stay text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    blank = pc.is_in(trimmed, value_set=pa.array(MISSING))
    values = pc.if_else(blank, pa.scalar(None, pa.string()), trimmed)
    if pc.all(blank).as_py():
        return pa.chunked_array([pa.nulls(len(column), pa.float64())])
    if not pc.any(pc.match_substring_regex(values, r"^[-+]?0[0-9xX]")).as_py():
        too_long = pc.any(pc.match_substring_regex(values, r"^[-+]?[0-9]{19,}$")).as_py()
        for kind in (pa.int64(),) if too_long else (pa.int64(), pa.float64()):
            try:
                return pc.cast(values, kind)
            except pa.ArrowInvalid:
                continue
        if pc.all(pc.or_(blank, pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(["true", "false"])))).as_py():
            return pc.cast(values, pa.bool_())
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), column)


def _parquet_names(path: Path) -> list[str]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return list(parquet.read_schema(path).names)
    except (pa.ArrowInvalid, OSError):
        raise ReadError(f"{path.name} is not a readable Parquet file.") from None


def _read_parquet(path: Path, names: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_table(path, columns=list(names)).select(list(names))
    except (pa.ArrowInvalid, OSError):
        raise ReadError(f"{path.name} is not a readable Parquet file; it may be cut short.") from None


def _native_columns(source: Any) -> Sequence[Any]:
    if type(source).__name__ == "LazyFrame":
        raise ReadError("a lazy frame has no rows yet. Pass it after .collect().")
    columns = getattr(source, "column_names", None)
    if columns is None:
        columns = getattr(source, "columns", None)
    if columns is None or callable(columns):
        raise ReadError(
            f"cannot read a {type(source).__name__}; pass a path to CSV or Parquet, or a pandas, polars or pyarrow frame."
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
            f"cannot read a {type(source).__name__}; pass a path to CSV or Parquet, or a pandas, polars or pyarrow frame."
        ) from None
    if not all(isinstance(c, str) for c in frame.columns):
        raise ReadError("column names must be text. Rename the columns of the frame.")
    try:
        return frame.select(list(names)).to_arrow()
    except pa.ArrowException:
        raise ReadError("a column mixes types and cannot be held as one. Convert it to numbers or to text first.") from None
