"""The population behind a file: survey weights, a stated sampling fraction, or the file itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from larvatus.attacks.keys.key_table import KeyTable
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata, collect
from larvatus.data.verbs import map_rows, reduce_groups, with_table
from larvatus.stats.key_risk.individual_risk import sampled_share
from larvatus.stats.key_risk.missing_keys import (
    MOST_MISSING_PATTERNS,
    Missing,
    matching_records,
    matching_totals,
    pattern_count,
)

_WEIGHT = scratch("weight of the original")


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


def population_of(data: Microdata, original_rows: int, sampled: float | None, weight: str | None = None) -> Population:
    """What the settings and roles say about the population.

    A stated fraction comes first, then survey weights, then the share of the original's records that were released. `weight`
    is the column of the weights, if it is not the one with the role.
    """
    name, column = data.roles.weight, weight or data.roles.weight
    if sampled is not None:
        return Population(sampled, None, f"the file is a sample of {sampled:.4g} of the population, as stated")
    if name is not None and column is not None and column in data.table.columns:
        total, below = _total_weight(data, name, column)
        if total > 0:
            return Population(min(data.rows / total, 1.0), column, _by_weight(name, total, below, data.rows))
        raise RiskError(f"the weights in {name!r} add up to zero. State the sampling fraction instead (sampled).",
                        subject="key_risk")
    if data.rows < original_rows:
        return Population(data.rows / original_rows, None, "the original file is taken as the population of the release")
    return Population(1.0, None, "there are no survey weights and no sampling fraction is stated (sampled), so the file is "
                      "taken as the whole population, which overstates the risk of a sample")


def with_original_weight(original: Microdata, data: Microdata) -> tuple[Microdata, str | None]:
    """The release with the survey weight of the original, and the name of its column; None if it is that with the role.

    A masked weight says less about the population, and a rounded or grouped one can hide that a record stands for itself. If
    records were dropped and the released weights are larger for it, as after `sampling`, those of the original are raised by
    the median ratio, at most by the ratio of the numbers of records.
    """
    name, columns = original.roles.weight, data.table.columns
    known = original.table.columns
    if name is None or name not in known or known[name].kind != "number" or data.table is original.table:
        return data, None
    roles = data.roles.model_copy(update={"weight": name, "release_weight": data.roles.release_weight and name in columns})
    paired = replace(with_table(data, data.table.pair(original.table, {_WEIGHT: name})), roles=roles)
    if data.rows >= original.rows or name not in columns or columns[name].kind != "number":
        return paired, _WEIGHT
    raised = min(_median_ratio(paired, name), original.rows / max(data.rows, 1))
    if raised <= 1:
        return paired, _WEIGHT
    return map_rows(paired, lambda group, block: {_WEIGHT: block[_WEIGHT] * raised}, [_WEIGHT]), _WEIGHT


def _median_ratio(data: Microdata, name: str) -> float:
    """The median ratio of the weights in a column to those of the original."""
    _, _, values = collect(data, [name, _WEIGHT])
    there = (values[_WEIGHT] > 0) & (values[name] > 0)
    return float(np.median(values[name][there] / values[_WEIGHT][there])) if there.any() else 1.0


def _by_weight(name: str, total: float, below: int, rows: int) -> str:
    """What the weights say about the population; a person stands at least for itself, whatever its weight."""
    if total <= rows:
        return (f"WARNING: the survey weights in {name!r} add up to {total:,.0f} for {rows:,} records, so the file is taken as "
                "the whole population. If the weights are scaled, state the sampling fraction (sampled)")
    said = f"the population of each combination of keys is estimated by the survey weight {name!r}"
    if not below:
        return said
    return f"{said}; {below:,} of the weights are below 1, and a combination counts as many persons as records at least"


def _total_weight(data: Microdata, name: str, column: str) -> tuple[float, int]:
    """The sum of the weights, and the number of those below 1; an error if some are missing or negative."""
    if data.table.columns[column].kind != "number":
        raise RiskError(f"the weight {name!r} is not numeric. State the sampling fraction instead (sampled).",
                        subject="key_risk")

    def add(group: int, block: Block) -> tuple[int, float, int]:
        w = block[column]
        return int((~(w >= 0)).sum()), float(w[w >= 0].sum()), int((w < 1).sum())

    parts = reduce_groups(data, [column], add, lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]))
    wrong = sum(p[0] for p in parts)
    if wrong:
        raise RiskError(f"{wrong:,} weights in {name!r} are missing or negative. Remove these records, or state the sampling "
                        "fraction instead (sampled).", subject="key_risk")
    return float(sum(p[1] for p in parts)), sum(p[2] for p in parts)


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
