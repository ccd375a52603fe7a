"""Normal draws between bounds, and conditional laws, against SciPy and against plain algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from larvatus.stats.linear.truncated_normal import conditional_law, truncated_normal

U = np.linspace(0.001, 0.999, 41)


@pytest.mark.parametrize(("low", "high"), [
    (-np.inf, np.inf), (0.0, np.inf), (-np.inf, 1.0), (-1.0, 2.0), (-3.0, -2.5), (5.0, 7.0), (9.0, np.inf), (-np.inf, -12.0),
])
def test_quantiles_are_those_of_scipy(low, high):
    found = truncated_normal(U, np.full(41, low), np.full(41, high))
    assert found == pytest.approx(stats.truncnorm(low, high).ppf(U), rel=1e-7, abs=1e-9)
    assert ((found >= low) & (found <= high)).all()
    assert (np.diff(found) > 0).all()


def test_far_tails_stay_finite_and_inside():
    """Beyond z = 30 the law is nearly exponential with rate z."""
    found = truncated_normal(np.array([0.5]), np.array([40.0]), np.array([np.inf]))
    assert found[0] - 40 == pytest.approx(np.log(2) / 40, rel=0.01)
    assert truncated_normal(np.array([0.5]), np.array([-np.inf]), np.array([-40.0]))[0] == pytest.approx(-found[0], rel=1e-12)
    assert truncated_normal(np.array([0.3]), np.array([2.0]), np.array([2.0])) == pytest.approx([2.0])


def test_conditional_law_is_the_textbooks():
    a = np.random.default_rng(1).normal(size=(5, 5))
    c = a @ a.T * np.outer([1, 10, 100, 1, 1e-3], [1, 10, 100, 1, 1e-3])
    weights, root = conditional_law(c, [0, 2], [1, 3, 4])
    inner = np.linalg.inv(c[np.ix_([1, 3, 4], [1, 3, 4])])
    assert weights == pytest.approx(c[np.ix_([0, 2], [1, 3, 4])] @ inner, rel=1e-6)
    assert root @ root.T == pytest.approx(np.linalg.inv(np.linalg.inv(c)[np.ix_([0, 2], [0, 2])]), rel=1e-6)
    assert root[0, 1] == 0


def test_what_the_known_determine_has_no_root():
    c = np.array([[1.0, 0.5, 1.5], [0.5, 1.0, 1.5], [1.5, 1.5, 3.0]])
    weights, root = conditional_law(c, [2], [0, 1])
    assert weights == pytest.approx(np.array([[1.0, 1.0]]), rel=1e-9)
    assert root.tolist() == [[0.0]]
    weights, root = conditional_law(c, [0, 1, 2], [])
    assert weights.shape == (3, 0)
    assert root @ root.T == pytest.approx(c, rel=1e-9)
    assert root[2, 2] == 0
