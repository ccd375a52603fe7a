"""Codes that probably stand for missing values, such as -7 or 99, in columns that already have roles."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.advice.column_kinds import missing_codes
from larvatus.core.randomness import NOT_A_SECRET
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import as_one_group, reduce_groups, sample_records

_LOOKED_AT = 200_000


def likely_codes(data: Microdata) -> dict[str, tuple[int, ...]]:
    """Columns with their likely codes of missing values. Larger files are examined on a sample of 200,000 records.

    Codes that were declared are missing values already, and are not found again.
    """
    names = [n for n in data.released if n != data.roles.weight]
    seen = as_one_group(sample_records(data, _LOOKED_AT, NOT_A_SECRET))
    found = {n: missing_codes(*_counted(seen, n)) for n in names}
    return {n: codes for n, codes in found.items() if codes}


def _counted(data: Microdata, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distinct numbers of a column in ascending order, and how often each occurs."""
    column = data.table.columns[name]
    numbers = [float(v) for v in column.levels if isinstance(v, int | float)]
    if column.kind != "number" and len(numbers) < len(column.levels):
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    levels = None if column.kind == "number" else np.array(numbers)

    def count(group: int, block: Block) -> Any:
        values = block[name]
        there = values[~np.isnan(values)] if levels is None else levels[values[values >= 0]]
        return np.unique(there, return_counts=True)

    parts = reduce_groups(data, [name], count, _joined)
    return parts[0] if parts else (np.zeros(0), np.zeros(0, dtype=np.int64))


def _joined(one: Any, other: Any) -> Any:
    values, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    return values, np.bincount(places, np.concatenate([one[1], other[1]])).astype(np.int64)


def code_sentence(name: str, codes: Sequence[int | str]) -> str:
    """A sentence that points at likely codes of missing values, and says how to declare them."""
    shown = [str(c) for c in codes]
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    given = shlex.quote(f"{name}={','.join(shown)}")
    return (f"{name}: {listed} may stand for missing. If so, state it, or masks take the code for a value: the line "
            f"missing = … of the study, or --missing {given}.")
