"""Columns that S nearly determines: models release them as they are, and the last digits tell records with the same S apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.certificates.candidates import CandidateCells, codes_of, original_values
from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Mask
from larvatus.data.microdata import Microdata
from larvatus.data.steps import columns_of_step

_THIN = 1e-4  # spread within cells, in SDs of the column, below which a model may take a column as determined by S


def nearly_determined(steps: Sequence[Mask], original: Microdata, cells: CandidateCells) -> str:
    """The name of a column that hardly varies among records of equal S and that a model on S may release as it is; or empty.

    Models are fitted within sub-groups, or patterns of missing values in them. Ranks depend on no such decision.
    """
    for step in steps:
        names = [n for n in columns_of_step(step, original) if original.table.columns[n].kind == "number"]
        if step.permutes or not names:
            continue
        _, values = original_values(original, names)
        patterns = [np.isnan(np.asarray(values[n], dtype=np.float64)).astype(np.float64) for n in names]
        group = np.zeros(len(cells.group)) if step.scope == "file" else cells.group.astype(np.float64)
        parts = [codes_of([group]), codes_of([group, *patterns])]
        for name in names:
            if any(_is_thin(np.asarray(values[name], dtype=np.float64), cells.code, part) for part in parts):
                return name
    return ""


def _is_thin(x: Floats, cell: Ints, part: Ints) -> bool:
    there = ~np.isnan(x)
    inside, whole = _away(x[there], cell[there]), _away(x[there], part[there])
    within, around = (np.bincount(part[there], weights=d**2) for d in (inside, whole))
    return bool(((within > 0) & (within < _THIN**2 * around)).any())


def _away(x: Floats, code: Ints) -> Floats:
    """Values less one value of their set, and then less the mean: exactly 0 where all values of the set are equal."""
    first = np.unique(code, return_index=True)
    at = np.searchsorted(first[0], code)
    apart = x - x[first[1]][at]
    return np.asarray(apart - (np.bincount(at, weights=apart) / np.maximum(np.bincount(at), 1))[at])
