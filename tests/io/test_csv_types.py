"""Types of CSV columns: what is a number, what is a code, what is missing."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pytest

import larvatus as lv
from sample import SECRET


def column(folder: Path, cells: list[str]) -> pa.ChunkedArray:
    """Cells as the non-confidential column of a file, as they come out of a frame."""
    path = folder / "file.csv"
    path.write_text("s,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells)), encoding="utf-8")
    return lv.read(path, confidential="x", non_confidential="s").frame()["s"]


@pytest.mark.parametrize(("cells", "kind", "values"), [
    (["1", "-2", "30"], pa.int64(), [1, -2, 30]),
    (["1", "", "3"], pa.int64(), [1, None, 3]),
    ([" 1", "2 ", "3"], pa.int64(), [1, 2, 3]),
    (["1", "2.5", "1e3"], pa.float64(), [1.0, 2.5, 1000.0]),
    (["0", "0.5", "-0.25"], pa.float64(), [0.0, 0.5, -0.25]),
    (["9007199254740993", "1", "2"], pa.int64(), [9007199254740993, 1, 2]),
    (["true", "FALSE", "True"], pa.bool_(), [True, False, True]),
    (["true", "", "false"], pa.bool_(), [True, None, False]),
    (["1", "2", "x"], pa.string(), ["1", "2", "x"]),
    (["1", "1O", "2"], pa.string(), ["1", "1O", "2"]),
], ids=str)
def test_numbers_truth_values_and_text(tmp_path, cells, kind, values):
    found = column(tmp_path, cells)
    assert (found.type, found.to_pylist()) == (kind, values)


@pytest.mark.parametrize("cells", [
    ["007", "012", "100"], ["01", "2", "3"], ["-01", "2", "3"], ["00", "01", "10"],
    ["0x1F", "0x20", "0x21"],
    ["12345678901234567890", "12345678901234567891", "1"],
    ["2020-01-31", "2021-02-30", "1999-12-01"], ["12:30", "01:15", "00:00"],
    ["1,5".replace(",", "·"), "2·5", "3·5"],
], ids=str)
def test_codes_dates_and_other_text_leave_as_they_came(tmp_path, cells):
    assert column(tmp_path, cells).to_pylist() == cells


@pytest.mark.parametrize("token", ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "#N/A", ".", "  "])
def test_missing_tokens_among_numbers(tmp_path, token):
    found = column(tmp_path, ["1.5", token, "2"])
    assert (found.type, found.to_pylist()) == (pa.float64(), [1.5, None, 2.0])


def test_among_text_only_an_empty_cell_is_missing(tmp_path):
    assert column(tmp_path, ["NA", "", "None", "  ", "x "]).to_pylist() == ["NA", None, "None", None, "x "]


def test_a_column_of_missing_cells(tmp_path):
    assert column(tmp_path, ["", "NA", ""]).to_pylist() == [None, None, None]


def test_a_missing_level_is_a_sub_group_of_its_own(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("g,x\nnorth,1\n,2\nsouth,3\n,4\n", encoding="utf-8")
    data = lv.read(path, confidential="x", sub_groups="g")
    assert data.groups.names == ("g=north", "g=south", "g=missing")
    assert data.groups.sizes == (1, 1, 2)


def test_sub_group_levels_are_the_same_as_integers_and_as_whole_floats(tmp_path):
    for text in ("1,5\n2,6\n", "1.0,5\n2.0,6\n"):
        (tmp_path / "file.csv").write_text("g,x\n" + text, encoding="utf-8")
        assert lv.read(tmp_path / "file.csv", confidential="x", sub_groups="g").groups.names == ("g=1", "g=2")


def test_minus_zero_and_zero_are_one_level():
    data = lv.read(pa.table({"g": [0.0, -0.0, 1.0], "x": [1.0, 2.0, 3.0]}), confidential="x", sub_groups="g")
    assert data.groups.names == ("g=0", "g=1")


def test_numeric_codes_declared_nominal_are_levels(tmp_path):
    (tmp_path / "file.csv").write_text("s,x\n3,1\n1,2\n,3\n", encoding="utf-8")
    data = lv.read(tmp_path / "file.csv", confidential="x", non_confidential="s", nominal="s")
    assert (data.table.columns["s"].kind, data.table.columns["s"].levels) == ("nominal", (1, 3))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_nominal_column_keeps_the_spelling_of_its_cells(tmp_path, engine):
    cells = {"number": ["1.50", "2.5"] * 12, "truth": ["TRUE", "FALSE"] * 12, "plain": ["true", "false"] * 12}
    rows = zip(range(24), *cells.values(), strict=True)
    (tmp_path / "in.csv").write_text("x,number,truth,plain\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    data = lv.read(tmp_path / "in.csv", confidential="x", non_confidential=list(cells), nominal=list(cells), engine=engine)
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.csv", row_order="keep")
    with (tmp_path / "out.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert {n: [row[n] for row in found] for n in cells} == cells
