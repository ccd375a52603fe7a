"""Chains over matchings against the sum over all of them, the quadrature at L = 0, and R-hat of chains that are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from larvatus.stats.bias_and_noise_kernels import closed_pair
from larvatus.stats.bias_and_noise_links import Pool, normal_background
from larvatus.stats.bias_and_noise_priors import SpreadPrior
from larvatus.stats.bias_and_noise_scenarios import fill_nodes, nodes_of
from larvatus.stats.chains import effective_size, r_hat
from larvatus.stats.known_records import Chains, Problem

FALSE_ALARM = 1e-6
KEY = (np.uint64(11), np.uint64(29))
NORMAL = np.zeros(1, dtype=np.int64)


def small(n=5, population=5, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(10, 2, (1, population))
    z = (x * (1 + 0.1 * rng.normal(size=x.shape)) + rng.normal(size=x.shape))[:, :n]
    return x, np.ascontiguousarray(z)


def weights(x, z, kernel):
    like, paper = np.array([[closed_pair(a, b, 0.01, 1.0) for b in z[0]] for a in x[0]]).transpose(2, 0, 1)
    return {"likelihood": like, "paper": paper, "coherent": like - normal_background(z, False)}[kernel]


def enumerated(w, absent=None, spare=0):
    """Records × released (and absent, last): the posterior by adding up all matchings, from the last record on known ones."""
    known, n = w.shape
    out = np.zeros((known, n + 1))
    for places in product(range(-1 if absent is not None else 0, n), repeat=known):
        used = [i for i in places if i >= 0]
        if len(set(used)) < len(used) or spare + len(used) < 0:
            continue
        weight = np.exp(sum(w[m, i] if i >= 0 else absent[m] for m, i in enumerate(places)))
        if absent is not None:
            weight /= np.prod(np.arange(1, spare + len(used) + 1))
        for m, i in enumerate(places):
            out[m, i] += weight
    return out / out.sum(axis=1, keepdims=True)


def problem(x, z, known, kernel, **more):
    n = z.shape[1]
    cell = np.zeros(n, dtype=np.int64)
    own = np.where(np.arange(known) < n, np.arange(known), -1)
    spreads = {"bias_sd": np.full((1, n), 0.1), "noise_sd": np.ones((1, n))}
    zero = np.zeros(known, dtype=np.int64)
    return Problem(np.ascontiguousarray(x[:, :known]), z, zero, cell, own, NORMAL, NORMAL, kernel, **{**spreads, **more})


@pytest.fixture
def long(monkeypatch):
    """Chains long enough to tell shares apart by a hundredth, and as many kept draws."""
    monkeypatch.setattr("larvatus.stats.known_records.FIRST", 40_000)
    monkeypatch.setattr("larvatus.stats.known_records.KEPT_MATCHINGS", 20_000)


def agrees(found, wanted, effective):
    """Shares found by so many effective draws, of which records here are worth at least a third: a normal limit over all."""
    limit, draws = stats.norm.isf(FALSE_ALARM / wanted.size / 2), min(effective, 20_000) / 3
    return (np.abs(found - wanted) <= limit * np.sqrt(wanted * (1 - wanted) / draws) + limit**2 / draws).all()


@pytest.mark.parametrize("kernel", ["likelihood", "paper", "coherent"])
def test_all_matchings_of_three_known_records_and_a_target_among_five(kernel, long):
    x, z = small()
    wanted = enumerated(weights(x[:, :4], z, kernel))
    chains = Chains(problem(x, z, 4, kernel), KEY, sweeps=80_000)
    found = chains.run(counted=True)
    assert found.converged
    logs, _ = chains.inside()
    assert agrees(np.exp(logs), wanted[:, :5], min(found.effective))
    chains = Chains(problem(x, z, 3, kernel), KEY, sweeps=80_000)
    found = chains.run(counted=False)
    logs, gone = chains.outside(np.ascontiguousarray(x[:, 3:4]), np.zeros(1, dtype=np.int64))
    share = np.exp(logs[0] - logs[0].max())
    assert agrees(share / share.sum(), wanted[3, :5], min(found.effective))
    assert gone[0] == -np.inf


@pytest.mark.parametrize("kernel", ["likelihood", "paper"])
def test_without_known_records_the_chains_are_the_quadrature(kernel):
    rng = np.random.default_rng(4)
    x = rng.normal(90, 10, (1, 12))
    z = x * (1 + 0.05 * rng.normal(size=x.shape)) + rng.normal(size=x.shape)
    priors = [SpreadPrior(0.1, 0.3)], [SpreadPrior(5.0, 0.3)]
    zero = np.zeros(12, dtype=np.int64)
    chains = Chains(Problem(np.empty((1, 0)), z, zero[:0], zero, zero[:0], NORMAL, NORMAL, kernel, None, None, *priors), KEY)
    found = chains.run(counted=False)
    assert found.converged
    logs, _ = chains.outside(x, zero)
    pool = Pool(x, z, zero, zero, np.arange(12))
    both = np.empty((2, 12, 12))
    fill_nodes(z, nodes_of(*priors, 24))(pool.x, both[0], both[1])
    one, two = (np.exp(v - v.max(axis=1, keepdims=True)) for v in (logs, both[int(kernel == "paper")]))
    one, two = (v / v.sum(axis=1, keepdims=True) for v in (one, two))
    each = np.array([[[np.exp(closed_pair(a, b, f**2, s**2)[int(kernel == "paper")]) for b in z[0]] for a in x[0]]
                     for f, s in chains.kept_sd])
    error = np.abs(each.std(axis=0) / each.mean(axis=0)) / np.sqrt(0.25 * len(each))
    limit = stats.norm.isf(FALSE_ALARM / one.size / 2)
    assert (np.abs(one - two) <= 2 * limit * error.max(axis=1, keepdims=True) * two).all()


def test_r_hat_and_effective_size_of_chains_that_are_known():
    rng = np.random.default_rng(5)
    draws = rng.normal(size=(4, 2000))
    assert r_hat(draws) < 1.01
    assert 0.8 * 8000 < effective_size(draws) < 1.25 * 8000
    assert r_hat(draws + np.array([[0], [0], [0], [2]])) > 1.1
    assert r_hat(draws * np.array([[1], [1], [1], [4]])) > 1.1  # the same places, other spreads
    slow = np.empty((4, 20_000))
    slow[:, 0] = rng.normal(size=4)
    for t in range(1, 20_000):
        slow[:, t] = 0.9 * slow[:, t - 1] + np.sqrt(1 - 0.81) * rng.normal(size=4)
    assert effective_size(slow) == pytest.approx(80_000 / 19, rel=0.3)
    assert r_hat(np.ones((4, 100))) == 1.0
