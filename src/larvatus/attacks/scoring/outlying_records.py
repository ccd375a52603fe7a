"""The outlying records of a file: the tenth that is furthest from the centre of its sub-group.

    limit   x₍ₖ₎ + (h − k)(x₍ₖ₊₁₎ − x₍ₖ₎),   h = 0.9 (n − 1),  k = ⌊h⌋,  for the sorted distances x₍₀₎ … x₍ₙ₋₁₎

In a large file the two order statistics are found in two passes: how many distances begin with the same 16 bits, and then the
distances that begin as the two do. Nothing of the length of the file is held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from larvatus.attacks.scoring.credits import OUTLYING_SHARE, distance_from_centre, outlying_tenth, outlyingness
from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block, Column
from larvatus.data.microdata import Microdata, collect
from larvatus.data.score import Row, Rows
from larvatus.data.verbs import map_rows, reduce_groups

FROM_CENTRE, _CREDIT = scratch("far"), scratch("credit")
MOST_HELD = 10_000_000  # records of which a figure is held in memory at once; a score of a larger file has none by record
_SHIFT = np.uint64(48)


def with_distances(data: Microdata, names: Sequence[str], column: str) -> Microdata:
    """The data with a column of the distances from the centre of the sub-group in the named columns."""
    centres = outlyingness(data, names)
    return map_rows(data, lambda g, b: {column: distance_from_centre(*centres[g], b, names)}, list(names),
                    [Column(column, "number")])


def outlying_limit(data: Microdata, column: str) -> float:
    """The distance beyond which records are outlying; infinite where all are equally far. No distance is missing."""
    if data.rows <= MOST_HELD:
        far = collect(data, [column])[2][column]
        return float(np.quantile(far, 1 - OUTLYING_SHARE)) if len(far) and float(far.max()) > float(far.min()) else np.inf
    found = reduce_groups(data, [column], lambda g, b: _counted(_key(b[column])), _added)
    key, count = found[0]
    for other in found[1:]:
        key, count = _added((key, count), other)
    h = (1 - OUTLYING_SHARE) * (data.rows - 1)
    k = int(np.floor(h))
    upto = np.cumsum(count)
    wanted = np.unique(key[np.searchsorted(upto, [k, k + 1], side="right")])
    parts = reduce_groups(data, [column], lambda g, b: (b[column][np.isin(_key(b[column]), wanted)],), tuple.__add__)
    before = int(upto[np.searchsorted(key, wanted[0])] - count[np.searchsorted(key, wanted[0])])
    some = np.sort(np.concatenate([v for part in parts for v in part]))
    low, high = float(some[k - before]), float(some[k + 1 - before])
    if len(key) == 1 and some[0] == some[-1]:
        return np.inf
    return low + (high - low) * (h - k)


def by_outlyingness(
    data: Microdata, names: Sequence[str], columns: Sequence[str], credit: Callable[[int, Block], Floats], what: str
) -> tuple[Floats | None, Rows]:
    """A figure for every record, in record order, and its means over the outlying tenth and over the interior.

    Distance from the centre is measured in the columns `names`; `credit` also reads `columns`, and gives NaN if undefined.
    There are no figures by record in a file of more than ten million records.
    """
    centres = outlyingness(data, names)

    def of(group: int, block: Block) -> dict[str, Floats]:
        return {_CREDIT: credit(group, block), FROM_CENTRE: distance_from_centre(*centres[group], block, names)}

    columns_made = [Column(_CREDIT, "number"), Column(FROM_CENTRE, "number")]
    made = map_rows(data, of, list(dict.fromkeys([*names, *columns])), columns_made)
    if data.rows > MOST_HELD:
        limit = outlying_limit(made, FROM_CENTRE)

        def sums(group: int, block: Block) -> Floats:
            there, tenth = ~np.isnan(block[_CREDIT]), block[FROM_CENTRE] > limit
            return np.array([(some.sum(), block[_CREDIT][some].sum()) for some in (tenth & there, ~tenth & there)])

        total = np.sum(reduce_groups(made, [_CREDIT, FROM_CENTRE], sums, np.add), axis=0)
        return None, _rows([(int(n), float(part / max(n, 1.0))) for n, part in total], what)
    _, _, values = collect(made, [_CREDIT, FROM_CENTRE])
    found, there = values[_CREDIT], ~np.isnan(values[_CREDIT])
    tenth = outlying_tenth(values[FROM_CENTRE])
    parts = [found[some & there] for some in (tenth, ~tenth)]
    return found, _rows([(len(p), float(p.mean()) if len(p) else 0.0) for p in parts], what)


def _rows(figures: Sequence[tuple[int, float]], what: str) -> Rows:
    rows: list[Row] = [
        {"records": name, "count": n, what: mean}
        for name, (n, mean) in zip(("outlying tenth", "interior"), figures, strict=True) if n
    ]
    return Rows.of(rows)


def _key(distance: Floats) -> Ints:
    """The first 16 bits of numbers that are not negative, which are in the order of the numbers."""
    return np.asarray(np.ascontiguousarray(distance).view(np.uint64) >> _SHIFT).astype(np.int64)


def _counted(key: Ints) -> tuple[Ints, Ints]:
    return np.unique(key, return_counts=True)


def _added(one: tuple[Ints, Ints], other: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """The counts of both."""
    key, at = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    return key, np.bincount(at, weights=np.concatenate([one[1], other[1]])).astype(np.int64)
