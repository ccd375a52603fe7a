"""Categories of one column that the records of a cell share: how well a release tells them.

    value    Σ m_c [x̂_c = x_c] / Σ m_c,   x̂_c predicted from the released categories of cell c, of m_c records
    S alone  the same for x̂_c predicted from S by a regression of indicators, fitted without the cell
    chance   the same for the most frequent category, or if released categories are exchanged between cells at random

If no rule is better than with each of twenty exchanges, the release is taken to tell nothing, and the value is that of the
better baseline. Otherwise luck in a few cells would be reported as risk. By luck alone that happens once in twenty-one columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from larvatus.attacks.values.sharing import Sharing
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.stats.estimates.cell_predictions import FEWEST_CELLS, S_ONLY, without_cell
from larvatus.stats.estimates.shared_categories import (
    MOST_PROBABLE_BY_S,
    Categories,
    count_categories,
    frequencies_elsewhere,
    predict_categories,
)
from larvatus.stats.estimates.shared_cells import Cells

_MOST_COUNTS = 4_000_000  # cells × categories
_PERMUTATIONS, _MOST_PERMUTED, _MOST_WORK = 20, 5_000, 200_000_000
_FEWEST_ARRANGEMENTS = 1_000  # with fewer, exchanged categories are often the true ones
_NOTHING = "most frequent in all cells"  # if the release tells nothing


@dataclass(frozen=True, slots=True)
class CategorySharing(Sharing):
    """One column with categories that records share. An error is 1 if the prediction of a cell is wrong, else 0."""

    base_error: Floats
    left_out: int

    def spread(self) -> float:
        """The standard error of the difference from the better baseline, at least 1 over the number of cells, which are units.

        The sampled cells decide how often the baseline is right, too. What limits are set on is the difference.
        """
        share = self.weight / self.weight.sum()
        better = self.base_error - self.error
        return float(np.sqrt((share**2 * (better - share @ better) ** 2).sum() + (share**2).sum() ** 2))

    def note(self) -> str:
        """The number of cells left out because there are too many; empty if there are none."""
        left = f"{self.left_out:,} cells with shared categories, drawn at random, are left out"
        return f"{self.name}: {left}" if self.left_out else ""


def attack_categories(
    name: str, given: tuple[str, ...], cells: Cells, shared: Bools, original: Categories, released: Ints,
    terms: Callable[[Bools], Floats], random: RecordRandom,
) -> CategorySharing:
    """Predict the categories that cells share. `terms` gives the terms of S for the cells that are attacked."""
    inside = shared[cells.of_record]
    used = np.unique(np.concatenate([original.x[inside], released[inside], [-1]]))[1:]  # without those that are missing
    x, y = (np.where(v < 0, -1, np.searchsorted(used, v)) for v in (original.x, released))
    some = _sample(shared, _MOST_COUNTS // len(used), random)
    true, counts = (count_categories(codes, cells, some, len(used)) for codes in (x, y))
    category, weight = true.argmax(axis=1), true.sum(axis=1)
    by_s = _predict_from_s(category, weight, len(used), terms(some))
    nothing = {_NOTHING: np.full(len(category), np.bincount(category, weights=weight).argmax()), S_ONLY: by_s.argmax(axis=1)}
    guesses = {**nothing, **predict_categories(category, weight, counts, by_s)}
    wrong = {rule: (guess != category).astype(np.float64) for rule, guess in guesses.items()}
    base, rule = (min(rules, key=lambda r: float(weight @ wrong[r])) for rules in (nothing, guesses))
    chance, luck = _exchanged(category, weight, counts, by_s, random)
    if 1 - weight @ wrong[rule] / weight.sum() <= luck and _arrangements(category) >= _FEWEST_ARRANGEMENTS:
        rule = base
    return CategorySharing(
        name, given, cells, some, weight, rule, wrong[rule], np.ones(len(category)), wrong[S_ONLY],
        max(_most_frequent(category, weight), chance), 0.5, wrong[base], int(shared.sum() - some.sum()),
    )


def _sample(shared: Bools, most: int, random: RecordRandom) -> Bools:
    """All shared cells, or a random sample if there are more than fit."""
    places = np.flatnonzero(shared)
    if len(places) <= most:
        return shared
    draws = random.uniform(np.arange(len(places)), purpose="cells attacked")[0]
    out = np.zeros(len(shared), dtype=bool)
    out[places[np.argsort(draws)[:max(most, FEWEST_CELLS)]]] = True
    return out


def _predict_from_s(x: Ints, weight: Floats, levels: int, terms: Floats) -> Floats:
    """For each cell, predictions of the indicators of the categories without the cell; their frequencies if S has no terms."""
    elsewhere = frequencies_elsewhere(x, weight, levels)
    if len(x) < FEWEST_CELLS or not terms.shape[1]:
        return elsewhere
    return without_cell((x[:, None] == np.arange(levels)).astype(np.float64), weight, terms, elsewhere)


def _exchanged(x: Ints, weight: Floats, counts: Floats, by_s: Floats, random: RecordRandom) -> tuple[float, float]:
    """The success of the rules if released categories are exchanged at random between cells, or part of them if there are many.

    Returns the mean over the exchanges for the best rule that does not use S, and the maximum for the best of all rules.
    """
    k = min(len(x), _MOST_PERMUTED, max(_MOST_WORK // counts.shape[1] ** 2, FEWEST_CELLS))
    x, weight, counts, by_s = x[:k], weight[:k], counts[:k], by_s[:k]
    draws = random.uniform(np.arange(k), lanes=_PERMUTATIONS, purpose="categories exchanged")
    chance, luck = [], []
    for order in np.argsort(draws, axis=1):
        guesses = predict_categories(x, weight, counts[order], by_s)
        right = {rule: float(np.average(guess == x, weights=weight)) for rule, guess in guesses.items()}
        luck.append(max(right.values()))
        chance.append(max(v for rule, v in right.items() if rule != MOST_PROBABLE_BY_S))
    return float(np.mean(chance)), max(luck)


def _most_frequent(x: Ints, weight: Floats) -> float:
    """The share of the records that have the most frequent category."""
    return float(np.bincount(x, weights=weight).max() / weight.sum())


def _arrangements(x: Ints) -> float:
    """In how many ways the categories can be exchanged between the cells: n! / Π n_k!"""
    from scipy.special import gammaln

    with np.errstate(over="ignore"):
        return float(np.exp(gammaln(len(x) + 1) - gammaln(np.bincount(x) + 1).sum()))
