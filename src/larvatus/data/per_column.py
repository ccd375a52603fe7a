"""Parameters that may differ by column: one value for all, a list in role order, or a table by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import MaskError, nearest_names

_V = TypeVar("_V", float, int)


def per_column(what: str, value: _V | Sequence[_V] | Mapping[str, _V], columns: Sequence[str]) -> NDArray[np.float64]:
    """One value per column, or an error that names the parameter, what it has and what it needs."""
    if isinstance(value, Mapping):
        for name in value:
            if name not in columns:
                raise MaskError(f"{what}: names {name!r}, which is not confidential; {nearest_names(name, columns)}")
        lacking = [c for c in columns if c not in value]
        if lacking:
            raise MaskError(f"{what}: has no value for {', '.join(map(repr, lacking))}. Name every confidential column.")
        return np.array([value[c] for c in columns], dtype=np.float64)
    if isinstance(value, Sequence):
        if len(value) != len(columns):
            raise MaskError(
                f"{what}: has {len(value)} values for {len(columns)} confidential columns "
                f"({', '.join(columns)}). Give one for each, in this order."
            )
        return np.array(value, dtype=np.float64)
    return np.full(len(columns), float(value))
