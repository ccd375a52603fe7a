"""The probability of a right match under perturbation, against simulated releases, brute force and its limits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from larvatus.stats.key_risk.perturbed_keys import TrueKeys, match_risk

FALSE_ALARM = 1e-6
SIGMA = 4.9
LEVELS = (5, 8)
CELLS = np.array(np.unravel_index(np.arange(40), LEVELS)).T


def transition(stay: float, levels: int) -> np.ndarray:
    out = np.full((levels, levels), (1 - stay) / (levels - 1))
    np.fill_diagonal(out, stay)
    return out


def keys(codes: np.ndarray, count: np.ndarray, risk: np.ndarray | None = None, group: np.ndarray | None = None) -> TrueKeys:
    """Keys of a file that is the population, unless `risk` says otherwise."""
    there = count > 0
    own = 1 / count[there] if risk is None else risk[there]
    groups = np.zeros(len(count), dtype=int) if group is None else group
    return TrueKeys(codes[there], groups[there], count[there], own, np.zeros(int(there.sum())))


def released_cells(rng: np.random.Generator, units: np.ndarray, upper: list[np.ndarray]) -> np.ndarray:
    seen = [(rng.random(len(units))[:, None] > upper[k][CELLS[units, k]][:, :-1]).sum(axis=1) for k in (0, 1)]
    return np.ravel_multi_index(tuple(seen), LEVELS)


@pytest.mark.parametrize("fraction", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("largest", [4, 40])
def test_against_simulated_releases(fraction, largest):
    """Over 600 samples and releases of a population of 40 cells, the sum over released records of (true key is j) / F_j minus
    the formula has mean zero: exactly over records alone, and nearly over all. Both are within 4.9 standard errors, with a
    false alarm of 1e-6; over all records 1 % of the right matches is added, because a sum of unequal chances is taken as
    binomial. The population has cells of up to 3 persons, and of up to 39.
    """
    rng = np.random.default_rng(7)
    size = rng.integers(0, largest, 40)
    units = np.repeat(np.arange(40), size)
    moves = [[transition(0.8, 5)], [transition(0.7, 8)]]
    upper = [np.cumsum(m[0], axis=1) for m in moves]
    uniques, everyone, hits = [], [], 0.0
    risk = 1 / np.maximum(size, 1)
    for _ in range(600):
        taken = units[rng.random(len(units)) < fraction]
        j = released_cells(rng, taken, upper)
        seen, place, records = np.unique(j, return_inverse=True, return_counts=True)
        true = keys(CELLS, np.bincount(taken, minlength=40), risk)
        formula = match_risk(CELLS[seen], records, true, moves).risk[place]
        right = np.where(taken == j, risk[j], 0.0)
        alone = records[place] == 1
        uniques.append((right - formula)[alone].sum())
        everyone.append((right - formula).sum())
        hits += right.sum() / 600
    assert abs(np.mean(uniques)) <= SIGMA * np.std(uniques) / np.sqrt(600)
    assert abs(np.mean(everyone)) <= SIGMA * np.std(everyone) / np.sqrt(600) + 0.01 * hits


def test_a_class_of_several_records_by_brute_force():
    """Five units of two keys: P(two are released with key 0, of which a were there before), over all 32 releases."""
    move = np.array([[0.9, 0.1], [0.2, 0.8]])
    true = np.array([0, 0, 1, 1, 1])
    total = before = 0.0
    for seen in product((0, 1), repeat=5):
        chance = np.prod([move[k, j] for k, j in zip(true, seen, strict=True)])
        if seen.count(0) == 2:
            total += chance
            before += chance * sum(k == j == 0 for k, j in zip(true, seen, strict=True))
    found = match_risk(np.array([[0]]), np.array([2]), keys(np.array([[0], [1]]), np.array([2, 3])), [[move]])
    assert found.risk == pytest.approx([before / total / 2 / 2])


def test_large_classes_are_close_to_the_exact_sums():
    """Bin(40, .8) of 40 and Bin(60, .1) of 60 others: E(A | A + B = 36) / 36 by enumeration."""
    from scipy.stats import binom

    a = np.arange(37)
    both = binom.pmf(a, 40, 0.8) * binom.pmf(36 - a, 60, 0.1)
    move = np.array([[0.8, 0.2], [0.1, 0.9]])
    found = match_risk(np.array([[0]]), np.array([36]), keys(np.array([[0], [1]]), np.array([40, 60])), [[move]])
    assert found.risk[0] * 40 == pytest.approx((a * both).sum() / both.sum() / 36, rel=0.01)


def test_unperturbed_keys_have_their_own_risk():
    cells, risk = np.array([[0, 1], [1, 0], [1, 1]]), np.array([0.4, 0.9, 0.1])
    count = np.array([4, 1, 50])
    found = match_risk(cells, count, keys(cells, count, risk), [[None], [None]])
    assert found.risk == pytest.approx(risk, rel=1e-9)


def test_by_hand():
    """Two levels, f = (2, 3), M = ((.9, .1), (.2, .8)). Odds into level 0: .9 / .1 for each of two, .2 / .8 for each of three.

    A released unique of level 0 is right with (.9 / .1) / (2 · .9 / .1 + 3 · .2 / .8): the form of Shlomo and Skinner.
    """
    move = np.array([[0.9, 0.1], [0.2, 0.8]])
    found = match_risk(np.array([[0]]), np.array([1]), keys(np.array([[0], [1]]), np.array([2, 3])), [[move]])
    assert found.risk[0] == pytest.approx(9 / (2 * 9 + 3 * 0.25))


def test_full_randomisation_leaves_a_blind_guess():
    """If every level is as likely as any other, each of the 12 units is the source with the same probability."""
    cells = np.arange(4)[:, None]
    found = match_risk(cells, np.full(4, 3), keys(cells, np.full(4, 3)), [[np.full((4, 4), 0.25)]])
    assert found.risk == pytest.approx([1 / 12] * 4)


def test_the_intruder_takes_another_key_if_it_is_more_probable():
    """Everybody moves to the next level: in the released level 1 are those of level 0. Nobody has level 3: if the file is the
    population, the intruder knows that, and otherwise links to a person outside the file."""
    cells = np.arange(4)[:, None]
    ring = np.roll(np.eye(4), 1, axis=1)
    found = match_risk(cells[1:2], np.array([2]), keys(cells, np.array([2, 5, 1, 4])), [[ring]])
    assert found.risk == pytest.approx([1 / 2])
    few = keys(cells[:3], np.array([1, 1, 1]))
    gone = [match_risk(cells[3:], np.array([1]), few, [[transition(0.7, 4)]], known).risk[0] for known in (True, False)]
    assert gone == pytest.approx([1 / 3, 0.0])


def test_missing_keys_stay_missing_and_sub_groups_have_their_own_law():
    cells = np.array([[-1], [0], [1], [0]])
    group = np.array([0, 0, 0, 1])
    moves = [[transition(0.5, 2), None]]
    true = keys(cells, np.array([5, 1, 1, 1]), group=group)
    found = match_risk(np.array([[-1], [1]]), np.array([5, 1]), true, moves)
    assert found.risk[0] == pytest.approx(1 / 5)
    assert found.risk[1] == pytest.approx(0.5)  # the units of sub-group 0, of either level; that of sub-group 1 cannot move
