"""Windows in which the records of a sub-group are linked one to one, so that the work is bounded.

    A set of n records with the same S is one window if n ≤ w, otherwise it is cut into windows of w records. Work is counted
    in pairs: n for each target of a whole set, 2 w for each target of a cut one. Beyond a budget, one in m targets is linked.

A window may lack the own record of a target. The margin is the share of targets that this costs when each is linked on its own
to the record of lowest cost, which can be done without windows, times the factor by which linking one to one finds more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.linkage.paired_points import PointWindow, blocks_along, windows_along, with_indicators

_SURE = 1.645  # standard errors of a one-sided bound of 95 %
_MOST_GAIN = 4.0


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """How many records a window holds at most, how many targets there are to each one that is linked, and the draw for each row.

    With `spare`, a set that fits into one window is linked even if only some of the targets are; used for baselines.
    """

    width: int
    every: int = 1
    draw: Floats | None = None
    spare: bool = False

    def draw_of(self, rows: Ints) -> float:
        """The draw of a set: that of its first row."""
        return 0.0 if self.draw is None else float(self.draw[rows.min()])

    def takes(self, rows: Ints) -> bool:
        """Whether a set that fits into one window is linked."""
        return self.every == 1 or self.spare or self.draw_of(rows) * self.every < 1


def group_windows(
    x: Floats, y: Floats, same: Ints, holds: Ints, plan: WindowPlan, overlap: bool = True
) -> list[PointWindow]:
    """The windows of a sub-group: rows with the same code, those of x among `holds`, in an order free of the row order."""
    gone = np.isnan(x[holds]).any(axis=0) | np.isnan(y).any(axis=0)
    u, v = with_indicators(x, gone), with_indicators(y, gone)
    count = int(same.max(initial=-1)) + 1
    out: list[PointWindow] = []
    cut = windows_along if overlap else blocks_along
    for a, b in zip(_sets(u, same, holds, count), _sets(v, same, np.arange(len(v)), count), strict=True):
        if not len(a):
            continue
        if len(b) <= plan.width:
            out += [PointWindow(a, b, slice(0, len(a)))] if plan.takes(b) else []
            continue
        out += [PointWindow(a[w.left], b[w.right], w.inner, b)
                for w in cut(u[a], v[b], plan.width, plan.every, plan.draw_of(b))]
    return out


def _sets(values: Floats, same: Ints, rows: Ints, count: int) -> list[Ints]:
    """The rows of each code, sorted by all columns."""
    order = rows[np.lexsort((*values[rows].T[::-1], same[rows]))]
    return np.split(order, np.searchsorted(same[order], np.arange(1, count)))


def stack_small(windows: Sequence[PointWindow], most: int, rows: int) -> Iterator[tuple[Ints, Ints]]:
    """Windows of at most `most` records that are whole sets, stacked by shape: windows × rows of x, windows × rows of y.

    A stack has about `rows` rows of y.
    """
    shapes: dict[tuple[int, int], list[PointWindow]] = {}
    for w in windows:
        if len(w.right) <= most and w.whole is None:
            shapes.setdefault((len(w.left), len(w.right)), []).append(w)
    for (_, wide), alike in shapes.items():
        step = max(1, rows // wide)
        for i in range(0, len(alike), step):
            part = alike[i : i + step]
            yield np.array([w.left for w in part]), np.array([w.right for w in part])


def pairs_of_sizes(sizes: Ints, width: int) -> Floats:
    """The number of pairs that linking each target takes, from the size of its set."""
    return np.where(sizes <= width, sizes, 2.0 * width)


def understated_by(gained: Floats, found: float, alone: float) -> float:
    """The margin, an upper bound of 95 %, by which windows may understate success.

    `gained` is, for some targets, the credit among all records of the set minus that within the window, each target linked on
    its own. `found` and `alone` are the mean credits, within windows, of linking one to one and each on its own.
    """
    if not len(gained):
        return 1.0
    times = min(max(found / alone, 1.0), _MOST_GAIN) if alone > 0 else 1.0
    mean = float(gained.mean())
    error = np.sqrt(float(((gained - mean) ** 2).sum()) + 1.0) / len(gained)  # one more change than was seen
    return float(times * max(mean, 0.0) + _SURE * times * error)
