"""Weights by EM against what was put into the files; links against a dense search; names beside numbers."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.stats.linkage.fellegi_sunter import AGREEMENT_LEVELS, PairSample, linkage_credit

FALSE_ALARM = 1e-6
EDGES = [1e-9, 0.01, 0.03, 0.1, 0.3, 1.0]


def levels_of(x, y):
    """The level of agreement of each x with each y: 0 is equal, 7 missing in both, 8 in x alone, 9 in y alone."""
    out = np.searchsorted(EDGES, np.nan_to_num(np.abs(x[:, None] - y)))
    absent, blank = np.isnan(x)[:, None], np.isnan(y)[None, :]
    return np.where(absent, np.where(blank, 7, 8), np.where(blank, 9, out))


@pytest.mark.parametrize("near", [False, True])
def test_em_finds_how_often_matching_pairs_agree(near):
    """Three name columns kept in .9, .6 and .3 of the records; 4.9 standard errors of a share are one in a million."""
    rng = np.random.default_rng(1)
    n, kept = 2000, np.array([0.9, 0.6, 0.3])
    x = 2.0 * rng.integers(0, 20, (n, 3))
    y = np.where(rng.random((n, 3)) < kept, x, 2.0 * rng.integers(0, 20, (n, 3)))
    agree = kept + (1 - kept) / 20
    pairs = PairSample.of(x, y, np.zeros(n, dtype=np.int64), np.arange(n))
    found = pairs.learn(near=near)
    m = found.unchanged + (1 - found.unchanged) * found.ratio[:, 0] * pairs.background[:, 0]
    seen = 1.5 * 0.5 / np.sqrt(400)  # of 400 targets, and half as much again for what EM cannot see
    assert m == pytest.approx(agree, abs=4.9 * seen)
    assert m[0] > m[1] > m[2]


def test_links_are_those_of_a_dense_search():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    x[rng.random(x.shape) < 0.1] = np.nan
    y[rng.random(y.shape) < 0.1] = np.nan
    weights = rng.normal(size=(2, AGREEMENT_LEVELS))
    same, own = np.arange(80) % 3, np.arange(0, 80, 2)
    total = sum(weights[j][levels_of(x[own, j], y[:, j])] for j in range(2))
    total = np.where(same[own][:, None] == same, total, -np.inf)
    top = np.isclose(total, total.max(axis=1, keepdims=True))
    expected = top[np.arange(len(own)), own] / top.sum(axis=1)
    assert linkage_credit(x[own], y, weights, same, own)[0] == pytest.approx(expected)


@pytest.mark.parametrize("n", [60, 900])
def test_the_pairs_of_the_sample_are_those_of_a_dense_search(n):
    """In sets of 20, and of 300, where equal combinations of levels are counted."""
    rng = np.random.default_rng(4)
    x, y = np.round(rng.normal(size=(n, 3)), 1), np.round(rng.normal(size=(n, 3)), 1)
    x[rng.random(x.shape) < 0.1] = np.nan
    y[rng.random(y.shape) < 0.1] = np.nan
    same = np.arange(n) % 3
    sample = PairSample.of(x, y, same, np.arange(n))
    levels = np.array([levels_of(x[:, j], y[:, j]) for j in range(3)])
    expected = [Counter(map(tuple, levels[:, i, same == same[i]].T.tolist())) for i in range(n)]
    for a, b in itertools.pairwise(sample.first):
        found = Counter()
        for combination, times in zip(sample.levels[a:b].tolist(), sample.times[a:b], strict=True):
            found[tuple(combination)] += times
        assert found in expected
        assert len(found) == b - a or n == 60
    assert len(sample.first) == 1 + min(n, 400)


def test_names_link_beside_numbers():
    rng = np.random.default_rng(3)
    n = 600
    frame = pd.DataFrame({"job": rng.choice(list("abcdefghij"), n), "town": rng.choice(list("pqrstuvwxy"), n),
                          "x": rng.normal(size=n)})
    moved = rng.random(n) < 0.2
    released = frame.assign(job=np.where(moved, rng.permutation(frame.job), frame.job), x=frame.x + 0.05 * rng.normal(size=n))
    data = lv.read(frame, confidential=["job", "town", "x"])
    both = lv.risk(data, released, ["probabilistic_linkage"])[0]
    only = lv.risk(data, released, ["probabilistic_linkage"], intruder=lv.Intruder(known=["x"]))[0]
    assert both.value > 0.5 > 2 * only.value
    assert both.chance == pytest.approx(1 / n)


def test_a_destroyed_column_does_no_harm_where_distance_is_misled():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(500, 3)), columns=list("abc"))
    released = frame.assign(a=frame.a + 1e-4 * rng.normal(size=500), b=rng.normal(size=500), c=rng.normal(size=500))
    data = lv.read(frame, confidential=list("abc"))
    scores = lv.risk(data, released, ["probabilistic_linkage", "nearest_record"])
    assert scores[0].value > 5 * scores[1].value


def test_agreement_on_a_rare_value_weighs_more():
    """Half of the values stay. Two records in three share one value; a search that ignores frequencies cannot tell them."""
    rng = np.random.default_rng(5)
    n = 900
    x = pd.DataFrame({c: np.where(rng.random(n) < 2 / 3, "common", rng.integers(0, 300, n).astype(str)) for c in "abcd"})
    y = x.where(rng.random(x.shape) < 0.5, x.apply(lambda c: rng.permutation(c)))
    data = lv.read(x, confidential=list("abcd"))
    scores = {s.method: s.value for s in lv.risk(data, y, ["probabilistic_linkage", "exact_match"])}
    assert scores["probabilistic_linkage"] > scores["exact_match"] - 3 * np.sqrt(0.25 / n)
    assert scores["exact_match"] > 0.2


def test_weights_under_known_shares_stand_beside_those_that_are_learnt():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.normal(size=(300, 4)).round(2), columns=list("abcd"))
    data = lv.read(frame, confidential=list("abcd"))
    release = lv.mask(data, "random_swap(rate=0.6)", secret=b"k" * 32)
    told = lv.risk(data, release, ["probabilistic_linkage"])[0]
    not_told = lv.risk(data, release, ["probabilistic_linkage"], intruder=lv.Intruder(published="none"))[0]
    assert len(told.details["weights"]) == 3
    assert len(not_told.details["weights"]) == 2
    assert told.value == max(r["value"] for r in told.details["weights"])
