"""Shared by attacks that link large sub-groups in blocks: the sample of targets, and the margin that blocks may understate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup
from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import collect
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import map_groups
from larvatus.stats.linkage.link_windows import understated_by
from larvatus.stats.linkage.paired_points import PointWindow

if TYPE_CHECKING:
    from larvatus.stats.linkage.assignment import Costs

_AMONG_ALL, _WITHIN = scratch("linked among all"), scratch("linked within the block")
_PILOT, _PILOT_PAIRS = 1000, 2e8  # targets compared with all records of their set, and pairs that this may take
_FEWEST = 100

Alone = Callable[[LinkedGroup], "tuple[list[PointWindow], Costs | None]"]


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
    if sides.block is None or sides.same.any():
        return False
    return any(not _constant(sides.block[c]) for c in by.keys.exact)


def _constant(values: Array) -> bool:
    return bool(len(values) == 0 or ((values == values[0]) | ((values != values) & (values[0] != values[0]))).all())


def margin_of_windows(
    by: GroupKeys, score: Score, sizes: Ints, width: int, alone: Alone, columns: Sequence[str], random: RecordRandom
) -> float:
    """The margin by which blocks of `width` records may understate the share found; 0 if no set of records was cut.

    A sample of the linked targets is compared with all records that have the same S, each target on its own.
    """
    from larvatus.stats.linkage.assignment import lowest_cost_credit

    cut = sizes[sizes > width]
    if not len(cut) or score.by_record is None or score.records is None:
        return 0.0
    wanted = max(_FEWEST, min(_PILOT, int(_PILOT_PAIRS / float(cut.mean()))))
    linked = len(score.by_record) * len(cut) / len(sizes)

    def run(group: int, block: Block) -> Mapping[str, Array]:
        out = {name: np.full(len(block), np.nan) for name in (_AMONG_ALL, _WITHIN)}
        sides = replace(by.sides(block), group=group, block=block)
        windows, costs = alone(sides)
        target = np.zeros(len(block), dtype=bool)
        target[sides.own] = draws_of(sides, random, "pilot")[sides.own] * linked <= wanted
        for w in windows:
            rows = w.targets[target[w.targets]]
            if w.whole is None or costs is None or not len(rows):
                continue
            cost = costs(rows, w.whole)
            inside = np.isin(w.whole, w.right)
            out[_AMONG_ALL][rows] = lowest_cost_credit(cost, rows, w.whole)
            out[_WITHIN][rows] = lowest_cost_credit(cost[:, inside], rows, w.whole[inside])
        return out

    read = list(dict.fromkeys([*by.columns, *columns]))
    made = map_groups(by.keys.joined, run, read, [Column(n, "number") for n in (_AMONG_ALL, _WITHIN)])
    record, _, values = collect(made, [_AMONG_ALL, _WITHIN])
    drawn = ~np.isnan(values[_WITHIN])
    gained, within = (values[_AMONG_ALL] - values[_WITHIN])[drawn], values[_WITHIN][drawn]
    found = score.by_record[np.isin(score.records, record[drawn])]
    margin = understated_by(gained, float(found.mean()) if len(found) else 0.0, float(within.mean()) if len(within) else 0.0)
    return min(1.0, margin * len(cut) / len(sizes))


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
                   details=details, notes=(*score.notes, note))


def _raised(row: Row, margin: float) -> Row:
    high = row.get("high")
    return {**row, "high": min(1.0, high + margin)} if isinstance(high, float) else row
