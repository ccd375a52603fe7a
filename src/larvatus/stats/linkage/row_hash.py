"""A hash of a combination of values, so that equal combinations can be sorted together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, UInts

_KEPT = 40  # binary digits of a number: two that agree to twelve decimal digits are the same value


def combination(columns: Sequence[NDArray[Any]], n: int) -> Floats:
    """A whole number below 2**53 for each row: equal for equal values; missing counts as a value.

    Different rows share a number once in 2**53 pairs.
    """
    word = np.full(n, 0x9E3779B97F4A7C15, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            word = _mixed(word ^ _mixed(_bits(column)) + np.uint64(0x9E3779B97F4A7C15))
    return (word >> np.uint64(11)).astype(np.float64)


def _bits(column: NDArray[Any]) -> UInts:
    if column.dtype.kind != "f":
        return column.astype(np.int64).view(np.uint64)
    share, power = np.frexp(np.where(np.isnan(column), 0.0, column))
    kept = np.ldexp(np.rint(share * 2.0**_KEPT), power - _KEPT) + 0.0
    return np.where(np.isnan(column), np.uint64(0x7FF8DEADBEEF0001), kept.view(np.uint64))


def _mixed(word: UInts) -> UInts:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(word ^ (word >> np.uint64(31)))
