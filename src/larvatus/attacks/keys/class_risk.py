"""Individual risk of every combination of keys, the mean over records with its interval, and both before and after steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.attacks.keys.key_population import Population, class_totals
from larvatus.attacks.keys.key_table import KeyTable
from larvatus.core.arrays import Floats, Ints
from larvatus.data.score import Row
from larvatus.stats.key_risk.individual_risk import beta_interval, individual_risk, inverse_variance
from larvatus.stats.key_risk.missing_keys import Missing


@dataclass(frozen=True, slots=True)
class ClassRisk:
    """Combinations of keys with their class sizes, risks E(1 / F | f) and the variances of 1 / F."""

    table: KeyTable
    size: Ints
    risk: Floats
    spread: Floats

    @classmethod
    def of(cls, table: KeyTable, population: Population, missing: Missing) -> ClassRisk:
        size, weight = class_totals(table, missing)
        p = population.share(size, weight)
        return cls(table, size, individual_risk(size, p), inverse_variance(size, p))

    @property
    def whole(self) -> tuple[float, float, float]:
        """Mean risk of all records, and its interval."""
        return mean_with_interval(self.table.count, self.risk, self.spread, float(self.table.records))

    def row(self, stage: str, threshold: float) -> Row:
        """The figures that are compared before and after steps."""
        value, low, high = self.whole
        count, most = self.table.count, self.table.records
        return {
            "stage": stage, "mean risk": value, "low": low, "high": high,
            "re-identifications": float((count * self.risk).sum()), "combinations": len(count),
            "sample uniques": int(count[self.size == 1].sum()), "smallest class": int(self.size.min(initial=most)),
            f"risk above {threshold:g}": int(count[self.risk > threshold].sum()),
        }


def mean_with_interval(count: Ints, risk: Floats, spread: Floats, n: float) -> tuple[float, float, float]:
    """Mean risk of the records counted, and its interval."""
    value = float((count * risk).sum() / max(n, 1.0))
    return value, *beta_interval(value, float((count.astype(np.float64) ** 2 * spread).sum() / max(n, 1.0) ** 2))
