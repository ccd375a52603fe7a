"""Only sub-groups that are too small are pooled, with their nearest or smallest siblings, and the pools are named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import SMALL, engine_of
from larvatus.data.pooling.sub_group_pools import (
    LevelNearness,
    PooledLevels,
    level_nearness,
    pool_small_groups,
    resolved_columns,
)
from larvatus.data.roles import Roles
from larvatus.documents.codebook import make_codebook
from sample import SECRET

STATES = 51


def pooled(sizes: dict, limit: int, *nearness: LevelNearness) -> dict:
    labels = [label if isinstance(label, tuple) else (label,) for label in sizes]
    near = nearness or [LevelNearness()] * max(map(len, labels))
    found = pool_small_groups(labels, [[n] for n in sizes.values()], limit, near)
    return dict(zip(sizes, found, strict=True))


def table(small: int = 24, large: int = 40) -> pd.DataFrame:
    """51 states of 40 records, but for one of 24 and one of 33."""
    rng = np.random.default_rng(6)
    sizes = [small if i == 7 else 33 if i == 30 else large for i in range(STATES)]
    state = np.repeat([f"s{i:02}" for i in range(STATES)], sizes)
    return pd.DataFrame({"state": state, "x": rng.lognormal(size=len(state)), "y": rng.normal(size=len(state))})


def masked(frame: pd.DataFrame, small: str, engine: str = "memory", **more) -> lv.Release:
    groups = lv.SubGroups(columns="state", small=small, smallest=30)
    return lv.mask(lv.read(frame, confidential=["x", "y"], sub_groups=groups, engine=engine_of(engine), **more),
                   "additive_noise", secret=SECRET)


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb", SMALL])
def test_one_small_state_is_pooled_with_one_other(engine):
    groups = masked(table(), "pool", engine).data.groups
    assert len(groups) == STATES - 1
    assert "state=s07 or s30" in groups.names
    assert groups.sizes[groups.names.index("state=s07 or s30")] == 24 + 33


def test_all_or_none_is_a_choice():
    assert masked(table(), "pool_all").data.groups.names == ("all records",)


def test_releases_without_small_sub_groups_do_not_depend_on_the_setting_of_pools():
    frame = table(small=40)
    release = masked(frame, "pool").frame()
    assert len(masked(frame, "pool").data.groups) == STATES
    alone = lv.SubGroups(columns="state", small="pool", smallest=30)
    assert alone.model_dump_json() == '{"columns":["state"],"smallest":30,"small":"pool"}', "random draws depend on this text"
    assert not np.allclose(release["x"], frame["x"])


def test_the_smallest_are_pooled_until_they_are_large_enough():
    found = pooled({"a": 10, "b": 50, "c": 10, "d": 10, "e": 10, "f": 10, "g": 10}, 30)
    assert found == {"a": ("a, c or d",), "c": ("a, c or d",), "d": ("a, c or d",), "b": ("b",),
                     "e": ("e, f or g",), "f": ("e, f or g",), "g": ("e, f or g",)}


def test_what_is_left_over_joins_the_smallest_pool():
    found = pooled({"a": 20, "b": 50, "c": 20, "d": 5}, 30)
    assert found == {"a": ("a, c or d",), "c": ("a, c or d",), "d": ("a, c or d",), "b": ("b",)}


def test_siblings_agree_in_the_other_columns_and_all_of_them_together_lose_the_column():
    found = pooled({("n", 1): 3, ("n", 2): 40, ("s", 1): 40, ("s", 2): 3, ("s", 3): 30}, 10)
    assert list(found.values()) == [("n",), ("n",), ("s", 1), ("s", "2 or 3"), ("s", "2 or 3")]
    found = pooled({("n", 1): 3, ("n", 2): 4, ("s", 1): 40, ("s", 2): 30, ("w", 1): 90, ("w", 2): 9}, 10)
    assert found[("n", 1)] == found[("s", 2)] == ("n or s",)
    assert found[("w", 1)] == ("w",)
    assert pooled({"a": 2, "b": 3}, 4) == {"a": (), "b": ()}


def test_a_stated_order_pools_neighbours():
    near = level_nearness(Roles(ordered={"edu": ("z", "y", "x", "w", "v")}), {"edu": lv.Column("edu", "nominal",
                          levels=("z", "y", "x", "w", "v"))}, ["edu"])
    found = pooled({"z": 5, "y": 90, "x": 40, "w": 5, "v": 50}, 30, *near)
    assert found == {"z": ("z or y",), "y": ("z or y",), "x": ("x or w",), "w": ("x or w",), "v": ("v",)}


def test_a_taxonomy_pools_within_a_branch():
    tree = {"manual": ["farmer", "builder"], "office": {"clerk": [], "manager": ["head", "deputy"]}}
    levels = ("builder", "clerk", "deputy", "farmer", "head")
    near = level_nearness(Roles(taxonomies={"job": tree}), {"job": lv.Column("job", "nominal", levels=levels)}, ["job"])
    found = pooled({"builder": 12, "clerk": 15, "deputy": 90, "farmer": 80, "head": 4}, 30, *near)
    assert found["head"] == found["deputy"] == found["clerk"] == ("clerk, deputy or head",)
    assert found["builder"] == found["farmer"] == ("builder or farmer",)
    assert pooled({"builder": 12, "deputy": 90, "clerk": 31, "head": 4}, 10, *near)["head"] == ("deputy or head",)


def test_names_are_short_and_differ_from_levels_that_stay():
    many = pooled({f"t{i}": 5 for i in range(8)} | {"big": 100}, 40)
    assert many["t0"] == ("t0, t1, t2 or 5 more",)
    same = pooled({"a": 5, "b": 6, "a or b": 50}, 10)
    assert same["a"] == ("a or b (pooled)",)
    assert same["a or b"] == ("a or b",)
    assert isinstance(same["a"][0], PooledLevels)
    assert [resolved_columns(x) for x in (same["a"], same["a or b"], (), ("n", PooledLevels("1 or 2")))] == [0, 1, 0, 1]


def test_a_column_that_a_pool_brings_in_is_counted_too():
    labels = [("a",), ("b",), ("c",), ("d",)]
    present = [[5, 0], [40, 2], [41, 40], [90, 90]]  # b has two values of the second column
    assert pool_small_groups(labels, present, 30, [LevelNearness()]) == [("a, b or c",)] * 3 + [("d",)]


def test_pools_are_stated_without_rare_sub_groups_in_public():
    release = masked(table(), "pool")
    notes = {n.public: str(n) for n in release.notes if n.step == "sub_groups"}
    assert "2 sub-groups are pooled into (state=s07 or s30); relations with state are not preserved" in notes[False]
    assert "small ones were pooled" in notes[True]
    assert notes[True].endswith("masked together: s07 or s30")
    book = {row["column"]: row["how"] for row in make_codebook(release, lv.read(table(), confidential=["x", "y"],
                                                                                   sub_groups="state"))}
    assert book["state"] == "released unchanged; masked together: s07 or s30"
    rare = masked(table(small=9), "pool")
    assert [str(n).endswith("masked together: 1 with sub-groups of fewer than 10 records, not named")
            for n in rare.notes if n.public and n.step == "sub_groups"] == [True]


def test_attacks_and_measures_use_the_pools():
    frame = table()
    data = lv.read(frame, confidential=["x", "y"], sub_groups=lv.SubGroups(columns="state", small="pool", smallest=30))
    release = lv.mask(data, "additive_noise", secret=SECRET)
    scores = lv.risk(data, release, ["nearest_record", "uniqueness"])
    assert len(scores[0].by_group.column("sub_group")) == STATES - 1
    loss = lv.utility(data, release, ["moments"])[0]
    assert "state=s07 or s30" in loss.by_group.column("sub_group")
    again = lv.risk(data, lv.mask(data, "microaggregation(k=3)", secret=SECRET), ["rerun"])[0]
    assert again.by_group.column("records") == list(release.data.groups.sizes)
