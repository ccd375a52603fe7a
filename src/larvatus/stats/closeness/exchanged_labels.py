"""Test whether released rows lie nearer to records that a generator saw than to records held out.

    c_i = number of released rows whose nearest record is i,      T = Σ_{i seen} c_i
    If it makes no difference which records were seen, all choices of the n₁ of N records are equally likely:
    E(T) = n₁ c̄,    Var(T) = n₁ (N − n₁) / N · s²(c)

Rows near the same record succeed together, and the variance counts that: the records are exchanged, not the rows.
    λ = (T/m − n₁/N) / (1 − n₁/N)    share of the m rows that follow a record seen;  the value is ½ + λ/2
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import ndtr

from larvatus.core.arrays import Bools, Floats

_WIDE = 1.959963984540054


class NearerShare(NamedTuple):
    """Of two records, one seen and one not: the share of rows nearer to the one seen, with its interval and the p-values.

    `p_value` tests whether λ is 0, `p_beyond` whether it is at most the margin.
    """

    value: float
    low: float
    high: float
    p_value: float
    p_beyond: float
    share: float
    expected: float


def nearer_share(count: Floats, seen: Bools, margin: float = 0.0) -> NearerShare:
    """The share from the number of rows nearest to each record."""
    n, total, rows = int(seen.sum()), len(seen), float(count.sum())
    expected = n / total
    share = float(count[seen].sum()) / rows
    error = math.sqrt(n * (total - n) / total * float(count.var(ddof=1))) / rows
    z = (share - expected) / error if error > 0 else 0.0
    beyond = (share - expected - margin * (1 - expected)) / error if error > 0 else 0.0
    value, half = 0.5 + _excess(share, expected) / 2, _WIDE * error / (1 - expected) / 2
    centre, low, high = (min(max(v, 0.0), 1.0) for v in (value, value - half, value + half))
    return NearerShare(centre, low, high, float(ndtr(-z)), float(ndtr(-beyond)), share, expected)


def _excess(share: float, expected: float) -> float:
    return (share - expected) / (1 - expected)
