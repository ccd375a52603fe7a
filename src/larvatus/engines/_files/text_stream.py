"""CSV files as streams of UTF-8 text: decompressed and decoded block by block, so that no copy is held in memory or on disk.

Every byte is decoded strictly. A byte that the encoding does not have is reported with its line and column.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from larvatus.core.errors import ReadError
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.csv_files.encoding import mark_of
from larvatus.data.csv_files.recognition import FIRST_BYTES, CsvStart, csv_rows

CSV, COMPRESSED = frozenset({".csv", ".tsv", ".txt"}), frozenset({".gz", ".zst", ".zip"})
_BLOCK = 1 << 20
_BREAK = re.compile(r"\r\n|\n|\r")


def is_csv(path: Path) -> bool:
    """Whether a file is CSV by its name, perhaps compressed."""
    suffix = path.suffix.lower()
    return suffix in CSV or suffix == ".zip" or (suffix in COMPRESSED and path.with_suffix("").suffix.lower() in CSV)


def is_compressed(path: Path) -> bool:
    return path.suffix.lower() in COMPRESSED


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The content of a file, decompressed. Damaged and incomplete files are refused."""
    import pyarrow as pa

    kind = path.suffix.lower()
    try:
        with path.open("rb") as file:
            if kind == ".zip":
                with zipfile.ZipFile(file) as archive, archive.open(_member(path, archive)) as content:
                    yield cast(BinaryIO, _Limited(path, content))
            elif kind in COMPRESSED:
                with pa.CompressedInputStream(pa.PythonFile(file, "r"), {".gz": "gzip", ".zst": "zstd"}[kind]) as content:
                    yield cast(BinaryIO, _Limited(path, content))
            else:
                yield file
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        raise _damaged(path) from None
    except RuntimeError:  # what zipfile raises for an archive with a password
        if kind != ".zip":
            raise
        raise ReadError(f"{path.name} is encrypted. Unpack it first.") from None
    except OSError as error:
        if is_compressed(path) and error.strerror is None:
            raise _damaged(path) from None
        raise ReadError(f"{path.name} cannot be read: {error.strerror or 'the file is damaged'}.") from None


def _damaged(path: Path) -> ReadError:
    return ReadError(f"{path.name} cannot be decompressed: it is damaged or incomplete. Copy or download it again.")


def _member(path: Path, archive: zipfile.ZipFile) -> str:
    """The one file in an archive."""
    found = [m for m in archive.namelist() if not m.endswith("/") and not m.startswith("__MACOSX/")]
    if len(found) != 1:
        listed = ", ".join(found[:8]) + (f" … ({len(found)} in all)" if len(found) > 8 else "")
        raise ReadError(f"{path.name} contains {len(found)} files{f': {listed}' if found else ''}. Pack the one to read alone.")
    if Path(found[0]).suffix.lower() not in CSV:
        raise ReadError(f"{path.name} contains {found[0]}, which is not a CSV file (.csv, .tsv or .txt).")
    return found[0]


class _Limited(io.RawIOBase):
    """A decompressed stream that may not grow beyond the free space for temporary files: a small file can hide a huge one."""

    def __init__(self, path: Path, content: Any) -> None:
        self._path, self._content, self._read = path, content, 0
        where = os.environ.get("LARVATUS_TEMP") or tempfile.gettempdir()
        self._most = shutil.disk_usage(where if os.path.isdir(where) else tempfile.gettempdir()).free

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block: bytes = self._content.read(size if size >= 0 else _BLOCK)
        self._read += len(block)
        if self._read > self._most:
            raise ReadError(f"{self._path.name} is larger than {self._most / 1e9:.1f} GB when decompressed, which is more than "
                            "the free space for temporary files. Free some, or set LARVATUS_TEMP to another folder.")
        return block


