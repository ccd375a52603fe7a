"""Classes of numbers, by cut points or of equal counts, with the count and mean of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import add_ranks, count_present, map_rows, reduce_groups
from larvatus.masks.coarsening.tails import SHARED_BY


@dataclass(frozen=True, slots=True)
class Classes:
    """The data with the class of each value of a column (NaN if missing), and counts and means by sub-group × class."""

    data: Microdata
    count: NDArray[np.int64]
    mean: Floats


def interval_name(name: str) -> str:
    """The column that holds the class of each value."""
    return scratch("class", name)


def by_cuts(data: Microdata, name: str, cuts: Sequence[float], weight: str | None) -> Classes:
    """Classes between cut points; each class includes its lower cut point."""
    edges = np.array(cuts, dtype=np.float64)

    def assign(group: int, block: Block) -> Mapping[str, Array]:
        x = block[name]
        return {interval_name(name): np.where(np.isnan(x), np.nan, np.searchsorted(edges, x, side="right"))}

    classed = map_rows(data, assign, [name], [Column(interval_name(name), "number")])
    return Classes(classed, *_figures(classed, name, len(edges) + 1, weight))


def by_counts(data: Microdata, name: str, bins: int, weight: str | None) -> Classes:
    """Classes of about equal counts; equal values share a class, and a class with too few values joins the next."""
    rank = scratch("rank", name)
    there = count_present(data.with_confidential([name]))[:, 0]
    ranked = add_ranks(data, {rank: name})

    def place(rank: Floats, group: int) -> Floats:
        return np.minimum(np.floor((rank - 0.5) * bins / max(int(there[group]), 1)), bins - 1)

    first = map_rows(ranked, lambda g, b: {interval_name(name): place(b[rank], g)}, [rank],
                            [Column(interval_name(name), "number")])
    joined = [_joined(counts) for counts in _figures(first, name, bins, None)[0]]

    def renumber(group: int, block: Block) -> Mapping[str, Array]:
        before = block[interval_name(name)]
        gone = np.isnan(before)
        return {interval_name(name): np.where(gone, np.nan, joined[group][np.where(gone, 0, before).astype(np.int64)])}

    classed = map_rows(first, renumber, [interval_name(name)], [Column(interval_name(name), "number")])
    return Classes(classed, *_figures(classed, name, bins, weight))


def _joined(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """New class numbers without gaps; a class of fewer than three values joins the next, the last joins the one before."""
    out, number, held = np.zeros(len(counts), dtype=np.int64), 0, 0
    for i, count in enumerate(counts.tolist()):
        out[i] = number
        held += count
        if held >= SHARED_BY and counts[i + 1 :].sum() >= SHARED_BY:
            number, held = number + 1, 0
    return out


def _figures(data: Microdata, name: str, classes: int, weight: str | None) -> tuple[NDArray[np.int64], Floats]:
    """Counts and means by class; weighted if there is a weight with a positive sum in the class."""

    def sums(group: int, block: Block) -> Floats:
        there = ~np.isnan(block[interval_name(name)])
        x, at = block[name][there], block[interval_name(name)][there].astype(np.int64)
        w = np.nan_to_num(block[weight][there]) if weight else np.ones(len(x))
        return np.array([np.bincount(at, v, minlength=classes) for v in (np.ones(len(x)), x, w, w * x)])

    used = [name, interval_name(name), *([weight] if weight else [])]
    count, plain, mass, weighted = np.array(reduce_groups(data, used, sums, np.add)).transpose(1, 0, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(mass > 0, weighted / mass, plain / count)
    return count.astype(np.int64), mean


def interval_names(cuts: Sequence[float | str]) -> tuple[str, ...]:
    """Labels of the classes between cut points."""
    said = [c if isinstance(c, str) else f"{c:.15g}" for c in cuts]
    inner = [f"{a} to under {b}" for a, b in pairwise(said)]
    return (f"under {said[0]}", *inner, f"{said[-1]} and over")
