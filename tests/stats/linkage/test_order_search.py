"""Orders that annealing misses are found by trying all of them, or by branch and bound.

Orders that equations do not determine are not searched.
"""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.linkage import order_search
from larvatus.stats.linkage.exact_orders import Equations, exact_equations
from larvatus.stats.linkage.order_search import SearchTally, branched_order, order_information, search_order


def release(n: int, p: int, seed: int = 1, moved: float = 0.0) -> Equations:
    """The equations of n records, p columns and noise orthogonal to X; `moved` spoils the released values."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    x -= x.mean(axis=0)
    basis = np.linalg.qr(np.column_stack([np.ones(n), x, rng.normal(size=(n, p))]))[0]
    y = basis[:, -p:] @ np.linalg.cholesky(x.T @ x).T + moved * rng.normal(size=(n, p))
    found = exact_equations(x, y, np.zeros((n, 0)), np.ones(n), np.zeros((p, p)))
    assert found is not None
    return found


def same(n: int) -> np.ndarray:
    return np.zeros(n, dtype=np.int64)


@pytest.mark.parametrize("codes", [np.arange(14) % 2, np.arange(14) % 3], ids=["two pools", "three pools"])
def test_branch_and_bound_finds_the_order(codes):
    equations = release(14, 6)
    assert branched_order(*equations, codes).tolist() == list(range(14))


def test_an_order_is_determined_by_enough_equations_that_hold():
    assert order_information(release(14, 3), same(14)).determines
    assert not order_information(release(14, 1), same(14)).determines, "1 equation of 31 bits, 14! orders of 36 bits"
    assert order_information(release(14, 1), np.arange(14) // 2).determines, "only 2^7 orders"
    assert not order_information(release(14, 3, moved=1e-3), same(14)).determines, "the equations do not hold"


def test_equations_that_follow_from_others_add_nothing():
    one = release(14, 1)
    more = Equations(np.repeat(one.terms, 9, axis=2), np.repeat(one.right, 9), np.repeat(one.tolerance, 9))
    assert not order_information(more, same(14)).determines
    assert order_information(more, same(14)).equations == 1


@pytest.mark.parametrize(("n", "p", "reach"), [(20, 4, False), (20, 5, True), (15, 2, True), (16, 3, False)])
def test_a_search_has_prospects_with_as_many_equations_as_places(n, p, reach):
    found = order_information(release(n, p), same(n))
    assert found.determines
    assert found.equations == p * p
    assert found.within_reach(n) == reach


@pytest.mark.parametrize(("n", "codes"), [(13, 1), (14, 2), (15, 2)])
def test_all_orders_of_few_records_are_tried(n, codes):
    """Two columns leave four equations: too few for branch and bound."""
    tally = SearchTally()
    assert search_order(release(n, 2), np.arange(n) % codes, 0, 30, tally, (0, b""), n).tolist() == [1.0] * n
    assert tally.count("found") == (1, n)


def test_branch_and_bound_follows_if_too_many_orders_satisfy_the_combined_equation(monkeypatch):
    monkeypatch.setattr(order_search, "order_credit", lambda *given: None)
    credit = search_order(release(14, 6), np.arange(14) % 2, 0, 30, SearchTally(), (0, b""), 14)
    assert credit.tolist() == [1.0] * 14


def test_what_is_not_determined_is_neither_searched_nor_counted(monkeypatch):
    def refuse(*given: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr(order_search, "branched_order", refuse)
    tally = SearchTally()
    assert search_order(release(16, 1), same(16), 0, 30, tally, (0, b""), 16) is None
    assert not tally.outcomes
    assert tally.open_share == 0


def test_records_with_the_same_values_share_the_credit():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(14, 5))
    x[1] = x[0]
    found = exact_equations(x, x @ np.diag([1, 2, 3, 4, 5.0]), np.zeros((14, 0)), np.ones(14), np.eye(5))
    assert found is not None
    shown = Equations(found.terms, np.einsum("iie->e", found.terms), found.tolerance)
    credit = search_order(shown, same(14), 40, 30, SearchTally(), (0, b""), 14)
    assert credit.tolist() == [0.5, 0.5, *[1.0] * 12]


def test_the_search_stops_and_the_rest_counts_at_the_rate_of_what_was_tried(monkeypatch):
    """Two failures end the search. What was not found raises the upper end of the interval only."""
    answers = iter([np.arange(16), None, None])
    monkeypatch.setattr(order_search, "branched_order", lambda *given: next(answers))
    tally, credits = SearchTally(), []
    for group in range(6):
        tally.add_targets(group, 16)
        credits.append(search_order(release(16, 4), same(16), 0, 30, tally, (group, b""), 16))
    assert credits[0].mean() == 1
    assert credits[1] is credits[2] is None
    assert [c.mean() for c in credits[3:]] == pytest.approx([1 / 3] * 3)
    assert [tally.count(w)[0] for w in ("found", "not found", "not tried")] == [1, 2, 3]
    assert tally.open_share == pytest.approx((2 + 3 * 2 / 3) / 6)
    assert search_order(release(16, 4), same(16), 0, 30, tally, (0, b""), 16) is None, "searched again without S"
    assert tally.count("found") == (1, 16)
