"""Wider intervals for attacks that fit one model for all targets.

    e = max(0, V m / (p(1 − p)) − 1),   V the jackknife variance of the score (`stats.estimates.jackknife`) in m records,
                                        p the mean of its values

Wilson's interval treats targets as independent. An error in the model moves all of them together, and e is the variance that
this adds, relative to that of m independent targets. The attack is repeated ten times without a tenth of the records, in a
sample of about 1,000 from at most 6 sub-groups. Both variances fall with the number of records, so that e also holds for a
larger file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from larvatus.attacks.scoring.credits import WIDENED
from larvatus.core.arrays import Ints
from larvatus.core.errors import LarvatusError, MachineError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Attack, Block
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.data.verbs import take_rows
from larvatus.engines._resampling import in_memory
from larvatus.stats.estimates.jackknife import PARTS, jackknife_variance, widen_interval

_MOST, _MOST_GROUPS = 1000, 6


def shared_error(attack: Attack, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> float:
    """The variance e that targets share; 0 if they share nothing, or if the attack fails without some of the records."""
    if not attack.shares_estimates:
        return 0.0
    part = _parts(release.data, random)
    original, data = (in_memory(part.take(d, None), list(d.table.columns)) for d in (original, release.data))
    values = []
    for left_out in range(PARTS):
        fewer, released = (part.take(d, left_out) for d in (original, data))
        try:
            score = attack.attack(fewer, replace(release, copies=(released,)), intruder, random)
        except MachineError:
            raise
        except LarvatusError:
            return 0.0
        values.append(score.value)
    spread = float(np.mean(values)) * (1 - float(np.mean(values)))
    return max(0.0, jackknife_variance(values) * data.rows / spread - 1) if spread > 0 else 0.0


def widen(score: Score, excess: float, rows: int) -> Score:
    """The score with the variance that targets share added to its interval, in a file of `rows` records."""
    if not excess or score.interval is None:
        return score
    interval = widen_interval(score.value, score.interval, excess * score.value * (1 - score.value) / rows)
    return replace(score, interval=interval, notes=(*score.notes, WIDENED))


@dataclass(frozen=True, slots=True)
class _Parts:
    """The part of each record: 0 to 9, −1 for records that are never left out, −2 for records that are not used."""

    record: Ints
    part: Ints

    def take(self, data: Microdata, left_out: int | None) -> Microdata:
        """The records that are used, without one part."""
        def keep(group: int, block: Block) -> Array:
            place = np.minimum(np.searchsorted(self.record, block.record), len(self.record) - 1)
            part = np.where(self.record[place] == block.record, self.part[place], -2)
            return np.asarray((part != -2) & (part != left_out if left_out is not None else True))

        return take_rows(data, keep, ())


def _parts(data: Microdata, random: RecordRandom) -> _Parts:
    """Parts of equal size within sub-groups, drawn with probabilities by size. Fewer than ten records are never left out."""
    record, group, _ = collect(data, ())
    words = random.words(record, purpose="parts")[0]
    order = np.lexsort((words, group))
    sizes = np.bincount(group, minlength=len(data.groups))
    place = np.empty(len(record), dtype=np.int64)
    place[order] = np.arange(len(record)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    draws = random.uniform(np.arange(len(sizes)), purpose="sub-groups of parts")[0]
    used = np.zeros(len(sizes), dtype=bool)
    used[np.argsort(-np.log(draws) / np.maximum(sizes, 1e-9), kind="stable")[:_MOST_GROUPS]] = True
    rate = min(1.0, _MOST / sizes[used].sum())
    most = np.where(used, np.maximum(np.ceil(sizes * rate), PARTS), 0)[group]
    part = np.where(sizes[group] < PARTS, -1, (place + group) % PARTS)
    return _Parts(record, np.where(place < most, part, -2))
