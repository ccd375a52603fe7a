"""Counts by matrix products, by k-d tree and from every pair are the same numbers, whatever the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn_examples import drawn
from larvatus.stats.linkage import nearest_counts
from larvatus.stats.linkage.coordinates import link_nearest
from larvatus.stats.linkage.nearest_counts import count_in_pools, merge_repeats, nearer_and_tied
from larvatus.stats.neighbours import blocked_products, faster_way
from larvatus.stats.neighbours.blocked_counts import BlockedCounts, count_directly
from larvatus.stats.neighbours.tree_counts import TreeCounts

Counts = tuple[np.ndarray, np.ndarray]


def _pair(shape: str, n: int, p: int, seed: int) -> Counts:
    """Known and released values of the same records."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    y = x + rng.choice([0.01, 0.3, 2.0]) * rng.normal(size=(n, p))
    if shape == "rounded":
        x, y = np.round(x * 2) / 2, np.round(y * 2) / 2
    elif shape == "integers":
        x, y = np.round(x), np.round(y)
    elif shape == "decimals":  # ties that rounding of sums breaks by some last digits
        x, y = np.round(x, 1), np.round(y, 1)
    elif shape == "duplicates":
        x, y = x[rng.integers(0, n // 5 + 1, n)], y[rng.integers(0, n // 5 + 1, n)]
    elif shape == "constant columns":
        x[:, ::2], y[:, ::2] = 3e5, 3e5 + rng.integers(0, 2) / 3
    elif shape == "heavy tails":
        x, y = (np.sign(v) * 10.0 ** np.minimum(6 * np.abs(v), 12.0) for v in (x, y))
    elif shape == "far from zero":
        x, y = 1e9 + x, 1e9 + y
    elif shape == "two far clusters":
        far = 1e6 * rng.integers(0, 2, n)[:, None]
        x, y = x + far, y + far
    elif shape == "tiny":
        x, y = 1e-12 * x, 1e-12 * y
    elif shape == "tiny with one large":
        x, y = 1e-12 * x, 1e-12 * y
        y[0] = 1e12
    elif shape == "unchanged":
        y = x.copy()
    elif shape == "target far away":
        x[::3] *= 1e25
    return x, y


SHAPES = (
    "continuous", "rounded", "integers", "decimals", "duplicates", "constant columns", "heavy tails", "far from zero",
    "two far clusters", "tiny", "tiny with one large", "unchanged", "target far away",
)


def _limits(x: np.ndarray, y: np.ndarray) -> Counts:
    reach = np.sqrt(((x - y) ** 2).sum(axis=1))
    return reach * (1 - 1e-12), reach * (1 + 1e-12)


def _ways(x: np.ndarray, y: np.ndarray, deepest: int) -> list[Counts]:
    """Counts by every pair, by tree and by products, where fewer than `deepest` are nearer; beyond that, `deepest` and 0."""
    low, high = _limits(x, y)
    points, copies = merge_repeats(y)
    ends = np.zeros(len(x), dtype=np.int64), np.full(len(x), len(y))
    out = [
        count_directly(x, y, np.ones(len(y)), *ends, low, high, deepest),
        TreeCounts.of(points, copies).count(x, low, high, deepest),
        BlockedCounts.of(points, copies).count(x, low, high, deepest),
        BlockedCounts.of(y, np.ones(len(y))).count(x, low, high, deepest),
    ]
    return [(np.minimum(a, deepest), np.where(a < deepest, t, 0)) for a, t in out]


def _assert_same(ways: list[Counts]) -> None:
    for way in ways[1:]:
        np.testing.assert_array_equal(way, ways[0])


@drawn(250)
@given(
    shape=st.sampled_from(SHAPES), n=st.integers(1, 90), p=st.integers(1, 25), seed=st.integers(0, 10**6),
    deepest=st.sampled_from([1, 3, 10, 1000]),
)
def test_three_ways_give_identical_counts(shape, n, p, seed, deepest):
    _assert_same(_ways(*_pair(shape, n, p, seed), deepest))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("n", "p"), [(1300, 20), (3585, 3)])
def test_counts_are_identical_over_several_blocks(shape, n, p):
    _assert_same(_ways(*_pair(shape, n, p, 7), 10))


def test_counts_from_every_pair_are_those_of_exact_arithmetic():
    x, y = _pair("integers", 200, 6, 3)
    square = ((x[:, None] - y[None]) ** 2).sum(axis=2)  # whole numbers: exact
    own = np.diag(square)[:, None]
    nearer, tied = _ways(x, y, 1000)[0]
    np.testing.assert_array_equal(nearer, (square < own).sum(axis=1))
    np.testing.assert_array_equal(tied, (square == own).sum(axis=1))


@drawn(150)
@given(
    p=st.integers(1, 60), seed=st.integers(0, 10**6), scale=st.sampled_from([1.0, 1e-3, 1e-18, 1e-22]),
    inner=st.sampled_from([1.0, 1e-6, 1e-11]),
)
def test_the_error_of_single_precision_is_within_its_bound(p, seed, scale, inner):
    rng = np.random.default_rng(seed)
    u, v = scale * rng.normal(size=(40, p)) * rng.choice([1e-6, 1.0], (40, 1)), scale * inner * rng.normal(size=(50, p))
    square, halves = (u**2).sum(axis=1), (v**2).sum(axis=1) / 2
    reach = np.sqrt(square) * (1 + inner * rng.uniform(-1, 1, 40))
    level, norm = (square - reach**2) / 2, float(np.sqrt(2 * halves.max()))
    bound = blocked_products.rounding_bound(p, square, level, reach, norm)
    left = np.column_stack([u, -np.ones(40), -level]).astype(np.float32)
    right = np.column_stack([v, halves, np.ones(50)]).astype(np.float32)
    a, b, r = (w.astype(np.longdouble) for w in (u, v, reach))
    exact = a @ b.T - (b**2).sum(axis=1) / 2 - (((a**2).sum(axis=1) - r**2) / 2)[:, None]
    assert (np.abs(left @ right.T - exact) <= bound[:, None]).all()
    largest = (np.sqrt(square) * norm + norm**2 + np.abs(level)) * 1e-6 + 1e-13 * square
    assert (bound <= (p + 10) * (largest + 1e-35)).all()  # the bound is not vacuous


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("shape", ["continuous", "integers", "duplicates", "heavy tails"])
def test_pools_are_searched_one_by_one(shape, power, monkeypatch):
    x, y = _pair(shape, 600, 5, 1)
    rng = np.random.default_rng(2)
    same = np.where(np.arange(600) < 350, 0, rng.integers(1, 20, 600)).astype(np.int64)
    own = np.sort(rng.choice(600, 300, replace=False))
    found = link_nearest(x[own], y, own, same, (1, 4), power)
    for small in (0, 10_000):
        monkeypatch.setattr(nearest_counts, "_SMALL", small)
        np.testing.assert_array_equal(link_nearest(x[own], y, own, same, (1, 4), power), found)
    for i in range(0, 300, 7):
        inside = np.flatnonzero(same == same[own[i]])
        apart = np.abs(x[own[i]] - y[inside])
        away = np.sqrt((apart**2).sum(axis=1)) if power == 2 else apart.sum(axis=1)
        mine = away[inside == own[i]]
        tied = np.isclose(away, mine, rtol=1e-11, atol=0)
        expected = [np.clip((k - ((away < mine) & ~tied).sum()) / tied.sum(), 0, 1) for k in (1, 4)]
        assert found[:, i] == pytest.approx(expected)


@pytest.mark.parametrize("faster", ["products", "tree"])
def test_the_faster_way_is_used_and_the_choice_changes_nothing(faster, monkeypatch):
    x, y = _pair("decimals", 1500, 4, 5)
    low, high = _limits(x, y)
    expected = BlockedCounts.of(y, np.ones(len(y))).count(x, low, high, 5)
    asked, seconds = {"products": 0, "tree": 0}, [0.0]

    def count(way: type, name: str):
        original = way.count

        def counter(self, targets, *rest):
            asked[name] += len(targets)
            seconds[0] += len(targets) * (1.0 if name == faster else 50.0)
            return original(self, targets, *rest)

        return counter

    monkeypatch.setattr(BlockedCounts, "count", count(BlockedCounts, "products"))
    monkeypatch.setattr(TreeCounts, "count", count(TreeCounts, "tree"))
    monkeypatch.setattr(faster_way, "perf_counter", lambda: seconds[0])
    monkeypatch.setattr(faster_way, "_UNTIMED", 1000)
    nearer, tied = count_in_pools(x, y, low, high, 5)
    np.testing.assert_array_equal(np.minimum(nearer, 5), np.minimum(expected[0], 5))
    np.testing.assert_array_equal(tied[nearer < 5], expected[1][nearer < 5])
    assert asked[faster] >= 1200
    assert asked[{"products": "tree", "tree": "products"}[faster]] <= 320


@drawn(60)
@given(n=st.integers(1, 3000), tree=st.sampled_from([0.01, 1.0, 3.0, 100.0]))
def test_every_target_is_searched_for_once(n, tree):
    asked, clock = np.zeros(n, dtype=np.int64), [0.0]

    def search(cost: float):
        def count(rows):
            np.add.at(asked, rows, 1)
            clock[0] += cost * len(rows)

        return count

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faster_way, "perf_counter", lambda: clock[0])
        patch.setattr(faster_way, "_UNTIMED", 0)
        faster_way.search_faster(n, 10**6, search(1.0), lambda: search(tree))
    assert (asked == 1).all()


