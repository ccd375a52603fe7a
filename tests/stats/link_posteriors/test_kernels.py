"""Kernels of bias and noise against independent quadrature, and against the Monte Carlo sums of paper 002."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from larvatus.stats.link_posteriors.kernels import APART, BIAS, NOISE_CODES, closed_pair, fill_known, law_pair
from larvatus.stats.link_posteriors.links import Pool, link_targets, normal_background
from larvatus.stats.link_posteriors.scenarios import fill_stated

FALSE_ALARM = 1e-6


def integral(x, z, factor, noise, carried, cuts):
    """Gauss-Legendre of high order between all places where either density turns: 120 points a panel."""
    points, weights = np.polynomial.legendre.leggauss(120)
    low, high = factor.ppf(1e-15), factor.isf(1e-15)
    ends = np.unique(np.clip([low, high, 0.0, 1.0, *np.exp(np.arange(-20, 2)), *cuts], low, high))
    half = np.diff(ends)[:, None] / 2
    t = ends[:-1, None] + half * (1 + points)
    return (half * weights * (np.abs(t) if carried else 1.0) * factor.pdf(t) * noise.pdf(z - x * t)).sum()


def laws(bias, noise, phi, sigma):
    v = np.log1p(phi**2)
    factor = {
        "normal": stats.norm(1, phi), "lognormal": stats.lognorm(np.sqrt(v), scale=np.exp(-v / 2)),
        "gamma": stats.gamma(phi**-2, scale=phi**2),
    }[bias]
    reach = np.sqrt(3) * sigma
    return factor, {
        "normal": stats.norm(0, sigma), "uniform": stats.uniform(-reach, 2 * reach),
        "laplace": stats.laplace(0, sigma / np.sqrt(2)),
        "mixture": stats.Mixture([stats.Normal(sigma=s * sigma / np.sqrt(2.5)) for s in (1, 4)], weights=[0.9, 0.1])
        if hasattr(stats, "Mixture") else None,
    }[noise]


def test_the_closed_form_is_the_integral():
    rng = np.random.default_rng(0)
    for _ in range(150):
        x, phi, sigma = rng.normal(0, 30), 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-2, 2)
        total = sigma**2 + (phi * x) ** 2
        z = x + 2 * rng.normal() * np.sqrt(total)
        m, s = (sigma**2 + phi**2 * x * z) / total, phi * sigma / np.sqrt(total)
        found = np.exp(closed_pair(x, z, phi**2, sigma**2))
        for value, carried in zip(found, (False, True), strict=True):
            wanted = integral(x, z, stats.norm(1, phi), stats.norm(0, sigma), carried, m + s * np.arange(-16, 17, 2))
            assert value == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize(("bias", "noise"), [p for p in product(BIAS, NOISE_CODES) if p != ("normal", "normal")])
def test_other_laws_are_the_integral_too(bias, noise):
    if noise == "mixture" and not hasattr(stats, "Mixture"):
        pytest.skip("this SciPy has no mixtures")
    rng = np.random.default_rng(1)
    for _ in range(8):
        x, phi, sigma = rng.normal(50, 20), 10 ** rng.uniform(-1.5, -0.2), 10 ** rng.uniform(0, 1.5)
        z = x + 0.6 * rng.normal() * np.hypot(sigma, phi * x)
        w = sigma / x
        cuts = z / x + w * np.array([-16, -8, -4, -np.sqrt(3), -1, 0, 1, np.sqrt(3), 4, 8, 16])
        found = np.exp(law_pair(x, z, phi, sigma, BIAS[bias], NOISE_CODES[noise]))
        for value, carried in zip(found, (False, True), strict=True):
            wanted = integral(x, z, *laws(bias, noise, phi, sigma), carried, cuts)
            assert value == pytest.approx(wanted, rel=1e-9 if bias == "gamma" else 1e-10)


def test_the_closed_form_is_the_monte_carlo_sum_within_its_error():
    rng = np.random.default_rng(2)
    draws, cases = 100_000, 50
    limit = stats.norm.isf(FALSE_ALARM / cases / 2)
    for _ in range(cases):
        x, phi, sigma = rng.normal(90, 10), 0.2 / 6, 3.0
        z = x + rng.normal() * np.hypot(sigma, phi * x)
        theta = 1 + phi * rng.normal(size=draws)
        terms = stats.norm.pdf(x, z / theta, sigma / np.abs(theta))
        _, carried = closed_pair(x, z, phi**2, sigma**2)
        assert abs(terms.mean() - np.exp(carried)) < limit * terms.std() / np.sqrt(draws)


def test_columns_multiply_and_missing_values_are_neither_free_nor_fatal():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 3)), rng.normal(size=(2, 5))
    z[1, 4], x[0, 2] = np.nan, np.nan
    phi, sigma, normal = np.full(z.shape, 0.1), np.full(z.shape, 0.5), np.zeros(2, dtype=np.int64)
    like, paper = np.empty((3, 5)), np.empty((3, 5))
    fill_known(x, z, phi, sigma, normal, normal, like, paper)
    one = np.array([[[closed_pair(x[j, t], z[j, i], 0.01, 0.25)[0] for i in range(5)] for t in range(3)] for j in range(2)])
    assert like[0, :4] == pytest.approx(one[0, 0, :4] + one[1, 0, :4])
    assert like[0, 4] == pytest.approx(one[0, 0, 4] + np.log(np.exp(one[1, 0, :4]).mean()) - APART)
    assert like[2, :4] == pytest.approx(one[1, 2, :4] - APART)


def test_the_background_is_the_normal_density():
    rng = np.random.default_rng(4)
    z = np.linalg.cholesky([[1, 0.8], [0.8, 1]]) @ rng.normal(size=(2, 40)) + [[3], [9]]
    for correlated, law in (
        (True, stats.multivariate_normal(z.mean(axis=1), np.cov(z, ddof=0))),
        (False, stats.multivariate_normal(z.mean(axis=1), np.diag(z.var(axis=1)))),
    ):
        assert normal_background(z, correlated) == pytest.approx(law.logpdf(z.T), rel=1e-10)


def test_links_are_those_of_a_plain_softmax_and_ties_share_the_credit():
    rng = np.random.default_rng(5)
    x = rng.normal(10, 2, (1, 30))
    z = x * (1 + 0.05 * rng.normal(size=(1, 30))) + 0.3 * rng.normal(size=(1, 30))
    z[0, 7] = z[0, 8]
    cell = np.repeat([0, 1], 15)
    pool = Pool(x, z, cell, cell, np.arange(30), present=0.7)
    links = link_targets(pool, fill_stated(z, np.array([0.05]), np.array([0.3])))
    logs = np.array([[closed_pair(a, b, 0.0025, 0.09)[0] for b in z[0]] for a in x[0]]) - normal_background(z, False)
    for t in range(30):
        mine = cell == cell[t]
        weight = 0.7 / 15 * np.exp(logs[t][mine])
        weight /= weight.sum() + 0.3
        own = 0.7 / 15 * np.exp(logs[t, t]) / (0.7 / 15 * np.exp(logs[t][mine]).sum() + 0.3)
        assert links.own[2, t] == pytest.approx(own, rel=1e-9)
        assert links.top[2, t] == pytest.approx(weight.max(), rel=1e-9)
        hit = own >= weight.max() * (1 - 1e-9)
        assert links.credit()[2, t] == pytest.approx(hit / (2 if t in (7, 8) else 1))
