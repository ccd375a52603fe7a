"""Inputs that came out as errors of other libraries, or did not end: each is refused with an own error."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import larvatus as lv
from larvatus.core.errors import LarvatusError
from larvatus.study.study import Study
from sample import SECRET

FRAME = pd.DataFrame({"x": [((i * 7919) % 1009) / 8 for i in range(60)], "g": ["a", "b", "c"] * 20})
DEEP = 5000


@pytest.mark.parametrize("text", [
    "a = " + "[" * DEEP + "]" * DEEP, "a = " + "{b = " * DEEP + "1" + "}" * DEEP, f"jobs = {'9' * 4400}", f"jobs = {'9' * 400}",
    "[" + "a." * DEEP + "b]\nc = 1", 'source = "/**/[*"', "a = 2024-02-30", "\ufeff[roles]", "a = \"\\ud800\"",
])
def test_a_study_that_cannot_be_read_is_refused(text, tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(LarvatusError):
        Study.read(path)


def test_a_grid_of_millions_is_refused():
    axis = list(np.linspace(0, 0.9, 200))
    with pytest.raises(LarvatusError, match="8,000,000 combinations"):
        Study.of({"roles": {"confidential": ["x"]}, "release": [{"name": "r", "steps": [
            {"method": "sufficiency_based", "grid": {"similarity": axis}},
            {"method": "additive_noise", "grid": {"variance": axis}},
            {"method": "rounding", "grid": {"base": axis}},
        ]}]})


@pytest.mark.parametrize("step", [
    "random_blanking(rate=1e-320)", "sampling(rate=1e-320)", "random_swap(rate=1e-320)", "additive_noise(variance=1e-320)",
    "rounding(base=1e-320)", "rounding(base=1e308)", "additive_noise(variance=1e308)",
    "microaggregation(k=9223372036854775807)",
    "rank_swap(window=1e-320)", "top_coding(share=1e-320)", f"rounding(base={'9' * 4400})", "additive_noise({[]: 1})",
    f"additive_noise(variance={'(' * DEEP}1{')' * DEEP})", "additive_noise(where='x > " + "9" * 400 + "')",
    "additive_noise(where='x in []')", "additive_noise(where='x > " + "-" * DEEP + "1')", "additive_noise(columns=['\ud800'])",
])
@pytest.mark.filterwarnings("ignore")
def test_a_step_with_extreme_settings_works_or_is_refused(step):
    data = lv.read(FRAME, confidential=["x"], non_confidential=["g"])
    with suppress(LarvatusError):
        lv.mask(data, step, secret=SECRET).frame()


@pytest.mark.parametrize("attack", ["nearest_record", "posterior_match"])
def test_an_empty_list_of_guesses_is_refused(attack):
    with pytest.raises(LarvatusError):
        lv.risk(lv.read(FRAME, confidential=["x"]), FRAME[["x"]], [{"method": attack, "within": []}])


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("role", ["non_confidential", "record_id", "key"])
def test_text_that_is_not_utf8_is_refused(role, engine, tmp_path):
    raw = pa.array([b"\xff\xfe" + bytes([65 + i]) for i in range(20)])
    table = pa.table({"x": np.arange(20.0), "g": raw.cast(pa.binary()).view(pa.string())})
    parquet.write_table(table, tmp_path / "people.parquet")
    named = {role: "g" if role == "record_id" else ["g"]}
    with pytest.raises(LarvatusError):
        lv.read(tmp_path / "people.parquet", confidential=["x"], **named, engine=engine)


@pytest.mark.parametrize("names", [["\ud800"], "\ud800"])
def test_surrogates_in_names_are_refused(names):
    with pytest.raises(LarvatusError):
        lv.read(FRAME, confidential=["x"], non_confidential=names)


def test_surrogates_in_cells_are_refused():
    frame = FRAME.assign(g=pd.Series(["\ud800", "b", "c"] * 20, dtype=object))
    with pytest.raises(LarvatusError):
        lv.read(frame, confidential=["x"], non_confidential=["g"])


@pytest.mark.parametrize("tree", [{"a": {"b": {"\ud800": []}}}, [["a"]], {"a": 1}, {"": []}, {"": {}, "a": ["b"]},
                                  [1e308], "\x00", "nothing.csv"])
def test_a_taxonomy_that_cannot_be_used_is_refused(tree):
    with pytest.raises(LarvatusError):
        lv.read(FRAME, confidential=["x"], non_confidential=["g"], taxonomies={"g": tree})


def test_a_pattern_for_the_whole_machine_is_refused():
    with pytest.raises(LarvatusError, match="whole machine"):
        lv.read("/**/[*", confidential=["x"])
