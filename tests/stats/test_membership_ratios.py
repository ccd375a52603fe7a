"""The ratios against densities written out, and against simulation.

Simulations state their false-alarm rate; limits follow from their standard errors.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from larvatus.stats.closeness.membership_ratios import (
    area_of,
    moment_log_ratios,
    moment_separations,
    most_true_positives,
    reference_log_densities,
    row_divergence,
    row_log_ratios,
    true_positives_of,
)

FALSE_ALARM = 1e-6
ONE = (np.zeros(1), np.eye(1))


def written_out(x, mean, scatter, n):
    """f(m, A | x is one of the n) / f(m, A), from the laws of mean and scatter of n − 1 standard normal records."""
    others = (n * mean - x) / (n - 1)
    left = scatter - (n - 1) / n * (x - others) ** 2
    inside = stats.norm.pdf(others, scale=1 / np.sqrt(n - 1)) * stats.chi2.pdf(left, n - 2) * n / (n - 1)
    return inside / (stats.norm.pdf(mean, scale=1 / np.sqrt(n)) * stats.chi2.pdf(scatter, n - 1))


@pytest.mark.parametrize("n", [5, 12])
@pytest.mark.parametrize(("x", "mean", "scatter"), [(0.3, 0.1, 9.0), (-1.4, 0.4, 12.0), (2.0, 0.0, 6.0)])
def test_one_column_against_the_laws_written_out(n, x, mean, scatter):
    found = moment_log_ratios(np.array([[x]]), np.array([mean]), np.array([[scatter]]), n, ONE)
    assert np.exp(found[0]) == pytest.approx(written_out(x, mean, scatter, n), rel=1e-9)


def test_the_density_of_a_record_given_the_moments_integrates_to_one():
    def density(x):
        ratio = moment_log_ratios(np.array([[x]]), np.array([0.2]), np.array([[4.0]]), 7, ONE)
        return float(np.exp(ratio[0]) * stats.norm.pdf(x))

    edge = np.sqrt(4.0 * 6 / 7)
    assert integrate.quad(density, 0.2 - edge, 0.2 + edge)[0] == pytest.approx(1, rel=1e-8)
    outside = moment_log_ratios(np.array([[0.2 + 1.01 * edge]]), np.array([0.2]), np.array([[4.0]]), 7, ONE)
    assert outside[0] == -np.inf


def files(n, p, count, seed):
    """Log ratios of all members, and of as many others, in `count` files."""
    draws = np.random.default_rng(seed)
    population = np.zeros(p), np.eye(p)
    for _ in range(count):
        x = draws.normal(size=(n, p))
        mean = x.mean(axis=0)
        scatter = (x - mean).T @ (x - mean)
        yield (moment_log_ratios(x, mean, scatter, n, population),
               moment_log_ratios(draws.normal(size=(n, p)), mean, scatter, n, population))


def area(members, others):
    return stats.mannwhitneyu(members, others).statistic / len(members) / len(others)


@pytest.mark.parametrize(("n", "p"), [(300, 2), (300, 5), (1000, 8)])
def test_auc_and_true_positives_are_those_of_the_closed_form(n, p):
    """300 files each; the closed form is a limit for n ≫ p²: 5 % of AUC − ½ are allowed beyond sampling error."""
    areas, rates = [], []
    for members, others in files(n, p, 300, n + p):
        areas.append(area(members, others))
        rates.append(np.mean(members > np.quantile(others, 0.99)))
    v = moment_separations(p, n)
    z = stats.norm.isf(FALSE_ALARM)
    error = z * np.std(areas) / np.sqrt(len(areas))
    assert abs(np.mean(areas) - area_of(v)) <= error + 0.05 * (area_of(v) - 0.5)
    assert np.mean(areas) - error > 0.5
    assert abs(np.mean(rates) - true_positives_of(v, 0.01)) <= z * np.std(rates) / np.sqrt(len(rates)) + 0.1 * 0.01


def test_the_mean_of_the_ratio_over_others_is_one():
    """E₀ of a likelihood ratio is 1; 400 files of 60 records, false alarm 1e-6."""
    means = np.array([np.exp(others).mean() for _, others in files(60, 3, 400, 8)])
    assert abs(means.mean() - 1) <= stats.norm.isf(FALSE_ALARM / 2) * means.std() / np.sqrt(len(means))


def linear_files(n, rho, count, seed):
    draws = np.random.default_rng(seed)
    p = len(rho)
    for _ in range(count):
        x, others = draws.normal(size=(2, n, p))
        y = x * rho + draws.normal(size=(n, p)) * np.sqrt(1 - rho**2)
        law = np.diag(rho), np.zeros(p), np.diag(1 - rho**2)
        yield row_log_ratios(x[:40], y, *law), row_log_ratios(others[:40], y, *law)


@pytest.mark.parametrize("rho", [[0.5, 0.5], [0.8, 0.3], [0.9, 0.9]])
def test_no_true_positives_beyond_the_bound_for_rows(rho):
    """At several false-positive rates, over 150 files of 100 rows pooled; false alarm 1e-6 each."""
    pairs = list(linear_files(100, np.array(rho), 150, 3))
    members, others = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
    bound = row_divergence(np.array(rho), 100)
    for rate in (0.01, 0.1, 0.5):
        cut = np.quantile(others, 1 - rate)
        found = np.mean(members > cut)
        spread = np.std([np.mean(m > cut) - np.mean(o > cut) for m, o in pairs]) / np.sqrt(len(pairs))
        assert found <= most_true_positives(bound, rate) + stats.norm.isf(FALSE_ALARM) * spread


def test_the_divergence_of_rows_is_that_of_the_joint_law():
    """χ² of one row by quadrature in one column: ∫∫ f(x, y)² / (f(x) f(y)) − 1."""
    rho = 0.6
    at = np.linspace(-12, 12, 1201)
    x, y = np.meshgrid(at, at)
    both = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]]).pdf(np.dstack([x, y]))
    alone = stats.norm.pdf(x) * stats.norm.pdf(y)
    ratio = np.where(alone > 1e-290, both**2 / np.maximum(alone, 1e-300), 0)
    step = at[1] - at[0]
    assert ratio.sum() * step**2 - 1 == pytest.approx(row_divergence(np.array([rho]), 1), rel=1e-6)


def test_a_record_left_out_of_its_reference_is_that_of_the_others():
    x = np.random.default_rng(4).normal(size=(30, 3))
    found = reference_log_densities(x[:1], x)[1]
    for i in (0, 7):
        rest = np.delete(x, i, axis=0)
        law = stats.multivariate_normal(rest.mean(axis=0), np.cov(rest.T, ddof=0))
        assert found[i] == pytest.approx(law.logpdf(x[i]), rel=1e-9)
    assert reference_log_densities(x[:1], x)[0][0] == pytest.approx(
        stats.multivariate_normal(x.mean(axis=0), np.cov(x.T, ddof=0)).logpdf(x[0]))


def test_rows_are_recognised_where_little_noise_is_added():
    """So that the test of the bound can fail: at ρ = .99 members stand out."""
    pairs = list(linear_files(100, np.array([0.99, 0.99]), 10, 5))
    members, others = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
    assert np.mean(members > np.quantile(others, 0.9)) > 0.3


def test_limits():
    assert area_of(np.zeros(1)) == 0.5
    assert true_positives_of(np.zeros(1), 0.01) == pytest.approx(0.01, rel=1e-3)
    assert true_positives_of(np.array([0.04]), 0.01) == pytest.approx(stats.norm.cdf(0.2 + stats.norm.ppf(0.01)))
    assert most_true_positives(0.0, 0.01) == 0.01
    assert most_true_positives(1e9, 0.01) == 1
    assert moment_separations(8, 1080).mean() == pytest.approx(44 / 1080, rel=0.01)
