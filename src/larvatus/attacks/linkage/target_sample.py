"""Which records a linkage attack takes as targets, if it does not attack all of them.

Every released record is a candidate; only the targets are sampled. The most outlying records and the records of small
sub-groups get a higher probability, because a rare success among them would otherwise be missed. Every figure is weighted by
the inverse of the probability (`stats.estimates.unequal_sampling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom

TargetCount: TypeAlias = Annotated[int, Field(ge=1)] | Literal["all"] | None
Targets = Annotated[
    TargetCount,
    Field(description='number of records to attack, or "all" (default: as many as the precision of the score needs)'),
]

# The most targets of attacks by cost. A search tree or a table finds the candidates of 80,000 targets in a second or two in a
# file of 200,000 records, and the precision never asks for more. Attacks that compare each target with every record take
# minutes for as many; for 5,000 they take up to 20 seconds in a file of 40,000.
QUICK_ATTACK_TARGETS, SLOW_ATTACK_TARGETS = 80_000, 5_000

_FAR_SHARE, _MOST_FAR = 0.01, 500  # the most outlying records, always targets
_SMALL, _ENOUGH = 50, 30  # a sub-group with fewer records is attacked whole; a larger one gets about this many targets
_PREFERRED_SHARE = 0.5  # at most this share of the targets has a higher probability than the others


@dataclass(frozen=True, slots=True)
class TargetSample:
    """The targets by record id, in order, with their weights; `population` is the number of records they stand for."""

    record: Ints
    weight: Floats
    population: int

    def contains(self, record: Ints) -> Bools:
        """Whether records are targets."""
        place = np.minimum(np.searchsorted(self.record, record), len(self.record) - 1)
        return np.asarray(self.record[place] == record)

    def weight_of(self, record: Ints) -> Floats:
        """The weights of targets; NaN for other records."""
        place = np.minimum(np.searchsorted(self.record, record), len(self.record) - 1)
        return np.where(self.record[place] == record, self.weight[place], np.nan)

    @property
    def note(self) -> str:
        """What the sample is, for the notes of a score."""
        n, more = len(self.record), int((self.weight < self.weight.max() * (1 - 1e-9)).sum())
        why = f"; {more:,} of them had a higher chance, as outlying or in a small sub-group, and less weight" if more else ""
        return f"a random sample of {n:,} of {self.population:,} targets was attacked{why}"


def check_target_count(targets: object) -> TargetCount:
    """A number of targets, "all" or None; an error for anything else."""
    if targets is None or targets == "all" or (isinstance(targets, int) and not isinstance(targets, bool) and targets >= 1):
        return targets
    raise RiskError(f'must be a whole number of at least 1, or "all", got {targets!r}.', subject="targets")


def draw_targets(
    record: Ints, group: Ints, distance: Floats | None, size: int, random: RecordRandom
) -> TargetSample:
    """A sample of `size` targets among records in record order; `distance` is from the centre (None: equal probabilities)."""
    from larvatus.stats.estimates.unequal_sampling import inclusion_probabilities, pareto_sample

    least = np.zeros(len(record)) if distance is None else _least(group, distance, size, random, record)
    probability = inclusion_probabilities(least, size)
    words = random.words(record, purpose="targets")[0]
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    chosen = pareto_sample(uniform, probability, size)
    return TargetSample(record[chosen], 1.0 / probability[chosen], len(record))


def targets_for(effective: int, sizes: Sequence[int]) -> int:
    """The number of targets that gives this effective number, in a file with sub-groups of these sizes."""
    sub_groups = np.array(sizes, dtype=np.float64)
    total = sub_groups.sum()
    rates = np.maximum(_group_rates(sub_groups, 2 * effective), min(1.0, effective / total))
    more = min(_FAR_SHARE * total, _MOST_FAR, effective / 2)
    return int(min(np.ceil((rates * sub_groups).sum() + more), total))


def _least(group: Ints, distance: Floats, size: int, random: RecordRandom, record: Ints) -> Floats:
    """The least probability of each record: 1 for the most outlying ones, more than the common rate in small sub-groups."""
    sizes = np.bincount(group).astype(np.float64)
    least = _group_rates(sizes, size)[group]
    far = int(min(_FAR_SHARE * len(record), _MOST_FAR, size // 4))
    if far and distance.max() > distance.min():
        # coarse distances: engines cut the rows into different blocks, which changes the last bits
        coarse = distance.astype(np.float32)
        first = np.flatnonzero(coarse >= np.partition(coarse, len(coarse) - far)[len(coarse) - far])
        order = np.lexsort((random.words(record[first], purpose="outlying")[0], -coarse[first]))
        least[first[order[:far]]] = 1.0
    return np.asarray(least)


def _group_rates(sizes: Floats, size: int) -> Floats:
    """The least sampling rate of each sub-group; 0 if its share of a simple random sample is enough."""
    total = sizes.sum()
    wanted = np.where(sizes < _SMALL, sizes, float(_ENOUGH))
    short = wanted > sizes * (size / total)
    room = size * _PREFERRED_SHARE - min(_FAR_SHARE * total, _MOST_FAR, size // 4)
    scale = min(1.0, room / max(float(wanted[short].sum()), 1.0))
    return np.asarray(np.where(short, np.minimum(wanted * scale / np.maximum(sizes, 1.0), 1.0), 0.0))
