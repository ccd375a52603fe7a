"""The linkage law: METHODS' figures, simulation over a grid, SciPy, quadrature, limits and exact cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from larvatus.stats.linkage_law import unequal_correlations
from larvatus.stats.linkage_law.canonical_correlations import canonical_correlations
from larvatus.stats.linkage_law.equal_correlations import rivals
from larvatus.stats.linkage_law.link_probability import link_probability, link_probability_in_groups
from larvatus.stats.linkage_law.noncentral import density, lower_tail
from larvatus.stats.linkage_law.weighted_squares import lower_tail_of_squares, tail_and_density_of_squares

FALSE_ALARM = 1e-6  # of each simulation test
GRID = [(d, rho, n) for d in (1, 2, 5, 12) for rho in (0.3, 0.8, 0.97) for n in (50, 400)]
TAILS = [(5, 30, 1e-4), (5, 30, 10.0), (1, 50, 2.0), (20, 400, 100.0), (5, 2900, 2000.0), (5, 5000, 4000.0), (20, 1e6, 998e3),
         (2, 1e-3, 5.0), (3, 12, 60.0)]


def correlation(share: float, n: int, d: int) -> float:
    """The ρ at which information −(d/2) log(1 − ρ²) is this share of log n."""
    return float(np.sqrt(1 - np.exp(-2 * share * np.log(n) / d)))


def links(rho: np.ndarray, n: int, seed: int, repeats: int) -> np.ndarray:
    """The share of targets linked by the best rule, for each repeat."""
    draws = np.random.default_rng(seed)
    out = []
    for _ in range(repeats):
        x = draws.standard_normal((n, len(rho)))
        y = rho * x + np.sqrt(1 - rho**2) * draws.standard_normal((n, len(rho)))
        scale = np.sqrt(rho**2 / (1 - rho**2))
        distance = ((y * scale) ** 2).sum(axis=1) - 2 * (x / rho * scale) @ (y * scale).T
        out.append((distance.argmin(axis=1) == np.arange(n)).mean())
    return np.array(out)


@pytest.mark.parametrize(("n", "d", "share", "simulated"), [
    (1000, 2, 0.75, 0.3346), (1000, 5, 0.5, 0.1888), (1000, 5, 1.0, 0.6810), (1000, 10, 1.25, 0.8610), (3000, 5, 0.75, 0.3773),
])
def test_figures_of_methods(n, d, share, simulated):
    """The stated simulations had 8 repeats of n targets each; three standard errors, with targets taken as independent / 2."""
    value = rivals(correlation(share, n, d), d).link_probability(n)[0]
    assert abs(value - simulated) < 3 * np.sqrt(2 * value * (1 - value) / (8 * n))


@pytest.mark.parametrize(("n", "squared"), [(1e4, 0.49), (1e6, 0.89), (1e9, 0.993)])
def test_one_per_cent_with_five_columns(n, squared):
    assert rivals(np.sqrt(squared), 5).link_probability(n)[0] == pytest.approx(0.01, abs=0.001)


@pytest.mark.parametrize(("d", "rho", "n"), GRID)
def test_simulation_over_a_grid(d, rho, n):
    """Repeats are independent, so the limit is that of Student's t; near 1 it is that of a Poisson number of misses."""
    found = links(np.full(d, rho), n, 17 * d + n, 60)
    error = found.std(ddof=1) / np.sqrt(len(found))
    value = rivals(rho, d).link_probability(n)[0]
    assert abs(found.mean() - value) < max(stats.t.ppf(1 - FALSE_ALARM / 2, 59) * error, -np.log(FALSE_ALARM) / (60 * n))


def test_the_grid_as_a_whole():
    """Over the whole grid the mean square of deviations in standard errors is 1; a small bias in every cell would add to it."""
    z = []
    for d, rho, n in GRID:
        found = links(np.full(d, rho), n, 999 + 17 * d + n, 20)
        if found.mean() < 0.99:
            z.append((found.mean() - rivals(rho, d).link_probability(n)[0]) / (found.std(ddof=1) / np.sqrt(20)))
    assert len(z) > 19
    assert np.sum(np.square(z)) < stats.chi2.ppf(1 - FALSE_ALARM, len(z)) * 19 / 17


