"""Equal values to the precision of a release, and weights of pairs against a dense search."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.linkage.equality import equality_credit, rarity, value_codes


def test_values_that_differ_in_the_last_places_are_equal():
    x = np.array([0.1 + 0.2, 1e15 + 1, -3.0, 0.0, np.nan])
    a, b = value_codes(x, np.array([0.3, 1e15, -3.0 * (1 + 2e-16), -0.0, np.nan]))
    assert (a == b).tolist() == [True, False, True, True, True]
    assert a[-1] == b[-1] == -1


def test_a_release_in_single_precision_is_compared_in_single_precision():
    x = np.random.default_rng(1).normal(size=50)
    a, b = value_codes(x, x.astype(np.float32).astype(np.float64))
    assert (a == b).all()
    assert len(np.unique(a)) == 50
    whole = np.array([9_999_999.0, 10_000_000.0])
    a, b = value_codes(whole, whole[::-1].copy())
    assert (a == b[::-1]).all()
    assert a[0] != a[1]


def test_missing_weighs_by_its_share_in_the_release_if_the_mask_blanks_cells():
    weight = rarity(np.array([0, 0, 1, -1]), np.array([-1, -1, 1, -1]))
    assert weight == pytest.approx(-np.log([0.5, 0.25, 0.75]))


@pytest.mark.parametrize("guesses", [(1,), (1, 3, 10)])
def test_credits_are_those_of_a_dense_search(guesses):
    rng = np.random.default_rng(2)
    n, p = 300, 4
    x = rng.integers(0, [3, 10, 50, 400], (n, p)).astype(float)
    y = np.where(rng.random((n, p)) < 0.4, x, rng.permutation(x))
    x[rng.random((n, p)) < 0.05] = np.nan
    y[rng.random((n, p)) < 0.1] = np.nan
    same, own = np.arange(n) % 2, np.arange(0, n, 3)
    score = np.zeros((len(own), n))
    for j in range(p):
        a, b = value_codes(x[:, j], y[:, j])
        score += (a[own][:, None] == b) * rarity(a, b)[a[own]][:, None]
    score = np.where(same[own][:, None] == same, score, -np.inf)
    mine = score[np.arange(len(own)), own][:, None]
    heavier, tied = (score > mine + 1e-9).sum(axis=1), (np.abs(score - mine) <= 1e-9).sum(axis=1)
    expected = [np.clip((k - heavier) / tied, 0, 1) for k in guesses]
    assert equality_credit(x, y, np.arange(n), same, own, guesses) == pytest.approx(np.array(expected))


def test_nothing_in_common_is_a_guess():
    x, y = np.arange(20.0)[:, None], np.arange(20.0)[:, None] + 0.5
    assert equality_credit(x, y, np.arange(20), np.zeros(20, dtype=np.int64), np.arange(20))[0] == pytest.approx(0.05)
