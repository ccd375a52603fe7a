"""The columns of S that define the cells in which a value is shared, such as those that describe the firm and not the person.

    backward elimination:  leave out the column whose removal joins most records, as long as
    v(C) = Σ_c Σ_{i ∈ c} (x_i − x̄_c)² / (n − |C|),  for the cells C by the columns that are left, is at most Var(x) / 10,
    and at most a fifth above v without that step, or Var(x) / 1000

With k columns of S this compares k²/2 sets of columns, and not all 2ᵏ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints

_NEARLY, _EQUAL, _GROWS = 0.1, 0.001, 1.2


def defining_columns(codes: Mapping[str, Ints], x: Floats) -> tuple[str, ...]:
    """The columns that are left, in their order; all of them if none can be left out."""
    there = ~np.isnan(x)
    values, own = x[there], {n: code[there] for n, code in codes.items()}
    whole = float(values.var()) if len(values) else 0.0
    kept, within = list(own), _joined(list(own.values()), values)[1] if len(values) else 0.0
    while len(kept) > 1 and whole > 0:
        most = min(_NEARLY * whole, max(_GROWS * within, _EQUAL * whole))
        tried = {n: _joined([own[m] for m in kept if m != n], values) for n in kept}
        fitting = [n for n in kept if tried[n][1] <= most]
        if not fitting:
            break
        best = max(fitting, key=lambda n: (tried[n][0], int(own[n].max(initial=0))))
        within = tried[best][1]
        kept.remove(best)
    return tuple(kept)


def _joined(codes: Sequence[Ints], x: Floats) -> tuple[int, float]:
    """By how much the cells are fewer than the records, and the variance within them; 0 if each record is a cell."""
    cell = _cells(codes)
    count = np.bincount(cell).astype(np.float64)
    fewer = len(x) - len(count)
    mean = np.bincount(cell, weights=x) / count
    return fewer, float(((x - mean[cell]) ** 2).sum()) / max(fewer, 1)


def _cells(codes: Sequence[Ints]) -> Ints:
    """One number for each combination, without gaps."""
    out = np.zeros(len(codes[0]), dtype=np.int64)
    for code in codes:
        out = np.unique(out * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1].ravel()
    return out
