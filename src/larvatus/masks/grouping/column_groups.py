"""Which columns are masked together: all, each alone, as the user lists them, or by correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from larvatus.core.errors import MaskError, nearest_names
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import map_rows, moments_by_group, with_table
from larvatus.stats.linear.portable_algebra import column_mean as mean

Listed: TypeAlias = tuple[str, ...] | tuple[tuple[str, ...], ...]
_KEPT = scratch("kept by a group")


def column_groups(what: str, listed: Listed, names: Sequence[str]) -> list[tuple[str, ...]]:
    """The groups that the user lists (one list, or several), in role order; every other column is a group of its own."""
    nested = [(g,) if isinstance(g, str) else g for g in listed]
    if listed and all(isinstance(g, str) for g in listed):
        nested = [tuple(g for g in listed if isinstance(g, str))]
    seen: set[str] = set()
    for name in (n for g in nested for n in g):
        if name not in names:
            raise MaskError(f"{what}: lists {name!r}, which this step does not mask; {nearest_names(name, names)}")
        if name in seen:
            raise MaskError(f"{what}: lists {name!r} twice. A column can be in one group only.")
        seen.add(name)
    groups = [tuple(n for n in names if n in g) for g in nested if g]
    groups += [(n,) for n in names if n not in seen]
    return sorted(groups, key=lambda g: names.index(g[0]))


def rejoin_columns(base: Microdata, masked: Microdata, names: Sequence[str]) -> Microdata:
    """The base with these columns taken from another table; records missing from that table are left out."""
    columns = {n: n for n in names}
    if masked.rows == base.rows:
        return with_table(base, base.table.pair(masked.table, columns))
    import numpy as np

    there = map_rows(masked, lambda g, b: {_KEPT: np.ones(len(b))}, (), [Column(_KEPT, "number")])
    joined = base.table.pair(there.table, {_KEPT: _KEPT}, partly=True).take(lambda g, b: b[_KEPT] == 1, [_KEPT])
    return with_table(base, joined.pair(masked.table, columns))


def correlated_groups(data: Microdata, names: Sequence[str], least: float) -> list[tuple[str, ...]]:
    """Join columns, the closest first, while the mean absolute correlation between two groups is at least `least`.

    Correlations are within sub-groups, pooled over all of them, so that every sub-group has the same column groups.
    """
    import numpy as np

    parts = moments_by_group(data, names)
    scatter, square = (np.sum([getattr(m, what) for m in parts], axis=0) for what in ("scatter", "square"))
    size = np.sqrt(square * square.T)
    close = np.abs(np.divide(scatter, size, out=np.zeros_like(scatter), where=size > 0))
    groups = [[j] for j in range(len(names))]
    while len(groups) > 1:
        pairs = [
            (float(mean(close[np.ix_(a, b)].ravel())), -i, -j) for j, b in enumerate(groups) for i, a in enumerate(groups[:j])
        ]
        best, i, j = max(pairs)
        if best < least:
            break
        groups[-i] = sorted(groups[-i] + groups.pop(-j))
    return [tuple(names[j] for j in g) for g in groups]
