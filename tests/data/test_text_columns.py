"""Columns that were read as names: how many cells spoil them is told, and never a cell."""

from __future__ import annotations

import pandas as pd
import pytest

import larvatus as lv
from larvatus.data.text_columns import text_of, texts

NUMBERS = [str(100 + i) for i in range(60)]


def of(cells: list[str]):
    return text_of("x", pd.Series(cells).value_counts().to_dict())


@pytest.mark.parametrize(("cells", "counts"), [
    ([*NUMBERS, "refused", "refused", "n/k"], {"numbers": 60, "stray": 3, "spoilt": True, "usable": False}),
    ([*NUMBERS, "NA", ".", "NULL"], {"cells": 60, "numbers": 60, "stray": 0}),
    ([f"{i},{i + 100}" for i in range(1, 61)], {"dressed": 60, "stray": 0, "spoilt": True, "usable": False}),
    (["1,5", "1 000", "1'000", "£20", "20 €", "7%", "(35)", "1.000.000,50"], {"dressed": 8, "stray": 0}),
    ([f"2020-01-{i:02}" for i in range(1, 29)], {"dates": 28, "dated": True, "usable": False}),
    (["01.02.2020", "3/4/99", "2020-01-31 12:00", "12:30", "2020.1.31"], {"dates": 5, "dated": True}),
    (["1234.56", "2020.01", "0.5", ".5", "1e3", "-7"], {"numbers": 6, "dates": 0}),
    (["007", "012", "100"], {"codes": 2, "spoilt": False, "usable": True}),
    (["07", *NUMBERS[:40]], {"codes": 1, "numbers": 40, "spoilt": False, "usable": True}),
    (["a", "b", "c", "36-45"], {"numbers": 0, "dressed": 0, "dates": 0, "usable": True}),
    (["0", "1", "1", "0", "1", "x"], {"numbers": 5, "stray": 1, "spoilt": True, "usable": True}),
    ([f"person {i}" for i in range(60)], {"naming": True, "usable": False}),
    ([f"town {i % 8}" for i in range(60)], {"naming": False, "usable": True}),
], ids=lambda v: str(v)[:30])
def test_what_cells_are(cells, counts):
    found = of(cells)
    assert {name: getattr(found, name) for name in counts} == counts


def test_sentences_name_the_column_the_count_and_the_way_out_and_no_cell():
    said = of([*NUMBERS, "refused", "98,765"]).sentence()
    assert said.startswith("x: 1 of 62 cells are numbers with extra signs")
    assert "and 1 of 62 cells is not a number" in said
    assert "--nominal x" in said
    assert "empty these cells" in said
    assert "refused" not in said
    assert "98" not in said
    assert "60 of 60 cells are dates" in of([f"19{i}-01-01" for i in range(40, 100)]).sentence()
    assert "60 distinct categories in 60 cells" in of([f"person {i}" for i in range(60)]).sentence()
    assert of([f"town {i % 8}" for i in range(60)]).sentence() == ""


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_only_columns_that_nobody_called_names(tmp_path, engine):
    frame = pd.DataFrame({"x": [*NUMBERS, "?"], "y": [*NUMBERS, "?"], "n": range(61), "b": [True, False] * 30 + [None]})
    frame.to_csv(tmp_path / "in.csv", index=False)
    data = lv.read(tmp_path / "in.csv", confidential=["x", "y", "n", "b"], nominal="y", engine=engine)
    found = {t.name: t for t in texts(data, data.confidential)}
    assert sorted(found) == ["b", "x"]
    assert (found["x"].cells, found["x"].numbers, found["x"].stray) == (61, 60, 1)
    assert (found["b"].cells, found["b"].usable) == (60, True)
