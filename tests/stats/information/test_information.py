"""Bounds on information, against quadrature, exact sums over pairings, and simulation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import integrate, stats

from larvatus.stats.information.link_limit import divergence, largest_share, pairing_nats, single_nats
from larvatus.stats.information.noise_information import (
    factor_nats,
    gaussian_nats,
    joint_correlations,
    level_nats,
    missing_entropy,
    precision_of,
)

STANDARD = {
    "normal": stats.norm(), "uniform": stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)),
    "laplace": stats.laplace(scale=1 / np.sqrt(2)),
}


def mixture(at, sd):
    s = np.sqrt(0.4) * sd
    return 0.9 * stats.norm.pdf(at, scale=s) + 0.1 * stats.norm.pdf(at, scale=4 * s)


def entropy(density, low, high, points=()):
    def part(at):
        f = density(at)
        return -f * np.log(f) if f > 0 else 0.0

    return integrate.quad(part, low, high, limit=400, points=points or None)[0]


@pytest.mark.parametrize("shape", ["normal", "uniform", "laplace", "mixture"])
def test_missing_entropy(shape):
    density = (lambda at: mixture(at, 1.0)) if shape == "mixture" else STANDARD[shape].pdf
    edge = np.sqrt(3) if shape == "uniform" else 24.0
    own = entropy(density, -edge, edge, (0.0,))
    assert missing_entropy(shape) == pytest.approx(0.5 * np.log(2 * np.pi * np.e) - own, abs=1e-8)


@pytest.mark.parametrize("shape", ["normal", "uniform", "laplace", "mixture"])
@pytest.mark.parametrize("sd", [0.2, 1.0, 3.0])
def test_the_bound_holds_for_any_values_of_x(shape, sd):
    """Oracle: the information of a record of a skewed file of 12, by quadrature of the mixture of their densities."""
    x = np.exp(np.random.default_rng(5).normal(size=12) * 1.3)
    x = (x - x.mean()) / x.std()
    one = (lambda at: mixture(at, sd)) if shape == "mixture" else (lambda at: STANDARD[shape].pdf(at / sd) / sd)
    edges = sorted({e for v in x for e in (v - np.sqrt(3) * sd, v + np.sqrt(3) * sd)}) if shape == "uniform" else x.tolist()
    low, high = x.min() - 25 * sd, x.max() + 25 * sd
    whole = entropy(lambda at: float(np.mean(one(at - x))), low, high, tuple(edges))
    width = np.sqrt(3) * sd if shape == "uniform" else 25 * sd
    information = whole - entropy(lambda at: float(one(at)), -width, width, (0.0,))
    bound = gaussian_nats(np.eye(1), np.eye(1) / sd**2) + missing_entropy(shape)
    assert 0 < information <= bound + 1e-6
    if sd == 3.0 and shape == "normal":  # much noise hides the shape of X
        assert information == pytest.approx(bound, rel=0.1)


def test_the_pairing_of_a_whole_file_gives_no_more_than_the_sum_of_its_rows():
    """I(pairing; all released rows) of five records, by exact sums over all pairings and 20,000 draws.

    The standard error is that of the mean of the draws; false alarm 1e-6.
    """
    draws = np.random.default_rng(7)
    x = np.array([-2.0, -0.4, 0.0, 0.3, 2.1])
    x = (x - x.mean()) / x.std()
    orders = np.array(list(permutations(range(5))))
    for sd in (0.3, 1.0, 2.0):
        y = x + sd * draws.normal(size=(20_000, 5))
        logs = -((y[:, None, :] - x[orders][None]) ** 2).sum(axis=2) / (2 * sd**2)
        top = logs.max(axis=1, keepdims=True)
        mean = top[:, 0] + np.log(np.exp(logs - top).mean(axis=1))
        true = -((y - x) ** 2).sum(axis=1) / (2 * sd**2)
        sampled = true - mean
        error = stats.norm.isf(1e-6) * sampled.std() / np.sqrt(len(sampled))
        assert sampled.mean() - error <= min(5 * gaussian_nats(np.eye(1), np.eye(1) / sd**2), pairing_nats(np.array([5])))


def test_no_guess_of_pairs_beats_the_limit_on_links():
    """The best guesses about each of five records, with the exact posterior of the pairing; false alarm 1e-6."""
    draws = np.random.default_rng(8)
    x = np.array([-1.6, -0.7, 0.1, 0.6, 1.6])
    orders = np.array(list(permutations(range(5))))
    for sd in (0.5, 1.5, 4.0):
        y = x + sd * draws.normal(size=(5_000, 5))
        logs = -((y[:, None, :] - x[orders][None]) ** 2).sum(axis=2) / (2 * sd**2)
        weight = np.exp(logs - logs.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        right = np.zeros(len(y))
        for t in range(5):
            right += np.stack([weight[:, orders[:, t] == j].sum(axis=1) for j in range(5)], axis=1).max(axis=1)
        found = right / 5
        nats = gaussian_nats(np.full((1, 1), x.var()), np.eye(1) / sd**2)
        slack = (single_nats(np.array([5])) - pairing_nats(np.array([5]))) / 5
        assert found.mean() - stats.norm.isf(1e-6) * found.std() / np.sqrt(len(y)) <= largest_share(0.2, nats + slack)


def test_the_largest_share_solves_its_equation():
    for q in (0.5, 0.01, 1e-9):
        for nats in (0.001, 0.3, 2.0):
            p = largest_share(q, nats)
            assert p == 1 if nats >= -np.log(q) else divergence(p, q) == pytest.approx(nats, rel=1e-6)
    assert largest_share(0.1, 0.0) == pytest.approx(0.1, abs=1e-7)
    assert largest_share(1.0, 0.0) == 1
    assert pairing_nats(np.array([3, 1, 2])) == pytest.approx(np.log(12))


def test_precision_is_that_of_the_noise():
    draws = np.random.default_rng(2)
    root, on_x, x = draws.normal(size=(3, 3)), draws.normal(size=(3, 3)), draws.normal(size=(50, 3))
    expected = on_x.T @ np.linalg.inv(root.T @ root) @ on_x
    assert precision_of(on_x, root, x) == pytest.approx(expected, rel=1e-8)


def test_directions_without_noise():
    """No noise where X varies tells everything; none where X does not vary tells nothing."""
    root = np.array([[1.0, 1.0]])
    varies, still = np.random.default_rng(1).normal(size=(20, 2)), np.ones((20, 1)) * [[1.0, 1.0]] * np.arange(20)[:, None]
    assert precision_of(np.eye(2), root, varies) is None
    found = precision_of(np.eye(2), root, still)
    assert gaussian_nats(np.full((2, 2), 2.0), found) == pytest.approx(0.5 * np.log(1 + 2))


def test_joint_correlations_are_those_of_the_pair():
    sigma, precision = np.diag([1.0, 2.0]), np.diag([3.0, 0.5])
    rho = joint_correlations(sigma, precision)
    assert -0.5 * np.log(1 - rho**2).sum() == pytest.approx(gaussian_nats(sigma, precision))
    assert rho[0] >= rho[1]


def test_levels():
    """k-ary randomised response: the information of a uniform level."""
    k, stay = 4, 0.7
    moves = np.full((k, k), (1 - stay) / (k - 1))
    np.fill_diagonal(moves, stay)
    codes = np.repeat(np.arange(k), 3)
    row = -(stay * np.log(stay) + (1 - stay) * np.log((1 - stay) / (k - 1)))
    assert level_nats(codes, moves) == pytest.approx(np.log(k) - row)
    assert level_nats(np.zeros(5, dtype=np.int64), moves) == 0


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_factors_with_noise(noise):
    x = np.array([0.0, 0.5, -2.0, 3.0, 10.0])
    sd = np.sqrt(noise**2 + 0.2**2 * x**2)
    low, high = x.min() - 30, x.max() + 30
    whole = entropy(lambda at: float(np.mean(stats.norm.pdf(at, x, sd))), low, high, tuple(x))
    information = whole - float(np.mean([stats.norm(scale=s).entropy() for s in sd]))
    assert 0 < information <= factor_nats(x, noise, 0.2)
    assert factor_nats(x, 0.0, 0.2) == np.inf
    assert factor_nats(np.ones(4), 0.0, 0.0) == 0