@pytest.mark.parametrize(("d", "noncentrality", "q"), TAILS)
def test_tail_and_density_agree_with_scipy(d, noncentrality, q):
    r, root = np.array([np.sqrt(q)]), np.array([np.sqrt(noncentrality)])
    assert lower_tail(r, d, root)[0] == pytest.approx(stats.ncx2.cdf(q, d, noncentrality), rel=1e-12)
    assert density(r, d, root)[0] == pytest.approx(stats.ncx2.pdf(q, d, noncentrality) * 2 * np.sqrt(q), rel=1e-12)
    if noncentrality < 1e5:  # beyond, e^(sq) and L(s) cancel digits of each other
        shift = np.full((1, d), np.sqrt(noncentrality / d))
        found, slope = tail_and_density_of_squares(np.array([q]), np.ones(d), shift)
        assert found[0] == pytest.approx(stats.ncx2.cdf(q, d, noncentrality), rel=1e-12)
        assert slope[0] == pytest.approx(stats.ncx2.pdf(q, d, noncentrality), rel=1e-10)


@pytest.mark.parametrize("small", [0.003, 0.01, 0.05])
@pytest.mark.parametrize("q", [1.5, 1.6, 2.0, 4.0])
def test_a_small_correlation_beside_a_large_one(small, q):
    """A small weight with a large shift is nearly normal. The oracle integrates the other column's distribution over it."""
    rho, x = np.array([small, 0.6]), 1.2
    weight, shift = rho**2 / (1 - rho**2), -x / rho
    z = np.linspace(-9, 9, 20_001)
    rest = np.maximum(q - weight[0] * (z + shift[0]) ** 2, 0.0) / weight[1]
    exact = (stats.norm.pdf(z) * stats.ncx2.cdf(rest, 1, shift[1] ** 2)).sum() * (z[1] - z[0])
    assert lower_tail_of_squares(np.array([q]), weight, shift[None])[0] == pytest.approx(exact, rel=1e-4)


def test_the_law_with_a_small_correlation_by_simulation():
    rho = np.array([0.9, 0.02])
    found, law = links(rho, 300, 11, 200), link_probability(rho, [300.0])
    error = np.hypot(found.std(ddof=1) / np.sqrt(200), law.standard_error[0])
    assert abs(found.mean() - law.value[0]) < stats.t.ppf(1 - FALSE_ALARM / 2, 15) * error
    assert law.standard_error[0] < 0.05 * law.value[0]


def test_a_law_is_computed_once(monkeypatch):
    """Certificates, budgets and their checks ask for the law of the same correlations, with other numbers of candidates."""
    done: list[int] = []
    plain = unequal_correlations._rivals
    monkeypatch.setattr(unequal_correlations, "_rivals", lambda rho, z: done.append(len(z)) or plain(rho, z))
    first, again, other = (link_probability([0.71, rho], [n], points=8).value for rho, n in ((0.3, 50), (0.3, 50), (0.4, 50)))
    assert len(done) == 32, "16 lattices for each of two laws"
    assert first == again
    assert first != other
    assert link_probability([0.71, 0.3], [50], points=16).value != first, "more points are another law"


