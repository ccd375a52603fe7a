"""Guesses of values that are shared in fewer than five cells, only if the released values of a cell show what it shares.

    x̂_c = the released value that is clearly more frequent in the cell than elsewhere in the file, else
          the median of the released values of c, if IQR(y in c) ≤ IQR(y) / 5 and c has at least ten of them, else
          the mean of x outside the cell

With so few cells, a mean that happens to be near says nothing. Values exchanged over the file are seldom narrow or frequent.
"""

from __future__ import annotations

import numpy as np

from larvatus.attacks.values.sharing import share_of_variance
from larvatus.core.arrays import Bools, Floats
from larvatus.core.randomness import RecordRandom
from larvatus.stats.estimates.cell_predictions import CellValues, predict_cells
from larvatus.stats.estimates.shared_cells import Cells

_NARROW, _LEAST, _EVIDENCE = 0.2, 10, 3.0
_CLEAR = "narrow or frequent values of the cell"
_MANY, _EXCHANGES, _FEW_EXCHANGES = 100_000, 20, 8  # records; exchanges, and exchanges in a larger file


def few_cell_guess(
    x: Floats, others: Floats, weight: Floats, cells: Cells, shared: Bools, y: Floats, random: RecordRandom
) -> tuple[dict[str, Floats], float]:
    """The rule for fewer than five cells, with its guesses, and its mean value if released values are exchanged over the file.

    Shared values cannot be exchanged between so few cells: with one cell, every exchange is the truth. The rules for many cells
    are used if they do better than with every exchange, because otherwise luck explains them.
    """
    def guesses(released: Floats) -> dict[str, Floats]:
        found = predict_cells(x, others, weight, CellValues.of(released, cells, shared), np.zeros((len(x), 0)))
        best = max(found, key=lambda rule: share_of_variance(weight, x - found[rule], x - others))
        return {best: found[best], _CLEAR: clear_guesses(released, cells, shared, others)}

    def values(found: dict[str, Floats]) -> list[float]:
        return [share_of_variance(weight, x - guess, x - others) for guess in found.values()]

    found = guesses(y)
    exchanged = []
    for lane in range(_EXCHANGES if len(y) <= _MANY else _FEW_EXCHANGES):
        order = np.argsort(random.words(np.arange(len(y)), purpose=f"values exchanged {lane}")[0], kind="stable")
        exchanged.append(values(guesses(y[order])))
    by_mean, by_clear = values(found)
    mean, clear = np.mean(exchanged, axis=0)
    usable = by_mean > max(e[0] for e in exchanged) and by_mean - mean > by_clear - clear
    rule = next(iter(found)) if usable else _CLEAR
    return {rule: found[rule]}, float(mean if usable else clear)


def clear_guesses(y: Floats, cells: Cells, shared: Bools, outside: Floats) -> Floats:
    """One guess for each cell that shares a value."""
    released = CellValues.of(y, cells, shared)
    whole, ordered = _between_quartiles(y), y[cells.order]
    ends = np.append(cells.start[1:], len(y))
    narrow = np.array([released.count[i] >= _LEAST and _between_quartiles(ordered[cells.start[c]:ends[c]]) <= _NARROW * whole
                       for i, c in enumerate(np.flatnonzero(shared))], dtype=bool)
    guess = np.where(narrow, released.median, outside)
    return np.asarray(np.where(released.evidence > _EVIDENCE, released.frequent, guess))


def _between_quartiles(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(np.subtract(*np.quantile(there, [0.75, 0.25]))) if len(there) else 0.0
