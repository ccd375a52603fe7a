"""Groups of k to 2k - 1: the quick searches against slow and obvious ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from larvatus.stats.grouping.k_groups import even_starts, group_means, group_medians, least_cost_starts, standardise_columns
from larvatus.stats.grouping.mdav import farthest, grow_point_tree, mdav, mdav_in_parts, nearest, remove_point


def squares(x: np.ndarray, group: np.ndarray) -> float:
    return sum(((x[group == g] - x[group == g].mean(axis=0)) ** 2).sum() for g in np.unique(group))


def cost(ordered: np.ndarray, starts: np.ndarray) -> float:
    return sum(((p - p.mean()) ** 2).sum() for p in np.split(ordered, starts[1:-1]))


def best_cost(x: np.ndarray, k: int) -> float:
    """Over every partition of the values, runs of the order or not, in groups of k or more."""
    if len(x) < 2 * k:
        return ((x - x.mean()) ** 2).sum()
    least = ((x - x.mean()) ** 2).sum()
    rest = np.arange(1, len(x))
    for size in range(k, len(x) - k + 1):
        for others in combinations(rest, size - 1):
            inside = np.zeros(len(x), dtype=bool)
            inside[[0, *others]] = True
            least = min(least, ((x[inside] - x[inside].mean()) ** 2).sum() + best_cost(x[~inside], k))
    return least


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("n", [2, 3, 5, 7, 8, 9])
def test_no_partition_at_all_costs_less_than_the_optimal_one(n, k):
    rng = np.random.default_rng(n * k)
    for x in (rng.normal(size=n), rng.integers(0, 4, n) * 1.0, np.exp(3 * rng.normal(size=n))):
        if n >= k:
            starts = least_cost_starts(np.sort(x), k)
            assert cost(np.sort(x), starts) == pytest.approx(best_cost(x, k), rel=1e-9, abs=1e-12)
            sizes = np.diff(starts)
            assert sizes.min() >= k
            assert sizes.max() <= 2 * k - 1


def test_optimal_costs_no_more_than_even_groups_and_keeps_its_digits_far_from_zero():
    rng = np.random.default_rng(1)
    for shift in (0.0, 1e9):
        x = np.sort(rng.lognormal(0, 2, 3001)) + shift
        for k in (2, 3, 10, 100):
            optimal = least_cost_starts(x, k)
            assert cost(x, optimal) <= cost(x, even_starts(len(x), k))
    assert cost(x, least_cost_starts(x, 3)) <= cost(x, least_cost_starts(x - 1e9, 3)) * (1 + 1e-9)


@pytest.mark.parametrize(("n", "k", "sizes"), [(9, 3, [3, 3, 3]), (11, 3, [3, 3, 5]), (5, 3, [5]), (2, 3, [2]), (3, 3, [3])])
def test_the_last_even_group_takes_the_remainder(n, k, sizes):
    assert np.diff(even_starts(n, k)).tolist() == sizes


def gaps(points: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Squared distances, summed in the order of the columns."""
    total = np.zeros(len(points))
    for c in range(points.shape[1]):
        total += (points[:, c] - to[c]) ** 2
    return total


def plain_mdav(points: np.ndarray, k: int) -> np.ndarray:
    """Looking at every point left, each time."""
    group, groups, left, total = np.full(len(points), -1), 0, np.arange(len(points)), points.sum(axis=0)
    while len(left) >= 2 * k:
        to = total / len(left)
        for _ in range(2 if len(left) >= 3 * k else 1):
            head = left[np.argmax(gaps(points[left], to))]
            others = left[left != head]
            members = [head, *others[np.argsort(gaps(points[others], points[head]), kind="stable")[: k - 1]]]
            group[members] = groups
            for m in members:
                total = total - points[m]
            left, groups, to = left[group[left] < 0], groups + 1, points[head]
    group[left] = groups
    return group


