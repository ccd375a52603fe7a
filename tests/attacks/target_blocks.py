"""Records that may be targets, as arrays cut into blocks, and the sample as it would be drawn from all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from larvatus.attacks.linkage import target_sample
from larvatus.core.randomness import RecordRandom
from larvatus.stats.estimates.unequal_sampling import inclusion_probabilities, pareto_sample


class Blocks:
    """Each sub-group is cut into pieces at random, which come in random order and with their rows in random order."""

    def __init__(self, record: Any, group: Any, distance: Any, pieces: int = 1, seed: int = 0) -> None:
        self.sizes = np.bincount(group).astype(np.float64)
        self._parts, self._rng = [], np.random.default_rng(seed)
        for g in range(len(self.sizes)):
            rows = self._rng.permutation(np.flatnonzero(group == g))
            cuts = np.sort(self._rng.integers(0, len(rows) + 1, pieces - 1))
            self._parts += [(g, record[p], None if distance is None else distance[p]) for p in np.split(rows, cuts)]

    def over(self, function: Callable[..., Any]) -> list[Any]:
        return [function(*self._parts[i]) for i in self._rng.permutation(len(self._parts)) if len(self._parts[i][1])]


def drawn_at_once(record: Any, group: Any, distance: Any, size: int, random: RecordRandom) -> tuple[Any, Any]:
    """The sample from arrays of the length of the file, in record order: record ids and weights."""
    least = np.zeros(len(record))
    if distance is not None:
        least = target_sample._group_rates(np.bincount(group).astype(np.float64), size)[group]
        far = int(min(target_sample._FAR_SHARE * len(record), target_sample._MOST_FAR, size // 4))
        if far and distance.max() > distance.min():
            coarse = distance.astype(np.float32)
            order = np.lexsort((random.words(record, purpose="outlying")[0], -coarse))
            least[order[:far]] = 1.0
    probability = inclusion_probabilities(least, size)
    words = random.words(record, purpose="targets")[0]
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    chosen = pareto_sample(uniform, probability, size)
    return record[chosen], 1.0 / probability[chosen]
