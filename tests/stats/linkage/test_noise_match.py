"""Links by the density of the noise: against SciPy's densities over all pairs, and trees against all pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import laplace, norm, uniform

from larvatus.stats.linkage.assignment import balanced_shares
from larvatus.stats.linkage.noise_coordinates import unmixing
from larvatus.stats.linkage.noise_match import CODES, NoiseMatch
from larvatus.stats.linkage.paired_points import windows_along

DRAWS = {
    "normal": norm().rvs, "uniform": uniform(-np.sqrt(3), 2 * np.sqrt(3)).rvs, "laplace": laplace(scale=np.sqrt(0.5)).rvs,
    "mixture": lambda size, random_state: norm().rvs(size, random_state) * np.sqrt(0.4)
    * np.where(random_state.random(size) < 0.1, 4, 1),
}
LOG = {
    "normal": norm.logpdf, "laplace": laplace(scale=np.sqrt(0.5)).logpdf,
    "uniform": lambda u: np.where(np.abs(u) <= np.sqrt(3) * (1 + 1e-6), 0.0, -np.inf),
    "mixture": lambda u: np.log(0.9 * norm.pdf(u, scale=np.sqrt(0.4)) + 0.1 * norm.pdf(u, scale=4 * np.sqrt(0.4))),
}


def made(shape: str, n: int = 200, p: int = 3, seed: int = 1) -> tuple[NoiseMatch, np.ndarray]:
    rng = np.random.default_rng(seed)
    left = np.round(rng.normal(size=(n, p)) * 2, 1)
    right = left + DRAWS[shape](size=(n, p), random_state=rng)
    return NoiseMatch(left, right, np.full(p, CODES[shape]), np.zeros(p), left), LOG[shape](right[None] - left[:, None]).sum(2)


def credit(log_density: np.ndarray, same: np.ndarray) -> np.ndarray:
    """The share of the own record among the best ones, over all pairs."""
    value = np.where(same[:, None] == same, log_density, -np.inf)
    own = np.diag(value)[:, None]
    return np.where((value > own + 1e-9).any(axis=1), 0.0, 1 / (np.abs(value - own) <= 1e-9).sum(axis=1))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("posterior", [False, True])
@pytest.mark.parametrize("shape", list(DRAWS))
def test_links_are_those_of_all_pairs_and_of_scipys_densities(shape, posterior):
    match, density = made(shape)
    own, same = np.arange(200), np.arange(200) % 2
    inside = np.where(same[:, None] == same, density, -np.inf)
    wanted = credit(density - logsumexp(inside, axis=0) if posterior else density, same)
    assert match.credit(own, same, (1,), posterior)[0] == pytest.approx(wanted, abs=1e-9)
    assert replace(match, dense=0).credit(own, same, (1,), posterior)[0] == pytest.approx(wanted, abs=1e-9)
    some = own[::7]
    assert match.credit(some, same, (1,), posterior)[0] == pytest.approx(wanted[::7], abs=1e-9)


def test_costs_are_log_densities_up_to_a_constant():
    for shape in DRAWS:
        match, density = made(shape)
        cost = match.costs(np.arange(200), np.arange(200))
        both = np.isfinite(cost)
        assert (both == np.isfinite(density)).all()
        assert np.ptp(cost[both] + density[both]) < 1e-9


def test_blurred_edges_of_the_box_are_those_of_uniform_plus_normal():
    match, _ = made("uniform", p=1)
    match = replace(match, blur=np.array([0.1]))
    cost = match.costs(np.arange(200), np.arange(200))
    u = match.right[:, 0] - match.left[:, :1]
    grid = np.linspace(-np.sqrt(3), np.sqrt(3), 4001)
    near = (np.abs(u) < np.sqrt(3) + 0.4) & np.isfinite(cost)
    law = np.trapezoid(norm.pdf(u[near][:100, None], grid, 0.1), grid, axis=1)
    assert np.exp(-cost[near][:100]) == pytest.approx(law, abs=1e-3)


def test_noise_is_taken_apart_into_its_draws_and_what_cannot_move():
    rng = np.random.default_rng(4)
    root = np.triu(rng.normal(size=(4, 4))) + 2 * np.eye(4)
    root[3] = 0.0
    root[:, 3] = root[:, 0] - root[:, 1]
    draws = rng.normal(size=(50, 3))
    noise = draws @ root[:3]
    found = unmixing(root[:3], noise.std(axis=0))
    assert found is not None
    assert noise @ found[0] == pytest.approx(draws, abs=1e-9)
    assert np.abs(noise @ found[1]).max() < 1e-3
    assert unmixing(np.vstack([root[:3], root[:2]]), noise.std(axis=0)) is None


@pytest.mark.parametrize("spare", [0, 30])
def test_shares_add_up_to_one_for_each_record(spare):
    rng = np.random.default_rng(2)
    cost = rng.exponential(size=(60, 60 + spare)) * 5
    share = balanced_shares(cost, spare)
    share /= share.sum(axis=1, keepdims=True)
    total = share.sum(axis=0)
    assert total.max() < 1.001
    assert total.sum() == pytest.approx(60)
    assert spare or total == pytest.approx(np.ones(60), abs=1e-3)


@pytest.mark.parametrize(
    ("n", "m", "most"), [(450, 450, 150), (90, 451, 100), (50, 103, 10), (7, 11, 2), (4, 5, 3), (30, 30, 30)]
)
def test_windows_hold_every_row_once(n, m, most):
    rng = np.random.default_rng(3)
    times = np.zeros(n)
    for w in windows_along(rng.normal(size=(n, 2)), rng.normal(size=(m, 2)), most):
        times[w.left[w.inner]] += 1
        assert len(w.right) <= most
    assert (times == 1).all()
