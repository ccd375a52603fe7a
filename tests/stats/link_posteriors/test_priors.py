"""Priors on standard deviations: their quadrature against SciPy's, and paper 002's two tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.datasets import key_variables
from larvatus.stats.link_posteriors.kernels import BIAS, NOISE_CODES, law_pair
from larvatus.stats.link_posteriors.priors import (
    TOLERANCE,
    SpreadPrior,
    enough_nodes,
    fill_unknown,
    gamma_rule,
    nodes_of,
)
from larvatus.stats.link_posteriors.scenarios import BIAS_SD, LEVELS, NOISE_RATIO, TABLE_2, TABLE_3, scenario

FALSE_ALARM = 1e-6
REPLICATIONS = 6
NORMAL = np.zeros(1, dtype=np.int64)


def test_the_gamma_rule_has_the_moments_of_the_law():
    for shape in (2.5, 30.0, 402.0):
        points, weights = gamma_rule(shape, 8)
        for k in range(1, 16):
            assert weights @ (points / shape) ** k == pytest.approx(stats.gamma(shape, scale=1 / shape).moment(k), rel=1e-9)


@pytest.mark.parametrize("variation", [0.05, 0.5, 2.0])
def test_a_prior_has_the_centre_and_the_variation_it_is_stated_by(variation):
    prior = SpreadPrior(0.3, variation)
    law = stats.invgamma(prior.shape, scale=prior.scale)
    assert law.mean() == pytest.approx(0.3)
    assert law.std() / law.mean() == pytest.approx(variation)
    assert prior.quantile(0.2) == pytest.approx(law.ppf(0.2))


def test_what_the_paper_prints_is_a_prior_on_standard_deviations():
    prior = SpreadPrior(1 / 12, 1 / 20)
    assert prior.shape == pytest.approx(402)
    assert round(prior.scale) == 33


def on_a_grid(prior):
    """The density itself at the points of a fine rule on the log scale."""
    law = stats.invgamma(prior.shape, scale=prior.scale)
    low, high = np.log(law.ppf(1e-14)), np.log(law.isf(1e-12))
    points, weights = np.polynomial.legendre.leggauss(300)
    sd = np.exp(low + (high - low) * (1 + points) / 2)
    return sd, (high - low) / 2 * weights * sd * law.pdf(sd)


@pytest.mark.parametrize(("variation", "nodes", "wanted"), [(0.05, 8, 1e-9), (0.2, 16, 1e-8), (0.5, 32, 1e-6), (2.0, 64, 1e-6)])
def test_the_quadrature_is_the_double_integral(variation, nodes, wanted):
    bias, noise = SpreadPrior(1 / 12, variation), SpreadPrior(3.0, variation)
    rule = nodes_of([bias], [noise], nodes)
    z = np.array([[91.0, 97.0, 85.0]])
    like, paper = np.empty((1, 3)), np.empty((1, 3))
    fill_unknown(np.array([[92.0]]), z, rule.bias_sd, rule.noise_sd, rule.weight, NORMAL, NORMAL, like, paper)
    (f, wf), (s, ws) = on_a_grid(bias), on_a_grid(noise)
    for i in range(3):
        each = np.exp([[law_pair(92.0, z[0, i], a, b, 0, 0) for b in s] for a in f])
        for k, found in enumerate((like, paper)):
            assert np.exp(found[0, i]) == pytest.approx(wf @ each[:, :, k] @ ws, rel=wanted)


@pytest.mark.parametrize("variation", [
    0.05, 0.21, 1.0, 5.0, *(pytest.param(v, marks=pytest.mark.slow) for v in (0.2, 0.5, 2.0)),
])
@pytest.mark.parametrize(("bias_sd", "noise_ratio"), [(0.01 / 6, 0.01), (1 / 6, 1.0)])
def test_enough_nodes_have_the_probabilities_of_a_fine_grid(variation, bias_sd, noise_ratio):
    """Priors centred at a fiftieth, where light masking is thought possible, and twice as wide as the paper's, on skewed X."""
    rng = np.random.default_rng(3)
    x = rng.lognormal(0, 1, (1, 40))
    z = x * (1 + bias_sd * rng.normal(size=x.shape)) + noise_ratio * x.std() * rng.normal(size=x.shape)
    bias, noise = SpreadPrior(0.02, variation), SpreadPrior(np.ptp(z) / 50, variation)
    count, change = enough_nodes(x, z, [bias], [noise])
    assert change <= TOLERANCE
    (f, wf), (s, ws) = on_a_grid(bias), on_a_grid(noise)
    variance = (f[:, None] * x[0, :, None, None]) ** 2 + s**2
    found = np.empty((2, 40, 40))
    rule = nodes_of([bias], [noise], count)
    fill_unknown(x, z, rule.bias_sd, rule.noise_sd, rule.weight, NORMAL, NORMAL, *found)
    for t in range(0, 40, 8):
        weight = np.array([wf @ stats.norm.pdf(v, x[0, t], np.sqrt(variance[t])) @ ws for v in z[0]])
        mine = np.exp(found[0, t] - found[0, t].max())
        assert mine / mine.sum() == pytest.approx(weight / weight.sum(), abs=TOLERANCE)


