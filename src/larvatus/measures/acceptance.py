"""Share of released values that users would not accept as real (Muralidhar, Sarathy and Domingo-Ferrer: 001 §2).

    loss of a column = (share of new values + share of impossible values) / 2

A new value does not occur in the original. An impossible value is negative, outside the range, or not whole, although no
original value is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block, Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.data.sub_groups import GroupLabel, Level
from larvatus.data.verbs import as_one_group, fold_in_order, reduce_groups, with_table

_RELEASED = scratch("released")
_KINDS = ("new", "negative", "outside", "not_whole", "impossible")


class _Limits(NamedTuple):
    """Smallest and largest original value of a column, and whether all values are whole numbers."""

    low: float = np.inf
    high: float = -np.inf
    whole: bool = True

    def joined(self, other: _Limits) -> _Limits:
        return _Limits(min(self.low, other.low), max(self.high, other.high), self.whole and other.whole)


class _Seen(NamedTuple):
    """State of a pass over sorted values: last value, whether it occurs in the original, its released records, new values."""

    last: float = np.nan
    known: bool = False
    waiting: int = 0
    new: int = 0


class Acceptance(Measure):
    """Share of released values that are new or impossible in the original.

    A value is impossible if it is negative and no original value is, if it lies outside the range of the original, or if it
    is not whole and all original values are. The loss of a column is the mean of its share of new values and its share of
    impossible values. Each rule that the release should obey counts as one more column; its loss is the share of records
    that break the rule in the release beyond those that break it in the original. The value is the mean. Permuted values
    lose nothing; noise makes nearly every value new. Missing values are left out. A new category is also impossible. In a
    sub-group, values are compared with the original values of that sub-group.

    Look at it if users would reject values that cannot occur. It says nothing about relations.

    Parameters: none.
    """

    decides: ClassVar[bool] = False
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})
    any_kind: ClassVar[bool] = True

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        released = release.data
        rows = _rows(*(_counted(as_one_group(original), as_one_group(released))[()]))
        held: dict[GroupLabel, int] = {label: g for g, label in enumerate(original.groups.labels)}
        groups: list[Row] = []
        for label, (names, counts) in _counted(original, released).items():
            g = held[label]
            groups.append({
                "sub_group": original.groups.name(g), "records": original.groups.sizes[g],
                "value": mean_of(_rows(names, counts)),
            })
        rules: list[Row] = [
            {"rule": r["rule"], "original": r["original"], "released": r["released"],
             "loss": max(_number(r["released"]) - _number(r["original"]), 0.0) / max(released.rows, 1)}
            for r in release.rules
        ]
        return Score(
            "acceptance", "loss", mean_of([*rows, *rules]), "mean of the shares of new and of impossible released values",
            self.settings(), by_variable=Rows.of(rows), by_group=Rows.of(groups),
            details={"rules": Rows.of(rules)} if rules else {},
        )


def _number(cell: object) -> float:
    return float(cell) if isinstance(cell, int | float) else 0.0


def _rows(names: Sequence[str], counts: Ints) -> list[Row]:
    """One row per column with released values: the loss, and the share of each kind of value."""
    out: list[Row] = []
    for name, (present, *found) in zip(names, counts, strict=True):
        if present:
            share = dict(zip(_KINDS, (float(f / present) for f in found), strict=True))
            out.append({"variable": name, "loss": (share["new"] + share["impossible"]) / 2, **share})
    return out


def _counted(original: Microdata, released: Microdata) -> dict[GroupLabel, tuple[Sequence[str], Ints]]:
    """For every sub-group in both files, the columns and their counts: columns × (present, each kind of value)."""
    mine, theirs = original.table.columns, released.table.columns
    names = [n for n in original.confidential if n in theirs]
    place = {label: g for g, label in enumerate(original.groups.labels)}
    out = {label: np.zeros((len(names), 1 + len(_KINDS)), dtype=np.int64) for label in released.groups.labels if label in place}
    for j, name in enumerate(names):
        if mine[name].kind == theirs[name].kind == "number":
            found = _numbers(original, released, name)
        else:
            found = _categories(original, released, name)
        for label in out:
            out[label][j] = found[label]
    return {label: (names, counts) for label, counts in out.items()}


def _numbers(original: Microdata, released: Microdata, name: str) -> dict[GroupLabel, Ints]:
    def limits(group: int, block: Block) -> _Limits:
        there = block[name][~np.isnan(block[name])]
        if not len(there):
            return _Limits()
        return _Limits(float(there.min()), float(there.max()), bool((there == np.rint(there)).all()))

    known = dict(zip(original.groups.labels, reduce_groups(original, [name], limits, _Limits.joined), strict=True))
    here = [known.get(label, _Limits()) for label in released.groups.labels]

    def count(group: int, block: Block) -> Ints:
        there, limit = block[name][~np.isnan(block[name])], here[group]
        negative = (there < 0) & (limit.low >= 0)
        outside = (there < limit.low) | (there > limit.high)
        broken = (there != np.rint(there)) & limit.whole
        return np.array([len(there), 0, *(k.sum() for k in (negative, outside, broken, negative | outside | broken))])

    counts = dict(zip(released.groups.labels, reduce_groups(released, [name], count, np.add), strict=True))
    both = with_table(original, original.table.stack(released.table, [name], _RELEASED))
    seen = fold_in_order(both, name, [name, _RELEASED], _Seen(), partial(_passed, name))
    for label, carry in zip(both.groups.labels, seen, strict=True):
        if label in counts:
            counts[label][1] = carry.new + carry.waiting
    return counts


def _passed(name: str, group: int, carry: _Seen, block: Block) -> _Seen:
    """The state after more sorted rows; the next block may continue the last value."""
    value, released = block[name], block[_RELEASED] == 1
    start = np.flatnonzero(np.concatenate([[True], value[1:] != value[:-1]]))
    waiting = np.add.reduceat(released.astype(np.int64), start)
    known = np.add.reduceat((~released).astype(np.int64), start) > 0
    new = carry.new
    if value[0] == carry.last:
        known[0] |= carry.known
        waiting[0] += carry.waiting
    else:
        new += carry.waiting
    waiting[known] = 0
    return _Seen(float(value[-1]), bool(known[-1]), int(waiting[-1]), new + int(waiting[:-1].sum()))


def _categories(original: Microdata, released: Microdata, name: str) -> dict[GroupLabel, Ints]:
    """Categories that do not occur in the original; if the type of the column changed, every value is new."""
    levels: list[tuple[Level, ...]] = [d.table.columns[name].levels for d in (original, released)]
    numbers = [d.table.columns[name].kind == "number" for d in (original, released)]

    def occurring(group: int, block: Block) -> Ints:
        return np.zeros(0, dtype=np.int64) if numbers[0] else np.unique(block[name])

    codes = reduce_groups(original, [name], occurring, np.union1d)
    known = {
        label: {levels[0][int(c)] for c in seen if c >= 0} for label, seen in zip(original.groups.labels, codes, strict=True)
    }
    unseen = [
        np.array([v not in known.get(label, set()) for v in levels[1]] + [False]) for label in released.groups.labels
    ]

    def count(group: int, block: Block) -> Ints:
        if numbers[1]:
            n = int((~np.isnan(block[name])).sum())
            return np.array([n, n, 0, 0, 0, n])
        there = block[name][block[name] >= 0]
        new = int(unseen[group][there].sum())
        return np.array([len(there), new, 0, 0, 0, new])

    return dict(zip(released.groups.labels, reduce_groups(released, [name], count, np.add), strict=True))
