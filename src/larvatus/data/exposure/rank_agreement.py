"""Pairs of columns whose ranks agree perfectly, or in perfect reverse, in every record that has both."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import add_ranks, map_rows, reduce_groups
from larvatus.stats.linear.moments import SampleMoments

Pairs = dict[tuple[int, int], float]
NEARLY = 1e-9
_ENOUGH = 10
_COMPLETE = scratch("complete", "one"), scratch("complete", "other")
RANKS_TOGETHER = scratch("rank together", "one"), scratch("rank together", "other")


def agreeing(data: Microdata, names: Sequence[str], moments: Sequence[SampleMoments]) -> list[Pairs]:
    """Per sub-group, pairs of columns of ranks (the first columns in the moments) that agree or reverse perfectly."""
    p = len(names)
    near: list[Pairs] = [{} for _ in moments]
    every = SampleMoments.stack(moments)
    for g in np.flatnonzero(_close(every, p).any(axis=(1, 2))).tolist():
        near[g] = _nearly(moments[g], p)
    if any(near):
        total = [float(m.present.max(initial=0.0)) for m in moments]
        near = _compared(data, names, near, total)
    some = np.ptp(every.count[:, :p, :p], axis=(1, 2)) > 0
    differently = [_differently_missing(m, p) if missing else [] for m, missing in zip(moments, some, strict=True)]
    return [one | other for one, other in zip(near, _agreeing_partly(data, names, moments, differently), strict=True)]


def _compared(data: Microdata, names: Sequence[str], near: Sequence[Pairs], total: Sequence[float]) -> list[Pairs]:
    """Those of the pairs whose ranks agree or reverse in every record; `total` is the sum of two reversed ranks."""

    def differ(group: int, block: Block) -> dict[tuple[int, int], int]:
        return {
            (i, j): int(np.count_nonzero(_apart(block[names[i]], block[names[j]], sign, total[group]) > 0.25))
            for (i, j), sign in near[group].items()
        }

    found = reduce_groups(data, names, differ, lambda a, b: {pair: a[pair] + b[pair] for pair in a})
    return [{pair: sign for pair, sign in near[g].items() if found[g][pair] == 0} for g in range(len(near))]


def _agreeing_partly(
    data: Microdata, names: Sequence[str], moments: Sequence[SampleMoments], pairs: Sequence[Collection[tuple[int, int]]]
) -> list[Pairs]:
    """Pairs with different missing records that agree in the records that have both; ranks are recomputed over these records.

    Only pairs that agree within every chunk are ranked again, so that columns without agreement cost little.
    Columns that do not vary in those records agree both ways, which carries no information.
    """
    out: list[Pairs] = [{} for _ in moments]
    if not any(pairs):
        return out
    inside = reduce_groups(
        data, names, lambda g, b: {(i, j): _agreement(b[names[i]], b[names[j]]) for i, j in pairs[g]},
        lambda a, b: {pair: a[pair] & b[pair] for pair in a},
    )
    for i, j in sorted({pair for found in inside for pair, signs in found.items() if signs}):
        both = rank_pair(data, names[i], names[j])
        total = [float(m.count[i, j]) for m in moments]
        ways = [
            _compared(both, RANKS_TOGETHER, [{(0, 1): sign} if sign in f.get((i, j), ()) else {} for f in inside], total)
            for sign in (1.0, -1.0)
        ]
        for g, (same, reverse) in enumerate(zip(*ways, strict=True)):
            if bool(same) != bool(reverse):
                out[g][i, j] = 1.0 if same else -1.0
    return out


def rank_pair(data: Microdata, one: str, other: str) -> Microdata:
    """Ranks of two columns over the records that have both."""

    def clear(group: int, block: Block) -> Mapping[str, Array]:
        gone = np.isnan(block[one]) | np.isnan(block[other])
        return {c: np.where(gone, np.nan, block[n]) for c, n in zip(_COMPLETE, (one, other), strict=True)}

    cleared = map_rows(data, clear, [one, other], [Column(c, "number") for c in _COMPLETE])
    return add_ranks(cleared, dict(zip(RANKS_TOGETHER, _COMPLETE, strict=True)))


def _agreement(one: Array, other: Array) -> frozenset[float]:
    """Whether the order of two columns agrees (1) or reverses (-1) in the records of a chunk that have both."""
    both = ~(np.isnan(one) | np.isnan(other))
    order = np.argsort(one[both])
    first, second = np.diff(one[both][order]), np.diff(other[both][order])
    return frozenset(
        sign for sign in (1.0, -1.0) if ((first == 0) == (second == 0)).all() and (sign * second >= 0).all()
    )


def _differently_missing(m: SampleMoments, p: int) -> list[tuple[int, int]]:
    """Pairs that are not missing in the same records, and that enough records have both of."""
    count = m.count[:p, :p]
    apart = np.triu(count < np.maximum.outer(m.present[:p], m.present[:p]), 1) & (count >= _ENOUGH)
    return [(int(i), int(j)) for i, j in np.argwhere(apart)]


def _close(m: SampleMoments, p: int) -> NDArray[np.bool_]:
    """Which pairs of the first columns have a correlation of one or minus one, up to rounding."""
    root = np.sqrt(np.diagonal(m.square, axis1=-2, axis2=-1)[..., :p])
    return np.triu(np.abs(m.scatter[..., :p, :p]) > (1 - NEARLY) * root[..., :, None] * root[..., None, :], 1)


def _nearly(m: SampleMoments, p: int) -> Pairs:
    """Pairs with the same missing records whose ranks agree, or reverse, up to rounding."""
    scatter, close = m.scatter[:p, :p], _close(m, p)
    whole = m.count[:p, :p] == np.maximum.outer(m.present[:p], m.present[:p])
    return {(int(i), int(j)): float(np.sign(scatter[i, j])) for i, j in np.argwhere(close & whole & (scatter != 0))}


def _apart(one: Array, other: Array, sign: float, n: float) -> Array:
    """Distance of each pair of ranks from agreement or reversal; 0 if missing."""
    away = one - other if sign > 0 else one + other - (n + 1)
    return np.where(np.isnan(away), 0.0, np.abs(away))
