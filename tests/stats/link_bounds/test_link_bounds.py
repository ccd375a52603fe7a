"""Bounds on links: exact posteriors by enumeration, limits of tails by exact laws, score rules by simulation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from larvatus.stats.link_bounds.matchings import expected_links, pairing_posteriors
from larvatus.stats.link_bounds.record_laws import AddedNoise, JointLaw, LevelLaw, RandomFactor, added_noise
from larvatus.stats.link_bounds.sampled_bounds import pairing_bound, power_bounds, score_rule_bound
from larvatus.stats.link_bounds.score_rules import constant_part, level_means, level_without_rivals, part_of_draws, thresholds
from larvatus.stats.link_bounds.similar_blocks import similar_blocks
from larvatus.stats.link_bounds.tails import chance_of_sum, upper_mean, upper_random_pairing, upper_sum_of_blocks

FALSE_ALARM = 1e-6


def by_enumeration(log_density: np.ndarray) -> np.ndarray:
    k = len(log_density)
    out = np.zeros((k, k))
    for order in permutations(range(k)):
        weight = np.exp(sum(log_density[t, j] for t, j in enumerate(order)))
        out[np.arange(k), order] += weight
    return out / out[0].sum()


@pytest.mark.parametrize("k", [1, 2, 5, 7])
def test_posterior_of_a_pairing_is_that_of_all_permutations(k):
    log_density = np.random.default_rng(k).normal(0, 3, (4, k, k))
    if k > 2:
        log_density[1, 0, 1:] = -np.inf
    found = pairing_posteriors(log_density)
    for block, mine in zip(log_density, found, strict=True):
        assert mine == pytest.approx(by_enumeration(block), abs=1e-12)
    assert found.sum(axis=1) == pytest.approx(1.0)


def test_twelve_records_that_nothing_tells_apart_have_one_expected_link():
    assert expected_links(np.zeros((1, 12, 12)))[0] == pytest.approx(1.0)
    assert expected_links(np.where(np.eye(12) > 0, 0.0, -np.inf)[None])[0] == pytest.approx(12.0)
    assert expected_links(np.full((1, 3, 3), -np.inf))[0] == 3.0
    with pytest.raises(ValueError, match="at most 12"):
        pairing_posteriors(np.zeros((1, 13, 13)))


@pytest.mark.parametrize(("n", "p"), [(50, 0.02), (400, 0.3), (2000, 0.01)])
def test_upper_mean_has_its_false_alarm(n, p):
    """For a binomial mean, the exact probability that the limit is below p."""
    missed = sum(stats.binom.pmf(k, n, p) for k in range(n + 1) if upper_mean(k / n, n, 1e-3) < p)
    assert missed <= 1e-3
    assert upper_mean(1.0, n, 1e-3) == 1.0


@pytest.mark.parametrize(("blocks", "share"), [(90, 0.2), (90, 0.6), (40, 0.9), (1, 0.4), (400, 0.03), (3, 0.001)])
def test_upper_sum_of_blocks_is_above_the_exact_quantile_of_all_or_nothing(blocks, share):
    """Blocks in which all links succeed or fail together are the worst case. If all may succeed, the limit is all."""
    size = 12
    limit = upper_sum_of_blocks(share * blocks * size, blocks, size, 1e-4)
    assert stats.binom.sf(np.floor(limit / size + 1e-9), blocks, share) <= 1e-4
    assert limit < blocks * size or share**blocks >= 1e-4
    assert limit / size <= stats.binom.isf(1e-4, blocks, share) + 1 + np.sqrt(blocks) / 2  # it is not idle either
    assert upper_sum_of_blocks(0.0, 0, 1, 1e-4) == 0.0


def test_upper_random_pairing_is_above_the_matches_of_random_permutations():
    """Sets of three: 0, 1 or 3 matches with probability 1/3, 1/2 and 1/6; the sum over sets is convolved exactly."""
    one = np.array([1 / 3, 1 / 2, 0.0, 1 / 6])
    law = np.ones(1)
    for _ in range(40):
        law = np.convolve(law, one)
    limit = upper_random_pairing(40, 120, 1e-4)
    assert law[int(np.ceil(limit)) :].sum() <= 1e-4
    assert upper_random_pairing(1, 2, 1e-4) == 2.0


@pytest.mark.parametrize("c", [2, 30, 10**6])
def test_cells_of_the_false_positive_rate(c):
    """Their mean is E[α] = 1/c; with τ = 0 the bound is 1 for every draw."""
    means = level_means(c)
    assert means.mean() == pytest.approx(1 / c, rel=1e-6)
    assert (np.diff(means) > 0).all()
    none = np.full(len(means), np.inf)
    assert constant_part(none, means) == 0.0
    assert part_of_draws(np.array([-3.0, 5.0]), none, means) == pytest.approx(1.0)


def test_any_thresholds_bound_the_success_of_the_best_test():
    """Two normal laws: the true integral over the best power is below the bound at good and bad thresholds."""
    draws, c, shift = np.random.default_rng(1), 40, 2.0
    y = draws.standard_normal(200_000) + shift
    ratio = shift * y - shift**2 / 2
    grid = (np.arange(4000) + 0.5) / 4000
    level = 1 - (1 - grid) ** (1 / (c - 1))
    best = stats.norm.cdf(stats.norm.ppf(level) + shift).mean()
    error = stats.norm.ppf(1 - FALSE_ALARM) / np.sqrt(len(y))
    pilot = shift * (draws.standard_normal(5000) + shift) - shift**2 / 2
    good = thresholds(pilot, level_means(c))
    for tau, slack in ((good, 0.02), (good * 3, 0.3), (good / 3, 0.3)):
        bound = constant_part(tau, level_means(c)) + part_of_draws(ratio, tau, level_means(c)).mean()
        assert best - error <= bound <= best + slack


@pytest.mark.parametrize("rivals", [2.0, 12.0])
def test_power_at_a_level_is_bounded_at_any_threshold(rivals):
    """Two normal laws: the power of the best test at the level without rivals is Φ(Φ⁻¹(α) + shift)."""
    draws, c, shift = np.random.default_rng(2), 200, 2.0
    ratio = shift * (draws.standard_normal(200_000) + shift) - shift**2 / 2
    level = level_without_rivals(rivals, c)
    assert (1 - level) ** (c - 1) == pytest.approx(np.exp(-rivals))
    best = stats.norm.cdf(stats.norm.ppf(level[0]) + shift)
    good = thresholds(shift * (draws.standard_normal(5000) + shift) - shift**2 / 2, level)
    error = stats.norm.ppf(1 - FALSE_ALARM) / np.sqrt(len(ratio))
    for tau, slack in ((good, 0.01), (good * 3, 0.3), (good / 3, 0.3)):
        bound = constant_part(tau, level) + part_of_draws(ratio, tau, level).mean()
        assert best - error <= bound <= best + slack


def test_targets_with_power_and_targets_without_rivals_bound_the_links_of_one_release():
    """In each of 400 releases: links ≤ own rows above fixed scores + targets without rivals, also for rules that gamble.

    The gambler gives one region of rows the highest score for all targets: if it is empty, the other links are as before.
    """
    n, draws = 150, np.random.default_rng(8)
    law = JointLaw((added_noise(draws.normal(size=(n, 2)), 0.6 * np.eye(2), "normal"),), n)
    rows = np.arange(n)
    many = [law.draw(rows, draws) for _ in range(400)]
    scores = [law.log_density(y, rows) - np.log(np.exp(law.log_density(y, rows)).sum(axis=1))[:, None] for y in many]
    gamble = [s + 1e3 * (np.abs(y[0]).max(axis=1) > 5.5)[:, None] for s, y in zip(scores, many, strict=True)]
    rivals = 4.0
    power = power_bounds([law], n, 8000, [rivals], FALSE_ALARM, 9)[0]
    for score in (np.array(scores), np.array(gamble)):
        others = [np.delete(score[:, :, t], t, axis=1).ravel() for t in range(n)]
        fixed = np.array([np.quantile(o, 1 - float(level_without_rivals(rivals, n)[0])) for o in others])
        own = score[:, rows, rows]
        linked = (score.argmax(axis=1) == rows).sum(axis=1)
        above = own >= fixed
        without = ((score > fixed).sum(axis=1) - above) == 0
        assert (linked <= above.sum(axis=1) + without.sum(axis=1)).all()
        error = stats.norm.ppf(1 - FALSE_ALARM) * above.mean(axis=1).std() / np.sqrt(len(score))
        assert above.mean() - error <= power.upper
        assert without.mean() <= 1.5 * np.exp(-rivals) + error
    assert power.estimate < 0.9


@pytest.mark.parametrize("law", [
    JointLaw((added_noise(np.random.default_rng(1).normal(size=(300, 3)), np.eye(3), "normal"),), 300),
    JointLaw((added_noise(np.random.default_rng(2).exponential(size=(300, 2)), np.diag([0.5, 0.7]), "laplace"),), 300),
    JointLaw((added_noise(np.random.default_rng(3).normal(size=(300, 2)), np.diag([0.3, 0.6]), "uniform"),), 300),
    JointLaw((LevelLaw(np.random.default_rng(4).integers(0, 4, (300, 3)), (0.1 + 0.6 * np.eye(4),) * 3),), 300),
    JointLaw((RandomFactor(np.random.default_rng(5).lognormal(size=(300, 2)), np.full(2, 0.1), np.full(2, 0.3)),), 300),
], ids=["normal", "laplace", "uniform", "levels", "factor"])
def test_no_score_rule_and_no_matching_exceeds_the_bounds(law):
    """The most probable candidate, over 40 releases: rule of f / m, rule of f, and the whole-file posterior in blocks."""
    n, rows, draws = law.records, np.arange(law.records), np.random.default_rng(11)
    found = {"ratio": [], "density": []}
    for _ in range(40):
        density = law.log_density(law.draw(rows, draws), rows)
        weight = np.exp(density - density.max(axis=1, keepdims=True))
        ratio = weight / weight.sum(axis=1, keepdims=True)
        for name, score in (("ratio", ratio), ("density", np.exp(density))):
            top = score.max(axis=0)
            best = score >= top * (1 - 1e-9)
            found[name].append((best[rows, rows] / best.sum(axis=0))[top > 0].sum() / n)
    single = score_rule_bound([law], n, 6000, FALSE_ALARM, 3)
    for shares in found.values():
        error = stats.t.ppf(1 - FALSE_ALARM, 39) * np.std(shares, ddof=1) / np.sqrt(40)
        assert np.mean(shares) - error <= single.upper
    assert single.estimate < 2.5 * np.mean(found["ratio"]) + 0.02
    whole = pairing_bound([law], 12, 600, FALSE_ALARM, 4)
    assert whole.upper >= single.estimate - 0.02
    assert 1 / 12 <= whole.estimate <= whole.upper <= 1


def test_pairing_bound_of_pairs_is_the_exact_success():
    """Two records, one normal column: the posterior success is Φ(|x₁ − x₂| / √2)."""
    law = JointLaw((added_noise(np.array([[0.0], [1.3]]), np.eye(1), "normal"),), 2)
    found = pairing_bound([law], 2, 40_000, FALSE_ALARM, 5)
    exact = stats.norm.cdf(1.3 / np.sqrt(2))
    assert abs(found.estimate - exact) < stats.norm.ppf(1 - FALSE_ALARM / 2) * 0.5 / np.sqrt(40_000)
    assert exact <= found.upper


def test_directions_without_noise_tell_records_apart():
    """A column released as it is identifies records that differ in it, and a sum that noise keeps does too."""
    x = np.random.default_rng(6).normal(size=(40, 2))
    for root in (np.diag([1.0, 0.0]), np.array([[1.0, -1.0]])):
        law = JointLaw((added_noise(x, root, "normal"),), 40)
        assert pairing_bound([law], 12, 50, 1e-4, 1).estimate == pytest.approx(1.0)
    same = np.column_stack([x[:, 0], np.ones(40)])
    assert added_noise(same, np.diag([1.0, 0.0]), "normal").points.shape[1] == 1
    assert added_noise(x, np.ones((3, 2)), "laplace") is None


def test_correlated_noise_that_is_not_normal_is_unmixed():
    """Density ratios agree with those of the recovered draws."""
    root = np.array([[1.0, 0.6], [0.0, 0.8]])
    law = added_noise(np.array([[0.0, 0.0], [1.0, 2.0]]), root, "laplace")
    assert isinstance(law, AddedNoise)
    assert law.shapes == ("laplace", "laplace")
    u = (law.points[1] - law.points[0]) - np.array([1.0, 2.0]) @ np.linalg.inv(root)
    assert u == pytest.approx([0.0, 0.0], abs=1e-12)


def test_blocks_cover_all_records_once_and_are_similar():
    points = np.random.default_rng(2).normal(size=(103, 3))
    blocks = similar_blocks(points, 12)
    assert np.array_equal(np.sort(np.concatenate(blocks)), np.arange(103))
    assert sorted({len(b) for b in blocks}) == [7, 12]
    assert np.mean([points[b].var(axis=0).sum() for b in blocks]) < 0.6 * points.var(axis=0).sum()
    assert [len(b) for b in similar_blocks(np.zeros((5, 0)), 3)] == [3, 2]


@pytest.mark.parametrize(("blocks", "largest", "mean"), [(1, 5, 2.0), (4, 12, 6.0), (10, 3, 3.0)])
def test_no_law_of_blocks_reaches_a_total_more_often(blocks, largest, mean):
    """All or nothing in every block is the worst law: exact binomial tails are below, and all blocks at once is reached."""
    share = mean / (blocks * largest)
    for full in range(1, blocks + 1):
        exact = stats.binom.sf(full - 1, blocks, share)
        assert exact <= chance_of_sum(full * largest, mean, blocks, largest) + 1e-12
    assert chance_of_sum(blocks * largest, mean, blocks, largest) == pytest.approx(share**blocks)
    assert chance_of_sum(mean / 2, mean, blocks, largest) == 1
