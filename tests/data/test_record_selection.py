"""Records chosen by `where`: enough of them in every sub-group, over the scope that was asked for, and all that exist."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

RNG = np.random.default_rng(12)
LEVEL = np.repeat([0, 1], 200)
TABLE = pd.DataFrame({"g": LEVEL, "x": RNG.normal(size=400) + 50.0 * LEVEL, "y": RNG.normal(size=400)})
ONE_AND_MANY = (3, *range(200, 260))


def shuffled(small: str, **settings: object) -> pd.DataFrame:
    groups = lv.SubGroups(columns=("g",), small=small)
    data = lv.read(TABLE, confidential=["x", "y"], sub_groups=groups)
    return lv.mask(data, lv.masks.DataShuffling(**settings), secret=SECRET).frame()


def test_too_few_chosen_in_a_sub_group_are_refused():
    with pytest.raises(lv.LarvatusError, match=r"data_shuffling with where: 1 of 2 sub-groups .*\(g=0\) has 1"):
        shuffled("refuse", where=ONE_AND_MANY)


def test_too_few_chosen_in_a_sub_group_are_pooled_where_the_study_says_so():
    out = shuffled("pool", where=ONE_AND_MANY)
    rows = list(ONE_AND_MANY)
    assert sorted(out.x[rows]) == sorted(TABLE.x[rows])
    assert out.x[3] != TABLE.x[3]
    assert out.drop(rows).equals(TABLE.drop(rows))


def test_file_scope_reaches_over_sub_groups_also_where_records_are_chosen():
    out = shuffled("refuse", where="y > 0", scope="file")
    chosen = TABLE.y > 0
    assert sorted(out.x[chosen]) == sorted(TABLE.x[chosen])
    assert sorted(out.x[chosen & (TABLE.g == 0)]) != sorted(TABLE.x[chosen & (TABLE.g == 0)])
    inside = shuffled("refuse", where="y > 0")
    assert sorted(inside.x[chosen & (TABLE.g == 0)]) == sorted(TABLE.x[chosen & (TABLE.g == 0)])


def test_record_ids_that_do_not_exist_are_said():
    data = lv.read(TABLE, confidential=["x", "y"])
    release = lv.mask(data, lv.masks.AdditiveNoise(where=(1, 2, 3, 999)), secret=SECRET)
    assert "1 of the record ids in where are not in the data" in [n.text for n in release.notes]


def test_much_left_unchanged_is_a_warning():
    data = lv.read(TABLE, confidential=["x", "y"])
    release = lv.mask(data, lv.masks.AdditiveNoise(where="y > 0"), secret=SECRET)
    assert any(n.kind == "warning" and "values of x" in n.text for n in release.notes)


def test_where_reads_what_rules_read():
    table = pd.DataFrame({"gross inc": np.arange(40.0), "y": np.arange(40.0)})
    data = lv.read(table, confidential=["gross inc"], non_confidential=["y"])
    for where, rows in (("`gross inc` = 3", [3]), ("`gross inc` >= 38 or y = 1", [1, 38, 39])):
        after = lv.mask(data, lv.masks.AdditiveNoise(where=where), secret=b"s" * 32).frame()
        assert np.flatnonzero(after["gross inc"] != table["gross inc"]).tolist() == rows
