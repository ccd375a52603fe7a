"""Every table in the details of a score has a heading that a reader understands."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ATTACKS, MEASURES, attacked_mask
from larvatus.comparison.detail_titles import _OF_METHOD, detail_title, known_title
from larvatus.core.discovery import file_names
from sample import SECRET


@cache
def masked(mask: str) -> tuple[lv.Microdata, lv.Release]:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"g": rng.integers(0, 2, 120), "s": rng.integers(0, 3, 120).astype(str),
                          **{c: rng.normal(10, 2, size=120) for c in "abc"}})
    if mask == "post_randomisation":
        table = table.assign(**{c: table[c].map(lambda v: f"class {np.floor(v / 2):.0f}") for c in "abc"})
    if mask == "date_shift":
        table = table.assign(**{c: pd.to_datetime(np.rint(99 * table[c]), unit="D") for c in "abc"})
    data = lv.read(table, confidential=["a", "b", "c"], non_confidential=["s"], sub_groups=["g"])
    return data, lv.mask(data, mask, secret=SECRET)


def untitled(scores: lv.Scores) -> list[tuple[str, str]]:
    return [(s.method, key) for s in scores for key in s.details if known_title(s.method, key) is None]


@pytest.mark.parametrize("attack", ATTACKS)
def test_tables_of_attacks_have_titles(attack):
    assert untitled(lv.risk(*masked(attacked_mask(attack)), [attack])) == []


@pytest.mark.parametrize("measure", MEASURES)
def test_tables_of_measures_have_titles(measure):
    assert untitled(lv.utility(*masked("additive_noise"), [measure])) == []


def test_titles_belong_to_methods():
    known = {*file_names("larvatus.attacks"), *file_names("larvatus.measures"), "analyses"}
    assert {method for method, _ in _OF_METHOD} <= known


def test_a_method_used_twice_and_a_table_of_an_own_method():
    assert detail_title("cluster (2)", "groups") == "By number of clusters"
    assert detail_title("my_attack", "worst_cases") == "Worst cases"
