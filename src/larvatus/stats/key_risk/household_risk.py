"""Risk of a household: the probability that at least one of its members is found (Templ, Kowarik and Meindl 2015).

    member i is found with probability r_i = E(1 / F_i),    household h with    R_h = 1 − Π_{i ∈ h} (1 − r_i)
    expected number of households found   Σ_h R_h,          value   Σ_h R_h / H

All members of a class c (one combination of keys) share one F_c, and classes are independent given the sample. To first order
    Var(Σ_h R_h) = Σ_c (∂ Σ_h R_h / ∂ r_c)² Var(1 / F_c),      ∂ R_h / ∂ r_c = Σ_{i ∈ h ∩ c} Π_{j ∈ h, j ≠ i} (1 − r_j).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.key_risk.individual_risk import NO_DOUBT, SharedDoubt


@dataclass(frozen=True, slots=True)
class HouseholdRisk:
    """Risk of each household, their mean with its interval, and the expected number of households found."""

    by_household: Floats
    value: float
    low: float
    high: float
    expected: float


def household_risk(
    household: Ints, place: Ints, risk: Floats, spread: Floats, doubt: SharedDoubt = NO_DOUBT
) -> HouseholdRisk:
    """Risks from the household and the class of each record, and the risk and its variance of each class.

    `doubt` is what the risks of all classes share. The mean risk of households has at most as much.
    """
    count = int(household.max(initial=-1)) + 1
    missed = 1 - risk[place]
    certain = missed <= 0
    log_missed = np.log(np.where(certain, 1.0, missed))
    product = np.exp(np.bincount(household, weights=log_missed, minlength=count))
    zeros = np.bincount(household, weights=certain, minlength=count)
    found = np.where(zeros > 0, 1.0, 1 - product)
    others = np.where(zeros[household] - certain > 0, 0.0, product[household] / np.where(certain, 1.0, missed))
    slope = np.bincount(place, weights=others, minlength=len(risk))
    expected = float(found.sum())
    value = expected / max(count, 1)
    low, high = doubt.interval(value, float((slope**2 * spread).sum()) / max(count, 1) ** 2)
    return HouseholdRisk(found, value, low, high, expected)
