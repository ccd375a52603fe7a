"""E(1 / F | f) and Var(1 / F | f) against sums over the negative binomial law, closed forms and limits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import nbinom

from larvatus.attacks.keys.key_figures import records_above_main_part
from larvatus.stats.key_risk.individual_risk import (
    beta_interval,
    global_risk,
    individual_risk,
    inverse_variance,
    sampled_share,
)

SIZES = [1, 2, 3, 4, 7, 19, 20, 21, 50, 1000]


def risk(f: int, p: float) -> float:
    return float(individual_risk(np.array([f]), np.array([p]))[0])


def variance(f: int, p: float) -> float:
    return float(inverse_variance(np.array([f]), np.array([p]))[0])


@pytest.mark.parametrize("f", SIZES)
@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.5000001, 0.9, 0.999])
def test_against_the_sum_over_the_law(f, p):
    h = np.arange(f, f + int((f + 20 * f**0.5 + 60) / p))
    mass = nbinom.pmf(h - f, f, p)
    first, second = (mass / h).sum(), (mass / h.astype(float) ** 2).sum()
    assert risk(f, p) == pytest.approx(first, rel=1e-11)
    assert variance(f, p) == pytest.approx(second - first**2, rel=1e-6, abs=1e-17)


@pytest.mark.parametrize("f", SIZES)
@pytest.mark.parametrize("p", [1e-10, 1e-6, 1e-3])
def test_tiny_fractions_against_numerical_integration(f, p):
    """∫ v^(f−1) / (1 + a v) dv with v = exp(−x): the integrand is flat up to log a and falls off after it."""
    a = (1 - p) / p
    wanted = quad(lambda x: np.exp(-f * x) / (1 + a * np.exp(-x)), 0, np.log(a) + 60, points=[np.log(a)], limit=500,
                  epsabs=0, epsrel=1e-12)[0]
    assert risk(f, p) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("p", [0.001, 0.2, 0.5, 0.8, 0.99])
def test_closed_forms_for_one_two_and_three(p):
    """The forms printed by Benedetti and Franconi."""
    q = 1 - p
    assert risk(1, p) == pytest.approx(p / q * np.log(1 / p), rel=1e-12)
    assert risk(2, p) == pytest.approx(p / q**2 * (p * np.log(p) + q), rel=1e-9)
    assert risk(3, p) == pytest.approx(p / (2 * q**3) * (q * (3 * q - 2) - 2 * p**2 * np.log(p)), rel=1e-8)


def test_exact_rational_sum():
    """f = 2, p = 1/2:  Σ (h − 1) 2^−h / h = Σ 2^−h − Σ 2^−h / h = 1/2 − (log 2 − 1/2), by 200 terms in fractions."""
    total = sum(Fraction(h - 1, h * 2**h) for h in range(2, 200))
    assert risk(2, 0.5) == pytest.approx(float(total), rel=1e-14)
    assert risk(2, 0.5) == pytest.approx(1 - np.log(2), rel=1e-14)


@pytest.mark.parametrize("f", SIZES)
def test_limits(f):
    assert risk(f, 1.0) == 1 / f
    assert variance(f, 1.0) == 0
    assert risk(f, 1 - 1e-12) == pytest.approx(1 / f, rel=1e-9)
    assert risk(f, 1e-300) < 1e-290
    p = np.linspace(1e-6, 1, 200)
    assert (np.diff(individual_risk(np.full(200, f), p)) > 0).all()  # a larger sample is a larger risk


def test_large_classes_behave_as_p_over_f():
    """F is close to f / p: with f = 10⁶, E(1 / F) = p / f · (1 + O(1 / f))."""
    assert risk(10**6, 0.2) == pytest.approx(0.2e-6, rel=1e-5)


def test_share_of_classes():
    count = np.array([1, 2, 3, 4])
    assert sampled_share(count, None, 0.1).tolist() == [0.1] * 4
    assert sampled_share(count, np.array([10.0, 0.0, 1.0, 8.0])).tolist() == [0.1, 1.0, 1.0, 0.5]


def test_a_small_file_by_hand():
    """Classes of 1 and 2 records, all of the population: Σ f r = 1 + 2 · ½ = 2, of 3 records; no uncertainty."""
    found = global_risk(np.array([1, 2]), np.ones(2))
    assert (found.value, found.low, found.high, found.expected) == (2 / 3, 2 / 3, 2 / 3, 2.0)


def test_global_risk_of_nothing():
    assert global_risk(np.zeros(0, dtype=int), np.zeros(0)).value == 0


def test_beta_interval_has_the_moments_it_is_given():
    low, high = beta_interval(0.5, 1e-6)
    assert (low, high) == (pytest.approx(0.5 - 1.96e-3, abs=1e-5), pytest.approx(0.5 + 1.96e-3, abs=1e-5))
    assert beta_interval(0.2, 0.0) == (0.2, 0.2)
    low, high = beta_interval(0.01, 0.01 * 0.99)  # the largest variance there is
    assert 0 <= low <= 0.01 <= high <= 1 or low <= high <= 1


COVERED = 400
FALSE_ALARM = 1e-6


def test_the_interval_covers_the_share_of_right_matches():
    """Populations with P(F) ∝ 1 / F, sampled at π: then F given f is negative binomial (benchmarks/key_risk_coverage.py).

    With 400 samples and a coverage of .95, fewer than 359 or more than 399 are covered with a probability below 2e-6.
    """
    rng = np.random.default_rng(11)
    size = np.arange(1, 20_001)
    law = 1 / size / (1 / size).sum()
    hits = 0
    for _ in range(COVERED):
        population = rng.choice(size, 1500, p=law)
        f = rng.binomial(population, 0.1)
        seen = f > 0
        found = global_risk(f[seen], np.full(int(seen.sum()), 0.1))
        truth = (f[seen] / population[seen]).sum() / f.sum()
        hits += found.low <= truth <= found.high
    assert 359 <= hits <= 399


def test_the_width_of_the_interval_by_the_variance_of_single_classes():
    """2,000 classes of three records, p = ½. The mean of f / F over classes has variance 9 Var(1 / F) · 2000 / 6000²."""
    h = np.arange(3, 400)
    mass = nbinom.pmf(h - 3, 3, 0.5)
    spread = (mass / h**2).sum() - (mass / h).sum() ** 2
    found = global_risk(np.full(2000, 3), np.full(2000, 0.5))
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.sqrt(9 * spread * 2000) / 6000, rel=1e-3)


def test_records_above_the_main_part_of_the_risks():
    """As in sdcMicro: risk > median + 2 MAD and risk > .1, over records and not over classes."""
    rng = np.random.default_rng(5)
    for n in (1, 2, 7, 40):
        count, risk = rng.integers(1, 6, n), rng.choice([0.01, 0.02, 0.09, 0.3, 0.5, 1.0], n)
        every = np.repeat(risk, count)
        centre = np.median(every)
        high = (every > centre + 2 * 1.4826 * np.median(np.abs(every - centre))) & (every > 0.1)
        assert records_above_main_part(count, risk) == high.sum()
    assert records_above_main_part(np.array([90, 1, 1]), np.array([0.01, 0.05, 0.4])) == 1
