"""Scores and small tables: what they print, hold and turn into."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from larvatus.core.discovery import discover
from larvatus.core.number_format import cell_text
from larvatus.data.csv_files.formula_cells import inert
from larvatus.data.score import Rows, Score, Scores, csv_text, mean_of

ROWS = Rows.of([{"name": "a", "value": 0.25, "n": 1200}, {"name": "<b>", "value": None, "n": 3, "more": True}])


@pytest.mark.parametrize(("value", "text"), [
    (None, ""), (float("nan"), ""), (0, "0"), (0.0, "0"), (1234567, "1,234,567"), (0.123456, "0.1235"), (12.3456, "12.35"),
    (12345.6, "12,346"), (1.5e9, "1.5e+09"), (0.00001234, "1.23e-05"), (-0.5, "-0.5000"), (True, "True"), ("x", "x"),
])
def test_cells_as_a_person_reads_them(value, text):
    assert cell_text(value) == text


def test_rows_are_a_sequence_that_prints_itself():
    assert len(ROWS) == 2
    assert ROWS.columns == ("name", "value", "n", "more")
    assert ROWS.column("value") == [0.25, None]
    assert ROWS[1]["n"] == 3
    assert isinstance(ROWS[:1], Rows)
    assert str(ROWS).splitlines() == ["name   value      n  more", "a     0.2500  1,200", "<b>               3  True"]


def test_html_is_escaped():
    assert "<td>&lt;b&gt;</td>" in ROWS._repr_html_()
    assert "<b>" not in ROWS._repr_html_()


def test_frames_of_three_libraries():
    assert ROWS.to_arrow().column("n").to_pylist() == [1200, 3]
    assert list(ROWS.to_pandas()["name"]) == ["a", "<b>"]
    assert ROWS.to_polars()["more"].to_list() == [None, True]


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)


@given(st.lists(st.fixed_dictionaries({"a": texts, "b": st.floats(allow_nan=False, allow_infinity=False)}), min_size=1))
def test_csv_holds_everything_at_full_precision(rows):
    """Texts that a spreadsheet program would run get an apostrophe."""
    back = list(csv.DictReader(io.StringIO(csv_text(Rows.of(rows)), newline="")))
    assert [(r["a"], float(r["b"])) for r in back] == [(inert(r["a"]), r["b"]) for r in rows]


def test_missing_cells_are_empty_in_csv():
    assert csv_text(ROWS) == "name,value,n,more\na,0.25,1200,\n<b>,,3,True\n"


def test_means_leave_out_what_is_not_there():
    assert mean_of(ROWS, "value") == 0.25
    assert mean_of(ROWS, "n") == 601.5
    assert math.isnan(mean_of([], "n"))


SCORE = Score(
    "attack", "risk", 0.5, chance=float("nan"), interval=(0.25, float("inf")), by_record=np.array([123456.75]),
    details={"within": ROWS}, notes=("said",), settings={"within": [1]},
)


def test_plain_values_are_json_without_figures_per_record():
    text = json.dumps(SCORE.plain(), allow_nan=False)
    back = json.loads(text)
    assert back["chance"] is None
    assert back["interval"] == [0.25, None]
    assert back["details"]["within"][1]["value"] is None
    assert "123456" not in text
    assert "123456" not in repr(SCORE)


def test_a_score_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SCORE.value = 0.0


def test_scores_are_found_by_name():
    scores = Scores([SCORE, Score("moments", "loss", 0.1)])
    assert scores.moments.value == 0.1
    assert scores.summary().column("score") == ["attack", "moments"]
    assert scores.summary()[1] == {"score": "moments", "kind": "loss", "value": 0.1, "chance": None, "s_alone": None,
                                   "low": None, "high": None}
    with pytest.raises(AttributeError, match="the scores are attack, moments"):
        _ = scores.nothing


@pytest.mark.parametrize("room", ["attacks", "measures"])
def test_no_method_of_scores_hides_a_score(room):
    for name in discover(f"larvatus.{room}"):
        assert getattr(Scores, name, None) is None, name
        score = Score(name, "loss", 0.5)
        assert getattr(Scores([SCORE, score]), name) is score


def test_the_measure_called_table_is_reachable():
    score = Score("table", "loss", 0.5)
    assert Scores([SCORE, score]).table is score


def test_a_score_prints_as_one_line():
    score = Score("nearest_record", "risk", 0.5034, chance=0.01, s_alone=0.4921)
    assert repr(score) == "Score(nearest_record: risk 0.503, chance 0.010, S alone 0.492)"
    assert repr(Score("moments", "loss", 0.04)) == "Score(moments: loss 0.040)"


def test_methods_that_do_not_apply_for_one_reason_share_a_line():
    scores = Scores([Score("moments", "loss", 0.04)])
    scores.not_run = ("not run: one: no pairs: none", "not run: two: no keys", "not run: three: no pairs: none")
    assert scores.reasons_not_run() == ("not run: one, three: no pairs: none", "not run: two: no keys")


def test_scores_print_as_a_small_table():
    scores = Scores([Score("moments", "loss", 0.04), Score("uniqueness", "risk", 0.25, chance=0.01)])
    assert repr(scores) == str(scores.summary())
    assert repr(scores).splitlines()[0].split()[:3] == ["score", "kind", "value"]
    assert repr(Scores()) == "no scores"
