"""Parameters that may differ between columns: one value for all, a list in role order, or a table by column name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import MaskError, nearest_names

_V = TypeVar("_V", float, int)


def per_column(what: str, value: _V | Sequence[_V] | Mapping[str, _V], columns: Sequence[str]) -> NDArray[np.float64]:
    """One value per column. An error names the parameter and what is missing."""
    if isinstance(value, Mapping):
        for name in value:
            if name not in columns:
                raise MaskError(f"{what}: {name!r} is not a confidential column; {nearest_names(name, columns)}")
        lacking = [c for c in columns if c not in value]
        if lacking:
            raise MaskError(f"{what}: no value for {', '.join(map(repr, lacking))}. Give one for every confidential column.")
        return np.array([value[c] for c in columns], dtype=np.float64)
    if isinstance(value, Sequence):
        if len(value) != len(columns):
            raise MaskError(
                f"{what}: {len(value)} values for {len(columns)} confidential columns "
                f"({', '.join(columns)}). Give one for each, in this order."
            )
        return np.array(value, dtype=np.float64)
    return np.full(len(columns), float(value))
