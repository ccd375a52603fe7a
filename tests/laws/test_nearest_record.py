"""The attack against what it must find: pools, ties, S alone, outliers, published orders of size."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET


def brute(x: np.ndarray, y: np.ndarray, pool: np.ndarray, k: int) -> np.ndarray:
    """Credits by a dense matrix over each pool."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        inside = np.flatnonzero(pool == pool[i])
        d = np.sqrt(((x[i] - y[inside]) ** 2).sum(axis=1))
        own = d[inside == i][0]
        tied = np.isclose(d, own, rtol=1e-11, atol=0)
        out[i] = np.clip((k - ((d < own) & ~tied).sum()) / tied.sum(), 0, 1)
    return out


def test_credits_are_those_of_a_dense_search_within_sub_group_and_same_s():
    rng = np.random.default_rng(3)
    n = 400
    table = pd.DataFrame({"g": rng.integers(0, 3, n), "s": rng.integers(0, 4, n), "a": rng.normal(size=n)})
    table["b"] = rng.integers(0, 5, n)
    released = table.assign(a=table.a + rng.normal(0, 0.5, n), b=rng.permutation(table.b))
    data = lv.read(table, confidential=["a", "b"], non_confidential=["s"], sub_groups=["g"])
    score = lv.risk(data, released, [lv.attacks.NearestRecord(within=(1, 4), distance="euclidean")])[0]
    scale = released.groupby("g")[["a", "b"]].transform("std", ddof=0).to_numpy()
    x, y = table[["a", "b"]].to_numpy() / scale, released[["a", "b"]].to_numpy() / scale
    pool = (table.g * 10 + table.s).to_numpy()
    assert score.by_record == pytest.approx(brute(x, y, pool, 1))
    rows = {r["within"]: r for r in score.details["within"]}
    assert rows[4]["value"] == pytest.approx(brute(x, y, pool, 4).mean())
    sizes = pd.Series(pool).map(pd.Series(pool).value_counts())
    assert rows[4]["s_alone"] == pytest.approx(np.minimum(4 / sizes, 1).mean())
    assert rows[1]["chance"] == pytest.approx((1 / table.groupby("g").g.transform("size")).mean())
    assert rows[1]["x_alone"] == pytest.approx(brute(x, y, table.g.to_numpy(), 1).mean())


def test_what_s_alone_gives_is_never_above_the_attack():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"s": rng.normal(size=300), "x": rng.normal(size=300)})
    data = lv.read(table, confidential=["x"], non_confidential=["s"])
    score = lv.risk(data, lv.mask(data, "additive_noise(variance=9)", secret=SECRET), ["nearest_record"])[0]
    assert score.s_alone == score.value == 1.0
    assert score.details["within"][0]["x_alone"] < 0.1


def test_an_intruder_who_knows_less_finds_less():
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"g": rng.integers(0, 4, 600), **{c: rng.normal(size=600) for c in "xyz"}})
    data = lv.read(table, confidential=["x", "y", "z"], sub_groups=["g"])
    release = lv.mask(data, "additive_noise(variance=0.02)", secret=SECRET)
    values = [
        lv.risk(data, release, ["nearest_record"], intruder=lv.Intruder(known=known))[0].value
        for known in ([], ["g", "x", "y"], ["x", "y"], ["g", "x"])
    ]
    assert values == sorted(values, reverse=True)
    with pytest.raises(lv.LarvatusError, match=r"intruder\.known"):
        lv.risk(data, release, intruder=lv.Intruder(known=["w"]))


def test_the_weight_is_known_like_any_column_that_leaves_as_it_is():
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"w": rng.permutation(400) + 1.0, "x": rng.normal(size=400)})
    data = lv.read(table, confidential="x", weight="w")
    scores = lv.risk(data, lv.mask(data, "additive_noise(variance=10)", secret=SECRET), ["nearest_record"])
    assert scores[0].s_alone == scores[0].value == 1.0


@pytest.mark.parametrize("x", [1e15 + np.arange(200.0), 1e9 + 1e-3 * np.arange(200)])
def test_a_small_spread_on_a_large_level_still_identifies(x):
    table = pd.DataFrame({"x": x})
    assert lv.risk(lv.read(table, confidential="x"), table, ["nearest_record"])[0].value == 1.0


def test_correlated_columns_are_linked_by_the_stronger_distance():
    """With strong correlation and noise that follows it, allowing for the correlation nearly doubles the hits."""
    rng = np.random.default_rng(9)
    x = rng.multivariate_normal(np.zeros(4), 0.05 * np.eye(4) + 0.95, size=2000)
    table = pd.DataFrame(x, columns=list("abcd"))
    data = lv.read(table, confidential=list("abcd"))
    release = lv.mask(data, "sufficiency_based(similarity=0.9)", secret=SECRET)
    found = {d: lv.risk(data, release, [lv.attacks.NearestRecord(distance=d)])[0].value for d in ("euclidean", "mahalanobis")}
    strongest = lv.risk(data, release, ["nearest_record"])[0]
    assert found["mahalanobis"] > 1.3 * found["euclidean"]
    assert strongest.value == found["mahalanobis"]
    assert {r["distance"]: r["value"] for r in strongest.details["distance"]} == found


def test_missing_is_nearest_to_missing():
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan], "y": [0.0, 0.0, 0.0, 0.0]})
    data = lv.read(table, confidential=["x", "y"])
    assert lv.risk(data, table, ["nearest_record"])[0].value == 1.0


def test_outliers_are_told_apart_on_census(real_files):
    """Noise at a quarter of the variance: about 45 % of outlying records linked, 4.5 % of the others.

    The mean over eight secrets has a standard error of about .017 and .0024; the limits are six of them.
    """
    census = pd.read_csv(real_files / "census.csv")
    names = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "INTVAL", "FICA", "WSALVAL", "ERNVAL"]
    data = lv.read(census, confidential=names)
    found = []
    for i in range(8):
        release = lv.mask(data, "additive_noise(variance=0.25)", secret=bytes([i]) * 16)
        score = lv.risk(data, release, [lv.attacks.NearestRecord(distance="euclidean")])[0]
        found.append([row["value"] for row in score.details["outliers"]])
    outlying, interior = np.mean(found, axis=0)
    assert outlying == pytest.approx(0.45, abs=0.10)
    assert interior == pytest.approx(0.045, abs=0.014)


@pytest.mark.parametrize("distance", ["euclidean", "mahalanobis", "gower"])
def test_a_release_without_any_value_gives_no_more_than_chance(distance):
    frame = pd.DataFrame(np.random.default_rng(2).normal(size=(30, 3)), columns=list("abc"))
    data = lv.read(frame, confidential=list("abc"))
    score = lv.risk(data, frame * np.nan, lv.attacks.NearestRecord(distance=distance), row_order="keep")[0]
    assert score.value == pytest.approx(1 / 30)
