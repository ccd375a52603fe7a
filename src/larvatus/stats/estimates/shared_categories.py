"""Categories that all records of a cell share: which cells they are, and what released categories say about them.

    A cell of m records agrees by chance with probability Σ_k p_k^m,  p_k the share of category k in the file.
    C of K cells agree, and chance gives E of them. If (C − E) / (1 − E/K) cells share, they must be most of the C:
    (C − E) / (1 − E/K) ≥ ¾ C,   and   P(C or more) ≤ exp(−K · KL(C/K ‖ E/K)) ≤ 1e-6   (Hoeffding 1963)

    most frequent   x̂_c = arg max_k n_ck,   n_cl the number of records of cell c with released category l
    most likely     x̂_c = arg max_k Σ_l n_cl log P₋c(l | k)
    most probable   x̂_c = arg max_k log π₋c(k) + Σ_l n_cl log P₋c(l | k),   π₋c the frequencies, or predictions from S

P₋c(l | k) are the transition probabilities of the file, counted without cell c. If few records have category k, they are drawn
towards s [k = l] + (1 − s) q_l, where s is the share of records unchanged beyond chance, and q_l that of released category l.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.stats.estimates.shared_cells import Cells, is_beyond_chance

MOST_PROBABLE_BY_S = "most probable category given S"
_MOST_LAW = 4_000_000  # transition probabilities
_PRIOR = 20.0  # records that the common law counts as
_LEAST = 1e-6
_MOST_OF = 0.75  # of the cells that agree
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Categories:
    """Codes of the categories of a column, -1 if missing, and the share of each category."""

    x: Ints
    share: Floats

    @classmethod
    def of(cls, x: Ints) -> Categories:
        count = np.bincount(x[x >= 0])
        return cls(x, count / max(count.sum(), 1))

    def sharing_cells(self, cells: Cells) -> Bools:
        """The cells of two or more records whose categories are all equal; none if chance would give as many."""
        none = np.zeros(len(cells), dtype=bool)
        count = cells.sums((self.x >= 0).astype(np.float64))
        several = count >= 2
        ordered = self.x[cells.order]
        low = np.minimum.reduceat(np.where(ordered < 0, len(self.share), ordered), cells.start)
        agree = several & (low == np.maximum.reduceat(ordered, cells.start))
        agreeing, number, expected = int(agree.sum()), int(several.sum()), self.expected_agreements(count[several])
        most = (agreeing - expected) * number >= _MOST_OF * agreeing * (number - expected)
        return agree if most and expected < number and is_beyond_chance(agreeing, number, expected) else none

    def expected_agreements(self, sizes: Floats) -> float:
        """The number of cells of these sizes that agree by chance."""
        size, number = np.unique(sizes, return_counts=True)
        return float(sum(k * float((self.share**m).sum()) for m, k in zip(size.tolist(), number.tolist(), strict=True)))


def count_categories(code: Ints, cells: Cells, chosen: Bools, levels: int) -> Floats:
    """The number of records of each category (columns) in each of the chosen cells (rows); missing ones do not count."""
    number, inside = np.cumsum(chosen) - 1, (code >= 0) & chosen[cells.of_record]
    place = number[cells.of_record[inside]] * levels + code[inside]
    return np.bincount(place, minlength=int(chosen.sum()) * levels).reshape(-1, levels).astype(np.float64)


def frequencies_elsewhere(x: Ints, weight: Floats, levels: int) -> Floats:
    """For each cell, the share of each category x among the records of the other cells."""
    own = weight[:, None] * (x[:, None] == np.arange(levels))
    return np.asarray((own.sum(axis=0) - own) / np.maximum(weight.sum() - weight, 1.0)[:, None])


def predict_categories(x: Ints, weight: Floats, released: Floats, by_s: Floats | None = None) -> Mapping[str, Ints]:
    """Predictions of the shared categories x by each rule. `released` are counts by cell, `by_s` predictions from S."""
    elsewhere = frequencies_elsewhere(x, weight, released.shape[1])
    frequency = released.sum(axis=0) / max(released.sum(), 1.0)
    blank = released.sum(axis=1) == 0
    rarer = (released - _TIE * frequency).argmax(axis=1)  # among equally frequent ones
    out = {"most frequent category": np.where(blank, elsewhere.argmax(axis=1), rarer)}
    if released.shape[1] ** 2 > _MOST_LAW:
        return out
    likely, prior = _log_likelihood(x, released), np.log(np.maximum(elsewhere, _LEAST))
    out |= {"most likely category": (likely + _TIE * prior).argmax(axis=1),
            "most probable category": (likely + prior).argmax(axis=1)}
    if by_s is not None:
        out[MOST_PROBABLE_BY_S] = (likely + np.log(np.maximum(by_s, _LEAST))).argmax(axis=1)
    return out


def _log_likelihood(x: Ints, released: Floats) -> Floats:
    """Σ_l n_cl log P₋c(l | k) for each cell c and each category k. Leaving the cell out changes the law of its own category.

    A category that only one cell has follows the common law for all cells: else that cell would be known by its missing law.
    """
    cells, levels = released.shape
    at, total = np.arange(cells), np.zeros((levels, levels))
    np.add.at(total, x, released)
    frequency = (released.sum(axis=0) + 0.5) / (released.sum() + 0.5 * levels)
    number = max(float(released.sum()), 1.0)
    equal, by_chance = released[at, x].sum() / number, total.sum(axis=1) @ frequency / number
    unchanged = np.clip((equal - by_chance) / max(1 - by_chance, _LEAST), 0.0, 1 - _LEAST)
    common = _PRIOR * (unchanged * np.eye(levels) + (1 - unchanged) * frequency)
    total[np.bincount(x, minlength=levels) == 1] = 0.0
    law = (total + common) / (total.sum(axis=1) + _PRIOR)[:, None]
    out = released @ np.log(law).T
    rest = np.maximum(total[x] - released, 0.0)
    own = (rest + common[x]) / (rest.sum(axis=1) + _PRIOR)[:, None]
    out[at, x] = (released * np.log(own)).sum(axis=1)
    return np.asarray(out)
