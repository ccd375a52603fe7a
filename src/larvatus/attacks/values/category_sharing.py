"""Categories of one column that the records of a cell share: how well a release tells them.

    value    Σ m_c [x̂_c = x_c] / Σ m_c,   x̂_c predicted from the released categories of cell c, of m_c records
    S alone  the same for x̂_c predicted from S by a regression of indicators, fitted without the cell
    chance   the same for the most frequent category, or for categories exchanged at random between cells if that is larger

If a rule is not better than with each of twenty exchanges, the release is taken to tell nothing, and the value is that of the
most frequent category: otherwise luck in a few cells would be reported as risk, once in twenty-one columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from larvatus.attacks.values.sharing import Sharing
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.stats.estimates.cell_predictions import FEWEST_CELLS, without_cell
from larvatus.stats.estimates.shared_categories import (
    Categories,
    count_categories,
    frequencies_elsewhere,
    predict_categories,
)
from larvatus.stats.estimates.shared_cells import Cells

_MOST_COUNTS = 4_000_000  # cells × categories
_PERMUTATIONS, _MOST_PERMUTED, _MOST_WORK = 20, 5_000, 200_000_000
_FEWEST_ARRANGEMENTS = 1_000  # with fewer, exchanged categories are often the true ones
_NOTHING = "most frequent in other cells"  # if the release tells nothing


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
    constant = int(np.bincount(category, weights=weight).argmax())
    guesses = {_NOTHING: np.full(len(category), constant), **predict_categories(category, weight, counts, by_s)}
    wrong = {rule: (guess != category).astype(np.float64) for rule, guess in guesses.items()}
    exchanged = _exchanged(category, weight, counts, random)
    rule = min(wrong, key=lambda r: float(weight @ wrong[r]))
    if 1 - weight @ wrong[rule] / weight.sum() <= exchanged.max() and _arrangements(category) >= _FEWEST_ARRANGEMENTS:
        rule = _NOTHING
    s_wrong = (by_s.argmax(axis=1) != category).astype(np.float64)
    base = min((wrong[_NOTHING], s_wrong), key=lambda w: float(weight @ w)) if rule != _NOTHING else wrong[_NOTHING]
    return CategorySharing(
        name, given, cells, some, weight, rule, wrong[rule], np.ones(len(category)), s_wrong,
        max(_most_frequent(category, weight), float(exchanged.mean())), 0.5, base, int(shared.sum() - some.sum()),
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


def _exchanged(x: Ints, weight: Floats, counts: Floats, random: RecordRandom) -> Floats:
    """The success of the best rule with categories exchanged at random between cells, twenty times. Of many cells, a part."""
    k = min(len(x), _MOST_PERMUTED, max(_MOST_WORK // counts.shape[1] ** 2, FEWEST_CELLS))
    x, weight, counts = x[:k], weight[:k], counts[:k]
    draws = random.uniform(np.arange(k), lanes=_PERMUTATIONS, purpose="categories exchanged")
    best = []
    for order in np.argsort(draws, axis=1):
        moved = x[order]
        right = [np.average(guess == moved, weights=weight) for guess in predict_categories(moved, weight, counts).values()]
        best.append(max(*right, _most_frequent(moved, weight)))
    return np.array(best)


def _most_frequent(x: Ints, weight: Floats) -> float:
    """The share of the records that have the most frequent category."""
    return float(np.bincount(x, weights=weight).max() / weight.sum())


def _arrangements(x: Ints) -> float:
    """In how many ways the categories can be exchanged between the cells: n! / Π n_k!"""
    from scipy.special import gammaln

    with np.errstate(over="ignore"):
        return float(np.exp(gammaln(len(x) + 1) - gammaln(np.bincount(x) + 1).sum()))
