"""The groups of a microaggregation that a reverse map followed, from the release alone.

    Column j of the release holds the original values of the column, so grouping it again gives the original groups. A released
    record whose value is in group g has an original value in [min g, max g].

This holds if each column was grouped on its own. The intruder need not know more than the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup
from larvatus.attacks.linkage.rerun_steps import HIGH, LOW, RerunSteps
from larvatus.core.arrays import Floats
from larvatus.core.errors import LarvatusError, MachineError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Mask
from larvatus.data.release import Release
from larvatus.data.steps import apply_step, columns_of_step
from larvatus.data.verbs import with_table


def with_rank_blocks(by: GroupKeys, release: Release, random: RecordRandom) -> tuple[GroupKeys, tuple[str, ...]]:
    """The keys with the limits of the group of each released value, and the columns for which they are known."""
    data, names = release.data, tuple(n for n in by.masked if n not in by.keys.base)
    found = {n: step for n in names if (step := _grouping(release, n)) is not None}
    ranked = {}
    for name, step in found.items():
        alone = data.with_confidential([name])
        try:
            again = apply_step(step.model_copy(update={"columns": (name,), "together": "each"}), alone, alone, random)
        except MachineError:
            raise
        except LarvatusError:  # the groups were formed in sub-groups that are refused here
            continue
        ranked[name] = (again.data, step.scope)
    if not ranked:
        return by, ()
    limits = RerunSteps(data, (), (), ranked).limits()
    made = {scratch(kind, n): scratch(kind, n) for n in ranked for kind in (LOW, HIGH)}
    joined = with_table(by.keys.joined, by.keys.joined.table.pair(limits.table, made))
    return replace(by, keys=replace(by.keys, joined=joined)), tuple(ranked)


def block_columns(names: Sequence[str]) -> list[str]:
    """The columns with the limits of the groups."""
    return [scratch(kind, n) for n in names for kind in (LOW, HIGH)]


def rank_block_credit(sides: LinkedGroup, names: Sequence[str]) -> Floats:
    """1 / (number of records whose groups contain the target in every column) if the own record is among them."""
    from larvatus.stats.linkage.boxes import shared_credit
    from larvatus.stats.linkage.microaggregates import codes_of_intervals, joined_intervals

    assert sides.block is not None
    columns = [j for j, n in enumerate(sides.names) if n in names]
    first, last, theirs = (np.empty((rows, len(columns))) for rows in (len(sides.own), len(sides.own), len(sides.y)))
    for i, j in enumerate(columns):
        low, high = (sides.block[scratch(kind, sides.names[j])] for kind in (LOW, HIGH))
        low, high = joined_intervals(sides.y[:, j], low, high)
        first[:, i], last[:, i], theirs[:, i] = codes_of_intervals(sides.x[:, j], low, high)
    return shared_credit(sides.x[:, columns], first, last, theirs, sides.same, sides.own)


def _grouping(release: Release, name: str) -> Mask | None:
    """The microaggregation of a column on its own, if a reverse map followed and no other step touched the column."""
    steps = [s for s in release.steps if name in columns_of_step(s, release.data)]
    if [s.name() for s in steps] != ["microaggregation", "reverse_map"] or any(s.drops for s in release.steps):
        return None
    if any(s.where is not None for s in steps) or release.rules:
        return None
    step = steps[0]
    together, grouping = getattr(step, "together", None), getattr(step, "grouping", "")
    single = columns_of_step(step, release.data) == (name,) or (isinstance(together, tuple) and (name,) in together)
    return step if single or together == "each" or (together is None and grouping in ("fixed", "optimal")) else None
