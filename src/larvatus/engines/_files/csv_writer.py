"""CSV in the dialect of a source: its delimiter, quotation mark, decimal mark and encoding. Thousands are not separated.

As in files that Arrow writes, text and column names are quoted and numbers are not, a missing value is an empty cell, and a
number has the fewest digits that stand for it alone.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any, BinaryIO

from larvatus.core.errors import WriteError
from larvatus.data.csv_files.dialect import USUAL_DIALECT, CsvDialect
from larvatus.engines._files.texts_in_numbers import has_texts, which_are_numbers

if TYPE_CHECKING:
    import pyarrow as pa

_MARKS = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
LIKE_ARROW = USUAL_DIALECT


class DialectWriter:
    """A CSV file in a dialect, written batch by batch."""

    def __init__(self, file: BinaryIO, schema: pa.Schema, dialect: CsvDialect) -> None:
        import pyarrow as pa

        self._dialect, self._names = dialect, list(schema.names)
        self._mixed = frozenset(f.name for f in schema if has_texts(f))
        self._file = file
        self._file.write(_MARKS.get(dialect.encoding, b""))
        header = self._quoted(pa.array(self._names), "a column name").to_pylist()
        self._write(dialect.delimiter.join(header) + "\n", self._names)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch."""
        import pyarrow.compute as pc

        cells = [pc.fill_null(self._cells(batch.column(i), n), "") for i, n in enumerate(self._names)]
        lines = pc.binary_join_element_wise(*cells, self._dialect.delimiter) if len(cells) > 1 else cells[0]
        text = "\n".join(lines.to_pylist())
        if batch.num_rows:
            self._write(text + "\n", self._names, batch)

    def close(self) -> None:
        """Write what is left. Who opened the file closes it."""
        self._file.flush()

    def _write(self, text: str, names: list[str], batch: Any = None) -> None:
        try:
            self._file.write(text.encode(self._dialect.encoding))
        except UnicodeEncodeError:
            raise WriteError(
                f"{self._culprit(names, batch)} has a character that the encoding of the source ({self._dialect.encoding}) "
                "does not have. Write the release as Parquet, or state another encoding."
            ) from None

    def _culprit(self, names: list[str], batch: Any) -> str:
        """The column whose text cannot be encoded."""
        for i, name in enumerate(names):
            texts = [name] if batch is None else [str(v) for v in batch.column(i).to_pylist()]
            try:
                "".join(texts).encode(self._dialect.encoding)
            except UnicodeEncodeError:
                return "a column name" if batch is None else f"column {name!r}"
        return "the release"

    def _cells(self, column: Any, name: str) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if name in self._mixed:
            numbers = pc.replace_substring(column, ".", self._dialect.decimal)
            bare = which_are_numbers(column) if self._dialect.decimal != self._dialect.delimiter else pa.scalar(False)
            return pc.if_else(bare, numbers, self._quoted(
                pc.if_else(which_are_numbers(column), numbers, column), f"column {name!r}"))
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._quoted(column, f"column {name!r}")
        texts = column.cast(pa.string())
        if self._dialect.decimal != "." and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            texts = pc.replace_substring(texts, ".", self._dialect.decimal)
            texts = texts if self._dialect.decimal != self._dialect.delimiter else self._quoted(texts, f"column {name!r}")
        return texts

    def _quoted(self, texts: Any, what: str) -> Any:
        """Texts between quotation marks, with marks inside written twice."""
        import pyarrow as pa
        import pyarrow.compute as pc

        mark, texts = self._dialect.quote, texts.cast(pa.string())
        if not mark:
            unsafe = pc.match_substring_regex(texts, rf"[\r\n{self._special()}]")
            if pc.any(unsafe).as_py():
                raise WriteError(f"{what} has a delimiter or a line end in its text, and the source has no quotation marks. "
                                 "Write the release as Parquet.")
            return texts
        return pc.binary_join_element_wise(pa.scalar(mark), pc.replace_substring(texts, mark, mark * 2), pa.scalar(mark), "")

    def _special(self) -> str:
        return "\\" + self._dialect.delimiter
