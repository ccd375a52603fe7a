"""Rank swapping of columns of names, in a stated order or by marginality in a taxonomy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

N, WINDOW = 600, 0.1
SCHOOL = ("none", "primary", "secondary", "higher")
JOBS = {"manual": ["farmer", "builder"], "office": ["clerk", "head"]}
SWAP = lv.masks.RankSwap(window=WINDOW)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({
        "g": rng.integers(0, 2, N), "school": rng.choice(SCHOOL, N), "x": rng.normal(size=N),
        "job": rng.choice(["farmer", "builder", "clerk", "head"], N, p=[0.4, 0.3, 0.2, 0.1]),
    })
    frame.loc[rng.random(N) < 0.05, "school"] = None
    return frame


def read(table: pd.DataFrame, engine: str = "memory") -> lv.Microdata:
    roles = lv.Roles(confidential=("school", "job", "x"), ordered={"school": SCHOOL}, taxonomies={"job": JOBS})
    return lv.read(table, roles, sub_groups="g", engine=engine)


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
def test_every_sub_group_keeps_its_names_exactly(table, engine):
    out, plain = (pd.DataFrame(lv.mask(read(table, e), SWAP, secret=SECRET).frame()) for e in (engine, "memory"))
    assert out.equals(plain), "the same on every engine"
    for _, rows in table.groupby("g").groups.items():
        for name in ("school", "job", "x"):
            assert sorted(out.loc[rows, name].dropna()) == sorted(table.loc[rows, name].dropna())
    assert out.school.isna().equals(table.school.isna())
    assert (out.school != table.school).sum() > table.school.isna().sum()


def test_no_name_moves_farther_than_the_window(table):
    """A level lands between those that stand the window below its lowest and above its highest rank."""
    out = lv.mask(read(table), SWAP, secret=SECRET).frame()
    place = {v: i for i, v in enumerate(SCHOOL)}
    for _, rows in table.groupby("g").groups.items():
        was, now = (f.school[rows].map(place).dropna().to_numpy() for f in (table, out))
        ranked = np.sort(was)
        reach = int(np.ceil(WINDOW * len(was)))
        low, high = np.searchsorted(ranked, was, "left"), np.searchsorted(ranked, was, "right") - 1
        assert (now >= ranked[np.maximum(low - reach, 0)]).all()
        assert (now <= ranked[np.minimum(high + reach, len(was) - 1)]).all()
        assert (np.abs(now - was) <= 1).all(), "the levels are wider than the window"


def test_names_without_an_order_are_refused(table):
    with pytest.raises(lv.LarvatusError,
                       match=r"rank_swap: needs numeric or ordered categorical .* and 'job'.*roles.ordered"):
        lv.mask(lv.read(table, confidential=["job"]), SWAP, secret=SECRET)
