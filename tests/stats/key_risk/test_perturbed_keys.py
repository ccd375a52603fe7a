"""The probability of a right match under perturbation, against simulated releases and its limits."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.key_risk.perturbed_keys import right_match

FALSE_ALARM = 1e-6
SIGMA = 4.9


def transition(stay: float, levels: int) -> np.ndarray:
    out = np.full((levels, levels), (1 - stay) / (levels - 1))
    np.fill_diagonal(out, stay)
    return out


@pytest.mark.parametrize("fraction", [0.2, 0.6, 1.0])
def test_against_simulated_releases(fraction):
    """Over 3,000 releases of a population of 40 cells, the sum over released uniques of (true key is j) / F_j minus the formula
    has mean zero exactly. It is within 4.9 standard errors, with a false alarm of 1e-6."""
    rng = np.random.default_rng(7)
    levels = (5, 8)
    cells = np.array(np.unravel_index(np.arange(40), levels)).T
    size = rng.integers(0, 4, 40)
    units = np.repeat(np.arange(40), size)
    moves = [[transition(0.8, 5)], [transition(0.7, 8)]]
    none = np.zeros(40, dtype=int)
    formula = right_match(cells, none, cells, none, size.astype(float), moves, fraction)
    upper = [np.cumsum(m[0], axis=1) for m in moves]
    difference, right = [], 0.0
    for _ in range(3000):
        taken = units[rng.random(len(units)) < fraction]
        seen = np.column_stack([
            (rng.random(len(taken))[:, None] > upper[k][cells[taken, k]][:, :-1]).sum(axis=1) for k in (0, 1)
        ])
        j = np.ravel_multi_index(tuple(seen.T), levels)
        alone = np.bincount(j, minlength=40)[j] == 1
        hit = np.where(taken[alone] == j[alone], 1 / np.maximum(size[j[alone]], 1), 0.0)
        right += hit.sum()
        expected = np.where(size[j[alone]] > 0, formula[j[alone]], 0.0)
        difference.append((hit - expected).sum())
    assert right > 500
    assert abs(np.mean(difference)) <= SIGMA * np.std(difference) / np.sqrt(3000)


def test_unperturbed_keys_give_one_over_f():
    cells = np.array([[0, 1], [1, 0], [1, 1]])
    none = np.zeros(3, dtype=int)
    for fraction in (0.1, 1.0):
        found = right_match(cells, none, cells, none, np.array([4.0, 1.0, 2.0]), [[None], [None]], fraction)
        assert found == pytest.approx([1 / 4, 1, 1 / 2], rel=1e-9)


def test_by_hand():
    """Two levels, F = (2, 3), M = ((.9, .1), (.2, .8)), π = ½.

    Odds into level 0: .9 / .55 for each of two units, .2 / .9 for each of three.
    P = (.9 / .55) / (2 · .9 / .55 + 3 · .2 / .9).
    """
    cells, none = np.array([[0], [1]]), np.zeros(2, dtype=int)
    found = right_match(cells, none, cells, none, np.array([2.0, 3.0]), [[np.array([[0.9, 0.1], [0.2, 0.8]])]], 0.5)
    assert found[0] == pytest.approx((0.9 / 0.55) / (2 * 0.9 / 0.55 + 3 * 0.2 / 0.9))


def test_full_randomisation_leaves_a_blind_guess():
    """If every level is as likely as any other, each of the 12 units is the source with the same probability."""
    cells, none = np.arange(4)[:, None], np.zeros(4, dtype=int)
    found = right_match(cells, none, cells, none, np.full(4, 3.0), [[np.full((4, 4), 0.25)]], 0.3)
    assert found == pytest.approx([1 / 12] * 4)


def test_missing_keys_stay_missing_and_sub_groups_have_their_own_law():
    cells = np.array([[-1], [0], [1], [0]])
    group = np.array([0, 0, 0, 1])
    moves = [[transition(0.5, 2), None]]
    found = right_match(cells, group, cells, group, np.array([5.0, 1.0, 1.0, 1.0]), moves, 1.0)
    assert found[0] == pytest.approx(1 / 5)
    assert found[1] < 0.5  # the other sub-group's unit, which cannot move, is the likely source
    assert found[3] == pytest.approx(1.0, abs=1e-9)
