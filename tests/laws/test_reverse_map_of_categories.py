"""Reverse mapping of columns of names, in a stated order or by marginality in a taxonomy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.data.verbs import map_rows
from sample import SECRET

N = 600
JOBS = {"manual": ["farmer", "builder"], "office": {"clerk": [], "manager": ["head", "director"]}}
SCHOOL = ("none", "primary", "secondary", "higher")
PRAM = lv.masks.PostRandomisation(stay=0.5)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({
        "g": rng.integers(0, 2, N), "school": rng.choice(SCHOOL, N, p=[0.1, 0.4, 0.3, 0.2]), "x": rng.normal(size=N),
        "job": rng.choice(["farmer", "builder", "clerk", "head", "director"], N, p=[0.4, 0.2, 0.2, 0.15, 0.05]),
        "house": rng.choice(["owned", "rented"], N),
    })
    frame.loc[rng.random(N) < 0.05, "job"] = None
    return frame


def read(table: pd.DataFrame, names: tuple[str, ...], engine: str = "memory") -> lv.Microdata:
    roles = lv.Roles(
        confidential=names, ordered={"school": SCHOOL} if "school" in names else {},
        taxonomies={"job": JOBS} if "job" in names else {},
    )
    return lv.read(table, roles, sub_groups="g", engine=engine)


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
def test_every_sub_group_keeps_its_names_exactly(table, engine):
    out, plain = (
        pd.DataFrame(lv.mask(data, PRAM, "additive_noise", "reverse_map", secret=SECRET).frame())
        for data in (read(table, ("school", "job", "x"), e) for e in (engine, "memory"))
    )
    assert out.equals(plain), "the same on every engine"
    for _, rows in table.groupby("g").groups.items():
        for name in ("school", "job", "x"):
            assert sorted(out.loc[rows, name].dropna()) == sorted(table.loc[rows, name].dropna())
    assert out.job.isna().equals(table.job.isna())
    assert (out.school != table.school).mean() > 0.2


def test_the_order_is_that_of_the_masked_levels(table):
    """Whoever has the higher masked level has the higher or the same mapped one: between levels the order never turns."""
    data = read(table, ("school",))
    masked = lv.mask(data, PRAM, secret=SECRET).frame()
    mapped = lv.mask(data, PRAM, "reverse_map", secret=SECRET).frame()
    place = {v: i for i, v in enumerate(SCHOOL)}
    for _, rows in table.groupby("g").groups.items():
        y, z = masked.school[rows].map(place), mapped.school[rows].map(place)
        highest, lowest = z.groupby(y).max().to_numpy(), z.groupby(y).min().to_numpy()
        assert (highest[:-1] <= lowest[1:]).all()


def test_by_hand():
    """Three low, two mid, one top, masked to two low, one mid, three top: ranks 1-2, 3, 4-6 get low low, low, mid mid top."""
    table = pd.DataFrame({"v": ["low", "low", "low", "mid", "mid", "top"]})
    data = lv.read(table, lv.Roles(confidential=("v",), ordered={"v": ("low", "mid", "top")}))
    from larvatus.core.randomness import RecordRandom

    codes = np.array([2, 0, 2, 0, 1, 2], dtype=np.int32)
    masked = map_rows(data, lambda g, b: {"v": codes[b.record]}, ["v"], [data.table.columns["v"]])
    out = lv.masks.ReverseMap().apply(masked, data, RecordRandom(bytes(16))).data.frame().v.tolist()
    assert (out[1], out[3], out[4]) == ("low", "low", "low")
    assert sorted(out[i] for i in (0, 2, 5)) == ["mid", "mid", "top"]


def test_names_without_an_order_are_left_to_other_steps_or_refused(table):
    data = read(table, ("house", "x"))
    release = lv.mask(data, PRAM, "additive_noise", "reverse_map", secret=SECRET).frame()
    assert release.house.equals(lv.mask(data, PRAM, "additive_noise", secret=SECRET).frame().house)
    with pytest.raises(lv.LarvatusError, match="ordered categorical columns, and 'house' is categorical without an order"):
        lv.mask(data, PRAM, "additive_noise", 'reverse_map(columns=["house"])', secret=SECRET)


def test_levels_outside_the_taxonomy_are_refused_without_naming_them(table):
    data = read(table.assign(job=table.job.replace("head", "astronaut")), ("job",))
    with pytest.raises(lv.LarvatusError, match="1 of its levels are not in its taxonomy") as error:
        lv.mask(data, PRAM, "reverse_map", secret=SECRET)
    assert "astronaut" not in str(error.value)


@pytest.mark.parametrize("levels", [["head"] * 6, ["head", None], [None, None, "clerk", "clerk"]])
def test_small_and_constant_columns_give_a_release_or_a_clear_refusal(levels):
    frame = pd.DataFrame({"job": pd.Series(levels, dtype=object), "x": np.arange(len(levels), dtype=float)})
    data = lv.read(frame, lv.Roles(confidential=("job", "x"), taxonomies={"job": JOBS}))
    try:
        out = lv.mask(data, "additive_noise(variance=4.0)", PRAM, "reverse_map", secret=SECRET).frame()
    except lv.LarvatusError:
        return
    assert sorted(out.job.dropna()) == sorted(frame.job.dropna())
