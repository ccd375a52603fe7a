"""Values of records that one of two releases lacks: what is left over if the values of the one are taken from the other.

    V(g) − V'(g) = {x}       V, V' the values of a column in sub-group g, as multisets, in a release with one record more in g
    Σ_g y − Σ_g y' = x       the same for masks that keep totals

Swaps, shuffling and reverse mapping keep the values of each sub-group. So a file that is released again with a few new records,
or without a few old ones, gives their values away, if the values of the others are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Array, Column
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows

_MOST_VALUES = 20_000_000
_EXACT = 1e-6  # standard deviations by which a total may differ


@dataclass(frozen=True, slots=True)
class RemainingValues:
    """The records whose values are left over, and the columns in which they are."""

    record: Ints
    names: tuple[str, ...]

    def rows(self, kind: str, n: int) -> Rows:
        """A row for the table of unchanged records; none if there are no such records."""
        row: Row = {"records": kind, "sub_group": None, "count": len(self.record), "share": len(self.record) / max(n, 1),
                    "beyond": len(self.record)}
        return Rows.of([row] if len(self.record) else [])

    def in_words(self) -> str:
        return (f"{len(self.record):,} {'record is' if len(self.record) == 1 else 'records are'} in one release and not in the "
                f"other: what the releases differ by gives their values of {', '.join(self.names)}")


def remaining_values(original: Microdata, release: Release, others: Sequence[Release]) -> RemainingValues:
    """The records of the release that another one lacks, and of which the difference of the two gives a value."""
    own = set(release.internals.original_columns)
    names = [n for n in release.data.confidential if n not in own and n in original.table.columns
             and release.data.table.columns[n].kind == original.table.columns[n].kind]
    known: set[int] = set()
    read: dict[str, None] = {}
    for other in others:
        whole = other.internals.whole_wave or other.copies
        shown = release.internals.original_columns
        theirs = {n: n if n in whole[0].table.columns else next((c for c, b in shown.items() if b == n), n) for n in names}
        if (release.data.rows + whole[0].rows) * len(names) > _MOST_VALUES or not other.copies:
            continue
        for name, record in _read(original, release.data, other.data, whole[0], names, theirs):
            known.add(record)
            read[name] = None
    return RemainingValues(np.array(sorted(known), dtype=np.int64), tuple(read))


def _read(
    original: Microdata, data: Microdata, partners: Microdata, whole: Microdata, names: Sequence[str], theirs: dict[str, str]
) -> Iterator[tuple[str, int]]:
    """The columns and records that are read."""
    by = [n for n in data.sub_groups.columns if n in whole.table.columns and n in data.table.columns]
    record, ids = collect(data, ())[0], collect(original, ())[0]
    lacking = ~np.isin(record, collect(partners, ())[0])
    if not lacking.any():
        return
    here, there = _keys(data, by), _keys(whole, by)
    rows, other_rows = _rows_by(here), _rows_by(there)
    alone = {key: found[0] for key, inside in rows.items() if len(found := [i for i in inside if lacking[i]]) == 1}
    for name in names:
        if theirs[name] not in whole.table.columns or whole.table.columns[theirs[name]].kind != data.table.columns[name].kind:
            continue
        mine, others, true = (_texts(d, n) for d, n in ((data, name), (whole, theirs[name]), (original, name)))
        number = data.table.columns[name].kind == "number"
        spread = float(np.nanstd(true)) if number else 0.0
        for key, i in alone.items():
            x = true[np.searchsorted(ids, record[i])]
            more, fewer = mine[rows[key]], others[other_rows.get(key, [])]
            left = list((Counter(more.tolist()) - Counter(fewer.tolist())).elements())
            same = number and spread > 0 and len(more) == len(fewer) + 1
            if (len(left) == 1 and left[0] == x) or (
                    same and abs(float(more.sum()) - float(fewer.sum()) - x) <= _EXACT * spread):
                yield name, int(record[i])


def _rows_by(keys: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], list[int]]:
    out: dict[tuple[str, ...], list[int]] = {}
    for i, key in enumerate(keys):
        out.setdefault(key, []).append(i)
    return out


def _keys(data: Microdata, by: Sequence[str]) -> list[tuple[str, ...]]:
    """The sub-group of each record, as text."""
    columns = [[str(v) for v in _texts(data, n).tolist()] for n in by]
    return list(zip(*columns, strict=True)) if columns else [()] * data.rows


def _texts(data: Microdata, name: str) -> Array:
    """The values of a column, numbers or the text of levels."""
    values = collect(data, [name])[2][name]
    column: Column = data.table.columns[name]
    if column.kind == "number":
        out: Floats = np.asarray(values, dtype=np.float64)
        return out
    levels: Array = np.array([*map(str, column.levels), ""], dtype=object)
    return np.asarray(levels[values])
