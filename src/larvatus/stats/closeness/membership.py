"""How well a score tells members from others: the area under the ROC curve, and true positives at few false ones.

    AUC = P(score of a member > score of another) + ½ P(equal)
    TPR(f): threshold at the largest score that at most ⌊f · n⌋ of the n others exceed
"""

from __future__ import annotations

import math

import numpy as np

from larvatus.core.arrays import Floats

_WIDE = 1.959963984540054


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