@pytest.mark.parametrize("q", [1e-10, 1e-5, 0.1])
def test_deep_tail_in_two_dimensions(q):
    """For d = 2 and small q the tail is q/2 · e^(−λ/2) (1 + (λ/2 − 1) q/4 + …): SciPy is not needed to know it."""
    lam = 9.0
    exact = integrate.quad(lambda t: np.exp(-t / 2) / 2 * np.exp(-lam / 2) * float(
        np.sum([(lam * t / 4) ** k / np.prod(np.arange(1.0, k + 1)) ** 2 for k in range(30)])), 0, q, epsabs=0, epsrel=1e-13)[0]
    assert lower_tail(np.array([np.sqrt(q)]), 2, np.array([3.0]))[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(("rho", "n"), [(0.6, 30), (0.95, 1000)])
def test_one_column_by_plain_quadrature(rho, n):
    """d = 1 as a double integral over x and y, without noncentral distributions."""
    grid = np.linspace(-8, 8, 1601)
    x, noise = np.meshgrid(grid, grid, indexing="ij")
    y = rho * x + np.sqrt(1 - rho**2) * noise
    r = np.abs(y - x / rho)
    beaten = stats.norm.cdf(x / rho + r) - stats.norm.cdf(x / rho - r)
    exact = (stats.norm.pdf(x) * stats.norm.pdf(noise) * (1 - beaten) ** (n - 1)).sum() * 0.01**2
    assert rivals(rho, 1).link_probability(n)[0] == pytest.approx(exact, rel=1e-4)


def test_limits():
    """No information: 1/n. Full information: 1. One candidate: 1. The own record is among n guesses."""
    n = np.array([1.0, 2.0, 1e3, 1e9])
    assert rivals(0.0, 4).link_probability(n) == pytest.approx(1 / n, rel=1e-6)
    assert rivals(1e-7, 4).link_probability(n) == pytest.approx(1 / n, rel=1e-5)
    assert rivals(1.0, 4).link_probability(n) == pytest.approx(1.0)
    assert rivals(0.5, 4).link_probability(1.0)[0] == pytest.approx(1.0, abs=1e-12)
    assert rivals(0.5, 4).link_probability(7.0, guesses=7)[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("d", [1, 5, 40])
def test_the_switch_of_formulas_leaves_no_step(d):
    """Around the noncentrality at which the mean over slices takes over, and in ρ as a whole, the curve is smooth."""
    edge = np.sqrt(max(3000.0, 4.0 * d))
    low, high = (lower_tail(np.array([edge - 1.0]), d, np.array([edge * (1 + s)]))[0] for s in (-1e-9, 1e-9))
    assert low == pytest.approx(high, rel=1e-6)
    p = [rivals(rho, d).link_probability(1e4)[0] for rho in np.linspace(0.01, 0.2, 9)]
    assert (np.diff(p) > 0).all()
    assert (np.abs(np.diff(p, 3)) < 0.05 * p[-1]).all()


def test_more_columns_correlation_and_guesses_help_and_more_candidates_do_not():
    n = np.array([10.0, 100.0, 1000.0])
    base = rivals(0.8, 3).link_probability(n)
    assert (np.diff(base) < 0).all()
    assert (rivals(0.8, 4).link_probability(n) > base).all()
    assert (rivals(0.85, 3).link_probability(n) > base).all()
    assert (rivals(0.8, 3).link_probability(n, 3) > base).all()


def test_guesses_by_simulation():
    draws, rho, d, n, k = np.random.default_rng(3), 0.8, 3, 200, 4
    found = []
    for _ in range(80):
        x = draws.standard_normal((n, d))
        y = rho * x + np.sqrt(1 - rho**2) * draws.standard_normal((n, d))
        distance = ((x[:, None] / rho - y[None]) ** 2).sum(axis=2)
        found.append(((distance < np.diag(distance)[:, None]).sum(axis=1) < k).mean())
    error = np.std(found, ddof=1) / np.sqrt(80)
    limit = stats.t.ppf(1 - FALSE_ALARM / 2, 79) * error
    assert abs(np.mean(found) - rivals(rho, d).link_probability(n, k)[0]) < limit


def test_unequal_correlations_agree_with_equal_ones_and_with_simulation():
    n = np.array([10.0, 1e3])
    plain = rivals(0.9, 3).link_probability(n)
    near = link_probability([0.9, 0.9, 0.9 + 1e-7], n)
    limit = stats.t.ppf(1 - FALSE_ALARM / 2, 15)
    assert (np.abs(near.value - plain) < limit * near.standard_error).all()
    rho = np.array([0.97, 0.8, 0.2, 0.0])
    found, law = links(rho[:3], 300, 5, 80), link_probability(rho, [300.0])
    error = np.hypot(found.std(ddof=1) / np.sqrt(80), law.standard_error[0])
    assert abs(found.mean() - law.value[0]) < stats.t.ppf(1 - FALSE_ALARM / 2, 15) * error


def test_sub_groups_and_samples():
    """Sub-groups are weighted by records; an intruder unsure whether the target is in a half sample finds half as many."""
    one, two = link_probability([0.9, 0.9], [50.0]).value[0], link_probability([0.5], [20.0]).value[0]
    rho, sizes = [np.array([0.9, 0.9]), np.array([0.5])], [np.full(50, 50.0), np.full(20, 20.0)]
    assert link_probability_in_groups(rho, sizes)[0] == pytest.approx((50 * one + 20 * two) / 70)
    assert link_probability_in_groups(rho, sizes, in_release=0.5)[0] == pytest.approx((50 * one + 20 * two) / 140)
    assert link_probability_in_groups([np.zeros(0)], [np.full(4, 4.0)])[0] == pytest.approx(0.25)


def test_canonical_correlations_of_a_linear_mask():
    """Against the sample canonical correlations of many draws; a column that is not masked has correlation 1."""
    draws = np.random.default_rng(8)
    cov = np.array([[2.0, 0.9], [0.9, 1.0]])
    on_x, noise = np.array([[1.0, 0.0], [0.2, 0.7]]), np.diag([0.5, 0.3])
    found = canonical_correlations(cov, on_x, noise)
    x = draws.multivariate_normal([0, 0], cov, 200_000)
    y = x @ on_x.T + draws.standard_normal((200_000, 2)) * np.sqrt(np.diag(noise))
    q, r = (np.linalg.qr(v - v.mean(axis=0))[0] for v in (x, y))
    sample = np.linalg.svd(q.T @ r, compute_uv=False)
    z = stats.norm.ppf(1 - FALSE_ALARM / 4)
    assert (np.abs(np.arctanh(found) - np.arctanh(sample)) < 2 * z / np.sqrt(200_000)).all()
    assert canonical_correlations(np.eye(2), np.eye(2), np.diag([0.0, 1.0])) == pytest.approx([1.0, np.sqrt(0.5)])
    assert len(canonical_correlations(np.ones((2, 2)), np.eye(2), np.ones((2, 2)))) == 1


@pytest.mark.parametrize("rho", [(0.01, 0.02, 0.03), (1e-5, 2e-5), (0.3, 1e-5), (0.1, 0.02)])
@pytest.mark.parametrize("n", [2, 10])
def test_small_unequal_correlations(rho, n):
    """The law of the own record's distance is narrow beside the distance itself. Each target has rivals of its own, so hits are
    independent, and the limit is that of a normal share.
    """
    rho, draws, many = np.array(rho), np.random.default_rng(n), 200_000
    x, noise = draws.standard_normal((2, many, len(rho)))
    others = draws.standard_normal((n - 1, many, len(rho)))

    def score(y: np.ndarray) -> np.ndarray:
        return (rho / (1 - rho**2) * y * (x - rho * y / 2)).sum(axis=-1)

    hits = score(rho * x + np.sqrt(1 - rho**2) * noise) > score(others).max(axis=0)
    found = link_probability(rho, [float(n)])
    error = np.hypot(hits.std() / np.sqrt(many), found.standard_error[0])
    assert abs(hits.mean() - found.value[0]) < stats.norm.isf(FALSE_ALARM / 2) * error


def test_guessing_finds_as_much():
    """Few candidates matter if correlations are tiny; with many the lattice has too few points far out."""
    n = np.array([2.0, 1e3, 1e9])
    for rho in ((1e-5, 2e-5), (0.3, 1e-5)):
        assert (link_probability(np.array(rho), n).value >= 1 / n).all()
        assert (link_probability(np.array(rho), n, guesses=2).value >= np.minimum(2 / n, 1)).all()
