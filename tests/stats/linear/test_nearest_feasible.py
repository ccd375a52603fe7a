"""The nearest point that obeys: against a solver of another kind, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from larvatus.stats.linear.nearest_feasible import nearest_obeying


def solved(x, spread, lower, upper, slope, limit, equal):
    """One row by sequential quadratic programming, in units of spread."""
    rules = [{"type": "eq" if e else "ineq", "fun": lambda u, a=a, b=b: b - a @ (u * spread)}
             for a, b, e in zip(slope, limit, equal, strict=True)]
    limits = list(zip(lower / spread, upper / spread, strict=True))
    found = minimize(lambda u: ((u - x / spread) ** 2).sum(), np.clip(x / spread, *np.array(limits).T), bounds=limits,
                     constraints=rules, method="SLSQP", options={"ftol": 1e-12, "maxiter": 500})
    assert found.status in (0, 8)
    return found.x * spread


def nearest(x, spread, lower, upper, slope, limit, equal, active=None):
    return nearest_obeying(
        x, spread, lower, upper, slope, limit, equal,
        np.ones(limit.shape, dtype=bool) if active is None else active)


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_least_change(seed):
    rng = np.random.default_rng(seed)
    p, m, n = 4, 3, 12
    slope = rng.integers(-2, 3, (m, p)).astype(float)
    slope[np.arange(m), rng.integers(0, p, m)] = 1.0
    inside = rng.normal(size=p)
    equal = np.array([seed % 2 == 1, False, False])
    limit = np.tile(slope @ inside + np.where(equal, 0.0, rng.random(m)), (n, 1))
    lower, upper = inside - rng.random(p), np.where(rng.random(p) < 0.5, np.inf, inside + 1)
    spread = np.array([1.0, 3.0, 0.5, 2.0])
    x = rng.normal(size=(n, p)) * 4
    found = nearest(x, spread, lower, upper, slope, limit, equal)
    assert (found >= lower).all()
    assert (found <= upper).all()
    for i in range(n):
        wanted = solved(x[i], spread, lower, upper, slope, limit[i], equal)
        assert (((found[i] - x[i]) / spread) ** 2).sum() <= (((wanted - x[i]) / spread) ** 2).sum() + 1e-6
        over = slope @ found[i] - limit[i]
        assert (over[~equal] <= 1e-9).all()
        assert np.abs(over[equal]).max(initial=0) < 1e-9


def test_by_hand():
    """TAXINC 10, AGI 4 with equal spreads meet half way; with AGI three times as spread, AGI gives way ninefold."""
    slope, limit = np.array([[1.0, -1.0]]), np.zeros((1, 1))
    none = np.full(2, np.inf)
    even = nearest(np.array([[10.0, 4.0]]), np.ones(2), -none, none, slope, limit, np.array([False]))
    assert even == pytest.approx(np.array([[7.0, 7.0]]), abs=1e-9)
    assert even[0, 0] <= even[0, 1]
    uneven = nearest(np.array([[10.0, 4.0]]), np.array([1.0, 3.0]), -none, none, slope, limit, np.array([False]))
    assert uneven == pytest.approx(np.array([[9.4, 9.4]]), abs=1e-9)


def test_lines_that_are_not_active_and_rows_that_obey_stay():
    slope, limit = np.array([[1.0, -1.0]]), np.zeros((3, 1))
    none = np.full(2, np.inf)
    x = np.array([[10.0, 4.0], [10.0, 4.0], [1.0, 4.0]])
    found = nearest(x, np.ones(2), -none, none, slope, limit, np.array([False]), np.array([[True], [False], [True]]))
    assert (found[1:] == x[1:]).all()
    assert found[0, 0] <= found[0, 1]


def test_rules_that_exclude_each_other_end():
    slope, limit = np.array([[1.0], [-1.0]]), np.array([[0.0, -1.0]])
    found = nearest(np.array([[5.0]]), np.ones(1), np.array([-np.inf]), np.array([np.inf]), slope, limit, np.array([False] * 2))
    assert found.tolist() == [[5.0]]


def test_hard_systems_are_met_too():
    """Bounds and dense lines over columns of unlike spread, where sweeps alone would take thousands."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p, m, n = 8, 5, 60
        slope = rng.integers(-2, 3, (m, p)) * (rng.random((m, p)) < 0.5).astype(float)
        slope[np.arange(m), rng.integers(0, p, m)] = 1.0
        inside = rng.normal(size=p)
        limit = np.tile(slope @ inside + rng.random(m), (n, 1))
        lower, upper = inside - rng.random(p), np.full(p, np.inf)
        x, spread = rng.normal(size=(n, p)) * 4, np.exp(rng.normal(size=p))
        found = nearest(x, spread, lower, upper, slope, limit, np.zeros(m, dtype=bool))
        assert (found >= lower).all()
        size = np.abs(found) @ np.abs(slope).T + np.abs(limit)
        assert ((found @ slope.T - limit) / size).max() <= 1e-10


def hard(seed: int, p: int = 8, m: int = 5, n: int = 40):
    """Bounds and dense lines over columns of unlike spread, with a point that obeys all."""
    rng = np.random.default_rng(seed)
    slope = rng.integers(-2, 3, (m, p)).astype(float)
    slope[np.arange(m), rng.integers(0, p, m)] = 1.0
    inside = rng.normal(size=p)
    limit = np.tile(slope @ inside + 0.3 * rng.random(m), (n, 1))
    return rng.normal(size=(n, p)) * 4, np.exp(rng.normal(size=p)), inside - rng.random(p), np.full(p, np.inf), slope, limit


@pytest.mark.parametrize("seed", range(4))
def test_nothing_pulls_the_wrong_way(seed):
    """The condition of Kuhn and Tucker: what a row was moved by is a sum of lines that bind, none of them taken negatively."""
    x, spread, lower, upper, slope, limit = hard(seed)
    found = nearest(x, spread, lower, upper, slope, limit, np.zeros(len(slope), dtype=bool))
    lines = np.vstack([slope, -np.eye(len(spread))]) * spread
    for i in range(len(x)):
        room = np.hstack([limit[i] - slope @ found[i], found[i] - lower])
        binding = lines[room <= 1e-8 * np.abs(lines).sum(axis=1)]
        moved = (x[i] - found[i]) / spread
        _, left = nnls(binding.T, moved) if len(binding) else (None, np.linalg.norm(moved))
        assert left <= 1e-6 * (1 + np.linalg.norm(moved))


@pytest.mark.parametrize("seed", range(4))
def test_a_value_that_ends_at_its_bound_is_that_bound(seed):
    """Zero leaves as zero, not as the last digit of a sum."""
    x, spread, _, upper, slope, limit = hard(seed)
    lower = np.zeros(len(spread))
    limit = np.abs(limit)
    found = nearest(x, spread, lower, upper, slope, limit, np.zeros(len(slope), dtype=bool))
    at = found <= 1e-10 * spread
    assert at.sum() > 50
    assert (found[at] == 0).all()
    turned = nearest(-x, spread, -upper, -lower, -slope, limit, np.zeros(len(slope), dtype=bool))
    assert (turned[at] == 0).all()
