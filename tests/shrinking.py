"""Masks for tests that take variance away: what steps that restore it can follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import map_groups, map_rows, moments_by_group
from larvatus.masks.additive_noise import AdditiveNoise


class Shrunk(Mask):
    """Draw every value half way to the mean of its column."""

    record_wise: ClassVar[bool] = True
    random: ClassVar[bool] = False

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        means = [np.nan_to_num(m.mean) for m in moments_by_group(current, names)]
        return Masked(map_rows(
            current, lambda g, b: {n: (b[n] + means[g][j]) / 2 for j, n in enumerate(names)}, names
        ))


class GroupMeans(Mask):
    """Replace the values of records, three by three in record order, by their means: microaggregation of the plainest kind."""

    needs: ClassVar = "sub_group"
    random: ClassVar[bool] = False

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        def average(group: int, block: Block) -> Mapping[str, Array]:
            place = np.minimum(np.arange(len(block)) // 3, max(len(block) // 3 - 1, 0))
            return {n: (np.bincount(place, block[n]) / np.bincount(place))[place] for n in current.confidential}

        return Masked(map_groups(current, average, current.confidential))


def steps(mask: Mask) -> list[Mask]:
    """The mask, after noise that is then shrunk (ranks change, variance falls) where it only makes sense after another."""
    chosen = {"where": mask.where, "scope": mask.scope}
    return [AdditiveNoise(**chosen), Shrunk(**chosen), mask] if mask.follows else [mask]