@pytest.mark.parametrize("n", [1, 300])
def test_without_columns_all_are_tied(n):
    nearer, tied = nearer_and_tied(np.zeros((n, 0)), np.zeros((n, 0)), 3)
    assert (nearer == 0).all()
    assert (tied == n).all()


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("candidates", [0, 5, 400])
def test_without_targets_there_are_no_counts(candidates, power):
    nearer, tied = nearer_and_tied(np.zeros((0, 3)), np.ones((candidates, 3)), 3, np.zeros(0, dtype=np.int64), power)
    assert nearer.shape == tied.shape == (0,)


@pytest.mark.parametrize("n", [10, 400])
def test_numbers_whose_squares_overflow_are_compared(n):
    y = 1e308 * np.linspace(-1, 1, n)[:, None] * np.ones(3)
    nearer, tied = nearer_and_tied(y[::-1], y, n)
    assert nearer[0] == n - 1
    assert tied[0] == 1
    assert (nearer_and_tied(y, y, n)[0] == 0).all()


def test_repeats_are_merged_with_their_frequency():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 7))
    which = rng.integers(0, 40, 3000)
    points, copies = merge_repeats(rows[which])
    assert copies.sum() == 3000
    values, counts = np.unique(rows[which], axis=0, return_counts=True)
    found = {tuple(v): 0.0 for v in values}
    for point, times in zip(points, copies, strict=True):
        found[tuple(point)] += times
    assert list(found.values()) == list(counts)
    assert len(points) < 400
