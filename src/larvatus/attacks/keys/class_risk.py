"""Individual risk of every combination of keys, the mean over records with its interval, and both before and after steps.

    risk by weights   E(1 / F | f), negative binomial with p = f / Σ w          sdcMicro's individual risk
    risk by model     E(1 / F | f), Poisson with the mean of a log-linear fit   the default, if a model can be fitted

If both exist, the upper end of the interval of the mean is the larger of the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from larvatus.attacks.keys.key_population import Population, class_totals
from larvatus.attacks.keys.key_table import KeyTable
from larvatus.core.arrays import Floats, Ints
from larvatus.data.score import Row
from larvatus.stats.key_risk.individual_risk import NO_DOUBT, SharedDoubt, individual_risk, inverse_variance
from larvatus.stats.key_risk.missing_keys import Missing
from larvatus.stats.key_risk.model_risk import KeyModels, ModelRisk, model_risk


@dataclass(frozen=True, slots=True)
class ClassRisk:
    """Combinations of keys with their class sizes, risks E(1 / F | f) and the variances of 1 / F.

    `doubt` is the error of the mean that all combinations share. `models` has the log-linear models, if any was tried.
    `by_weights` has the risks by weights, if those here are by a model.
    """

    table: KeyTable
    size: Ints
    risk: Floats
    spread: Floats
    doubt: SharedDoubt = NO_DOUBT
    models: KeyModels | None = None
    by_weights: ClassRisk | None = None

    @classmethod
    def of(cls, table: KeyTable, population: Population, missing: Missing) -> ClassRisk:
        size, weight = class_totals(table, missing)
        p = population.share(size, weight)
        return cls(table, size, individual_risk(size, p), inverse_variance(size, p))

    def under_model(self, population: Population, model: str, missing: Missing, by_weights: bool = False) -> ClassRisk:
        """The risks under the chosen log-linear model; by weights, as they are, if there is none or if that is asked for.

        A missing key is a level of its own. If it agrees with other levels, no model gives the risk.
        """
        if population.is_file:
            return self
        models = key_models(self.table, population, model)
        found = models.risk
        if by_weights:
            return replace(self, models=replace(models, risk=None, why_not="the risk by weights is asked for (estimate)"))
        if found is not None and missing != "value" and (self.table.codes < 0).any():
            models = replace(models, risk=None, why_not=f"no log-linear model has missing keys that agree with {missing}")
            found = None
        if found is None:
            return replace(self, models=models)
        return replace(self, risk=found.risk, spread=found.spread, doubt=found.doubt, models=models, by_weights=self)

    @property
    def model(self) -> ModelRisk | None:
        """The model that the risks are from."""
        return self.models.risk if self.by_weights is not None and self.models is not None else None

    def mean(self, place: Ints | slice, count: Ints, n: float) -> tuple[float, float, float]:
        """Mean risk of the records counted at these places of the table, and its interval."""
        value, low, high = mean_with_interval(count, self.risk[place], self.spread[place], n, self.doubt)
        return value, low, high if self.by_weights is None else max(high, self.by_weights.mean(place, count, n)[2])

    @property
    def whole(self) -> tuple[float, float, float]:
        """Mean risk of all records, and its interval."""
        return self.mean(slice(None), self.table.count, float(self.table.records))

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


def key_models(table: KeyTable, population: Population, model: str) -> KeyModels:
    """The log-linear models of the combinations of keys."""
    return model_risk(table.codes, table.count, table.weight if population.weight else None, population.fraction, model)


def mean_with_interval(
    count: Ints, risk: Floats, spread: Floats, n: float, doubt: SharedDoubt = NO_DOUBT
) -> tuple[float, float, float]:
    """Mean risk of the records counted, and its interval; `doubt` is the error that all share."""
    value = float((count * risk).sum() / max(n, 1.0))
    variance = float((count.astype(np.float64) ** 2 * spread).sum() / max(n, 1.0) ** 2)
    return value, *doubt.interval(value, variance)
