"""Which columns single out records: columns chosen one after another, each the one that leaves most records alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints

MOST_COLUMNS = 5
_ENOUGH = 0.99  # share of the records singled out by all columns at which the search stops


def separating_columns(codes: Mapping[str, Floats], first: Sequence[str] = ()) -> list[tuple[str, float]]:
    """Columns in the order chosen, each with the share of records that are alone in the columns chosen so far.

    A column is chosen if no other leaves more records alone, together with those chosen before; the mean of 1 / (records that
    agree) decides between equals. Columns in `first` are chosen before all others. The search ends if the columns chosen single
    out nearly as many as all of them.
    """
    names = list(codes)
    if not names:
        return []
    every = np.zeros(len(codes[names[0]]), dtype=np.int64)
    for name in names:
        every = _joined(every, codes[name])
    whole = _alone(every)[0]
    chosen: list[tuple[str, float]] = []
    now = np.zeros(len(every), dtype=np.int64)
    while names and len(chosen) < MOST_COLUMNS and whole > 0:
        tried = {name: _joined(now, codes[name]) for name in names}
        best = max([n for n in first if n in names][:1] or names, key=lambda n: _alone(tried[n]))
        chosen.append((best, _alone(tried[best])[0]))
        now = tried[best]
        names.remove(best)
        if chosen[-1][1] >= _ENOUGH * whole:
            break
    return chosen


def _joined(classes: Ints, values: Floats) -> Ints:
    """Classes of records that agree in both."""
    code = np.unique(values, return_inverse=True)[1].reshape(-1)
    return np.asarray(np.unique(classes * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1].reshape(-1))


def _alone(classes: Ints) -> tuple[float, float]:
    """Share of records alone in their class, and the mean of 1 / size over records."""
    size = np.bincount(classes)
    return float((size == 1).sum() / max(len(classes), 1)), float((size > 0).sum() / max(len(classes), 1))
