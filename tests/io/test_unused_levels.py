"""Levels that no released row has are not released: not in the dictionary of a Parquet file, not in the type of a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import larvatus as lv
from sample import SECRET

N, ENGINES = 40, ["memory", "duckdb", "pieces"]
X = np.exp(np.linspace(0, 3, N))
UNUSED = [f"Unused Person {i}" for i in range(300)]
LEVELS = ["low", *UNUSED[:150], "high", *UNUSED[150:]]  # two levels in use, in an order that is not alphabetical
CELLS = [None if i % 9 == 4 else ("high" if i % 3 else "low") for i in range(N)]


def arrow(ordered: bool) -> pa.Array:
    codes = pa.array([None if c is None else LEVELS.index(c) for c in CELLS], type=pa.int32())
    return pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS), ordered=ordered)


def parquet_file(folder: Path) -> Path:
    parquet.write_table(pa.table({"s": arrow(False), "g": arrow(True), "c": arrow(False), "x": X}), folder / "in.parquet")
    return folder / "in.parquet"


SOURCES = {
    "pandas": lambda folder: pd.DataFrame({
        "s": pd.Categorical(CELLS, LEVELS), "g": pd.Categorical(CELLS, LEVELS, ordered=True),
        "c": pd.Categorical(CELLS, LEVELS), "x": X}),
    "pandas with Arrow types": lambda folder: pd.DataFrame({
        n: pd.Series(pa.chunked_array([arrow(False)]), dtype=pd.ArrowDtype(arrow(False).type)) for n in "sgc"}).assign(x=X),
    "polars enumerations": lambda folder: pl.DataFrame({n: pl.Series(CELLS, dtype=pl.Enum(LEVELS)) for n in "sgc"} | {"x": X}),
    "polars categories": lambda folder: pl.DataFrame(
        {n: pl.Series([*UNUSED, *CELLS], dtype=pl.Categorical) for n in "sgc"} | {"x": np.r_[np.zeros(300), X]})[300:],
    "pyarrow": lambda folder: pa.table({"s": arrow(False), "g": arrow(True), "c": arrow(False), "x": X}),
    "parquet": parquet_file,
}


def release(source: Any, engine: str) -> lv.Release:
    data = lv.read(source, confidential=["x", "c"], non_confidential="s", sub_groups="g", engine=engine)
    changed = lv.masks.PostRandomisation(columns=("c",), scope="file")
    return lv.mask(data, lv.masks.AdditiveNoise(columns=("x",)), changed,
                   secret=SECRET)


def dictionary(column: Any) -> list[str]:
    """The entries of a column's dictionary, or of its values."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return sorted({v for c in chunks for v in (c.dictionary if pa.types.is_dictionary(c.type) else c).to_pylist()} - {None})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", SOURCES)
def test_no_dictionary_page_of_a_released_file_has_a_name_that_no_row_has(tmp_path, kind, engine):
    out = tmp_path / "out.parquet"
    release(SOURCES[kind](tmp_path), engine).write(out)
    assert b"Unused" not in out.read_bytes()
    read = parquet.read_table(out, read_dictionary=["s", "g", "c"])
    for name in "sgc":
        assert dictionary(read.column(name)) == ["high", "low"]
    assert sorted(map(str, read.column("s").to_pylist())) == sorted(map(str, CELLS))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [k for k in SOURCES if k != "parquet"])
def test_nor_has_a_frame(tmp_path, kind, engine):
    source = SOURCES[kind](tmp_path)
    frame = release(source, engine).frame()
    assert type(frame) is type(source)
    table = frame if isinstance(frame, pa.Table) else (
        frame.to_arrow() if isinstance(frame, pl.DataFrame) else pa.Table.from_pandas(frame))
    for name in "sgc":
        assert dictionary(table.column(name)) == ["high", "low"]
        assert "Unused" not in repr(table.schema.field(name).metadata)
        assert "Unused" not in repr(frame[name].dtype if not isinstance(frame, pa.Table) else frame.schema.field(name).type)
    cells = frame["s"].to_pylist() if isinstance(frame, pa.Table) else frame["s"].to_list()
    assert [c if isinstance(c, str) else None for c in cells] == CELLS


def test_the_order_of_the_levels_that_are_left_stays():
    frame = release(SOURCES["pandas"](Path()), "memory").frame()
    assert list(frame["g"].cat.categories) == ["low", "high"]
    assert frame["g"].cat.ordered
    assert list(frame["s"].cat.categories) == ["low", "high"]
    enumerated = release(SOURCES["polars enumerations"](Path()), "memory").frame()
    assert enumerated["g"].dtype == pl.Enum(["low", "high"])


@pytest.mark.parametrize("engine", ENGINES)
def test_ordered_dictionaries_keep_their_order_in_the_file(tmp_path, engine):
    release(SOURCES["pyarrow"](tmp_path), engine).write(tmp_path / "out.parquet")
    column = parquet.read_table(tmp_path / "out.parquet").column("g")
    if pa.types.is_dictionary(column.type):
        assert column.type.ordered
        assert column.chunk(0).dictionary.to_pylist() == ["low", "high"]


def test_without_an_order_the_file_does_not_tell_which_level_came_first(tmp_path):
    """The dictionary follows the released rows: the original's own order of entries is that of its records."""
    from larvatus.engines._files.columns import used_levels

    column = pa.chunked_array([pa.array(["b", "a", None, "b"]).dictionary_encode(), pa.array(["c"]).dictionary_encode()])
    assert used_levels(column.take(pa.array([4, 1, 0]))).chunk(0).dictionary.to_pylist() == ["c", "a", "b"]
