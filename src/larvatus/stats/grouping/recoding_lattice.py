"""Levels of detail of several keys, searched for the least loss after suppression (Samarati 2001; Kohlmayer and others 2012).

    A node v has a level of each key. With x_ij the value of key j in record i and N its number of records,
        loss of a recoded cell        c_ij(v) = log(N(class of x_ij at level v_j) / N(x_ij))
        loss of a suppressed cell     c_ij    = log(n / N(x_ij)),       summed over records, as a share of its maximum for key j
        loss of a node                L(v) = G(v) + Σ_{i ∈ S(v)} (suppressed − recoded),      G(v) = Σ_i Σ_j c_ij(v)

S(v) are the suppressed records. G grows with every level, so no node above v has a loss below G(v). If the limits are monotone,
records that must be suppressed at u must be at every node below u: L(v) ≥ G(v) + Σ_{i ∈ S(u)} (…) for all v ≤ u. Nodes are
examined by their bound, lowest first, until no bound is below the best loss. The result is then exact. If S(u) alone makes a
node v ≤ u lose as much as the best, all nodes between v and u are excluded at once. If many nodes are left after that, the
records in classes below k are counted at each of them (`lattice_sweep`). Limits that are not monotone are not used for such
bounds.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from math import prod

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.stats.grouping.file_limits import FileLimits, threshold_for
from larvatus.stats.grouping.lattice_sweep import can_sweep, rare_losses
from larvatus.stats.grouping.rare_classes import ClassLimits, KeyClasses, breaking, classes_to_suppress

MOST_LATTICE_NODES = 1_000_000
_MOST_EXAMINED = 5_000  # of a lattice with more nodes
_TURNS_WITH_BOXES = 300  # of an exact search, before the nodes left are looked at one by one
_MOST_TURNS = 200_000  # of an exact search, each with a node or a box of nodes
_MOST_PASSED = 200_000
_MOST_PROBES = 2_000
_LEAST_GAIN = 1e-12
_WIDEST = 1 << 62

Node = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RecodedKeys:
    """Combinations of keys that occur, with the new code and the loss of every code at every level.

    `codes` has combinations × keys, from 0; `new[j][level]` is the code of each code of key j, and `loss[j][level]` its loss as
    a share of what suppression of the whole key would lose. The last row of `loss[j]` is that of a suppressed cell.
    """

    codes: Ints
    classes: KeyClasses
    new: tuple[tuple[Ints, ...], ...]
    loss: tuple[Floats, ...]

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(len(n) for n in self.new)

    def classes_at(self, node: Node) -> tuple[Ints, KeyClasses]:
        """The class of each combination at a node, and the classes."""
        place, size = self.classes.part, int(self.classes.part.max(initial=0)) + 1
        for j, level in enumerate(node):
            own = self.new[j][level]
            width = int(own.max(initial=0)) + 1
            if size > _WIDEST // width:
                place = np.unique(place, return_inverse=True)[1].reshape(-1)
                size = len(place)
            place, size = place * width + own[self.codes[:, j]], size * width
        place = np.unique(place, return_inverse=True)[1].reshape(-1)
        return place, self.classes.merged(place)

    def cell_losses(self, records: Ints, suppressed: bool = False) -> tuple[Floats, ...]:
        """For each key the loss at each level, summed over `records` of each combination; or what suppression adds to it."""
        out = []
        for j, loss in enumerate(self.loss):
            by_code = np.bincount(self.codes[:, j], weights=records, minlength=loss.shape[1])
            out.append((loss[-1] - loss[:-1]) @ by_code if suppressed else loss[:-1] @ by_code)
        return tuple(out)


@dataclass(frozen=True, slots=True)
class Examined:
    """A node with its loss, the records suppressed there, and the combinations that every finer node suppresses too."""

    node: Node
    loss: float
    suppressed: int
    forced: Ints


@dataclass(frozen=True, slots=True)
class LatticeResult:
    """The best node, None if none keeps the limits; its loss, and a lower bound of the loss of any node."""

    best: Examined | None
    bound: float
    nodes: int
    examined: int

    @property
    def exact(self) -> bool:
        return self.best is not None and self.best.loss <= self.bound + _LEAST_GAIN


@dataclass(slots=True)
class LatticeSearch:
    """A search over the nodes. `most` records may be suppressed. `whole` are limits on the file."""

    keys: RecodedKeys
    limits: ClassLimits
    most: int
    whole: FileLimits | None = None
    best: Examined | None = None
    seen: dict[Node, Examined | None] = field(default_factory=dict)

    def examine(self, node: Node) -> Examined | None:
        """A node with its loss; None if it breaks the limits with as many records suppressed as are allowed."""
        if node in self.seen:
            return self.seen[node]
        place, classes = self.keys.classes_at(node)
        limits = self.limits
        if self.whole is not None:
            limits = replace(limits, threshold=threshold_for(classes, limits, self.whole))
        found = classes_to_suppress(classes, limits)
        out = None
        if found is not None and (records := int(classes.count[found].sum())) <= self.most:
            forced = breaking(classes, self.limits)[0][place]
            out = Examined(node, self._loss(node, found[place]), records, np.where(forced, self.keys.classes.count, 0))
        self.seen[node] = out
        if out is not None and (self.best is None or out.loss < self.best.loss - _LEAST_GAIN):
            self.best = out
        return out

    def forced_at(self, node: Node) -> Ints | None:
        """Records of each combination that monotone limits suppress here and at every finer node; None if too many are."""
        place, classes = self.keys.classes_at(node)
        own = ClassLimits(self.limits.k, self.limits.l, None, self.limits.threshold)
        forced = breaking(classes, own)[0]
        if int(classes.count[forced].sum()) > self.most:
            return None
        return np.where(forced[place], self.keys.classes.count, 0)

    def coarsest_excluded(self, node: Node, low: float) -> tuple[Node, Ints | None] | None:
        """The coarsest node u found for which all nodes between this one and u lose at least as much as the best.

        With S(u) suppressed, this node loses at least the best: so do all coarser ones up to u. None if there is no such u.
        """
        assert self.best is not None
        extra = sum(((loss[-1] - loss[level])[self.keys.codes[:, j]]
                     for j, (loss, level) in enumerate(zip(self.keys.loss, node, strict=True))), np.zeros(len(self.keys.codes)))
        lacking = self.best.loss - low - _LEAST_GAIN

        def excluded(above: Node) -> tuple[bool, Ints | None]:
            forced = self.forced_at(above)
            return forced is None or float(forced @ extra) >= lacking, forced

        out, forced = excluded(node)
        if not out:
            return None
        top = node
        for j, size in enumerate(self.keys.levels):
            first, last = top[j], size
            while last - first > 1:
                middle = (first + last) // 2
                out, more = excluded((*top[:j], middle, *top[j + 1 :]))
                if out:
                    first, forced = middle, more
                    top = (*top[:j], middle, *top[j + 1 :])
                else:
                    last = middle
        return top, forced

    def _loss(self, node: Node, lost: Bools) -> float:
        count = self.keys.classes.count
        recoded = self.keys.cell_losses(np.where(lost, 0, count))
        gone = sum(float(loss[-1] @ np.bincount(self.keys.codes[lost, j], weights=count[lost], minlength=loss.shape[1]))
                   for j, loss in enumerate(self.keys.loss))
        return gone + sum(float(r[level]) for r, level in zip(recoded, node, strict=True))

    def descend(self) -> None:
        """A first good node: from the top, lower the key that reduces the loss most, as long as one does."""
        now = self.examine(tuple(n - 1 for n in self.keys.levels))
        while now is not None:
            lower = [self.examine((*now.node[:j], level - 1, *now.node[j + 1 :])) for j, level in enumerate(now.node) if level]
            better = [e for e in lower if e is not None and e.loss < now.loss - _LEAST_GAIN]
            now = min(better, key=lambda e: e.loss, default=None)


def search_lattice(
    keys: RecodedKeys, limits: ClassLimits, most: int, whole: FileLimits | None = None,
    progress: Callable[[int], None] = lambda examined: None,
) -> LatticeResult:
    """The node with the least loss: exact for at most a million nodes, otherwise the best found and a bound."""
    search = LatticeSearch(keys, limits, most, whole)
    search.descend()
    nodes = prod(keys.levels)
    if search.best is None and limits.monotone and whole is None:  # the coarsest node fails, and with it all others
        return LatticeResult(None, np.inf, nodes, len(search.seen))
    bound = _all_nodes(search, progress) if nodes <= MOST_LATTICE_NODES else _some_nodes(search, progress)
    best = search.best
    return LatticeResult(best, bound if best is None else min(bound, best.loss), nodes, len(search.seen))


def _sum_over(tables: tuple[Floats, ...], shape: tuple[int, ...]) -> Floats:
    """The sum of one table per key, at every node."""
    out = np.zeros(shape)
    for j, table in enumerate(tables):
        out = out + table[: shape[j]].reshape([-1 if i == j else 1 for i in range(len(shape))])
    return out


def _probes(levels: tuple[int, ...]) -> Iterator[Node]:
    """Nodes that are coarse in all keys but one or two: few classes, and bounds for many nodes."""
    top = [n - 1 for n in levels]
    for size in (1, 2):
        for some in combinations(range(len(levels)), size):
            for own in product(*(range(levels[j]) for j in some)):
                node = list(top)
                for j, level in zip(some, own, strict=True):
                    node[j] = level
                yield tuple(node)


def _all_nodes(search: LatticeSearch, progress: Callable[[int], None]) -> float:
    """Examine nodes by their bound, all bounds in one array; returns the lowest bound that is left, at least the best loss."""
    keys, shape = search.keys, search.keys.levels
    least = _sum_over(keys.cell_losses(keys.classes.count), shape)
    bound = least.copy()

    def tighten(node: Node, forced: Ints | None) -> None:
        below = tuple(slice(0, level + 1) for level in node)
        if forced is None:
            bound[below] = np.inf
        elif forced.any():
            more = _sum_over(keys.cell_losses(forced, suppressed=True), tuple(level + 1 for level in node))
            np.maximum(bound[below], least[below] + more, out=bound[below])

    for i, node in enumerate(dict.fromkeys(_probes(shape))):
        if i >= _MOST_PROBES:
            break
        if np.isfinite(bound[node]):
            tighten(node, search.forced_at(node))
    for turn in range(_MOST_TURNS):
        if turn == _TURNS_WITH_BOXES:
            _sweep(search, least, bound, progress)
        place = np.unravel_index(int(np.argmin(bound)), shape)
        node = tuple(int(level) for level in place)
        lowest = float(bound[node])
        if not np.isfinite(lowest) or (search.best is not None and lowest >= search.best.loss - _LEAST_GAIN):
            return lowest if search.best is None else search.best.loss
        box = None
        if search.best is not None and turn < _TURNS_WITH_BOXES:
            box = search.coarsest_excluded(node, float(least[node]))
        if box is not None:
            tighten(*box)
        else:
            found = search.examine(node)
            tighten(node, search.forced_at(node) if found is None else found.forced)
        bound[node] = np.inf
        progress(len(search.seen))
    return float(bound.min())


def _sweep(search: LatticeSearch, least: Floats, bound: Floats, progress: Callable[[int], None]) -> None:
    """Raise the bounds of all nodes that are left by the records in classes below k."""
    keys = search.keys
    if search.limits.k <= 1 or not can_sweep(keys.codes, keys.classes.part, keys.new):
        return
    below = np.inf if search.best is None else search.best.loss - _LEAST_GAIN
    left = np.flatnonzero(bound.reshape(-1) < below)
    nodes = np.column_stack(np.unravel_index(left, bound.shape))
    flat, start = bound.reshape(-1), 0
    classes = keys.classes
    for more in rare_losses(keys.codes, classes.part, classes.count, keys.new, keys.loss, search.limits.k, search.most, nodes):
        own = left[start : start + len(more)]
        flat[own] = np.maximum(flat[own], least.reshape(-1)[own] + more)
        start += len(more)
        progress(len(search.seen))


def _some_nodes(search: LatticeSearch, progress: Callable[[int], None]) -> float:
    """Examine nodes upwards from the finest by G(v), up to a number of nodes; every other node has a loss of at least G."""
    keys = search.keys
    own = keys.cell_losses(keys.classes.count)

    def low(node: Node) -> float:
        return sum(float(own[j][level]) for j, level in enumerate(node))

    start: Node = (0,) * len(keys.levels)
    waiting, met, passed, first = [(low(start), start)], {start}, 0, len(search.seen)
    hopeless: list[Node] = []
    while waiting:
        lowest, node = heapq.heappop(waiting)
        if search.best is not None and lowest >= search.best.loss - _LEAST_GAIN:
            return search.best.loss
        if len(search.seen) - first >= _MOST_EXAMINED or passed >= _MOST_PASSED:
            return lowest
        passed += 1
        if not any(all(a <= b for a, b in zip(node, top, strict=True)) for top in hopeless):
            if search.examine(node) is None:
                hopeless = _with_hopeless(search, hopeless, node)
            progress(len(search.seen))
        for j, level in enumerate(node):
            above = (*node[:j], level + 1, *node[j + 1 :])
            if level + 1 < keys.levels[j] and above not in met:
                met.add(above)
                heapq.heappush(waiting, (low(above), above))
    return np.inf if search.best is None else search.best.loss


def _with_hopeless(search: LatticeSearch, hopeless: list[Node], node: Node) -> list[Node]:
    """Nodes that suppress too many records, as do all finer ones, with the coarsest such node above this one added."""
    if search.forced_at(node) is not None:
        return hopeless
    top, grown = list(node), True
    while grown:
        grown = False
        for j, level in enumerate(top):
            above = (*top[:j], level + 1, *top[j + 1 :])
            if level + 1 < search.keys.levels[j] and search.forced_at(above) is None:
                top, grown = list(above), True
    return [*hopeless, tuple(top)]