def size_up_to(path: Path, most: int) -> int:
    """The number of bytes of a file, decompressed, if it is at most `most`; else some larger number."""
    if not is_compressed(path):
        return path.stat().st_size
    size = 0
    with open_bytes(path) as file:
        while size <= most and (block := file.read(_BLOCK)):
            size += len(block)
    return size


def csv_start(path: Path, size: int = FIRST_BYTES) -> CsvStart:
    """The first bytes of a file, decompressed."""
    piece = b""
    with open_bytes(path) as file:
        while len(piece) <= size and (block := file.read(size + 1 - len(piece))):
            piece += block
    return CsvStart(path.name, piece[:size], len(piece) <= size)


def utf8_blocks(path: Path, dialect: CsvDialect) -> Generator[bytes, None, None]:
    """The content of a file as UTF-8, without a byte order mark."""
    with open_bytes(path) as file:
        block = file.read(_BLOCK)
        mark, _ = mark_of(block)
        if dialect.encoding == "utf-8":
            block = block[len(mark) :]
            while block:
                yield block
                block = file.read(_BLOCK)
            return
        decoder = codecs.getincrementaldecoder(dialect.encoding)()
        place, block = len(mark), block[len(mark) :]
        while True:
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                at = place - (len(error.object) - len(block)) + error.start
                raise not_decoded(path, dialect, at) from None
            if text:
                yield text.encode("utf-8", "surrogatepass")
            if not block:
                return
            place += len(block)
            block = file.read(_BLOCK)


def check_utf8(path: Path, dialect: CsvDialect) -> None:
    """Raise an error that names the line and column of the first byte that is not UTF-8, if there is one."""
    decoder, place = codecs.getincrementaldecoder("utf-8")(), 0
    with open_bytes(path) as file:
        while True:
            block = file.read(_BLOCK)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                raise not_decoded(path, dialect, place - (len(error.object) - len(block)) + error.start) from None
            if not block:
                return
            place += len(block)


def not_decoded(path: Path, dialect: CsvDialect, place: int) -> ReadError:
    """The error for a byte that the encoding of the file does not have."""
    lines, last, left = 1, "", place
    decoder = codecs.getincrementaldecoder(dialect.encoding)(errors="replace")
    with open_bytes(path) as file:
        while left and (block := file.read(min(_BLOCK, left))):
            left -= len(block)
            last += decoder.decode(block)
            ends = list(_BREAK.finditer(last))
            lines += len(ends)
            last = last[ends[-1].end() :] if ends else last
    column = len(next(csv_rows(last, dialect.delimiter, dialect.quote), [""]))
    shown = CsvDialect(encoding=dialect.encoding).text().rpartition(", ")[2]
    other = "windows-1252 or latin-1" if dialect.encoding == "utf-8" else "latin-1 or cp850"
    return ReadError(f"{path.name}: line {lines}, column {column} is not {shown} text. State the encoding "
                     f'(encoding = "…", such as {other}), or convert the file, for example with iconv.')


class _Blocks(io.RawIOBase):
    """Blocks of bytes as a file."""

    def __init__(self, blocks: Generator[bytes, None, None]) -> None:
        self._blocks, self._left = blocks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = block
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

    def close(self) -> None:
        self._blocks.close()
        super().close()


def open_utf8(path: Path, dialect: CsvDialect) -> BinaryIO:
    """The content of a file as a stream of UTF-8, without a byte order mark."""
    return cast(BinaryIO, io.BufferedReader(_Blocks(utf8_blocks(path, dialect)), _BLOCK))


def open_text(path: Path, dialect: CsvDialect) -> io.TextIOWrapper:
    """The content of a file as text, with its line ends."""
    return io.TextIOWrapper(open_utf8(path, dialect), encoding="utf-8", newline="")


def is_plain(path: Path, dialect: CsvDialect) -> bool:
    """Whether a file can be read as it is: UTF-8 and not compressed."""
    return dialect.encoding == "utf-8" and not is_compressed(path)
