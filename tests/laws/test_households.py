"""The built-in population against the published figures it is built from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from larvatus.datasets import households

GROUPS = ["gender", "marital", "age_group"]
MONEY = ["home_value", "mortgage_balance", "net_assets"]
FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def population():
    return households(50_000, seed=3).to_pandas()


def test_sub_group_sizes_are_the_published_ones(population):
    sizes = population.groupby(GROUPS).size()
    assert sizes.sum() == 50_000
    assert sizes.loc[(0, 0, 1)] == 1220
    assert sizes.loc[(0, 1, 2)] == 4723
    assert sizes.loc[(1, 0, 6)] == 464
    assert sizes.tolist()[-3:] == [1940, 1960, 1940]


def test_rank_correlations_are_the_published_ones(population):
    """Spearman's standard error is at most 1/sqrt(n); the limit is five of them."""
    inside = np.mean([g[MONEY].corr("spearman").to_numpy() for _, g in population.groupby(GROUPS)], axis=0)
    whole = population[MONEY].corr("spearman").to_numpy()
    limit = 5 / np.sqrt(50_000)
    assert inside[np.triu_indices(3, 1)] == pytest.approx([0.540, 0.620, 0.762], abs=limit)
    assert whole[np.triu_indices(3, 1)] == pytest.approx([0.582, 0.681, 0.782], abs=limit)


def test_marginals_have_their_shape(population):
    first = population[(population[GROUPS] == [0, 0, 1]).all(axis=1)]
    deviations = stats.norm.isf(FALSE_ALARM / 2)
    shape = 2.25 / np.sqrt(1 + 0.667**2)
    assert np.log(first.home_value).std() == pytest.approx(shape, rel=deviations / np.sqrt(2 * len(first)))
    assert np.log(first.home_value).mean() + shape**2 / 2 == pytest.approx(
        np.log(2.872), abs=deviations * shape / np.sqrt(len(first)))
    off = stats.kstest(population.mortgage_balance, "expon").statistic  # sub-groups make it nearly, not quite, exponential
    assert off < 0.002 + stats.kstwobign.isf(FALSE_ALARM) / np.sqrt(len(population))
    assert (population.home_value > 0).all()
    assert (population.mortgage_balance > 0).all()
    assert (population.net_assets < 0).any()


@pytest.mark.parametrize("n", [1, 7, 24, 999])
def test_any_number_of_records(n):
    assert households(n).num_rows == n
    assert households(n).equals(households(n))
    assert not households(999, 1).equals(households(999, 2))
    with pytest.raises(ValueError, match="at least 1"):
        households(0)
