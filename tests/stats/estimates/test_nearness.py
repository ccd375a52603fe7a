"""Nearness of released values to the original, as a probability under chance.

Limits of simulated shares are 4.9 standard errors above the stated level: false alarm 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.estimates.nearness import beyond_chance, chance_of_any, chance_of_nearness

STANDARD_ERRORS = 4.9


def _at_most(share: float, level: float, n: int) -> bool:
    return share <= level + STANDARD_ERRORS * np.sqrt(level * (1 - level) / n)


def _all(x: np.ndarray, y: np.ndarray, unexplained: float = 1.0) -> np.ndarray:
    n = len(x)
    return chance_of_nearness(x, y, np.zeros(n, dtype=int), np.ones(n, dtype=bool), unexplained)


@pytest.mark.parametrize("level", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("kind", ["anew", "permuted", "lognormal", "whole numbers"])
def test_values_that_do_not_depend_on_the_original_are_near_by_chance_only(kind, level):
    rng, n = np.random.default_rng(1), 3000
    x = {"lognormal": np.exp(rng.normal(size=n)), "whole numbers": rng.poisson(20, n) + 0.0}.get(kind, rng.normal(size=n))
    y = rng.normal(size=n) if kind == "anew" else rng.permutation(x)
    share = float((_all(x, y) <= level).mean())
    assert _at_most(share, level, n)


def test_noise_of_a_ninth_of_the_variance_comes_at_most_three_times_as_near():
    rng, n = np.random.default_rng(2), 3000
    x = rng.normal(size=n)
    q = _all(x, x + rng.normal(size=n) / 3)
    assert _at_most(float((q <= 0.05).mean()), 0.15, n)
    assert (q <= 0.05).mean() > 0.075  # and nearer than values drawn anew


def test_an_equal_value_is_no_coincidence_after_noise_and_one_in_n_after_a_permutation():
    rng, n = np.random.default_rng(3), 400
    x = rng.normal(size=n)
    noisy, moved = x + rng.normal(size=n), rng.permutation(x)
    there = int(np.flatnonzero(moved == x[7])[0])
    moved[[7, there]] = moved[[there, 7]]
    noisy[7] = x[7]
    assert _all(x, noisy)[7] == 0
    assert _all(x, moved)[7] == pytest.approx(1 / n)


def test_a_common_value_is_not_near_because_it_is_equal():
    x = np.where(np.arange(100) < 60, 0.0, np.arange(100.0))
    assert _all(x, x)[0] == pytest.approx(59 / 99)


def test_what_s_explains_does_not_count():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 500))
    y[0] = x[0] + 0.01
    far, near = (_all(x, y, left)[0] for left in (0.0001, 1.0))
    assert near < 0.02
    assert far > 0.5


def test_small_sub_groups_are_compared_with_the_whole_file():
    rng, n = np.random.default_rng(5), 300
    x, y = rng.normal(size=(2, n))
    group = np.zeros(n, dtype=int)
    group[0], y[0] = 1, x[0] + 1e-5
    asked = np.arange(n) == 0
    assert chance_of_nearness(x, y, group, asked, 1.0)[0] < 1e-4


def test_missing_values_are_not_near():
    x, y = np.array([1.0, np.nan, 3.0, 4.0]), np.array([np.nan, 2.0, 3.0, 9.0])
    q = _all(x, y)
    assert q[0] == q[1] == 1
    assert q[2] < 1


def test_the_probability_over_columns_is_that_of_simes():
    assert chance_of_any(np.array([[0.01, 0.5, 0.02], [0.2, 0.2, 0.2]])) == pytest.approx([0.03, 0.2])


@pytest.mark.parametrize("n", [1, 20, 300])
def test_chance_alone_is_counted_with_at_most_the_stated_probability(n):
    rng, runs, level = np.random.default_rng(6), 2000, 0.02
    found = np.mean([beyond_chance(rng.random(n), level, 1.0) > 0 for _ in range(runs)])
    assert _at_most(float(found), level, runs)


def test_records_beyond_chance_are_counted():
    rng = np.random.default_rng(7)
    q = rng.random(200)
    q[:10] = 0.0
    assert beyond_chance(q, 0.02, 0.05) == 10
    assert beyond_chance(np.array([0.0001]), 0.02, 0.05) == 1
    assert beyond_chance(np.array([0.02]), 0.02, 0.05) == 0
    assert beyond_chance(np.zeros(0), 0.02, 0.05) == 0
