"""Categories of one column that the records of a cell share: how well a release tells them.

    value    Σ m_c [x̂_c = x_c] / Σ m_c,   x̂_c predicted from the released categories of cell c, of m_c records
    S alone  the same for x̂_c predicted from S by a regression of indicators, fitted without the cell
    chance   the same for the most frequent category, or for categories exchanged at random between cells if that is larger
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from larvatus.attacks.values.sharing import Sharing
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.stats.estimates.cell_predictions import FEWEST_CELLS, without_cell
from larvatus.stats.estimates.shared_cells import Cells
from larvatus.stats.estimates.shared_categories import (
    Categories,
    count_categories,
    frequencies_elsewhere,
    predict_categories,
)

_MOST_COUNTS = 4_000_000  # cells × categories
_PERMUTATIONS, _MOST_PERMUTED, _MOST_WORK = 20, 5_000, 200_000_000
_NOTHING = "most frequent in other cells"  # if the release tells nothing


@dataclass(frozen=True, slots=True)
class CategorySharing(Sharing):
    """One column with categories that records share. An error is 1 if the prediction of a cell is wrong, else 0."""

    base_error: Floats
    left_out: int

    def spread(self) -> float:
        """The standard error of the difference from the better baseline, with the cells as units; at least one over their number.

        The baseline is right in cells of the same categories, so that the value and the baseline rise and fall together.
        """
        share = self.weight / self.weight.sum()
        better = self.base_error - self.error
        return float(np.sqrt((share**2 * (better - share @ better) ** 2).sum() + (share**2).sum() ** 2))

    def note(self) -> str:
        """The number of cells left out because there are too many; empty if there are none."""
        return f"{self.name}: {self.left_out:,} cells with shared categories, drawn at random, are left out" if self.left_out else ""


def attack_categories(
    name: str, given: tuple[str, ...], cells: Cells, shared: Bools, original: Categories, released: Ints,
    terms: Callable[[Bools], Floats], random: RecordRandom,
) -> CategorySharing:
    """Predict the categories that cells share. `terms` gives the terms of S for the cells that are attacked."""
    inside = shared[cells.of_record]
    used = np.unique(np.concatenate([original.x[inside], released[inside], [-1]]))[1:]  # without those that are missing
    x, y = (np.where(v < 0, -1, np.searchsorted(used, v)) for v in (original.x, released))
    some = _sample(shared, _MOST_COUNTS // len(used), random)
    weight = count_categories(x, cells, some, len(used))
    category, weight, counts = weight.argmax(axis=1), weight.sum(axis=1), count_categories(y, cells, some, len(used))
    by_s = _predict_from_s(category, weight, len(used), terms(some))
    constant = int(np.bincount(category, weights=weight).argmax())
    guesses = {_NOTHING: np.full(len(category), constant), **predict_categories(category, weight, counts, by_s)}
    wrong = {rule: (guess != category).astype(np.float64) for rule, guess in guesses.items()}
    rule = min(wrong, key=lambda r: float(weight @ wrong[r]))
    s_wrong = (by_s.argmax(axis=1) != category).astype(np.float64)
    base = min((wrong[_NOTHING], s_wrong), key=lambda w: float(weight @ w))
    return CategorySharing(
        name, given, cells, some, weight, rule, wrong[rule], np.ones(len(category)), s_wrong,
        _chance(category, weight, counts, random), 0.5, base, int(shared.sum() - some.sum()),
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


def _chance(x: Ints, weight: Floats, counts: Floats, random: RecordRandom) -> float:
    """The success of the most frequent category; that with categories exchanged at random between cells, if it is larger."""
    most = float(np.bincount(x, weights=weight).max() / weight.sum())
    k = min(len(x), _MOST_PERMUTED, max(_MOST_WORK // counts.shape[1] ** 2, FEWEST_CELLS))
    x, weight, counts = x[:k], weight[:k], counts[:k]
    draws = random.uniform(np.arange(k), lanes=_PERMUTATIONS, purpose="categories exchanged")
    best = []
    for order in np.argsort(draws, axis=1):
        moved = x[order]
        right = [np.average(guess == moved, weights=weight) for guess in predict_categories(moved, weight, counts).values()]
        best.append(max(*right, float(np.bincount(moved, weights=weight).max() / weight.sum())))
    return max(most, float(np.mean(best)))
