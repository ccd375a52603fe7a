"""Small sub-groups, missing values and nominal S from reading to release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import larvatus as lv
from larvatus.core.errors import MaskError, RolesError, SubGroupError
from larvatus.data.design import design_of
from sample import SECRET

REGION = ["n"] * 9 + ["s"] * 6
SEX = [1] * 8 + [2] + [1] * 3 + [2] * 3
TABLE = pa.table({"region": REGION, "sex": SEX, "row": np.arange(15), "x": np.arange(15.0) ** 2})


def masked(small: str = "refuse", smallest: int = 1, table: pa.Table = TABLE, **roles: object) -> lv.Release:
    groups = lv.SubGroups(columns=("region", "sex"), small=small, smallest=smallest)
    data = lv.read(table, **{"confidential": "x", "non_confidential": "row", "sub_groups": groups, **roles})
    return lv.mask(data, "additive_noise", secret=SECRET)


def test_refused_by_name():
    with pytest.raises(SubGroupError, match=r"additive_noise: 1 of 4 sub-groups are under 2 .* \(region=n, sex=2\) has 1\."):
        masked()
    with pytest.raises(SubGroupError, match=r"sub_groups\.smallest: 3 of 4 sub-groups are under 5"):
        masked(smallest=5)


def test_pooled_keeps_every_record_and_says_what_was_pooled():
    release = masked("pool")
    assert release.data.groups.names == ("region=n", "region=s, sex=1", "region=s, sex=2")
    assert release.frame()["row"].to_pylist() == list(range(15))
    assert release.frame()["sex"].to_pylist() == SEX
    pooled = "2 sub-groups are pooled into (region=n), relations with sex are not kept: region=n, sex=1; region=n, sex=2"
    assert f"sub_groups: {pooled}" in map(str, release.notes)


def test_suppressed_leaves_records_out_and_says_so():
    release = masked("suppress")
    assert release.frame()["row"].to_pylist() == [i for i in range(15) if i != 8]
    assert "sub_groups: 1 records of 1 small sub-groups are left out of the release" in map(str, release.notes)


def test_scores_are_shown_in_the_effective_groups():
    data = lv.read(TABLE, confidential="x", sub_groups=lv.SubGroups(columns=("region", "sex"), small="pool"))
    score = lv.risk(data, lv.mask(data, "additive_noise", secret=SECRET))[0]
    assert score.by_group.column("sub_group") == ["region=n", "region=s, sex=1", "region=s, sex=2"]
    assert score.by_group.column("records") == [9, 3, 3]


def test_a_lone_value_is_never_released_as_it_came():
    alone = TABLE.append_column("wealth", pa.array([None] * 8 + [7.0] + [None] * 6, pa.float64()))
    for small in ("refuse", "pool"):
        with pytest.raises(SubGroupError, match="1 values in the whole file"):
            masked(small, table=alone, confidential=["x", "wealth"])
    elsewhere = TABLE.append_column("wealth", pa.array([None] * 8 + [7.0] + [None] * 3 + [8.0, 9.0, 3.0], pa.float64()))
    release = masked("pool", table=elsewhere, confidential=["x", "wealth"])
    assert release.data.groups.names == ("all records",)
    assert 7.0 not in release.frame()["wealth"].to_pylist()


def test_over_the_whole_file_a_lone_value_is_refused_too():
    table = pa.table({"x": [1.0, 2.0, 3.0], "w": [None, 5.0, None]})
    with pytest.raises(SubGroupError, match="1 values in the whole file, and 2 are needed"):
        lv.mask(lv.read(table, confidential=["x", "w"]), 'additive_noise(scope="file")', secret=SECRET)


def test_missing_values_stay_missing_where_they_are_and_only_there():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 3))
    x[rng.random((200, 3)) < 0.3] = np.nan
    table = pa.table({n: x[:, j] for j, n in enumerate("abc")})
    out = lv.mask(lv.read(table, confidential=["a", "b", "c"]), "additive_noise", "additive_noise", secret=SECRET).frame()
    assert np.array_equal(np.isnan(np.array([out[n].to_pylist() for n in "abc"], float).T), np.isnan(x))


def test_a_column_that_is_missing_throughout_leaves_missing():
    table = TABLE.append_column("none", pa.nulls(15, pa.float64()))
    data = lv.read(table, confidential=["x", "none"])
    release = lv.mask(data, "additive_noise", secret=SECRET)
    assert release.frame()["none"].to_pylist() == [None] * 15
    assert [s.method for s in lv.utility(data, release)]
    assert lv.risk(data, release)[0].value > 0


def test_a_release_that_would_be_the_original_is_refused():
    flat = pa.table({"x": [5.0] * 6})
    with pytest.raises(MaskError, match=r"the release would be the original.*do not vary"):
        lv.mask(lv.read(flat, confidential="x"), "additive_noise", secret=SECRET)


def test_a_column_constant_in_a_sub_group_gets_a_status():
    table = TABLE.set_column(3, "x", pa.array([3.0] * 9 + [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    notes = lv.mask(lv.read(table, confidential="x", sub_groups="region"), "additive_noise", secret=SECRET).notes
    said = [n for n in notes if n.kind == "status"]
    assert [str(n) for n in said] == ["additive_noise: x does not vary in sub-group (region=n) and is released as it is"]


def test_nominal_s_enters_as_indicators_and_missing_as_one_more():
    table = pa.table({"job": ["b", None, "a", "c"], "age": [10.0, None, 30.0, 20.0], "edu": ["hi", "lo", "lo", None],
                      "x": [1.0, 2.0, 3.0, 4.0]})
    roles = lv.Roles(confidential="x", non_confidential="job, age, edu", ordered={"edu": ["lo", "hi"]})
    data = lv.read(table, roles)
    design = design_of(data, data.non_confidential)
    assert design.names == ("job=b", "job=c", "job missing", "age", "age missing", "edu", "edu missing")
    matrix = np.vstack([design.matrix(g, b) for g, b in data.table.blocks(design.columns)])
    expected = [[1, 0, 0, 10, 0, 1, 0], [0, 0, 1, 20, 1, 0, 0], [0, 0, 0, 30, 0, 0, 0], [0, 1, 0, 20, 0, 1 / 3, 1]]
    np.testing.assert_allclose(matrix, expected)


def test_more_than_fifty_levels_are_refused_with_the_way_out():
    table = pa.table({"town": [f"t{i}" for i in range(51)] * 2, "x": np.arange(102.0)})
    data = lv.read(table, confidential="x", non_confidential="town")
    with pytest.raises(RolesError, match=r"'town' is nominal with 51 levels; at most 50.*Make it a sub-group"):
        design_of(data, ["town"])
    fifty = lv.read(table.filter(pc.not_equal(table["town"], "t50")), confidential="x", non_confidential="town")
    assert len(design_of(fifty, ["town"]).terms) == 49


def test_columns_with_too_few_values_in_the_whole_file_are_named():
    table = pa.table({"x": np.arange(10.0), "y": [1.0, 2.0, *[None] * 8], "z": [3.0, *[None] * 9]})
    wanted = r"'y' has 2 values, 'z' has 1 values.* 3 are needed\. Use settings that need fewer.*smaller k"
    with pytest.raises(SubGroupError, match=wanted):
        lv.mask(lv.read(table, confidential=["x", "y", "z"]), lv.masks.Microaggregation(), secret=SECRET)
    with pytest.raises(SubGroupError, match=r"rank_swap: 'y' has 2 values.*larger window.*leave the column out"):
        lv.mask(lv.read(table, confidential=["x", "y"]), lv.masks.RankSwap(window=0.2), secret=SECRET)