KINDS = {
    "random": lambda rng, n, d: rng.normal(size=(n, d)),
    "whole numbers": lambda rng, n, d: np.rint(2 * rng.normal(size=(n, d))),
    "tied, not whole": lambda rng, n, d: standardise_columns(rng.integers(0, 3, (n, d)) * 1.0),
    "half alike": lambda rng, n, d: np.where(np.arange(n)[:, None] % 2 == 0, 0.0, rng.normal(size=(n, d))),
    "heavy tails": lambda rng, n, d: np.exp(2 * rng.normal(size=(n, d))),
    "on a sphere": lambda rng, n, d: (z := rng.normal(size=(n, d))) / np.sqrt((z**2).sum(axis=1, keepdims=True)),
    "all alike": lambda rng, n, d: np.full((n, d), 1 / 3),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d", "k"), [
    *((n, 2, 3) for n in range(1, 13)), (40, 1, 2), (100, 3, 5), (1000, 5, 3), (1000, 2, 10), (800, 8, 4), (1500, 3, 2),
])
def test_the_tree_groups_as_the_plain_loop_does(kind, n, d, k):
    points = KINDS[kind](np.random.default_rng(n + d + k), n, d)
    quick = mdav(points, k)
    assert np.array_equal(quick, plain_mdav(points, k))
    sizes = np.bincount(quick)
    assert sizes.min() >= min(k, n)
    assert sizes.max() <= max(2 * k - 1, 1)


def test_points_all_alike_are_grouped_in_their_order():
    points = np.full((11, 2), 1 / 3)
    assert mdav(points, 3).tolist() == plain_mdav(points, 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2]


def test_mdav_worked_by_hand():
    """Mean 4.5: -13 is farthest, with 0 and 1; from it 20 is farthest, with 12 and 11; four are left."""
    x = np.array([[0.0], [1], [2], [3], [4], [5], [11], [20], [12], [-13]])
    assert mdav(x, 3).tolist() == [0, 0, 2, 2, 2, 2, 1, 1, 1, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_tree_searches_agree_with_looking_at_all(kind):
    rng = np.random.default_rng(7)
    points = KINDS[kind](rng, 700, 4)
    tree, left = grow_point_tree(points, np.arange(700), 8), np.ones(700, dtype=bool)
    found, near = np.empty(5, dtype=np.int64), np.empty(5)
    for gone in rng.permutation(700)[:690]:
        remove_point(tree, gone)
        left[gone] = False
        if gone % 7:
            continue
        to = points[gone] if gone % 2 else rng.normal(size=4)
        d = gaps(points, to)
        order = np.lexsort((np.arange(700), d))
        nearest(tree, to, found, near)
        assert found.tolist() == order[left[order]][:5].tolist()
        order = np.lexsort((np.arange(700), -d))
        assert farthest(tree, to) == order[left[order]][0]


def lost(x: np.ndarray, group: np.ndarray) -> float:
    count = np.bincount(group)
    return sum(((c - group_means(c, group, count)) ** 2).sum() for c in np.ascontiguousarray(x.T))


def test_parts_cost_little_more_than_the_whole():
    x = np.random.default_rng(0).normal(size=(20_000, 5))
    whole, parts = mdav(x, 3), mdav_in_parts(x, 3, 10_000)
    assert np.bincount(parts).min() >= 3
    assert np.bincount(parts).max() <= 5
    assert lost(x, parts) < 1.03 * lost(x, whole)
    assert lost(x[:50], mdav(x[:50], 3)) == pytest.approx(squares(x[:50], mdav(x[:50], 3)))
    assert np.array_equal(mdav_in_parts(x[:500], 3, 500), mdav(x[:500], 3))


def test_centres():
    x = np.array([1.0, 0.1, 4, 0.1, 9, 0.1, 2])
    group = np.array([0, 1, 0, 1, 0, 1, 0])
    assert group_means(x, group, np.bincount(group)).tolist() == [4, 0.1, 4, 0.1, 4, 0.1, 4]
    assert group_medians(x, group, np.bincount(group)).tolist() == [3, 0.1, 3, 0.1, 3, 0.1, 3]


def test_standardised_columns():
    rng = np.random.default_rng(2)
    x = np.column_stack([rng.normal(1e8, 3, 500), np.full(500, 0.1), rng.normal(size=500) * 1e-200])
    z = standardise_columns(x)
    assert np.abs(z[:, [0, 2]].mean(axis=0)).max() < 1e-6
    assert z[:, [0, 2]].std(axis=0) == pytest.approx(1, rel=1e-9)
    assert (z[:, 1] == 0).all()
