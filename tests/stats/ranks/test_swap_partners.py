"""Partners by rank: each rank once, within reach, drawn evenly from those still free; a slow search agrees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.stats.ranks import swap_partners as swaps
from larvatus.stats.ranks.swap_partners import distance_partners, reach_of, window_partners

FALSE_ALARM = 1e-6
SIZES = [(1, 1), (2, 1), (3, 1), (5, 2), (64, 3), (65, 64), (5000, 1), (20_000, 700), (9000, 9000)]
RANDOM = RecordRandom(stream_key(b"sixteen bytes or more", "partners"))


def words(n: int, attempt: int = 0) -> np.ndarray:
    return RANDOM.words(np.arange(n), 2, attempt=attempt)


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(("n", "reach"), SIZES)
def test_each_rank_once_and_within_reach(n, reach, two_sided):
    into = window_partners(n, reach, words(n), two_sided)
    assert np.array_equal(into[into], np.arange(n))
    assert np.abs(into - np.arange(n)).max() <= reach
    stays = np.flatnonzero(into == np.arange(n))
    assert (np.diff(stays) > reach).all(), "two that stay could have swapped with each other"


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(("n", "reach"), [(1, 3), (2, 3), (101, 10), (20_000, 2000)])
def test_distances_leave_nobody_without_a_partner(n, reach, two_sided):
    normal = RANDOM.normal(np.arange(n), purpose="distance")[0]
    into = distance_partners(n, reach, words(n), normal, two_sided)
    assert np.array_equal(into[into], np.arange(n))
    assert (into == np.arange(n)).sum() == n % 2


def test_free_ranks_are_counted_and_found():
    rng = np.random.default_rng(3)
    for n in (1, 63, 64, 65, 4096, 4097, 20_000):
        bits, tree = swaps._all_free(n)
        free = np.ones(n, dtype=bool)
        for i in rng.permutation(n)[: int(0.97 * n)]:
            swaps._take(bits, tree, i)
            free[i] = False
        places = np.flatnonzero(free)
        for i in rng.integers(0, n, 50):
            assert swaps._free_below(bits, tree, i) == free[:i].sum()
            assert swaps._free_from(bits, i) == next(iter(places[places >= i]), -1)
            assert swaps._free_to(bits, i) == next(iter(places[places < i][::-1]), -1)
        for count in rng.integers(0, len(places), 50) if len(places) else []:
            assert swaps._free_at(bits, tree, count) == places[count]


def slow_search(n: int, reach: int, normal: np.ndarray) -> np.ndarray:
    into, free = np.arange(n), set(range(n))
    for i in range(n):
        if i in free:
            free.remove(i)
            aim = min(i + max(int(np.rint(abs(0.5 * reach * (1 + normal[i])))), 1), n - 1)
            if free:
                j = min(free, key=lambda f: (abs(f - aim), -f))
                free.remove(j)
                into[i], into[j] = j, i
    return into


def test_the_nearest_free_rank_to_the_distance_is_taken():
    normal = RANDOM.normal(np.arange(700), purpose="distance")[0]
    assert np.array_equal(distance_partners(700, 60, words(700), normal, False), slow_search(700, 60, normal))


@pytest.mark.parametrize("two_sided", [False, True])
def test_partners_are_drawn_evenly(two_sided):
    """Whoever is visited first takes any rank in reach alike: rank 0 one-sided; rank 3 of seven where it comes first."""
    n, reach, seen = 7, 3, []
    for attempt in range(5000):
        w = words(n, attempt)
        first = int(swaps._shuffled(w[1])[0]) if two_sided else 0
        if first == (3 if two_sided else 0):
            seen.append(int(window_partners(n, reach, w, two_sided)[first]))
    counts = np.bincount(seen, minlength=n)
    expected = [0, 1, 2, 4, 5, 6] if two_sided else [1, 2, 3]
    assert counts.sum() == counts[expected].sum() > 500
    assert stats.chisquare(counts[expected]).pvalue > FALSE_ALARM


def test_visits_come_in_any_order():
    first = [int(swaps._shuffled(words(5, attempt)[1])[0]) for attempt in range(2000)]
    assert stats.chisquare(np.bincount(first, minlength=5)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("window", "n", "reach"), [(0.29, 100, 29), (0.1, 30, 3), (0.05, 19, 0), (1.0, 7, 7), (0.07, 100, 7)])
def test_reach_is_the_whole_part(window, n, reach):
    assert reach_of(window, n) == reach
