"""Which values lie in the tails of columns, and the count, mean and bound of each tail, for top coding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import add_ranks, count_present, map_rows, reduce_groups
from larvatus.stats.linear.portable_algebra import total

SHARED_BY = 3


@dataclass(frozen=True, slots=True)
class Tail:
    """One side of every column, sub-groups × columns: how many values are cut, their mean, and the outermost value not cut.

    `shared` is the number of values with positive weight, and `even` their effective number, (Σw)² / Σw². `alike` marks tails
    whose values are all equal, and `wrong` counts missing or negative weights.
    """

    count: NDArray[np.int64]
    mean: Floats
    kept: Floats
    alike: NDArray[np.bool_]
    wrong: NDArray[np.int64]
    shared: NDArray[np.int64]
    even: Floats


def cut_name(name: str) -> str:
    """The column that is 1 for values cut at the top, -1 at the bottom, else 0."""
    return scratch("cut", name)


def mark_by_bounds(data: Microdata, names: Sequence[str], bounds: Mapping[int, Floats]) -> Microdata:
    """Mark the values beyond given bounds, by side."""

    def mark(group: int, block: Block) -> Mapping[str, Array]:
        return {
            cut_name(n): sum((s * (s * block[n] > s * limit[j]) for s, limit in bounds.items()), np.zeros(len(block)))
            for j, n in enumerate(names)
        }

    return map_rows(data, mark, names, [Column(cut_name(n), "number") for n in names])


def mark_by_shares(data: Microdata, names: Sequence[str], shares: Mapping[int, Floats], shared: bool) -> Microdata:
    """Mark the outermost share of the present values, by side; equal values are cut together if most lie in the tail.

    With `shared`, a tail of one or two values is widened to the third value and those equal to it. Existing marks of the
    other side are kept.
    """
    ranks = {n: scratch("rank", n) for n in names}
    ranked = add_ranks(data, {r: n for n, r in ranks.items()})
    marks = [cut_name(n) for n in names if cut_name(n) in data.table.columns]
    there = count_present(data.with_confidential(names))
    limit = {s: there - np.ceil(np.round(share * there, 9)) for s, share in shares.items()}
    if shared:
        for s in shares:
            depths = np.array(reduce_groups(ranked, list(ranks.values()), _deepest(list(ranks.values()), there, s), _outermost))
            few = (depths[:, :, -1] > limit[s]) & ~(depths[:, :, 0] > limit[s])
            limit[s] = np.where(few, np.minimum(limit[s], depths[:, :, 0] - 0.25), limit[s])

    def mark(group: int, block: Block) -> Mapping[str, Array]:
        out = {}
        for j, n in enumerate(names):
            cut = block[cut_name(n)].copy() if marks else np.zeros(len(block))
            for s in shares:
                cut[(_depth(block[ranks[n]], there[group, j], s) > limit[s][group, j]) & (cut == 0)] = s
            out[cut_name(n)] = cut
        return out

    return map_rows(ranked, mark, [*ranks.values(), *marks], [Column(cut_name(n), "number") for n in names])


def _depth(rank: Floats, there: int, side: int) -> Floats:
    return rank if side == 1 else there + 1 - rank


def _deepest(ranks: Sequence[str], there: Array, side: int):  # type: ignore[no-untyped-def]
    """A function of blocks that returns the largest ranks seen from a side, in ascending order."""

    def deepest(group: int, block: Block) -> Floats:
        out = np.full((len(ranks), SHARED_BY), -np.inf)
        for j, r in enumerate(ranks):
            found = np.sort(_depth(block[r][~np.isnan(block[r])], there[group, j], side))[-SHARED_BY:]
            out[j, SHARED_BY - len(found) :] = found
        return out

    return deepest


def _outermost(one: Floats, other: Floats) -> Floats:
    return np.sort(np.concatenate([one, other], axis=1), axis=1)[:, -SHARED_BY:]


def largest_shares(data: Microdata, names: Sequence[str], bounds: Mapping[int, Floats]) -> dict[int, Floats]:
    """By side and column, the largest share of present values that a bound cuts in any sub-group."""
    there = np.maximum(count_present(data.with_confidential(names)), 1)
    marked = mark_by_bounds(data, names, bounds)
    out = {}
    for s in bounds:
        cut = reduce_groups(marked, [cut_name(n) for n in names], _counting(names, s), np.add)
        out[s] = (np.array(cut) / there).max(axis=0)
    return out


def _counting(names: Sequence[str], side: int):  # type: ignore[no-untyped-def]
    return lambda group, block: np.array([int((block[cut_name(n)] == side).sum()) for n in names])


def tail_of(marked: Microdata, names: Sequence[str], side: int, weight: str | None) -> Tail:
    """Count, mean and bound of the tails of one side; with a weight, means are weighted."""

    def sums(group: int, block: Block) -> tuple[Floats, Floats]:
        add, most = np.zeros((7, len(names))), np.full((3, len(names)), -np.inf)
        for j, n in enumerate(names):
            x, cut = block[n], block[cut_name(n)]
            inside, kept = x[cut == side], x[(cut == 0) & ~np.isnan(x)]
            w = block[weight][cut == side] if weight else np.ones(len(inside))
            good = w >= 0
            of_mean = total(w[good]), total((w * inside)[good]), (~good).sum(), (w > 0).sum(), total(w[good] ** 2)
            add[:, j] = len(inside), total(inside), *of_mean
            if len(kept):
                most[0, j] = (side * kept).max()
            if len(inside):
                most[1:, j] = inside.max(), -inside.min()
        return add, most

    used = [*names, *map(cut_name, names), *([weight] if weight else [])]
    parts = reduce_groups(marked, used, sums, lambda a, b: (a[0] + b[0], np.maximum(a[1], b[1])))
    add, most = np.array([p[0] for p in parts]), np.array([p[1] for p in parts])
    count, plain, mass, weighted, wrong, shared, squares = (add[:, i] for i in range(7))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(mass > 0, weighted / mass, plain / count)
        even = np.where(squares > 0, mass**2 / squares, 0.0)
    kept = np.where(np.isfinite(most[:, 0]), side * most[:, 0], np.nan)
    alike = most[:, 1] == -most[:, 2]
    return Tail(count.astype(np.int64), mean, kept, alike, wrong.astype(np.int64), shared.astype(np.int64), even)
