"""Intruders who use S and the release together: cells of S, exact regressions on S, and who is at risk of being swapped.

Written without the code of the attacks. What the intruder found, and what the product reported before:
* a category that two columns of S give together: .908, reported .55 with S alone .53
* a curve in a number of S: R² .83, reported .00
* levels of S with six records, `sufficiency_based`: R² .17 above a baseline of 0, reported 0
* records at risk exchanged for certain, two areas: .655, reported .519; the mask exchanges at most one half of them now
* blocks of two by `match`: 182 of 182 values read, not seen; no longer possible
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import larvatus as lv
from larvatus.masks import record_swap

FALSE_ALARM = 1e-6
SECRETS = [bytes([i]) * 32 for i in range(5)]


def share_error(n: int) -> float:
    """The largest difference of two shares of n records that chance gives, at the false-alarm rate."""
    return float(norm.isf(FALSE_ALARM) * np.sqrt(0.5 / n))


def explained(x, guess) -> float:
    return float(1 - np.mean((x - guess) ** 2) / np.var(x))


@pytest.mark.parametrize("mask", ["post_randomisation(stay=0.55, invariant=false)", "random_swap(rate=0.9)"])
def test_a_category_that_two_columns_of_s_give_together(mask):
    rng = np.random.default_rng(50)
    a, b = rng.integers(0, 2, (2, 2000))
    ill = (a ^ b).astype(bool) ^ (rng.random(2000) < 0.1)
    frame = pd.DataFrame({"a": a, "b": b, "c": rng.integers(0, 5, 2000), "diagnosis": np.where(ill, "ill", "well")})
    data = lv.read(frame, confidential=["diagnosis"], non_confidential=list("abc"), nominal=list("abc"))
    release = lv.mask(data, mask, secret=SECRETS[0])
    seen = release.frame()["diagnosis"].astype(str) == "ill"
    guess = seen.groupby(2 * a + b).transform("mean").to_numpy() > seen.mean()
    score = lv.risk(data, release, ["category_disclosure"])[0]
    assert (guess == ill).mean() <= score.value + share_error(2000)
    assert score.s_alone >= score.value - share_error(2000)


def test_categories_of_firms_that_only_the_release_tells():
    """200 firms of 15, four fifths of the employees of a firm share a category: nobody knows it without the release."""
    rng = np.random.default_rng(51)
    firm = np.repeat(np.arange(200), 15)
    kind = np.where(rng.random(3000) < 0.8, rng.integers(0, 4, 200)[firm], rng.integers(0, 4, 3000))
    frame = pd.DataFrame({"firm": [f"f{k}" for k in firm], "kind": [f"k{k}" for k in kind]})
    data = lv.read(frame, confidential=["kind"], non_confidential=["firm"], nominal=["firm", "kind"])
    release = lv.mask(data, "post_randomisation(stay=0.5, invariant=false)", secret=SECRETS[0])
    seen = pd.get_dummies(release.frame()["kind"].astype(str)).groupby(firm).transform("mean")
    outsider = (seen.to_numpy().argmax(axis=1) == kind).mean()
    score = lv.risk(data, release, ["category_disclosure"])[0]
    assert outsider - 0.25 <= score.value - score.s_alone + 0.1 + share_error(3000)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cells_of_unrelated_columns_find_nothing(seed):
    rng = np.random.default_rng([52, seed])
    frame = pd.DataFrame(rng.integers(0, 4, (400, 6)), columns=list("abcdef")).assign(k=rng.choice(list("xyz"), 400))
    data = lv.read(frame, confidential=["k"], non_confidential=list("abcdef"), nominal=list("abcdefk"))
    release = lv.mask(data, "random_swap(rate=1)", secret=SECRETS[seed])
    rows = {r["rule"]: r["value"] for r in lv.risk(data, release, ["category_disclosure"])[0].details["rules"]}
    alike = rows["most frequent released category among records alike in S"]
    assert alike <= 1 / 3 + norm.isf(FALSE_ALARM) * np.sqrt(2 / 9 / 400)


@pytest.mark.parametrize("noise", [9, 0.5])
def test_a_curve_in_a_number_of_s_is_seen(noise):
    rng = np.random.default_rng(53)
    z = rng.uniform(-3, 3, 2000)
    x = np.sin(2 * z) + 0.3 * rng.normal(size=2000)
    data = lv.read(pd.DataFrame({"z": z, "w": rng.normal(size=2000), "x": x}), confidential=["x"], non_confidential=["z", "w"])
    release = lv.mask(data, f"additive_noise(variance={noise})", secret=SECRETS[0])
    y, near = release.frame()["x"].to_numpy(), np.abs(z[:, None] - z) < 0.15
    curve = near @ y / near.sum(axis=1)
    value, rank = lv.risk(data, release, ["value_disclosure", "rank_disclosure"])
    assert explained(x, curve) <= value.value + 0.03
    assert value.s_alone > 0.75
    assert rank.s_alone > 0.85
    without = np.var(x - curve) / (np.var(x - curve) + noise * np.var(x))  # of the rest, what the own released value tells
    assert value.value - value.s_alone >= (1 - value.s_alone) * without - 0.02


@pytest.mark.parametrize("mask", ["data_shuffling", "linear_model"])
def test_an_honest_release_stays_near_its_baseline(mask):
    rng = np.random.default_rng(54)
    s = rng.normal(size=(1000, 3))
    x = s @ np.array([[0.5, 0.2], [0.0, 0.3], [0.2, 0.0]]) + rng.normal(size=(1000, 2))
    frame = pd.DataFrame(np.hstack([s, x]), columns=list("abcxy"))
    data = lv.read(frame, confidential=["x", "y"], non_confidential=list("abc"))
    score = lv.risk(data, lv.mask(data, mask, secret=SECRETS[0]), ["value_disclosure"])[0]
    assert score.value - max(score.chance, score.s_alone) < norm.isf(FALSE_ALARM) * 2 / np.sqrt(1000) / 10


def test_exact_means_of_levels_count_above_the_baseline():
    rng = np.random.default_rng(6)
    level = np.repeat(np.arange(50), 6)
    frame = pd.DataFrame({"t": [f"t{v}" for v in level], "a": rng.normal(size=300), "b": rng.normal(size=300)})
    data = lv.read(frame, confidential=["a", "b"], non_confidential=["t"], nominal=["t"])
    release = lv.mask(data, "sufficiency_based", secret=SECRETS[0])
    own = explained(frame.a.to_numpy(), release.frame()["a"].groupby(level).transform("mean").to_numpy())
    score = lv.risk(data, release, ["value_disclosure"])[0]
    assert own > 0.12
    assert own - max(0.0, score.s_alone) <= score.value - max(score.chance, score.s_alone) + 0.05


def targeted(certain: bool, monkeypatch) -> tuple[float, float]:
    """Share of areas that an intruder reads who knows all other records and the settings, and what the product says."""
    rng = np.random.default_rng(7)
    n, k, rate = 3000, 4, 0.5
    keys = pd.DataFrame({"age": rng.integers(0, 45, n), "sex": rng.integers(0, 2, n), "edu": rng.integers(0, 4, n)})
    urban = rng.random(n) < 0.5
    data = lv.read(keys.assign(area=np.where(urban, "urban", "rural")), confidential=["area"], non_confidential=list(keys),
                   nominal=["sex", "edu"])
    with monkeypatch.context() as patch:
        if certain:
            patch.setattr(record_swap, "_most_probable", lambda contents: 1.0)
        release = lv.mask(data, f'record_swap(rate={rate}, match=["sex"], k={k})', secret=SECRETS[0])
    seen = release.frame()["area"].astype(str).to_numpy() == "urban"
    cell = keys.groupby(list(keys)).ngroup().to_numpy()
    others = {a: np.bincount(cell, urban == a)[cell] - (urban == a) for a in (True, False)}
    at_risk = np.where(urban, others[True], others[False]) + 1 < k
    usual = max(0.0, (rate - at_risk.mean()) / (1 - at_risk.mean()))
    chance = {a: np.where(others[a] + 1 < k, 1.0, usual) for a in (True, False)}
    likely = {a: np.where(seen == a, 1 - chance[a], chance[a]) for a in (True, False)}
    score = lv.risk(data, release, ["category_disclosure"])[0]
    return float(((likely[True] > likely[False]) == urban).mean()), score.value


def test_records_at_risk_are_not_exchanged_for_certain(monkeypatch):
    own, told = targeted(False, monkeypatch)
    assert own <= min(told, 0.5) + share_error(3000)


def test_the_attack_uses_who_is_at_risk(monkeypatch):
    """If records at risk were exchanged for certain, the attack would say so."""
    own, told = targeted(True, monkeypatch)
    assert own > 0.6
    assert own <= told + share_error(3000)


def test_two_records_that_match_only_each_other_do_not_exchange():
    rng = np.random.default_rng(80)
    frame = pd.DataFrame({"age": rng.integers(0, 60, 1500), "edu": rng.integers(0, 8, 1500),
                          "area": rng.choice(list("abcdefgh"), 1500)})
    data = lv.read(frame, confidential=["area"], non_confidential=["age", "edu"], nominal=["edu"])
    release = lv.mask(data, 'record_swap(rate=0.8, match=["age", "edu"], k=2)', secret=SECRETS[0])
    seen = release.frame()["area"].astype(str).to_numpy()
    right = []
    for who in frame.groupby(["age", "edu"]).indices.values():
        if len(who) == 2 and seen[who[0]] != seen[who[1]]:
            right += list(seen[who[::-1]] == frame.area.to_numpy()[who])
    assert len(right) > 100
    assert np.mean(right) <= 0.2 + norm.isf(FALSE_ALARM) * 0.4 / np.sqrt(len(right))
    assert any("agree in all match columns" in n.text for n in release.notes if n.kind == "warning")
