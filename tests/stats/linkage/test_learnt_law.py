"""Laws learnt from true pairs: worked again by least squares and by counting, each half from the other."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.linkage.learnt_law import learnt_costs, learnt_rank_costs, log_scale

N = 200
EVERYONE = np.arange(N)


def pairs(seed: int = 1, p: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.exp(rng.normal(size=(N, p)))
    return x, 0.7 * x + rng.normal(size=(N, p)) @ (0.2 * np.eye(p) + 0.1)


def test_the_cost_is_that_of_a_normal_law_fitted_to_the_other_half():
    x, y = pairs()
    costs = learnt_costs(x, y, EVERYONE)(EVERYONE, EVERYONE)
    half = np.zeros(N, dtype=np.int64)
    half[np.lexsort(np.hstack([x, y]).T[::-1])] = EVERYONE % 2
    fitted = EVERYONE[half == 1]
    one = np.column_stack([np.ones(N), x])
    slope = np.linalg.lstsq(one[fitted], y[fitted], rcond=None)[0]
    error = y[fitted] - one[fitted] @ slope
    inverse = np.linalg.inv(error.T @ error / (len(fitted) - 4))
    for i in EVERYONE[half == 0][:3]:
        away = y - one[i] @ slope
        np.testing.assert_allclose(costs[i], np.einsum("ij,jk,ik->i", away, inverse, away) / 2, rtol=1e-5)


@pytest.mark.parametrize("learn", [learnt_costs, learnt_rank_costs])
def test_no_record_has_a_say_in_its_own_cost(learn):
    x, y = pairs()
    first = np.argsort(x[:, 0])  # the halves alternate in this order
    rows, rest = first[[0, 2]], first[3:]
    other = y.copy()
    other[rows] = other[rows[::-1]]
    np.testing.assert_array_equal(learn(x, y, EVERYONE)(rows, rest), learn(x, other, EVERYONE)(rows, rest))


def test_a_value_that_stays_is_an_event_of_its_own():
    x, _ = pairs()
    moved = np.roll(np.sort(x, axis=0), 5, axis=0)[np.argsort(np.argsort(x, axis=0), axis=0), np.arange(3)]
    costs = learnt_rank_costs(x, moved, EVERYONE)(EVERYONE, EVERYONE)
    assert (costs.argmin(axis=1) == EVERYONE).mean() > 0.9
    same = np.array([[(x[i] == moved[j]).any() for j in range(N)] for i in range(N)])
    assert costs[same].min() > np.median(np.diag(costs))


def test_the_window_is_the_largest_move():
    x, _ = pairs()
    rng = np.random.default_rng(3)
    place = np.argsort(np.argsort(x, axis=0), axis=0)
    order = np.argsort(place + rng.uniform(0, 20, x.shape), axis=0)
    y = np.take_along_axis(np.sort(x, axis=0), np.argsort(order, axis=0), axis=0)
    here = np.argsort(np.argsort(y, axis=0), axis=0)
    costs = learnt_rank_costs(x, y, EVERYONE, window=True)(EVERYONE, EVERYONE)
    most = np.abs(here - place).max()
    inside = (np.abs(here[None] - place[:, None]) <= most + 2).all(axis=2)
    assert (costs[~inside] >= 20).all()
    assert (np.diag(costs) == 0).mean() > 0.9


def test_missing_values_and_few_pairs():
    x, y = pairs()
    assert learnt_costs(x, y, EVERYONE[:20]) is None
    assert learnt_rank_costs(x, y, EVERYONE[:20]) is None
    y[3, 1] = np.nan
    assert learnt_costs(x, y, EVERYONE) is None
    assert np.isfinite(learnt_rank_costs(x, y, EVERYONE)(EVERYONE, EVERYONE)).all()


def test_the_logarithmic_scale_turns_factors_into_shifts():
    x, _ = pairs()
    u, v = log_scale(x * 1e4, 1.5 * x * 1e4)
    large = x > np.percentile(x, 75)
    np.testing.assert_allclose((v - u)[large], np.log(1.5), atol=0.025)
    u, v = log_scale(np.zeros((4, 1)), np.zeros((4, 1)))
    assert np.isfinite(u).all()
