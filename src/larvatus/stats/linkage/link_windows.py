"""Windows in which the records of a sub-group are linked one to one, so that the work is bounded.

    A set of n records with the same S is one window if n ≤ w, otherwise it is cut into windows of w records. Work is counted
    in pairs: n for each target of a whole set, 2 w for each target of a cut one. Beyond a budget, one in m targets is linked.

A window may lack the own record of a target, or of others that compete with it. The margin is what success gains from windows
of w / 2 to windows of w records, for each doubling that is left until a window holds the own records of 99 % of the targets,
and for one more, with an upper bound of 95 % for the gain:

    margin = (1 + log₂⁺(w₉₉ / w)) · (gain⁺ + 1.645 standard errors)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.linkage.paired_points import PointWindow, blocks_along, windows_along, with_indicators
from larvatus.stats.ranks.row_order import row_order

_SURE = 1.645  # standard errors of a one-sided bound of 95 %
_NEARLY_ALL = 0.99
_INNER = 8 / 3  # width of a window relative to the move up to which a target in its middle half finds its own record in it


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """The largest number of records in a window, how many targets there are to each linked one, and a draw for each row.

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


    def within(self, rows: Ints, parts: int) -> tuple[int, float]:
        """One in how many targets of a set that is cut into `parts` is linked, and the draw that decides which; 0 if none.

        If that is less than one part, some sets are drawn and one part of each, so that no window is linked for few targets.
        """
        draw = self.draw_of(rows)
        if self.spare or parts >= self.every:
            return self.every, draw
        return (parts, draw * self.every / parts) if draw * self.every < parts else (0, 0.0)


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
        every, start = plan.within(b, -(-(2 if overlap else 1) * len(b) // plan.width))
        if every:
            out += [PointWindow(a[w.left], b[w.right], w.inner, b if w.whole is None else b[w.whole])
                    for w in cut(u[a], v[b], plan.width, every, start)]
    return out


def _sets(values: Floats, same: Ints, rows: Ints, count: int) -> list[Ints]:
    """The rows of each code, sorted by all columns."""
    order = rows[row_order([*values[rows].T], same[rows])]
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


def halves(w: PointWindow) -> list[PointWindow]:
    """Two windows of half the width for the same targets."""
    n, m = len(w.left), len(w.right)
    a, b = w.inner.start, w.inner.stop
    half = m // 2
    out = []
    for low, high in ((a, (a + b) // 2), ((a + b) // 2, b)):
        first = min(max(round((low + high) / 2 * m / n) - half // 2, 0), m - half)
        begin, end = min(round(first * n / m), low), max(round((first + half) * n / m), high)
        if high > low:
            out.append(PointWindow(w.left[begin:end], w.right[first : first + half], slice(low - begin, high - begin), w.whole))
    return out


def moves_along(w: PointWindow) -> Floats:
    """How far the own record of each target lies from it, in the order in which the window was cut from its set."""
    assert w.whole is not None
    place = np.empty(int(w.whole.max()) + 1, dtype=np.int64)
    place[w.whole] = np.arange(len(w.whole))
    here = place[w.right[0]] + np.arange(w.inner.start, w.inner.stop) * (len(w.right) / len(w.left))
    return np.asarray(np.abs(place[w.targets] - here))


def understated_by(gains: Floats, moves: Floats, width: int) -> float:
    """The margin by which windows may understate success, from gains of targets between windows of half and of full width."""
    if not len(gains):
        return 1.0
    needed = float(np.quantile(moves, _NEARLY_ALL)) * _INNER
    doublings = 1.0 + max(0.0, float(np.log2(max(needed, 1.0) / width)))
    mean = float(gains.mean())
    error = np.sqrt(float(((gains - mean) ** 2).sum()) + 1.0) / len(gains)  # one more change than was seen
    return float(doublings * (max(mean, 0.0) + _SURE * error))
