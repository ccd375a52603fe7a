"""Shared by attacks that link large sub-groups in blocks: the sample of targets, and the margin that blocks may understate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup
from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import collect
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import map_groups
from larvatus.stats.linkage.link_windows import understated_by

_NARROW, _MOVES = scratch("linked in narrower blocks"), scratch("moved along the blocks")
_PILOT, _BLOCKS = 2000, 6  # targets linked again in narrower blocks, about, and the fewest blocks of them

# For a sub-group and the rows that are drawn: the credit of targets in blocks of half the width, and how far they moved; NaN
# for targets that are not linked again.
Narrower = Callable[[LinkedGroup, NDArray[np.bool_]], tuple[Floats, Floats]]


def set_sizes(by: GroupKeys) -> Ints:
    """For every record, how many records have the same S in its sub-group."""

    def count(sides: LinkedGroup) -> Floats:
        return np.tile(np.bincount(sides.same)[sides.same].astype(np.float64), (len(sides.names), 1))

    return np.asarray(by.measure(count)[0], dtype=np.int64)


def draws_of(sides: LinkedGroup, random: RecordRandom, purpose: str = "windows") -> Floats:
    """A draw from the unit interval for each record of a sub-group, the same on every engine."""
    assert sides.block is not None
    return np.asarray(random.uniform(sides.block.record, purpose=purpose)[0])


def without_s(sides: LinkedGroup, by: GroupKeys) -> bool:
    """Whether a sub-group is linked without S although S varies in it, for the baseline X alone."""
    if by.soft and sides.soft == 0:
        return True
    if sides.block is None or sides.s_known:
        return False
    return any(not _constant(sides.block[c]) for c in by.keys.exact)


def _constant(values: Array) -> bool:
    return bool(len(values) == 0 or ((values == values[0]) | ((values != values) & (values[0] != values[0]))).all())


def margin_of_windows(
    by: GroupKeys, score: Score, sizes: Ints, width: int, narrower: Narrower, columns: Sequence[str], random: RecordRandom
) -> float:
    """The margin by which blocks of `width` records may understate the share found; 0 if no set of records was cut.

    `narrower` links a part of the blocks again at half the width.
    """
    cut = sizes > width
    if not cut.any() or score.by_record is None or score.records is None:
        return 0.0
    share = min(1.0, max(_PILOT, _BLOCKS * width / 2) / max(len(score.by_record) * float(cut.mean()), 1.0))

    def run(group: int, block: Block) -> Mapping[str, Array]:
        sides = replace(by.sides(block), group=group, block=block)
        narrow, moves = narrower(sides, draws_of(sides, random, "pilot") <= share)
        return {_NARROW: narrow, _MOVES: moves}

    read = list(dict.fromkeys([*by.columns, *columns]))
    made = map_groups(by.keys.joined, run, read, [Column(n, "number") for n in (_NARROW, _MOVES)])
    record, _, values = collect(made, [_NARROW, _MOVES])
    drawn = ~np.isnan(values[_NARROW]) & np.isin(record, score.records)
    order = np.argsort(score.records)
    found = score.by_record[order[np.searchsorted(score.records, record[drawn], sorter=order)]]
    margin = understated_by(found - values[_NARROW][drawn], values[_MOVES][drawn], width)
    return min(1.0, margin * float(cut.mean()))


def with_margin(score: Score, margin: float, by: GroupKeys, width: int) -> Score:
    """The score with the upper ends of its intervals raised by the margin, and a note that says so."""
    if not margin or score.interval is None:
        return score
    groups = by.keys.joined.groups
    large = {groups.name(g) for g, n in enumerate(groups.sizes) if n > width}
    every = len(groups) == 1
    by_group = [_raised(row, margin) if every or row["sub_group"] in large else row for row in score.by_group]
    details = {
        name: Rows.of(_raised(row, margin) for row in rows) if name in ("within", "outliers") else rows
        for name, rows in score.details.items()
    }
    note = (f"blocks of {width:,} records may understate the share found by up to {100 * margin:.2g} percentage points; the "
            "upper ends of the intervals include this")
    return replace(score, interval=(score.interval[0], min(1.0, score.interval[1] + margin)), by_group=Rows.of(by_group),
                   details=details, notes=(*score.notes, note), understated_by=margin)


def _raised(row: Row, margin: float) -> Row:
    high = row.get("high")
    return {**row, "high": min(1.0, high + margin)} if isinstance(high, float) else row
