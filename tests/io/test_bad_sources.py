"""Sources that cannot be used: one clear error each, which quotes no value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.core.errors import LarvatusError, MaskError, ReadError, RolesError
from sample import SECRET

VALUE = "98765.4321"

FILES = {
    "empty": (b"", "is empty"),
    "blank lines": (b"\n\n\n", "no header"),
    "blank names": (b",,\n1,2,3\n", "no header"),
    "header alone": (b"a,x\n", "no records"),
    "header without an ending": (b"a,x", "no records"),
    "latin-1 far down": (b"a,x\n" + b"b,1\n" * 300_000 + f"caf\xe9 {VALUE},1\n".encode("latin-1"),
                         "line 300002, column 1 is not UTF-8"),
    "NUL bytes": (b"a,x\n1\0,2\n", "NUL bytes"),
    "a NUL byte far down": (b"a,x\n" + b"b,1\n" * 300_000 + f"{VALUE}\0,1\n".encode(), "line 300002 has a NUL byte"),
    "a cell too many": (f"a,x\np,1\nq,2,{VALUE}\n".encode(), "Expected 2 columns, got 3 in line 3"),
    "a cell too few": (f"a,x\np,1\n{VALUE}\n".encode(), "Expected 2 columns, got 1 in line 3"),
    "duplicate names": (b"x,a,x\n1,2,3\n", "duplicate column names: 'x'"),
    "infinity": (f"a,x\np,{VALUE}\nq,inf\nr,-Infinity\n".encode(), "'x' has 2 infinite values"),
    "above 2**53": (f"a,x\np,{2**53 + 2}\nq,1\n".encode(), "above 2**53"),
    "a quotation mark left open": (b'"a,x\n' + b"p,1\n" * 50_000, "quotation mark"),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_files(tmp_path, case):
    content, said = FILES[case]
    path = tmp_path / "file.csv"
    path.write_bytes(content)
    with pytest.raises(ReadError) as caught:
        lv.read(path, confidential="x", non_confidential="a")
    assert said in str(caught.value)
    assert VALUE not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["file.csv"]


def test_text_where_numbers_are_needed_names_the_column_and_not_the_value(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text(f"a,x\np,1\nq,{VALUE} or so\nr,2\ns,3\n", encoding="utf-8")
    with pytest.raises(MaskError, match=r"needs numbers, and 'x' contains text in 1 of 4 cells") as caught:
        lv.mask(lv.read(path, confidential="x"), "additive_noise", secret=SECRET)
    assert VALUE not in str(caught.value)


def test_text_among_numbers_that_leave_as_they_are_is_counted(tmp_path):
    path = tmp_path / "file.csv"
    cells = [*(f"{i}.5,{i}" for i in range(60)), f"{VALUE} or so,3"]
    path.write_text("s,x\n" + "\n".join(cells) + "\n", encoding="utf-8")
    with pytest.raises(RolesError, match=r"'s' is categorical with 61 levels.*1 of 61 cells are not plain numbers") as caught:
        lv.mask(lv.read(path, confidential="x", non_confidential="s"), "sufficiency_based", secret=SECRET)
    assert VALUE not in str(caught.value)


def test_a_path_that_is_not_there_offers_what_lies_beside_it(tmp_path):
    (tmp_path / "households.csv").write_text("x\n1\n", encoding="utf-8")
    with pytest.raises(ReadError, match=r"did you mean 'households\.csv'\?"):
        lv.read(tmp_path / "household.csv", confidential="x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReadError, match="is a folder without CSV or Parquet files"):
        lv.read(tmp_path / "empty", confidential="x")
    (tmp_path / "file.docx").write_bytes(b"PK")
    with pytest.raises(ReadError, match=r"file\.docx: only files ending in .*\.csv.*\.parquet.* can be read"):
        lv.read(tmp_path / "file.docx", confidential="x")


@pytest.mark.parametrize("cut", [0.5, 0.0])
def test_a_parquet_file_that_is_cut_short_or_none_at_all(tmp_path, cut):
    from pyarrow import parquet

    path = tmp_path / "file.parquet"
    parquet.write_table(pa.table({"x": np.arange(1000.0)}), path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * cut)] if cut else b"x,y\n1,2\n")
    with pytest.raises(ReadError, match="not a readable Parquet file"):
        lv.read(path, confidential="x")


FRAMES = {
    "duplicate names": (pd.DataFrame([[1, 2], [3, 4]], columns=["x", "x"]), "duplicate"),
    "numbers as names": (pd.DataFrame({1: [1, 2], "x": [3, 4]}), "must be text"),
    "mixed cells": (pd.DataFrame({"x": [1, VALUE]}), "several types"),
    "no rows": (pd.DataFrame({"x": []}), "no records"),
    "no columns": (pd.DataFrame(), "no columns"),
    "infinity": (pl.DataFrame({"x": [1.0, float("inf")]}), "1 infinite"),
    "infinite weight": (pd.DataFrame({"x": [1, 2], "w": [1.0, -np.inf]}), "'w' has 1 infinite"),
    "large integers": (pa.table({"x": [2**60, 1]}), "above 2**53"),
    "lazy": (pl.LazyFrame({"x": [1]}), "collect"),
    "a dict": ({"x": [1, 2]}, "cannot read a dict"),
    "an array": (np.eye(2), "cannot read a ndarray"),
    "nothing": (None, "cannot read a NoneType"),
}


@pytest.mark.parametrize("case", FRAMES)
def test_bad_frames(case):
    source, said = FRAMES[case]
    with pytest.raises(LarvatusError) as caught:
        lv.read(source, confidential="x", weight="w" if "weight" in case else None)
    assert said in str(caught.value)
    assert VALUE not in str(caught.value)


@pytest.mark.parametrize("column", [
    pa.array([[1], [2], None]), pa.array([{"k": 1}, None, {"k": 2}]),
    pa.array([(1, 2, 3)] * 3, pa.month_day_nano_interval()),
], ids=lambda c: str(c.type))
def test_columns_of_lists_and_other_things_are_refused_by_name(column):
    with pytest.raises(ReadError, match=r"'s' has type .*Convert it to text"):
        lv.read(pa.table({"s": column, "x": [1.0, 2.0, 3.0]}), confidential="x", non_confidential="s")


def test_confidential_times_of_day_are_refused_with_the_way_out():
    with pytest.raises(RolesError, match=r"'x' contains times of day.*to seconds"):
        lv.read(pa.table({"x": pa.array([1, 2], pa.time32("s"))}), confidential="x")


def test_a_column_that_does_not_exist_offers_the_nearest_names():
    table = pa.table({"income": [1.0, 2.0], "wealth": [3.0, 4.0], "region": ["a", "b"]})
    with pytest.raises(RolesError) as caught:
        lv.read(table, confidential=["incone"], non_confidential=["Region"], sub_groups="zzz")
    text = str(caught.value)
    assert "confidential: no column 'incone'; did you mean 'income'?" in text
    assert "non_confidential: no column 'Region'; did you mean 'region'?" in text
    assert "sub_groups: no column 'zzz'; there are: income, wealth, region." in text
