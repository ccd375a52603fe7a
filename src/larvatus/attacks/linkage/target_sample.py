"""Which records a linkage attack takes as targets, if it does not attack all of them.

Every released record is a candidate; only the targets are sampled. The most outlying records and the records of small
sub-groups get a higher probability, because a rare success among them would otherwise be missed. Every figure is weighted by
the inverse of the probability (`stats.estimates.unequal_sampling`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom

_T = TypeVar("_T")
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


class TargetPool(Protocol):
    """The records that may be targets, in any number of blocks; `sizes` holds how many each sub-group has.

    `over` passes over all of them. A function is given a sub-group, and record ids and distances from the centre of some of
    its records (None: no distance is known). `over` returns what the function returned for each block.
    """

    @property
    def sizes(self) -> Floats: ...
    def over(self, function: Callable[[int, Ints, Floats | None], _T]) -> list[_T]: ...


def draw_targets(pool: TargetPool, size: int, random: RecordRandom, preferred: bool = True) -> TargetSample:
    """A sample of `size` targets, fewer than there are records; outlying records and small sub-groups are `preferred`.

    It does not depend on the blocks, and no more is held at once than a few times the sample.
    """
    from larvatus.stats.estimates.unequal_sampling import common_rate

    sizes, far = pool.sizes, np.zeros(0, dtype=np.int64)
    rates, left = np.zeros(len(sizes)), sizes.astype(np.int64)
    if preferred:
        rates = _group_rates(sizes, size)
        far, group = _outlying(pool, size, random)
        left -= np.bincount(group, minlength=len(sizes))
    every, count = np.append(rates, 1.0), np.append(left, len(far))
    level, at = np.unique(every[count > 0], return_inverse=True)
    rate = common_rate(level, np.bincount(at, weights=count[count > 0]).astype(np.int64), size)
    record, probability = _first_by_key(pool, np.clip(np.maximum(rates, rate), 0.0, 1.0), far, size, random)
    return TargetSample(record, 1.0 / probability, int(sizes.sum()))


def _outlying(pool: TargetPool, size: int, random: RecordRandom) -> tuple[Ints, Ints]:
    """The most outlying records, by record id, and their sub-groups; none if all are equally far from the centre."""
    most = int(min(_FAR_SHARE * pool.sizes.sum(), _MOST_FAR, size // 4))
    none = np.zeros(0, dtype=np.int64)

    def first(record: Ints, group: Ints, coarse: NDArray[np.float32]) -> tuple[Ints, Ints, NDArray[np.float32]]:
        near = np.flatnonzero(coarse >= np.partition(coarse, len(coarse) - most)[len(coarse) - most]) if (
            len(coarse) > most) else np.arange(len(coarse))
        order = near[np.lexsort((record[near], random.words(record[near], purpose="outlying")[0], -coarse[near]))[:most]]
        return record[order], group[order], coarse[order]

    def of(group: int, record: Ints, distance: Floats | None) -> tuple[Any, float, float]:
        assert distance is not None
        # coarse distances: engines cut the rows into different blocks, which changes the last bits
        found = first(record, np.full(len(record), group), distance.astype(np.float32))
        return found, float(distance.min(initial=np.inf)), float(distance.max(initial=-np.inf))

    parts = pool.over(of) if most else []
    if not parts or max(high for _, _, high in parts) <= min(low for _, low, _ in parts):
        return none, none
    record, group, _ = first(*(np.concatenate([found[i] for found, _, _ in parts]) for i in range(3)))
    order = np.argsort(record)
    return record[order], group[order]


def _first_by_key(
    pool: TargetPool, by_group: Floats, far: Ints, size: int, random: RecordRandom
) -> tuple[Ints, Floats]:
    """The records with the `size` smallest keys of a Pareto sample, by record id, and their probabilities."""
    from larvatus.stats.estimates.unequal_sampling import pareto_keys

    def up_to(limit: float) -> Callable[[int, Ints, Floats | None], tuple[Ints, Floats, Floats]]:
        def of(group: int, record: Ints, distance: Floats | None) -> tuple[Ints, Floats, Floats]:
            probability = np.full(len(record), by_group[group])
            if len(far):
                probability[far[np.minimum(np.searchsorted(far, record), len(far) - 1)] == record] = 1.0
            words = random.words(record, purpose="targets")[0]
            uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
            key = pareto_keys(uniform, probability)
            some = np.flatnonzero(key <= limit)
            return record[some], probability[some], key[some]

        return of

    limit, found = 1.0, 0
    while found < size:  # about `size` keys are at most 1, and twice as many at most 2
        limit *= 2
        parts = pool.over(up_to(limit))
        found = sum(len(p[0]) for p in parts)
    record, probability, key = (np.concatenate([p[i] for p in parts]) for i in range(3))
    order = np.argsort(record)
    chosen = np.sort(np.argsort(key[order], kind="stable")[:size])
    return record[order][chosen], probability[order][chosen]


def targets_for(effective: int, sizes: Sequence[int]) -> int:
    """The number of targets that gives this effective number, in a file with sub-groups of these sizes."""
    sub_groups = np.array(sizes, dtype=np.float64)
    total = sub_groups.sum()
    rates = np.maximum(_group_rates(sub_groups, 2 * effective), min(1.0, effective / total))
    more = min(_FAR_SHARE * total, _MOST_FAR, effective / 2)
    return int(min(np.ceil((rates * sub_groups).sum() + more), total))


def _group_rates(sizes: Floats, size: int) -> Floats:
    """The least sampling rate of each sub-group; 0 if its share of a simple random sample is enough."""
    total = sizes.sum()
    wanted = np.where(sizes < _SMALL, sizes, float(_ENOUGH))
    short = wanted > sizes * (size / total)
    room = size * _PREFERRED_SHARE - min(_FAR_SHARE * total, _MOST_FAR, size // 4)
    scale = min(1.0, room / max(float(wanted[short].sum()), 1.0))
    return np.asarray(np.where(short, np.minimum(wanted * scale / np.maximum(sizes, 1.0), 1.0), 0.0))
