"""Filled tails: worked by hand, with the published sum, and nearer to the truth than the top-coded column."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.analysis import ParetoTail, fill_tail

FALSE_ALARM = 1e-6


def test_by_hand():
    """Bound 100 and mean 150: index 3, median 100 · 2^(1/3), variance 100² · 3 / (4 · 1)."""
    tail = ParetoTail(100, 150)
    assert tail.index == pytest.approx(3, rel=1e-15)
    assert tail.quantile(0.5) == pytest.approx(100 * 2 ** (1 / 3), rel=1e-14)
    assert tail.variance == pytest.approx(7500, rel=1e-14)
    assert tail.variance == pytest.approx(stats.pareto(3, scale=100).var(), rel=1e-12)
    assert ParetoTail(100, 300).variance == np.inf
    assert tail.values(1) == pytest.approx([150], rel=1e-14)


def test_the_sum_is_the_published_one_and_the_rest_is_untouched():
    values = np.array([5.0, 100, np.nan, 100, 7, 100])
    filled = fill_tail(values, 100, 150, 3)
    assert filled[[1, 3, 5]].sum() == pytest.approx(450, rel=1e-14)
    assert np.array_equal(filled[[0, 2, 4]], values[[0, 2, 4]], equal_nan=True)
    assert (filled[[1, 3, 5]] > 100).all()
    assert np.array_equal(filled, fill_tail(values, 100, 150, 3), equal_nan=True)
    orders = {tuple(fill_tail(values, 100, 150, seed=s)[[1, 3, 5]]) for s in range(60)}
    assert len(orders) == 6, "another seed gives another order, and every order comes"


def test_values_that_were_at_the_bound_before_stay_there():
    x = np.array([10.0, 250, 250, 300, 400, 20])
    filled = fill_tail(np.minimum(x, 250), 250, 350, count=2)
    assert filled.sum() == pytest.approx(x.sum(), rel=1e-14)
    assert (filled == 250).sum() == 2
    with_mean = fill_tail(np.where(x > 250, 350, x), 250, 350, count=2)
    assert with_mean.sum() == pytest.approx(x.sum(), rel=1e-14)
    assert np.array_equal(with_mean[[1, 2]], [250, 250])


def test_weighted_sums_are_exact():
    rng = np.random.default_rng(3)
    x, w = stats.pareto(3, scale=100).rvs(500, random_state=rng), rng.uniform(0, 5, 500)
    cut = x > 200
    filled = fill_tail(np.minimum(x, 200), 200, np.average(x[cut], weights=w[cut]), int(cut.sum()), weights=w)
    assert filled @ w == pytest.approx(x @ w, rel=1e-13)
    assert filled.sum() != pytest.approx(x.sum(), rel=1e-6)
    ones = [fill_tail(np.minimum(x, 200), 200, 300, weights=v) for v in (None, np.ones(500))]
    np.testing.assert_allclose(*ones, rtol=1e-12)


def test_what_top_coding_tells_fills_its_tail():
    x = np.round(stats.pareto(3, scale=100).rvs(2000, random_state=5))
    release = lv.mask(lv.read(pd.DataFrame({"x": x}), confidential="x"), lv.masks.TopCoding(tail=0.05))
    told = next(n.text for n in release.notes if n.public)
    count, bound, mean = map(float, re.findall(r"[\d.]+", told))
    assert fill_tail(release.frame().x, bound, mean, int(count)).sum() == pytest.approx(x.sum(), rel=1e-9)


def test_records_that_were_left_out_are_added():
    filled = fill_tail([1.0, 2, 3], 10, 20, 4)
    assert len(filled) == 7
    assert filled[3:].mean() == pytest.approx(20, rel=1e-14)


def test_a_top_coded_release_of_pareto_values_gets_its_variance_and_quantiles_back():
    n, index = 20_000, 5.0
    x = stats.pareto(index, scale=100).rvs(n, random_state=1)
    data = lv.read(pd.DataFrame({"x": x}), confidential="x")
    bound = float(np.quantile(x, 0.95))
    coded = lv.mask(data, lv.masks.TopCoding(bound=bound, replacement="bound")).frame()["x"]
    above = x[x > bound]
    filled = fill_tail(coded, bound, above.mean(), len(above))
    assert filled.mean() == pytest.approx(x.mean(), rel=1e-12)
    assert abs(filled.var() / x.var() - 1) < abs(np.var(coded) / x.var() - 1) / 3
    limit = np.sqrt(np.log(2 / FALSE_ALARM) / (2 * len(above)))  # Dvoretzky, Kiefer and Wolfowitz
    assert stats.ks_2samp(filled[filled > bound], above).statistic < 2 * limit


@pytest.mark.parametrize(("call", "said"), [
    (lambda: ParetoTail(0, 5), "above 0"), (lambda: ParetoTail(5, 5), "must exceed"),
    (lambda: fill_tail([1, 10.0], 10, 20, 2), "2 values were cut"), (lambda: fill_tail([1.0], 10, 20), "no value lies"),
    (lambda: ParetoTail(1, 2).quantile(1.0), "below 1"), (lambda: fill_tail([1, 10.0], 10, 20, -1), "count: .*got -1"),
    (lambda: fill_tail([1, 10.0], 10, 20, 1.5), "count: .*got 1.5"), (lambda: fill_tail([1.0], 10, 20, 0), "1 or more"),
    (lambda: fill_tail(["a", 10.0], 10, 20), "values: need numbers"), (lambda: fill_tail([10.0], "x", 20), "bound: needs"),
    (lambda: fill_tail([12.0, 12, 10], 10, 20, 1), "2 values lie above the bound and 1 at it"),
    (lambda: fill_tail([10.0, 10], 10, 20, weights=[1.0]), "one for each value"),
    (lambda: fill_tail([10.0, 10], 10, 20, weights=[1.0, -1]), "none missing or negative"),
    (lambda: fill_tail([10.0, 10], 10, 20, weights=[0.0, 0]), "all zero"),
    (lambda: fill_tail([10.0, 10], 10, 20, 1, weights=[1.0, 2]), "not known which"),
    (lambda: fill_tail([1.0], 10, 20, 2, weights=[1.0]), "omitted records"),
])
def test_what_cannot_be_filled_is_refused(call, said):
    with pytest.raises(lv.LarvatusError, match=said):
        call()
