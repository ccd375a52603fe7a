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

from larvatus.core.arrays import Floats, Ints

Missing: TypeAlias = Literal["value", "any", "none"]
CONVENTIONS: tuple[Missing, ...] = get_args(Missing)
MOST_MISSING_PATTERNS = 500


def class_numbers(codes: Ints) -> Ints:
    """A number for each row, the same for rows that agree in all columns; codes are −1 (missing) or more."""
    whole = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        levels = int(column.max(initial=-1)) + 2
        if int(whole.max(initial=0)) > 2**62 // levels:
            whole = np.unique(whole, return_inverse=True)[1].reshape(-1)
        whole = whole * levels + column + 1
    return np.asarray(np.unique(whole, return_inverse=True)[1].reshape(-1), dtype=np.int64)


def matching_totals(codes: Ints, amount: Floats, missing: Missing) -> Floats:
    """The sum of an amount over the records that agree with each combination: n(i) if the amount is the number of records.

    `codes` has combinations × keys; `amount` is the total over the records of each combination.
    """
    if missing == "any":
        return _total_any(codes, amount)
    numbers = class_numbers(codes)
    return np.asarray(np.bincount(numbers, weights=amount)[numbers], dtype=np.float64) if len(amount) else amount


def matching_records(codes: Ints, count: Ints, missing: Missing) -> Ints:
    """n(i) of each combination of keys; `count` has the records of each."""
    size = np.rint(matching_totals(codes, count.astype(np.float64), missing)).astype(np.int64)
    return np.where((codes < 0).any(axis=1), 1, size) if missing == "none" else size


def pattern_count(codes: Ints) -> int:
    """Number of different patterns of missing keys."""
    return len(np.unique(codes < 0, axis=0))


def _total_any(codes: Ints, amount: Floats) -> Floats:
    pattern, place = np.unique(codes < 0, axis=0, return_inverse=True)
    rows = [np.flatnonzero(place.reshape(-1) == i) for i in range(len(pattern))]
    out = np.zeros(len(codes))
    for mine, own in zip(pattern, rows, strict=True):
        for theirs, others in zip(pattern, rows, strict=True):
            shared = ~(mine | theirs)
            numbers = class_numbers(codes[np.concatenate((own, others))][:, shared])
            total = np.bincount(numbers[len(own) :], weights=amount[others], minlength=int(numbers.max()) + 1)
            out[own] += total[numbers[: len(own)]]
    return out


def records_below(size: Ints, count: Ints, k: int) -> int:
    """Records in classes of fewer than k."""
    return int(count[size < k].sum())
