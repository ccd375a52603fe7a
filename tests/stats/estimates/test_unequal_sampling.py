"""Samples with unequal probabilities: probabilities, fixed size, weighted means and the effective size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from larvatus.stats.estimates.intervals import wilson, wilson_size
from larvatus.stats.estimates.unequal_sampling import hajek_mean, inclusion_probabilities, pareto_sample, safe_sample_size

FALSE_ALARM = 1e-6


def test_probabilities_sum_to_the_size_and_are_a_common_rate_or_more():
    least = np.concatenate([np.zeros(90), np.full(6, 0.5), np.ones(4)])
    found = inclusion_probabilities(least, 20)
    assert found.sum() == pytest.approx(20)
    assert found[90:] == pytest.approx(least[90:])
    assert found[:90] == pytest.approx((20 - 3 - 4) / 90)


def test_a_least_probability_below_the_common_rate_has_no_effect():
    least = np.concatenate([np.zeros(50), np.full(50, 0.1)])
    assert inclusion_probabilities(least, 40) == pytest.approx(0.4)
    assert inclusion_probabilities(least, 200) == pytest.approx(1.0)


def test_the_sample_has_its_size_and_its_inclusion_probabilities():
    """Over 20,000 samples; the stated probabilities are right up to 1/n, for which a hundredth is allowed."""
    rng, repeats = np.random.default_rng(1), 20_000
    probability = inclusion_probabilities(np.concatenate([np.zeros(40), np.full(15, 0.6), np.ones(5)]), 24)
    drawn = np.array([pareto_sample(rng.random(60), probability, 24) for _ in range(repeats)])
    assert (drawn.sum(axis=1) == 24).all()
    assert drawn[:, 55:].all()
    limit = norm.isf(FALSE_ALARM / 60) * np.sqrt(probability * (1 - probability) / repeats) + 0.01
    assert (np.abs(drawn.mean(axis=0) - probability) <= limit).all()


def test_equal_probabilities_take_the_smallest_numbers():
    uniform = np.random.default_rng(2).random(50)
    found = pareto_sample(uniform, np.full(50, 0.2), 10)
    assert set(np.flatnonzero(found)) == set(np.argsort(uniform)[:10])


def test_the_weighted_mean_by_hand():
    assert hajek_mean(np.array([1.0, 0.0, 0.5]), np.array([1.0, 2.0, 4.0])) == pytest.approx(3.0 / 7.0)
    assert hajek_mean(np.array([1.0, 0.0, 0.5]), None) == 0.5
    assert safe_sample_size(np.array([1.0, 2.0, 4.0]), 3) == pytest.approx(7 / 4)
    assert safe_sample_size(np.full(9, 3.0), 9) == safe_sample_size(None, 9) == 9


def test_the_variance_is_never_larger_than_that_of_the_effective_size():
    rng = np.random.default_rng(3)
    for _ in range(200):
        w, c = rng.uniform(1, rng.uniform(1, 300), 80), (rng.random(80) < rng.random()).astype(float)
        p = hajek_mean(c, w)
        variance = (w**2 * (c - p) ** 2).sum() / w.sum() ** 2
        assert variance <= p * (1 - p) / safe_sample_size(w, 80) + 1e-15


@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("half_width", [0.0005, 0.005, 0.1])
def test_the_size_for_a_half_width_is_the_smallest(share, half_width):
    n = wilson_size(share, half_width)
    widths = [(high - low) / 2 for low, high in (wilson(share, n), wilson(share, n - 1))]
    assert widths[0] <= half_width < widths[1]
