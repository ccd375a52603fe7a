"""Limits on the mean risk of a file, met by suppressing the records with the highest individual risk.

    mean risk R = Σ f r / n ≤ limit,      expected re-identifications n R ≤ limit,      records with r > threshold ≤ limit

Records with a risk above τ lose their keys, for the largest τ found by bisection after which all of these hold. Joining classes
may raise the mean of what is left, so these limits are not monotone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from larvatus.stats.grouping.rare_classes import ClassLimits, KeyClasses, classes_to_suppress, suppressed_classes
from larvatus.stats.key_risk.individual_risk import beta_interval, inverse_variance


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits on the whole file; `upper` compares the upper end of the interval of the mean risk."""

    mean: float | None = None
    expected: float | None = None
    above: tuple[float, float] | None = None  # the threshold, and how many records may lie above it
    upper: bool = True

    def hold(self, classes: KeyClasses) -> bool:
        """Whether the limits hold for a file of these classes."""
        n, risk = float(max(classes.count.sum(), 1)), classes.risk
        if self.above is not None and int(classes.count[risk > self.above[0]].sum()) > self.above[1]:
            return False
        most = min(1.0 if self.mean is None else self.mean, np.inf if self.expected is None else self.expected / n)
        value = float((classes.count * risk).sum() / n)
        if value > most or most >= 1 or not self.upper:
            return value <= most
        spread = inverse_variance(classes.count, classes.share)
        return beta_interval(value, float((classes.count.astype(np.float64) ** 2 * spread).sum() / n**2))[1] <= most


def threshold_for(classes: KeyClasses, limits: ClassLimits, whole: FileLimits) -> float | None:
    """The individual risk above which records must lose their keys; None if none must."""
    def holds(threshold: float | None) -> bool:
        own = limits if threshold is None else replace(limits, threshold=threshold)
        lost = classes_to_suppress(classes, own)
        return lost is not None and whole.hold(suppressed_classes(classes, lost).classes)

    if holds(limits.threshold):
        return limits.threshold
    risks = np.unique(classes.risk)
    steps = np.concatenate(([0.0], (risks[1:] + risks[:-1]) / 2))  # between two risks, so that rounding decides nothing
    low, high = 0, len(steps)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(float(steps[middle])) else (low, middle)
    return float(steps[low])
