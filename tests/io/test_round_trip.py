"""Any small table, written to a file, read, masked and framed: S and rows the same, only declared columns."""

from __future__ import annotations

import math
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet

import larvatus as lv
from drawn_examples import drawn
from larvatus.core.errors import LarvatusWarning
from sample import SECRET

LETTERS = st.characters(exclude_categories=["Cs", "Cc"])
NAMES = st.text(LETTERS, min_size=1, max_size=8).filter(lambda name: name.strip())
WORDS = st.text(st.one_of(LETTERS, st.sampled_from('\n",;\t|')), max_size=6).map(lambda text: f"t{text}")
FLOATS = st.floats(-1e12, 1e12).filter(lambda v: v == 0 or abs(v) > 1e-12)
CELLS = {
    pa.string(): WORDS, pa.int64(): st.integers(-(2**62), 2**62), pa.float64(): FLOATS, pa.bool_(): st.booleans(),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Mixed columns with missing cells and names in any script; the last is confidential, the one before it has no role."""
    rows = draw(st.integers(3, 12))
    names = draw(st.lists(NAMES, min_size=3, max_size=6, unique=True))
    columns = []
    for _ in names[:-1]:
        kind = draw(st.sampled_from(list(CELLS)))
        cells = draw(st.lists(st.none() | CELLS[kind], min_size=rows, max_size=rows))
        columns.append(pa.array(cells, kind))
    missing = draw(st.sets(st.integers(0, rows - 3)))
    columns.append(pa.array([None if i in missing else i**2 * 1.25 for i in range(rows)]))
    return pa.table(columns, names=names)


def cells(column: pa.ChunkedArray) -> list:
    """Plain values; what CSV cannot tell apart is made the same: 1 and 1.0, missing and empty."""
    return [None if v is None or (isinstance(v, float) and math.isnan(v)) else v for v in column.to_pylist()]


def close(one: list, other: list) -> bool:
    return all(a == b or (isinstance(a, float) and isinstance(b, int | float) and math.isclose(a, b)) for a, b in zip(
        one, other, strict=True))


@given(tables(), st.sampled_from(["csv", "parquet"]), st.sampled_from(["csv", "parquet"]))
@drawn(120)
def test_s_rows_and_columns_survive_the_whole_way(table, read_as, write_as):
    *given_names, hidden, secret = table.column_names
    with tempfile.TemporaryDirectory() as folder:
        source, target, pairs = (Path(folder) / f"{n}.{e}" for n, e in (
            ("in", read_as), ("out", write_as), ("pairs", "parquet")))
        (csv.write_csv if read_as == "csv" else parquet.write_table)(table, source)
        before = source.read_bytes()
        data = lv.read(source, confidential=[secret], non_confidential=given_names)
        release = lv.mask(data, "additive_noise", secret=SECRET)
        frame = release.frame()
        release.write(target, pairing=pairs)
        out = lv.read(target, confidential=[secret], non_confidential=given_names).frame()
        order = parquet.read_table(pairs)["record"].to_pylist()
        assert source.read_bytes() == before
        assert sorted(p.name for p in Path(folder).iterdir()) == sorted({source.name, target.name, pairs.name})
    assert frame.column_names == out.column_names == [*given_names, secret]
    assert hidden not in frame.column_names
    assert frame.num_rows == out.num_rows == table.num_rows
    for name in given_names:
        assert close(cells(frame[name]), cells(table[name]))
        assert close(cells(out[name]), [cells(table[name])[i] for i in order])
    was, now = (np.array(t[secret].to_pylist(), dtype=float) for t in (table, frame))
    assert np.array_equal(np.isnan(was), np.isnan(now))
    assert np.all((was != now) | np.isnan(was))
    np.testing.assert_allclose(np.array(out[secret].to_pylist(), dtype=float), now[order])


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@drawn(200)
def test_any_bytes_are_read_or_refused_with_one_error(raw):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", LarvatusWarning)  # what was recognised
        for name in ("file.csv", "file.parquet", "file.csv.gz", "file.csv.zst", "file.zip"):
            (Path(folder) / name).write_bytes(b"x,y\n" + raw if name == "file.csv" else raw)
            with suppress(lv.LarvatusError):
                assert lv.read(Path(folder) / name, confidential="x").rows > 0
