"""ε, ρ and δ of single mechanisms: published figures, and the worst likelihood ratio on a grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from larvatus.stats.privacy.privacy_losses import (
    epsilon_from_rho,
    laplace_epsilon,
    level_epsilon,
    normal_epsilon,
    normal_rho,
)


def test_laplace_noise_of_scale_one_on_the_unit_interval_has_epsilon_one():
    assert laplace_epsilon(np.array([1.0, 10.0]), np.sqrt(2) * np.array([1.0, 5.0])) == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_the_worst_likelihood_ratio_of_laplace_noise(scale):
    """Over all pairs of values in the bounds and a grid of released values."""
    at, values = np.linspace(-30, 35, 2001), np.linspace(0, 5, 21)
    logs = stats.laplace.logpdf(at, values[:, None], scale)
    worst = float((logs[:, None] - logs[None]).max())
    assert worst == pytest.approx(float(laplace_epsilon(np.array([5.0]), np.array([np.sqrt(2) * scale]))[0]), rel=1e-9)


def test_randomised_response():
    """k-ary: ε = log(p (k − 1) / (1 − p)); Warner's two answers with p = 3/4 have log 3."""
    for k, stay in ((2, 0.75), (5, 0.6), (3, 0.2)):
        moves = np.full((k, k), (1 - stay) / (k - 1))
        np.fill_diagonal(moves, stay)
        assert level_epsilon(moves) == pytest.approx(abs(np.log(stay * (k - 1) / (1 - stay))))
    assert level_epsilon(np.array([[0.75, 0.25], [0.25, 0.75]])) == pytest.approx(np.log(3))
    assert level_epsilon(np.array([[1.0, 0.0], [0.5, 0.5]])) == np.inf
    assert level_epsilon(np.full((3, 3), 1 / 3)) == 0


@pytest.mark.parametrize("order", [1.5, 2.0, 7.0])
def test_rho_bounds_the_divergences_of_normal_noise(order):
    """Zero-concentrated: D_α ≤ ρ α for every α, with equality for the ends of the bounds; by quadrature."""
    width, sd = 3.0, 2.0
    at = np.linspace(-60, 60, 400_001)
    p, q = stats.norm.logpdf(at, 0, sd), stats.norm.logpdf(at, width, sd)
    divergence = np.log(np.trapezoid(np.exp(order * p + (1 - order) * q), at)) / (order - 1)
    assert divergence == pytest.approx(order * float(normal_rho(np.array([width]), np.array([sd]))[0]), rel=1e-6)


def test_pure_epsilon_bounds_the_divergences():
    """ε-DP implies ρ = ε²/2: for Laplace noise and for randomised response."""
    for order in (1.1, 2.0, 10.0):
        for epsilon in (0.2, 1.0, 3.0):
            stay = np.exp(epsilon) / (1 + np.exp(epsilon))
            p, q = np.array([stay, 1 - stay]), np.array([1 - stay, stay])
            assert np.log((p**order * q ** (1 - order)).sum()) / (order - 1) <= order * epsilon**2 / 2 + 1e-12


@pytest.mark.parametrize("rho", [0.01, 0.5, 8.0])
def test_delta_of_normal_noise(rho):
    """Oracle: δ(ε) = ∫ (p − e^ε q)₊ by quadrature at the stated ε; the conversion from ρ is never smaller."""
    delta, mu = 1e-4, np.sqrt(2 * rho)
    epsilon = normal_epsilon(rho, delta)
    at = np.linspace(-20, 20 + mu, 1_000_001)
    p, q = stats.norm.pdf(at, mu), stats.norm.pdf(at)
    assert np.trapezoid(np.maximum(p - np.exp(epsilon) * q, 0), at) == pytest.approx(delta, rel=1e-3)
    assert epsilon < epsilon_from_rho(rho, delta)


def test_known_conversion():
    """Bun and Steinke 2016, proposition 1.3: ρ = 0.5 and δ = 1e-6."""
    assert epsilon_from_rho(0.5, 1e-6) == pytest.approx(0.5 + 2 * np.sqrt(0.5 * np.log(1e6)))
    assert normal_epsilon(0.0, 1e-6) == 0
