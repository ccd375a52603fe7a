"""Tests of the tests: exact laws, slow and obvious computations, and false-alarm rates of closeness to training records."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist

from larvatus.attacks.unpaired.predicates import subset_probability
from larvatus.stats.closeness.nearest_distances import fresh_distances, nearest_distances, relative_distances
from larvatus.stats.closeness.seen_records import area_under_curve, nearer_share, true_positives
from larvatus.stats.closeness.tail_scan import tail_scan

FALSE_ALARM = 1e-5


def normal(n: int, columns: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, columns))


def test_distances_are_those_of_all_pairs():
    queries, points = normal(40, 3, 1), normal(60, 3, 2)
    distance, rows = nearest_distances(queries, points, 4)
    every = cdist(queries, points)
    np.testing.assert_allclose(distance, np.sort(every, axis=1)[:, :4], rtol=1e-12)
    np.testing.assert_array_equal(rows, np.argsort(every, axis=1)[:, :4])


def test_relative_distances_have_no_unit_and_know_crowded_places():
    points = normal(200, 3, 3)
    np.testing.assert_allclose(relative_distances(7 * points[:50] + 1, 7 * points[50:] + 1),
                               relative_distances(points[:50], points[50:]), rtol=1e-9)
    crowded = np.repeat(points[:1], 6, axis=0)
    assert relative_distances(points[:1], np.concatenate([crowded, points]))[0] == 1.0
    assert relative_distances(points[:1], points)[0] == 0.0


@pytest.mark.parametrize("columns", [1, 3])
def test_relative_distances_follow_the_law_of_an_even_density(columns):
    """r^m is Beta(1, 4): the smallest of four uniform draws, for the volumes within the fifth nearest of even points."""
    rng = np.random.default_rng(4)
    points, queries = rng.uniform(size=(20_000, columns)), 0.2 + 0.6 * rng.uniform(size=(400, columns))
    found = stats.kstest(relative_distances(queries, points) ** columns, stats.beta(1, 4).cdf)
    assert found.pvalue > FALSE_ALARM


def test_the_error_of_the_nearer_share_is_that_of_all_choices_of_seen_records():
    count = np.array([4.0, 0, 1, 0, 3, 2, 0])
    shares = []
    for chosen in itertools.combinations(range(7), 4):
        seen = np.isin(np.arange(7), chosen)
        shares.append((nearer_share(count, seen), seen))
    error = np.std([s.share for s, _ in shares])
    one = shares[0][0]
    assert np.mean([s.share for s, _ in shares]) == pytest.approx(one.expected)
    z = (one.share - one.expected) / error
    assert one.p_value == pytest.approx(stats.norm.sf(z))
    assert np.mean([s.value for s, _ in shares]) == pytest.approx(0.5, abs=0.05)


def test_rows_that_all_follow_seen_records_have_value_one():
    count = np.concatenate([np.full(80, 2.0), np.zeros(20)])
    found = nearer_share(count, np.arange(100) < 80)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.p_value < 1e-4
    assert found.p_beyond > found.p_value or found.p_beyond < 1e-12


def test_tail_scan_has_its_false_alarm_rate():
    """400 pairs of samples with equal laws: alarms at 5 % are binomial; the limit has a false-alarm rate of 1e-5."""
    rng = np.random.default_rng(5)
    alarms = sum(tail_scan(rng.random(150), rng.random(100), seed) <= 0.05 for seed in range(400))
    assert alarms <= stats.binom.isf(FALSE_ALARM, 400, 0.05)
    assert alarms >= stats.binom.isf(1 - FALSE_ALARM, 400, 0.02)  # discrete, so somewhat below 5 %, but not far below


def test_tail_scan_finds_a_few_small_values():
    rng = np.random.default_rng(6)
    usual = rng.random(600)
    few = np.concatenate([np.full(12, 1e-6), rng.random(888)])
    assert tail_scan(few, usual, 1) < 0.03  # P(the twelve smallest of 1,500 are all of the 900) = .002, for 34 places
    assert tail_scan(np.sort(few)[12:], usual, 1) > 0.05
    assert tail_scan(few, np.concatenate([usual, np.full(12, 1e-7)]), 1) > 0.05
    assert tail_scan(few, usual, 1, excess=0.5) > tail_scan(few, usual, 1)


def test_ties_do_not_make_an_alarm():
    assert tail_scan(np.zeros(500), np.zeros(300), 1) > 0.9


def test_area_under_the_curve_counts_pairs_and_its_interval_covers():
    rng = np.random.default_rng(7)
    members, others = rng.integers(0, 6, 50).astype(float), rng.integers(0, 6, 40).astype(float)
    pairs = np.mean([(a > b) + 0.5 * (a == b) for a in members for b in others])
    assert area_under_curve(members, others)[0] == pytest.approx(pairs)
    covered = 0
    for _ in range(400):
        _, low, high = area_under_curve(rng.normal(1, 1, 60), rng.normal(0, 1, 50))
        covered += low <= stats.norm.cdf(1 / np.sqrt(2)) <= high
    assert covered >= stats.binom.isf(1 - FALSE_ALARM, 400, 0.93)


def test_true_positives_allow_no_more_false_ones_than_stated():
    members, others = np.arange(100.0), np.arange(100.0) - 0.5
    for rate in (0.0, 0.005, 0.01, 0.1, 0.5):
        threshold = np.sort(others)[::-1][int(rate * 100)]
        assert np.mean(others > threshold) <= rate
        assert true_positives(members, others, rate) == np.mean(members > threshold)
    assert true_positives(np.zeros(9), np.zeros(9), 0.1) == 0.0


def test_probability_of_exactly_one_record_in_a_subset():
    for count, drawn in itertools.product(range(8), (1, 3, 7)):
        expected = stats.hypergeom.pmf(1, 7, min(count, 7), drawn)
        assert subset_probability(np.array([count]), 7, drawn)[0] == pytest.approx(expected, abs=1e-12)


def test_each_training_record_counts_once_as_fresh():
    training, held = normal(101, 2, 8), normal(30, 2, 9)
    assert len(fresh_distances(training, held)) == 30 + 101


def test_of_two_equal_records_one_asks():
    """Forty pairs of equal records, far apart: a pair is one event, not two."""
    places = 100 * normal(40, 3, 10)
    fresh = fresh_distances(np.concatenate([places, places]), normal(10, 3, 11))
    assert np.sum(fresh[10:] == 0) == 40


def test_fresh_distances_follow_the_law_of_an_even_density():
    """On a torus no place is special. The ratios are not quite independent, so the limit is twice that of Kolmogorov."""
    points = np.random.default_rng(12).uniform(size=(4000, 2))
    around = np.concatenate([np.cos(2 * np.pi * points), np.sin(2 * np.pi * points)], axis=1)
    found = fresh_distances(around, around[:1] + 9)[1:] ** 2
    apart = stats.kstest(found, stats.beta(1, 4).cdf).statistic
    assert apart < 2 * stats.kstwo.isf(FALSE_ALARM, len(found))
