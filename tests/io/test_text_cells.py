"""Text in a number column: the message says where the first three cells are, and never what they contain."""

from __future__ import annotations

import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import MaskError
from larvatus.engines._files.text_cells import text_places
from sample import SECRET

HIDDEN = "Rumpelstiltskin"
CELLS = [*(str(100 + i) for i in range(30)), HIDDEN, "NA", "", "7,5", HIDDEN, "12", HIDDEN]


def refusal(source: object, engine: str = "memory", **roles: object) -> str:
    data = lv.read(source, confidential="x", engine=engine, **roles)
    with pytest.raises(MaskError) as error:
        lv.mask(data, "additive_noise", secret=SECRET)
    assert HIDDEN not in str(error.value)
    assert "7,5" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_csv_file_has_lines_and_columns(tmp_path, engine):
    frame = pd.DataFrame({"note": ["two\nlines", *["a"] * (len(CELLS) - 1)], "x": CELLS})
    frame.to_csv(tmp_path / "in.csv", index=False, sep=";")
    said = refusal(tmp_path / "in.csv", engine)
    assert "'x' contains text in 4 of 35 cells (the first in lines 33, 36 and 37, column 2)." in said


def test_fewer_than_three_are_listed_as_they_are(tmp_path):
    (tmp_path / "in.csv").write_text("x\n" + "\n".join([*map(str, range(9)), HIDDEN]) + "\n", encoding="utf-8")
    assert "in 1 of 10 cells (line 11, column 1)." in refusal(tmp_path / "in.csv")


def test_a_frame_has_rows_unless_records_are_numbered_otherwise():
    frame = pd.DataFrame({"x": CELLS, "id": range(1000, 1000 + len(CELLS))})
    assert "(the first in rows 31, 34 and 35 of the data)." in refusal(frame)
    assert "in 4 of 35 cells. Add" in refusal(frame, record_id="id")


def test_advice_says_where_too(tmp_path):
    pd.DataFrame({"y": range(len(CELLS)), "x": CELLS}).to_csv(tmp_path / "in.csv", index=False)
    advice = lv.advise(lv.read(tmp_path / "in.csv", confidential=["x", "y"]))
    assert "3 of 35 cells are not numbers (the first in lines 32, 35 and 36, column 2)" in advice.text()
    assert HIDDEN not in advice.text()


def test_a_column_without_text_has_no_places(tmp_path):
    pd.DataFrame({"x": range(5), "region": list("abcde")}).to_parquet(tmp_path / "in.parquet")
    data = lv.read(tmp_path / "in.parquet", confidential="x", non_confidential="region")
    assert text_places(data, "region") == ""
