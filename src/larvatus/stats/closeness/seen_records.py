"""Compare records that a generator saw with records held out: by the rows near them, and by a score of each record.

    c_i = number of released rows whose nearest record is i,      T = Σ_{i seen} c_i
    If it makes no difference which records were seen, all choices of the n₁ of N records are equally likely:
    E(T) = n₁ c̄,    Var(T) = n₁ (N − n₁) / N · s²(c)

Rows near the same record succeed together, and the variance counts that: the records are exchanged, not the rows.
    λ = (T/m − n₁/N) / (1 − n₁/N)    share of the m rows that follow a record seen;  the value is ½ + λ/2

A score that tells seen records from others:

    AUC = P(score of a seen record > score of another) + ½ P(equal)
    TPR(f): threshold at the largest score that at most ⌊f · n⌋ of the n others exceed
    u_i = share of the others with a smaller score, ties counted half: comparable whatever the scale of the score

Several features make one score by Fisher's linear discriminant: w·x with w = S⁻¹ (m₁ − m₀), S the pooled covariance.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from larvatus.core.arrays import Bools, Floats, Ints

_WIDE = 1.959963984540054
_RIDGE = 1e-3  # of the correlation matrix of features, which may be collinear


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


def area_under_curve(members: Floats, others: Floats) -> tuple[float, float, float]:
    """The AUC with its interval (DeLong, DeLong and Clarke-Pearson 1988)."""
    above = _placements(members, others)
    below = _placements(others, members)
    value = float(above.mean())
    error = math.sqrt(float(above.var(ddof=1)) / len(members) + float(below.var(ddof=1)) / len(others))
    return value, max(value - _WIDE * error, 0.0), min(value + _WIDE * error, 1.0)


def true_positives(members: Floats, others: Floats, false_positives: float) -> float:
    """The share of members above the threshold that at most this share of the others exceeds."""
    allowed = math.floor(false_positives * len(others) + 1e-9)
    threshold = np.sort(others)[::-1][min(allowed, len(others) - 1)]
    return float(np.mean(members > threshold))


def _placements(one: Floats, other: Floats) -> Floats:
    """For each value of one sample, the share of the other below it, ties counted half."""
    ordered = np.sort(other)
    below, upto = np.searchsorted(ordered, one, "left"), np.searchsorted(ordered, one, "right")
    return np.asarray((below + upto) / (2 * len(other)))


def discriminant(seen: Floats, unseen: Floats) -> Floats:
    """The weights of the features; 0 for one that does not vary."""
    centred = np.concatenate([seen - seen.mean(axis=0), unseen - unseen.mean(axis=0)])
    spread = centred.std(axis=0)
    varies = spread > 1e-12 * (1 + np.abs(centred).max(axis=0, initial=0.0))
    scale = np.where(varies, spread, 1.0)
    correlation = (centred / scale).T @ (centred / scale) / len(centred) + _RIDGE * np.eye(len(scale))
    apart = np.where(varies, (seen.mean(axis=0) - unseen.mean(axis=0)) / scale, 0.0)
    return np.asarray(np.where(varies, np.linalg.solve(correlation, apart) / scale, 0.0))


def placements(scores: Floats, others: Ints) -> Floats:
    """u of every record; `others` are the rows that are compared with, each of which counts half for itself."""
    held = np.sort(scores[others])
    below = np.searchsorted(held, scores, "left") + np.searchsorted(held, scores, "right")
    return np.asarray(below / (2 * len(held)))