def test_other_laws_are_averaged_in_the_same_way():
    rule = nodes_of([SpreadPrior(0.1, 0.1)], [SpreadPrior(2.0, 0.1)], 3)
    z = np.array([[9.0, 11.0, np.nan]])
    like, paper = np.empty((1, 3)), np.empty((1, 3))
    codes = np.array([BIAS["gamma"]]), np.array([NOISE_CODES["laplace"]])
    fill_unknown(np.array([[10.0]]), z, rule.bias_sd, rule.noise_sd, rule.weight, *codes, like, paper)
    for i in range(2):
        both = np.exp([law_pair(10.0, z[0, i], b, s, 2, 2) for b, s in zip(rule.bias_sd[0], rule.noise_sd[0], strict=True)])
        assert np.exp([like[0, i], paper[0, i]]) == pytest.approx(rule.weight[0] @ both)
    assert np.isfinite(like[0, 2])


def runs(data: str, bias: str, noise: str, released: bool) -> list:
    out = []
    for r in range(REPLICATIONS):
        x = np.array([key_variables(like=data, seed=r)["x1"].to_numpy()])
        key = RecordRandom(stream_key(b"scenarios are no secret", data, bias, noise, str(r)))
        out.append(scenario(x, BIAS_SD[bias], NOISE_RATIO[noise], released, key))
    return out


@pytest.mark.parametrize("data", ["DATA1", "DATA2"])
@pytest.mark.parametrize("released", [True, False])
def test_the_published_counts_are_those_of_this_intruder(data, released):
    """A published count is binomial around the share found here, of which a beta law says how far it may be off."""
    cells = 18
    for b, bias in enumerate(LEVELS):
        for c, noise in enumerate(LEVELS):
            count, _ = (TABLE_2 if released else TABLE_3)[data][b][c]
            mine = sum(o["paper"].correct for o in runs(data, bias, noise, released))
            law = stats.betabinom(100, mine + 1, 100 * REPLICATIONS - mine + 1)
            assert law.cdf(count) > FALSE_ALARM / cells / 2
            assert law.sf(count - 1) > FALSE_ALARM / cells / 2


def test_the_kernel_of_the_paper_is_the_weaker_attack_where_parameters_are_unknown():
    found = runs("DATA2", "minimum", "minimum", False)
    paper, plain = (sum(o[k].correct for o in found) for k in ("paper", "likelihood"))
    assert plain - paper > stats.norm.isf(FALSE_ALARM) * np.sqrt(paper + plain)


def test_a_prior_far_from_the_truth_does_not_change_the_order_of_likelihoods_much():
    known, unknown = (sum(o["likelihood"].correct for o in runs("DATA1", "minimum", "minimum", r)) for r in (True, False))
    assert abs(known - unknown) < stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(known + unknown)
