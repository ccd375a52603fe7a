"""Values of records that one of two releases lacks, or has in another sub-group: what the values of the two differ by.

    V(g) − V'(g) = {x}       V, V' the values of a column in sub-group g, as multisets, in a release with one record more in g
    Σ_g y − Σ_g y' = x       the same for masks that keep totals

Swaps, shuffling and reverse mapping keep the values of each sub-group. So a file that is released again with a few new records,
without a few old ones, or after a few moved to another region gives their values away, if those of the others are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Array, Column
from larvatus.data.microdata import Microdata, collect
from larvatus.data.pairings.persons import persons_of_records
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows

_MOST_VALUES = 20_000_000
_EXACT = 1e-6  # standard deviations by which a total may differ
_SAME = -2  # a partner in an unknown row: it counts as one in the same sub-group
_Key = TypeVar("_Key")


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
                f"other, or in another sub-group: what the releases differ by gives their values of {', '.join(self.names)}")


def remaining_values(original: Microdata, release: Release, others: Sequence[Release]) -> RemainingValues:
    """The records that another release lacks or has in another sub-group, and of which the difference gives a value."""
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
    here, there = _keys(data, by), _keys(whole, by)
    rows, other_rows = _rows_by(here), _rows_by(there)
    partner = _partners(original, record, partners, whole)
    before = [here[i] if k == _SAME else there[k] if k >= 0 else None for i, k in enumerate(partner.tolist())]
    moved = [i for i, key in enumerate(before) if key != here[i]]
    came = _rows_by([here[i] for i in moved])
    went = _rows_by([before[i] for i in moved])
    gone = Counter(there[k] for k in np.setdiff1d(np.arange(len(there)), partner).tolist())
    alone = [(key, moved[k[0]], True) for key, k in came.items() if len(k) == 1]
    alone += [(key, moved[k[0]], False) for key, k in went.items() if key is not None and len(k) == 1 and not gone[key]]
    if not alone:
        return
    for name in names:
        if theirs[name] not in whole.table.columns or whole.table.columns[theirs[name]].kind != data.table.columns[name].kind:
            continue
        mine, others, true = (_texts(d, n) for d, n in ((data, name), (whole, theirs[name]), (original, name)))
        number = data.table.columns[name].kind == "number"
        spread = float(np.nanstd(true)) if number else 0.0
        for key, i, is_here in alone:
            x = true[np.searchsorted(ids, record[i])]
            more, fewer = mine[rows.get(key, [])], others[other_rows.get(key, [])]
            more, fewer = (more, fewer) if is_here else (fewer, more)
            left = list((Counter(more.tolist()) - Counter(fewer.tolist())).elements())
            same = number and spread > 0 and len(more) == len(fewer) + 1
            if (len(left) == 1 and left[0] == x) or (
                    same and abs(float(more.sum()) - float(fewer.sum()) - x) <= _EXACT * spread):
                yield name, int(record[i])


def _partners(original: Microdata, record: Ints, partners: Microdata, whole: Microdata) -> Ints:
    """The row of each record in the other release; -1 if it lacks the record, and _SAME if it has it in an unknown row."""
    theirs = collect(whole, ())[0]
    if partners is whole:
        place = np.minimum(np.searchsorted(theirs, record), len(theirs) - 1)
        return np.where(theirs[place] == record, place, -1)
    out = np.where(np.isin(record, collect(partners, ())[0]), _SAME, -1)
    mine, persons = persons_of_records(original), persons_of_records(whole)
    if mine is None or persons is None:
        return out
    first = {p: k for k, p in reversed([*enumerate(persons.person)]) if p is not None}
    row = {r: int(np.searchsorted(theirs, persons.record[first[p]]))
           for r, p in zip(mine.record.tolist(), mine.person, strict=True) if p in first}
    return np.array([row.get(r, k) for r, k in zip(record.tolist(), out.tolist(), strict=True)], dtype=np.int64)


def _rows_by(keys: Sequence[_Key]) -> dict[_Key, list[int]]:
    out: dict[_Key, list[int]] = {}
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
