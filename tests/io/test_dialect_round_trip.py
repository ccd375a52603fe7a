"""A table written in any dialect is read back with the same values, whatever its text contains."""

from __future__ import annotations

import gzip
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import larvatus as lv
from drawn_examples import drawn
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.text_columns import MISSING
from larvatus.engines._files.targets import write_batches

ENCODINGS = ["utf-8", "utf-16-le", "utf-16-be", "cp1252", "iso8859-1"]
LATIN = "".join(chr(i) for i in (*range(32, 127), *range(0xA0, 0x100))) + "\n\r"


def _words(encoding: str) -> st.SearchStrategy[str]:
    if encoding.startswith("utf"):
        return st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff", exclude_categories=["Cs"]), max_size=8)
    return st.text(LATIN, max_size=8)


@st.composite
def tables(draw: st.DrawFn) -> tuple[CsvDialect, pa.RecordBatch, bool]:
    """A dialect, a table with text and numbers, and whether it is compressed."""
    encoding = draw(st.sampled_from(ENCODINGS))
    delimiter, decimal = draw(st.sampled_from([(",", "."), (";", ","), (";", "."), ("\t", ","), ("|", ","), ("\t", ".")]))
    rows = draw(st.integers(1, 12))
    words = st.lists(_words(encoding).filter(lambda w: w.strip()), min_size=rows, max_size=rows)
    numbers = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=rows, max_size=rows)
    counts = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=rows, max_size=rows)
    batch = pa.record_batch({
        "a": pa.array([w + "x" for w in draw(words)]), "x": pa.array(draw(numbers)), "n": pa.array(draw(counts), pa.int64()),
    })
    return CsvDialect(delimiter, draw(st.sampled_from(['"', "'"])), decimal, encoding=encoding), batch, draw(st.booleans())


def _reads_as_unicode(words: list[str], encoding: str) -> bool:
    """Whether text of one byte a character is also valid UTF-8, as "Â" before a no-break space is: only its user can tell."""
    if encoding.startswith("utf"):
        return False
    try:
        return not "".join(words).encode(encoding).decode("utf-8").isascii()
    except UnicodeDecodeError:
        return False


@drawn(150)
@given(tables(), st.booleans())
def test_what_is_written_in_a_dialect_is_read_back(drawn, state):
    dialect, batch, packed = drawn
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "f.csv"
        write_batches([(batch, None)], path, "keep", None, dialect=dialect)
        if packed:
            (Path(folder) / "f.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
            path = Path(folder) / "f.csv.gz"
        notation = {"decimal": dialect.decimal, "thousands": "none"}  # 1,234 alone cannot be told from 1234
        high = dialect.encoding != "iso8859-1" or state  # a file of ASCII alone is UTF-8
        stated = {"encoding": dialect.encoding, "delimiter": dialect.delimiter, "quote": dialect.quote} if state else (
            {"encoding": dialect.encoding} if _reads_as_unicode(batch["a"].to_pylist(), dialect.encoding) else {}
        )
        data = lv.read(path, confidential="x", non_confidential=["a", "n"], nominal="a", **notation, **stated)
        found = data.frame()
    assert high or data.dialect.encoding in ("utf-8", "cp1252")
    assert found["a"].to_pylist() == batch["a"].to_pylist()
    assert found["n"].to_pylist() == batch["n"].to_pylist()
    assert [float(v) for v in found["x"].to_pylist()] == batch["x"].to_pylist()
    assert all(v not in MISSING for v in batch["a"].to_pylist())
