"""The population behind a file: survey weights, a stated sampling fraction, or the file itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.attacks.keys.key_table import KeyTable
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import reduce_groups
from larvatus.stats.key_risk.individual_risk import sampled_share
from larvatus.stats.key_risk.missing_keys import (
    MOST_MISSING_PATTERNS,
    Missing,
    matching_records,
    matching_totals,
    pattern_count,
)


@dataclass(frozen=True, slots=True)
class Population:
    """The sampling fraction of the whole file, the weight column if classes are weighted, and a sentence for the notes."""

    fraction: float
    weight: str | None
    sentence: str

    @property
    def is_file(self) -> bool:
        """Whether the file is the population: sample uniques are then population uniques."""
        return self.fraction >= 1

    def share(self, count: Ints, weight: Floats | None) -> Floats:
        """The sampling fraction p of each class."""
        return sampled_share(count, weight if self.weight else None, self.fraction)


def population_of(data: Microdata, original_rows: int, sampled: float | None) -> Population:
    """What the settings and roles say about the population.

    A stated fraction comes first, then survey weights, then the share of the original's records that were released.
    """
    name = data.roles.weight
    if sampled is not None:
        return Population(sampled, None, f"the file is a sample of {sampled:.4g} of the population, as stated")
    if name is not None and name in data.table.columns:
        total = _total_weight(data, name)
        if total > 0:
            return Population(min(data.rows / total, 1.0), name,
                              f"the population of each combination of keys is estimated by the survey weight {name!r}")
        raise RiskError(f"the weights in {name!r} add up to zero. State the sampling fraction instead (sampled).",
                        subject="key_risk")
    if data.rows < original_rows:
        return Population(data.rows / original_rows, None, "the original file is taken as the population of the release")
    return Population(1.0, None, "there are no survey weights and no sampling fraction is stated (sampled), so the file is "
                      "taken as the whole population, which overstates the risk of a sample")


def _total_weight(data: Microdata, name: str) -> float:
    if data.table.columns[name].kind != "number":
        raise RiskError(f"the weight {name!r} is not numeric. State the sampling fraction instead (sampled).",
                        subject="key_risk")

    def add(group: int, block: Block) -> tuple[int, float]:
        w = block[name]
        return int((~(w >= 0)).sum()), float(w[w >= 0].sum())

    parts = reduce_groups(data, [name], add, lambda a, b: (a[0] + b[0], a[1] + b[1]))
    wrong = sum(p[0] for p in parts)
    if wrong:
        raise RiskError(f"{wrong:,} weights in {name!r} are missing or negative. Remove these records, or state the sampling "
                        "fraction instead (sampled).", subject="key_risk")
    return float(sum(p[1] for p in parts))


def class_totals(table: KeyTable, missing: Missing) -> tuple[Ints, Floats | None]:
    """Records and total weight of the records that agree with each combination, under a convention for missing keys."""
    if missing == "any" and pattern_count(table.codes) > MOST_MISSING_PATTERNS:
        raise RiskError(f"there are more than {MOST_MISSING_PATTERNS} patterns of missing keys. Name fewer keys, or set "
                        'missing = "value".', subject="key_risk.missing")
    if table.distinct and missing == "value":
        return table.count, table.weight
    size = matching_records(table.codes, table.count, missing)
    if table.weight is None:
        return size, None
    if missing != "none":
        return size, matching_totals(table.codes, table.weight, missing)
    alone = (table.codes < 0).any(axis=1)
    return size, np.where(alone, table.weight / table.count, matching_totals(table.codes, table.weight, "value"))
