"""Numbers with few different values, such as 0 and 1: exact sums of products with the other columns give all of them.

    Σ_i x_i (1, z_i) = b,      z the other numeric columns of X, and those of S

Whoever knows z tries the combinations of values by halves: 2^(h/2) for each half, with h = n H bits in n records, H the entropy
of the values. One is left, about, if the sums have at least as many bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import gcd, log2, sqrt

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.data.contracts import Block
from larvatus.data.design import Design
from larvatus.data.microdata import Microdata
from larvatus.data.score import Row
from larvatus.data.verbs import reduce_groups

_SEARCHED = 50  # bits: halves of 2^25 combinations fit into memory
_LEVELS, _LARGEST, _REPEATED = 20, 500, 3  # values of a column, records of a sub-group, records with a value on average
_DECIMALS, _PRECISE = 6, 44  # digits in which steps are sought; bits of a sum without a step

_Column = tuple[Counter[float], int, float, float]  # counts of values, step in millionths, smallest and largest value


def few_levels(data: Microdata, names: Sequence[str], design: Design) -> list[Row]:
    """Rows of columns whose values follow from the other columns; `data` is the original in the groups of the exact step."""
    numbers = list(data.numeric(names))
    given = [t.column for t in design.terms if t.is_column and data.table.columns[t.column].kind == "number"]
    every = list(dict.fromkeys([*numbers, *given]))
    if len(every) < 2:
        return []

    def look(group: int, block: Block) -> list[_Column] | None:
        if data.groups.sizes[group] > _LARGEST:
            return None
        values = block.matrix(every)
        return [_described(v) for v in values[~np.isnan(values).any(axis=1)].T]

    def merge(one: list[_Column] | None, other: list[_Column] | None) -> list[_Column] | None:
        if one is None or other is None:
            return one or other
        return [(a[0] + b[0], gcd(a[1], b[1]), min(a[2], b[2]), max(a[3], b[3])) for a, b in zip(one, other, strict=True)]

    out: list[Row] = []
    for g, found in enumerate(reduce_groups(data, list(dict.fromkeys([*names, *every])), look, merge)):
        bits = [_bits_of_sum(c) for c in found or ()]
        for j, (name, (counts, *_)) in enumerate(zip(numbers, found or (), strict=False)):
            unknown = _bits_of_values(counts)
            if _repeated(counts) and unknown <= _SEARCHED and sum(bits) - bits[j] >= unknown:
                within = [data.groups.name(g)] if data.groups.columns else []
                what = f"{name} with {len(counts)} values, if the other columns are known"
                out.append({"sub_group": ", ".join([*within, what]), "records": counts.total(), "dimensions": 0, "rank": 1,
                            "insiders": 0})
    return out


def _described(values: Floats) -> _Column:
    if not len(values):
        return Counter(), 0, np.inf, -np.inf
    whole = np.abs(values) * 10**_DECIMALS
    stepped = whole.max() < 2**53 and np.abs(whole - whole.round()).max() < 0.01
    step = int(np.gcd.reduce(whole.round().astype(np.int64))) if stepped else 1
    return Counter(values.tolist()), step, float(values.min()), float(values.max())


def _repeated(counts: Counter[float]) -> bool:
    """Whether there are few values, and those other than the most frequent are repeated: an intruder can know them."""
    return 1 < len(counts) <= _LEVELS and counts.total() - max(counts.values()) >= _REPEATED * (len(counts) - 1)


def _bits_of_values(counts: Counter[float]) -> float:
    """n H: the logarithm of the number of ways to assign these values to the records, about."""
    n = counts.total()
    return sum(k * log2(n / k) for k in counts.values())


def _bits_of_sum(column: _Column) -> float:
    """Entropy of a sum of products with this column: normal, with a standard deviation of √n/10 times the range."""
    counts, step, low, high = column
    if not high > low:
        return 0.0
    if step <= 1:
        return _PRECISE
    return min(log2(1 + 0.4 * sqrt(counts.total()) * (high - low) * 10**_DECIMALS / max(step, 1)), _PRECISE)
