"""Values that can be read from a release although they changed: by the nearest original value, or because they are blank.

    recognised      x_i is the original value of the column nearest to y_i: noise below the spacing of the values hides nothing
    told by a blank e = (k − n f) / n (1 − f),   k of the n blanked values in the window of width sd / 10 that holds most of
                    them,   f the share of all values of the column in that window

Blanks tell a value if e is at least .9 and drawing n values at random would put k of them into the window with a probability of
at most 1 % over all columns and parts together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.data.exposure.unchanged_records import TOLD_BY_BLANK
from larvatus.data.score import Row, Rows

_LEAST = 5  # fewer blanks may agree by coincidence
_TOLD = 0.9
_LEVEL = 0.01
_WINDOW = 0.1  # standard deviations of the column


def recognised(original: Floats, released: Floats) -> NDArray[np.bool_]:
    """Whether the nearest value of the original column is the record's own."""
    levels = np.unique(original[~np.isnan(original)])
    if not len(levels):
        return np.zeros(len(original), dtype=bool)
    above = np.clip(np.searchsorted(levels, released), 1, max(len(levels) - 1, 1))
    low, high = levels[above - 1], levels[np.minimum(above, len(levels) - 1)]
    nearest = np.where(np.abs(released - low) <= np.abs(high - released), low, high)
    return np.asarray(~np.isnan(released) & (nearest == original), dtype=bool)


def disclosing_blanks(name: str, original: Floats, released: Floats, part: Ints, names: list[str], tried: int) -> Rows:
    """A row for the file, or for each part of it, in which the blanked values of a column are nearly all alike."""
    there = ~np.isnan(original)
    blank = there & np.isnan(released)
    width = _WINDOW * float(np.std(original[there])) if there.any() else 0.0
    if blank.sum() < _LEAST or width == 0:
        return Rows()
    whole = _row(name, "", original[there], original[blank], width, tried, len(original))
    if whole is not None:
        return Rows.of([whole])
    enough = np.flatnonzero(np.bincount(part[blank]) >= _LEAST)
    order = np.argsort(part, kind="stable")
    starts, ends = (np.searchsorted(part[order], enough, side=side) for side in ("left", "right"))
    rows: list[Row] = []
    for g, start, end in zip(enough.tolist(), starts.tolist(), ends.tolist(), strict=True):
        own = order[start:end]
        row = _row(name, names[g], original[own[there[own]]], original[own[blank[own]]], width, tried, len(original))
        rows += [row] if row is not None else []
    return Rows.of(rows)


def _row(name: str, part: str, values: Floats, blanked: Floats, width: float, tried: int, records: int) -> Row | None:
    from scipy.stats import binom

    if len(blanked) < _LEAST:
        return None
    order = np.sort(blanked)
    inside = np.searchsorted(order, order + width, side="right") - np.arange(len(order))
    first = int(np.argmax(inside))
    k = int(inside[first])
    usual = float(np.mean((values >= order[first]) & (values <= order[first] + width)))
    if usual == 1 or (k / len(order) - usual) / (1 - usual) < _TOLD or binom.sf(k - 1, len(order), usual) * tried > _LEVEL:
        return None
    where = f"{name} where it is missing" + (f", {part}" if part else "")
    return {"records": TOLD_BY_BLANK, "sub_group": where, "count": k, "share": k / max(records, 1), "beyond": k}
