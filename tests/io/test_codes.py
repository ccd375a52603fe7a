"""Codes that look like numbers: where a column is categorical, two spellings are two levels, and no digit is lost."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import larvatus as lv
from sample import SECRET

ENGINES = ["memory", "duckdb", "pieces"]
USES = [{"sub_groups": "g"}, {"non_confidential": "g", "nominal": "g"}]


def read(folder: Path, cells: list[str], engine: str = "memory", **roles: Any) -> lv.Microdata:
    path = folder / "file.csv"
    path.write_text("g,x\n" + "".join(f"{cell},{i}.5\n" for i, cell in enumerate(cells)), encoding="utf-8")
    return lv.read(path, confidential="x", engine=engine, **roles)


def levels(data: lv.Microdata) -> list[object]:
    return sorted(data.table.columns["g"].levels, key=str)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("use", USES, ids=str)
@pytest.mark.parametrize("cells", [
    ["10.1", "10.10", "10.2"], ["1E5", "100000", "1e5"], ["1.5", "9007199254740993", "9007199254740992"], ["1", "1.0", "2"],
    ["0.5", "0.50", ".5"], ["10.10", "20.30", "30.40"], ["-0.0", "0.0", "1.0"], ["1e-3", "0.001", "2.5"],
], ids=str)
def test_spellings_are_levels(tmp_path, engine, use, cells):
    data = read(tmp_path, cells, engine, **use)
    assert levels(data) == sorted(cells)
    released = lv.mask(data, "additive_noise", secret=SECRET) if "nominal" in use else data
    assert sorted(released.to_arrow()["g"].to_pylist()) == sorted(cells)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("use", USES, ids=str)
@pytest.mark.parametrize(("cells", "wanted"), [
    (["1", "2", "10"], [1, 10, 2]), (["1.0", "2.0", "10.0"], [1, 10, 2]), (["1", "2.5", "3"], [1, 2.5, 3]),
    ([" 1", "2 ", "1"], [1, 2]), (["1", "NA", "2"], [1, 2]), (["-1", "0.25", "7"], [-1, 0.25, 7]),
    (["9007199254740993", "9007199254740992", "1"], [1, 9007199254740992, 9007199254740993]),
], ids=str)
def test_numbers_spelled_in_the_usual_way_stay_numbers(tmp_path, engine, use, cells, wanted):
    assert levels(read(tmp_path, cells, engine, **use)) == wanted


def test_missing_cells_among_such_codes_stay_missing(tmp_path):
    found = read(tmp_path, ["10.1", "NA", " 10.10", "", "N/A"], non_confidential="g", nominal="g")
    assert found.to_arrow()["g"].to_pylist() == ["10.1", None, "10.10", None, None]


@pytest.mark.parametrize("engine", ENGINES)
def test_spellings_in_different_parts_of_a_source(tmp_path, engine):
    (tmp_path / "parts").mkdir()
    for i, cell in enumerate(["10.1", "10.10"]):
        (tmp_path / "parts" / f"{i}.csv").write_text(f"g,x\n{cell},{i}\n", encoding="utf-8")
    data = lv.read(tmp_path / "parts", confidential="x", sub_groups="g", engine=engine)
    assert levels(data) == ["10.1", "10.10"]
    for cell in ("10.1", "10.10"):
        (tmp_path / "keys" / f"g={cell}").mkdir(parents=True)
        (tmp_path / "keys" / f"g={cell}" / "1.csv").write_text("x\n1\n2\n", encoding="utf-8")
    data = lv.read(tmp_path / "keys", confidential="x", sub_groups="g", engine=engine)
    assert levels(data) == ["10.1", "10.10"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_that_would_lose_a_digit_is_a_decimal(tmp_path, engine):
    found = read(tmp_path, ["9007199254740993", "1.5", "2"], engine, non_confidential="g")
    assert found.to_arrow()["g"].to_pylist() == [Decimal("9007199254740993"), Decimal("1.5"), Decimal(2)]
    assert read(tmp_path, ["9007199254740992", "1.5", "2"], engine, non_confidential="g").to_arrow()["g"].to_pylist() == [
        9007199254740992.0, 1.5, 2.0]


def test_record_ids_are_told_apart_by_their_spelling(tmp_path):
    data = read(tmp_path, ["10.1", "10.10", "10.100"], record_id="g")
    assert data.rows == 3


def test_a_released_csv_file_with_such_codes_pairs_with_its_original(tmp_path):
    data = read(tmp_path, ["10.1", "10.10"] * 30, non_confidential="g", nominal="g")
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / "out.csv", pairing=tmp_path / "pairs.csv")
    scores = lv.risk(data, tmp_path / "out.csv", ["nearest_record"], pairing=tmp_path / "pairs.csv")
    assert scores.nearest_record.kind == "risk"
