"""Weighted moments: what sufficiency-based masks keep with a weight, and what the measures say, against statsmodels."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.weightstats import DescrStatsW

import larvatus as lv
from sample import SECRET

EXACT = 1e-12
N = 900
X, S = ["x", "y", "z"], ["s", "job"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Skewed columns, one of them constant in a sub-group and one with missing values, and weights over three decades."""
    rng = np.random.default_rng(3)
    g, s = rng.choice([0, 1, 2], N, p=[0.6, 0.3, 0.1]), rng.normal(size=N)
    e = rng.normal(size=(N, 3)) @ np.linalg.cholesky([[1, 0.6, 0.3], [0.6, 1, 0.4], [0.3, 0.4, 1]]).T
    w = 10 ** rng.uniform(0, 3, N)
    frame = pd.DataFrame({
        "g": g, "s": s, "job": rng.choice(["a", "b", "c"], N), "x": np.exp(e[:, 0] + 0.3 * s + 0.2 * np.log(w)),
        "y": 1e6 * (5 + e[:, 1]), "z": np.where(g == 1, 4.0, e[:, 2]), "w": w,
    })
    frame.loc[(rng.random(N) < 0.15) & (g < 2), "x"] = np.nan
    return frame


def read(table: pd.DataFrame, **more) -> lv.Microdata:
    return lv.read(table, confidential=X, non_confidential=S, sub_groups=["g"], weight="w", **more)


def terms(table: pd.DataFrame) -> pd.DataFrame:
    return pd.get_dummies(table[S], drop_first=True).astype(float)


def gap(before: pd.DataFrame, after: pd.DataFrame, weight: pd.Series) -> float:
    """Largest difference of weighted means and covariances on the correlation scale, over complete records."""
    there = before[X].notna().all(axis=1)
    stats = []
    for frame in (before, after):
        both = np.column_stack([terms(before), frame[X]])[there]
        stats.append(DescrStatsW(both, weights=weight[there]))
    sd = np.where(stats[0].std > 0, stats[0].std, 1.0)
    means = np.abs(stats[0].mean - stats[1].mean) / sd
    return float(max(means.max(), (np.abs(stats[0].cov - stats[1].cov) / np.outer(sd, sd)).max()))


@pytest.mark.parametrize("similarity", [0.0, [0.5, 0.45, 0.4]])
@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
@pytest.mark.parametrize("held", [1 << 16, 50])
def test_weighted_moments_are_kept_in_every_sub_group(table, engine, held, similarity, monkeypatch):
    monkeypatch.setattr(import_module("larvatus.masks.sufficiency_based"), "LARGEST_WHOLE", held)
    mask = lv.masks.SufficiencyBased(weighted=True, similarity=similarity)
    release = lv.mask(read(table, engine=engine), mask, secret=SECRET)
    after = pd.DataFrame(release.frame())
    for _, rows in table.groupby("g").groups.items():
        assert gap(table.loc[rows], after.loc[rows], table.w[rows]) < EXACT
        ones = pd.Series(1.0, rows)
        assert gap(table.loc[rows], after.loc[rows], ones) > 1e-4, "unweighted ones are not kept"
    assert any("weighted means and covariances are preserved exactly; unweighted" in n.text for n in release.notes)


def test_both_ways_of_computing_agree(table, monkeypatch):
    frames = []
    for held in (1 << 16, 50):
        monkeypatch.setattr(import_module("larvatus.masks.sufficiency_based"), "LARGEST_WHOLE", held)
        frames.append(lv.mask(read(table), lv.masks.SufficiencyBased(weighted=True, similarity=0.3), secret=SECRET).frame())
    assert frames[0][X].to_numpy() == pytest.approx(frames[1][X].to_numpy(), rel=1e-9, nan_ok=True)


def test_equal_weights_change_nothing(table):
    data = read(table.dropna().assign(w=7.0))
    masks = [lv.masks.SufficiencyBased(weighted=w, similarity=0.3) for w in (True, False)]
    laws = [m.law(data) for m in masks]
    for one, other in zip(laws[0].groups, laws[1].groups, strict=True):
        assert one.intercept == pytest.approx(other.intercept, rel=1e-6)
        assert one.on_s == pytest.approx(other.on_s, rel=1e-6, abs=1e-9)
    from larvatus.stats.linear.sufficiency import mask_group

    rng = np.random.default_rng(1)
    x, given, noise = rng.normal(size=(3, 40)), rng.normal(size=(2, 40)), rng.normal(size=(3, 40))
    beta = 0.3 * np.eye(3)
    plain, weighted = mask_group(x, given, noise, beta)[0], mask_group(x, given, noise, beta, weight=np.full(40, 7.0))[0]
    assert weighted == pytest.approx(plain, abs=1e-12)


