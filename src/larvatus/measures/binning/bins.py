"""Bins that do not reveal the smallest or largest value of a column: open at both ends, with rounded edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import as_one_group, reduce_groups

CORNERS = (0.005, 0.25, 0.5, 0.75, 0.995)
HEAVY = 5.0


def edges_of(data: Microdata, names: Sequence[str], bins: int) -> dict[str, Floats]:
    """Inner edges for every column (one fewer than bins); if there are few distinct values, each has its own bin."""
    whole = as_one_group(data)
    distinct = reduce_groups(whole, names, lambda g, b: [_few(b[n], bins) for n in names], lambda a, b: _merged(a, b, bins))[0]
    out = {}
    for name, values in zip(names, distinct, strict=True):
        if len(values) <= bins:
            out[name] = (values[1:] + values[:-1]) / 2
        else:
            out[name] = _spread(whole.table.quantiles(name, CORNERS)[0], bins)
    return out


def _few(values: Floats, most: int) -> Floats:
    """The distinct values, at most `most` + 1 of them."""
    return np.unique(values[~np.isnan(values)])[: most + 1]


def _merged(one: list[Floats], other: list[Floats], most: int) -> list[Floats]:
    return [np.union1d(a, b)[: most + 1] for a, b in zip(one, other, strict=True)]


def _spread(corners: Floats, bins: int) -> Floats:
    """Bins of equal width over all but the tails; if the tails are long, bins that widen away from the median."""
    low, lower, middle, upper, high = corners
    half = (upper - lower) / 2
    if half > 0 and max(high - middle, middle - low) > HEAVY * 2 * half:
        ends = np.arcsinh((low - middle) / half), np.arcsinh((high - middle) / half)
        edges = middle + half * np.sinh(np.linspace(*ends, bins - 1))
    else:
        edges = np.linspace(low, high, bins - 1)
    return np.unique(round_edges(edges, high - low))


def round_edges(edges: Floats, width: float) -> Floats:
    """Edges rounded to about a thousandth of the width, or to three digits if that is finer."""
    step = 10.0 ** np.floor(np.log10(np.maximum(np.abs(edges), width * 1e-12) + 1e-300) - 2)
    step = np.minimum(step, 10.0 ** np.floor(np.log10(max(width, 1e-300)) - 2)) if width > 0 else step
    return np.asarray(np.round(edges / step) * step)


def bin_counts(data: Microdata, edges: Mapping[str, Floats]) -> list[dict[str, NDArray[np.int64]]]:
    """Per sub-group and column, the number of values in each bin."""
    names = list(edges)

    def count(group: int, block: Block) -> dict[str, NDArray[np.int64]]:
        return {n: _binned(block[n], edges[n]) for n in names}

    return reduce_groups(data, names, count, lambda a, b: {n: a[n] + b[n] for n in names})


def _binned(values: Floats, edges: Floats) -> NDArray[np.int64]:
    there = values[~np.isnan(values)]
    return np.bincount(np.searchsorted(edges, there, side="right"), minlength=len(edges) + 1)


def bin_difference(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    """Half the sum of absolute differences of shares: the share of records that would have to move to another bin."""
    if before.sum() == 0 or after.sum() == 0:
        return 0.0 if before.sum() == after.sum() else 1.0
    return float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)
