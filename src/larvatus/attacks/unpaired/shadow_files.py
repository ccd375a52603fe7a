"""Shadow files: the intruder makes synthetic files of records that they hold, and sees how used and unused records differ.

The intruder holds records of the same population, here some of those held out. Half of them, drawn at random, are the training
records of a shadow file. It is made by the steps of the release, or by a generator that the intruder takes for a similar one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from larvatus.attacks.linkage.simulated_releases import RenumberedRandom
from larvatus.attacks.unpaired.compared_files import ComparedFiles
from larvatus.attacks.unpaired.membership_features import membership_features
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.progress import report_progress
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.steps import apply_step
from larvatus.data.verbs import as_one_group, map_rows, take_rows

FEWEST_OF_INTRUDER, _MOST = 40, 1000  # records that the intruder needs, and uses


def shadow_features(
    held: Microdata, records: Ints, steps: Sequence[Mask], times: int, intruder: Intruder, random: RecordRandom
) -> tuple[Floats, Floats]:
    """Features of the used and of the unused records over all shadow files. `records` are ids in an order without a pattern."""
    mine = records[:_MOST]
    number = np.arange(len(mine), dtype=np.int64)
    seen: list[Floats] = []
    unseen: list[Floats] = []
    for m in range(times):
        report_progress("shadow files", m, times)
        draws = random.child("shadow", str(m))
        used = np.sort(np.argsort(draws.uniform(number, purpose="used")[0], kind="stable")[: len(mine) // 2])
        inside, outside = _taken(held, mine[used]), _taken(held, np.delete(mine, used))
        released = inside
        for k, step in enumerate(steps):
            renumbered = RenumberedRandom(draws.child("step", str(k)).key, None, None, np.sort(mine[used]), number[: len(used)])
            released = apply_step(step, released, inside, renumbered).data
        files = ComparedFiles.of(replace(inside, holdout=outside), released, intruder)
        features = membership_features(files)
        seen.append(features[: len(files.training)])
        unseen.append(features[len(files.training) :])
    return np.concatenate(seen), np.concatenate(unseen)


def _taken(data: Microdata, records: Ints) -> Microdata:
    """These records in the given order, by the ids that they have together, so that the order of the source does not matter.

    They are in one group: sub-groups of a shadow file would be too small.
    """
    ids = np.sort(records)

    def is_taken(group: int, block: Block) -> Bools:
        return np.isin(block.record, ids)

    taken = as_one_group(take_rows(data, is_taken, ()))
    names = list(taken.table.columns)
    values = collect(taken, names)[2]
    place = np.searchsorted(ids, records)

    def in_order(group: int, block: Block) -> Mapping[str, Array]:
        rows = place[np.searchsorted(ids, block.record)]
        return {n: values[n][rows] for n in names}

    return map_rows(taken, in_order, names)
