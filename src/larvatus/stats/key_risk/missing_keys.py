"""Sizes of the classes of records that agree in the key variables, under three conventions for missing keys.

    value   missing is a value of its own: it agrees with missing
    any     missing agrees with every value:   n(i) = #{j : for each key, i or j is missing or both have the same value}
    none    missing agrees with nothing: a record with a missing key is alone

A file is k-anonymous if every class has at least k records (Samarati 2001). Under "any", n(i) counts the records that may be
record i. Records with the same pattern of missing keys are compared in the keys that neither pattern lacks, pattern by pattern.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from larvatus.core.arrays import Ints

Missing: TypeAlias = Literal["value", "any", "none"]
CONVENTIONS: tuple[Missing, ...] = get_args(Missing)
MOST_PATTERNS = 500


def class_numbers(codes: Ints) -> Ints:
    """A number for each row, the same for rows that agree in all columns; codes are −1 (missing) or more."""
    whole = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        levels = int(column.max(initial=-1)) + 2
        if int(whole.max(initial=0)) > 2**62 // levels:
            whole = np.unique(whole, return_inverse=True)[1].reshape(-1)
        whole = whole * levels + column + 1
    return np.asarray(np.unique(whole, return_inverse=True)[1].reshape(-1), dtype=np.int64)


def matching_records(codes: Ints, count: Ints, missing: Missing) -> Ints:
    """n(i) of each combination of keys. `codes` has combinations × keys, `count` the records of each combination."""
    if missing == "any":
        return _match_any(codes, count)
    numbers = class_numbers(codes)
    size = np.bincount(numbers, weights=count).astype(np.int64)[numbers] if len(count) else count.astype(np.int64)
    return size if missing == "value" else np.where((codes < 0).any(axis=1), 1, size)


def pattern_count(codes: Ints) -> int:
    """Number of different patterns of missing keys."""
    return len(np.unique(codes < 0, axis=0))


def _match_any(codes: Ints, count: Ints) -> Ints:
    pattern, place = np.unique(codes < 0, axis=0, return_inverse=True)
    rows = [np.flatnonzero(place.reshape(-1) == i) for i in range(len(pattern))]
    out = np.zeros(len(codes), dtype=np.int64)
    for mine, own in zip(pattern, rows, strict=True):
        for theirs, others in zip(pattern, rows, strict=True):
            shared = ~(mine | theirs)
            numbers = class_numbers(codes[np.concatenate((own, others))][:, shared])
            weight = np.bincount(numbers[len(own) :], weights=count[others], minlength=int(numbers.max()) + 1)
            out[own] += weight[numbers[: len(own)]].astype(np.int64)
    return out


def records_below(size: Ints, count: Ints, k: int) -> int:
    """Records in classes of fewer than k."""
    return int(count[size < k].sum())