def test_similarity_is_the_weighted_one(table):
    """Regressing Y on (1, S, X) by weighted least squares gives the similarity as the coefficient of X, exactly."""
    data = table.dropna()
    release = lv.mask(read(data), lv.masks.SufficiencyBased(weighted=True, similarity=0.6), secret=SECRET)
    after = release.frame()
    rows = data.index[data.g == 0]
    design = np.column_stack([np.ones(len(rows)), terms(data).loc[rows], data.loc[rows, X]])
    root = np.sqrt(data.w[rows].to_numpy())[:, None]
    found = np.linalg.lstsq(design * root, after.loc[rows, X].to_numpy() * root, rcond=None)[0]
    scale = data.loc[rows, X].std().to_numpy()
    assert found[-3:] * scale[:, None] / scale == pytest.approx(0.6 * np.eye(3), abs=1e-9)


@pytest.mark.parametrize(("bad", "said"), [(0.0, "missing, zero"), (-1.0, "missing, zero"), (np.nan, "missing, zero")])
def test_weights_that_cannot_be_are_refused(table, bad, said):
    weights = table.w.where(table.index != 5, bad)
    data = read(table.assign(w=weights))
    with pytest.raises(lv.LarvatusError, match=f"1 weights in 'w' are {said}"):
        lv.mask(data, lv.masks.SufficiencyBased(weighted=True))
    measure = lv.measures.Moments(weighted=True)
    if bad == 0:
        assert lv.utility(data, lv.mask(data, "additive_noise"), [measure])[0].value > 0
    else:
        with pytest.raises(lv.LarvatusError, match="missing or negative"):
            lv.utility(data, lv.mask(data, "additive_noise"), [measure])


def test_without_a_weight_it_is_refused_and_with_one_unused_it_is_said(table):
    data = lv.read(table, confidential=X, non_confidential=S, sub_groups=["g"])
    with pytest.raises(lv.LarvatusError, match="no column has the role weight"):
        lv.mask(data, lv.masks.SufficiencyBased(weighted=True))
    for measure in (lv.measures.Moments(weighted=True), lv.measures.Correlation(weighted=True)):
        with pytest.raises(lv.LarvatusError, match="no column has the role weight"):
            lv.utility(data, lv.mask(data, "additive_noise"), [measure])
    notes = lv.mask(read(table), "sufficiency_based", secret=SECRET).notes
    assert any("unweighted means and covariances are preserved exactly; weighted ones are not" in n.text for n in notes)
    assert not any("weighted" in n.text for n in lv.mask(data, "sufficiency_based", secret=SECRET).notes)


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
def test_measures_against_statsmodels(table, engine):
    data = read(table, engine=engine)
    release = lv.mask(data, "additive_noise", secret=SECRET)
    after = pd.DataFrame(release.frame())
    moments, correlation = lv.utility(data, release, [
        lv.measures.Moments(weighted=True), lv.measures.Correlation(weighted=True),
    ])
    for row in moments.by_variable:
        name = row["variable"]
        there = table[name].notna()
        for which, frame in (("original", table), ("released", after)):
            found = DescrStatsW(frame[name][there], weights=table.w[there])
            assert row[f"mean_{which}"] == pytest.approx(found.mean, rel=1e-10)
            assert row[f"sd_{which}"] == pytest.approx(found.std, rel=1e-10)
    there = table[X].notna().all(axis=1)
    r = [DescrStatsW(f[["x", "y"]][there], weights=table.w[there]).corrcoef[0, 1] for f in (table, after)]
    pair = next(p for p in correlation.by_pair if set(p.values()) >= {"x", "y"})
    assert pair["loss"] == pytest.approx(abs(r[0] - r[1]), rel=1e-8)


def test_a_weighted_release_loses_nothing_weighted(table):
    data = read(table)
    release = lv.mask(data, lv.masks.SufficiencyBased(weighted=True), secret=SECRET)
    measures = [lv.measures.Moments(weighted=w) for w in (True, False)]
    weighted, plain = lv.utility(data, release, measures)
    assert weighted.value < 1e-10 < plain.value
