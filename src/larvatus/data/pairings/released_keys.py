"""Keys of an original in the form in which a release has them.

    attacks and their baselines     S of the original  :=  the released keys
    measures                        S of the original  :=  g(original keys),   g(v) = most frequent released value of v

g is the recoding itself if a key was only recoded. Keys that still differ from the release, because they were suppressed or
perturbed, are compared like confidential columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows
from larvatus.data.steps import columns_of_step, is_key_step
from larvatus.data.verbs import map_rows, reduce_groups, with_table
from larvatus.stats.neighbours.distinct_rows import distinct_rows

_SAME = 1e-12
INFORMATION_LOST = "information in the keys that is lost"
_MISSING = -np.inf  # sorts first and equals itself


def released_keys(original: Microdata, release: Release) -> tuple[str, ...]:
    """Keys that may differ from the original: those that a step names; all of them if the release was made elsewhere."""
    there = [n for n in original.keys if n in release.data.table.columns]
    if release.steps:
        there = [n for n in there if any(n in columns_of_step(s, original) for s in release.steps)]
    return tuple(there)


def with_released_keys(original: Microdata, release: Release) -> Microdata:
    """The original with its keys as released; missing in records that are not released."""
    names = released_keys(original, release)
    if not names or not release.is_paired:
        return original
    return with_table(original, original.table.pair(release.data.table, {n: n for n in names}, partly=True))


def without_key_steps(release: Release) -> Release:
    """The release with the steps that mask confidential columns: its keys count as given."""
    kept = tuple(s for s in release.steps if not is_key_step(s, release.data.roles))
    return release if len(kept) == len(release.steps) else replace(release, steps=kept)


@dataclass(frozen=True, slots=True)
class ValuePairs:
    """Pairs of original and released value of one key that occur, with their numbers of records; `same` if they agree.

    `codes` is true if the values are codes of categories.
    """

    before: Floats
    after: Floats
    count: Ints
    same: NDArray[np.bool_]
    codes: bool = False

    def information_lost(self) -> float:
        """H(original | released) as a share of H(original); a suppressed cell loses what its value tells.

        A recoded cell loses log(N(class) / N(value)), counted in the original; a perturbed one − log P(value | released).
        """
        there = self.before != _MISSING
        before, after, count = self.before[there], self.after[there], self.count[there].astype(np.float64)
        own = np.unique(before, return_inverse=True)[1].reshape(-1)
        n = np.bincount(own, weights=count)
        most = float((n * np.log(n.sum() / n)).sum()) if len(n) else 0.0
        if most <= 0:
            return 0.0
        gone = after == _MISSING
        lost = float((count[gone] * np.log(n.sum() / n[own[gone]])).sum())
        released, place = np.unique(after[~gone], return_inverse=True)
        place, kept, of = place.reshape(-1), count[~gone], own[~gone]
        recoded = len(np.unique(of)) == len(of)  # every value has one released value
        mine = n[of] if recoded else kept
        joined = np.bincount(place, weights=mine, minlength=len(released))[place]
        return (lost + float((kept * np.log(joined / mine)).sum())) / most

    def recoding(self) -> tuple[Floats, Floats]:
        """Every original value that is released, ascending, and its most frequent released value."""
        there = (self.before != _MISSING) & (self.after != _MISSING)
        order = np.lexsort((self.after[there], -self.count[there], self.before[there]))
        values, first = np.unique(self.before[there][order], return_index=True)
        return values, self.after[there][order][first]


def value_pairs(original: Microdata, released: Microdata, name: str) -> ValuePairs:
    """The pairs of original and released values of a key, over the released records."""
    mine, theirs = original.table.columns[name], released.table.columns[name]
    joined = with_table(released, released.table.pair(original.table, {scratch("original", name): name}))

    def pairs(group: int, block: Block) -> Floats:
        both = np.column_stack((_plain(block[scratch("original", name)]), _plain(block[name])))
        rows, _, count = distinct_rows(both) if len(both) else (both, None, np.zeros(0))
        return np.column_stack((rows, count))

    found = np.vstack(reduce_groups(joined, [scratch("original", name), name], pairs, lambda a, b: np.vstack((a, b))))
    rows, code, _ = distinct_rows(found[:, :2])
    count = np.bincount(code, weights=found[:, 2]).astype(np.int64)
    codes = mine.kind == theirs.kind == "nominal"
    return ValuePairs(rows[:, 0], rows[:, 1], count, _agree(mine, theirs, rows), codes)


def key_changes(original: Microdata, released: Microdata, names: Sequence[str] | None = None) -> Rows:
    """For each key: its cells in the released records, how many were suppressed or got another value, and how many values."""
    rows: list[Row] = []
    for name in (n for n in (original.keys if names is None else names) if n in released.table.columns):
        found = value_pairs(original, released, name)
        there, gone = found.before != _MISSING, found.after == _MISSING
        rows.append({
            "variable": name, "cells": int(found.count[there].sum()), "suppressed": int(found.count[there & gone].sum()),
            "recoded": int(found.count[there & ~gone & ~found.same].sum()),
            "values before": len(np.unique(found.before[there])), "values after": len(np.unique(found.after[~gone])),
            "information lost": found.information_lost(),
        })
    return Rows.of(rows)


def key_notes(original: Microdata, keyed: Microdata) -> list[Note]:
    """Notes on the cells of each key that steps changed."""
    return [
        Note(f"key {r['variable']}: {r['recoded']:,} of {r['cells']:,} cells have another value, {r['suppressed']:,} were made "
             f"missing; {r['values before']:,} values became {r['values after']:,}")
        for r in key_changes(original, keyed) if r["recoded"] or r["suppressed"]
    ]


def comparable_keys(original: Microdata, release: Release) -> tuple[Microdata, Release]:
    """Original and release with keys that measures can compare: recoded keys are compared at their released level.

    Keys that still differ in some records are confidential in both files.
    """
    names = released_keys(original, release)
    if not names or not release.is_paired:
        return original, release
    differ = []
    for name in names:
        found = value_pairs(original, release.data, name)
        if _has_new_values(original.table.columns[name], release.data.table.columns[name]):
            values, after = found.recoding()
            original = _recoded(original, name, release.data.table.columns[name], values, after)
            found = value_pairs(original, release.data, name)
        differ += [name] if not found.same.all() else []
    if not differ:
        return original, release
    copies = tuple(c.with_confidential((*c.roles.confidential, *differ)) for c in release.copies)
    return original.with_confidential((*original.roles.confidential, *differ)), replace(release, copies=copies)


def _plain(values: Array) -> Floats:
    """Numbers or codes as floats; missing ones are equal to each other."""
    floats = values.astype(np.float64)
    gone = np.isnan(floats) if values.dtype.kind == "f" else values < 0
    return np.where(gone, _MISSING, floats)


def _agree(mine: Column, theirs: Column, rows: Floats) -> NDArray[np.bool_]:
    """Whether both values of each pair are the same."""
    gone = rows == _MISSING
    if mine.kind != theirs.kind:
        return np.asarray(gone.all(axis=1))
    if mine.kind == "number":
        apart = np.abs(np.where(gone.any(axis=1), 0.0, rows[:, 0]) - np.where(gone.any(axis=1), 0.0, rows[:, 1]))
        return np.asarray(np.where(gone.any(axis=1), gone.all(axis=1), apart <= _SAME * np.abs(rows[:, 0])))
    before, after = ([*map(str, c.levels), None] for c in (mine, theirs))
    at = np.where(gone, -1, rows).astype(np.int64)
    return np.array([before[i] == after[j] for i, j in at.tolist()], dtype=bool)


def _has_new_values(mine: Column, theirs: Column) -> bool:
    """Whether the released values of a key are not values of the original column."""
    if mine.kind != theirs.kind:
        return True
    return mine.kind == "nominal" and not {str(v) for v in theirs.levels} <= {str(v) for v in mine.levels}


def _recoded(data: Microdata, name: str, column: Column, values: Floats, after: Floats) -> Microdata:
    """The data with g applied to a key. A value that is never released becomes missing."""
    missing = -1 if column.kind == "nominal" else np.nan

    def recode(group: int, block: Block) -> Mapping[str, Array]:
        old = _plain(block[name])
        at = np.minimum(np.searchsorted(values, old), max(len(values) - 1, 0))
        known = values[at] == old if len(values) else np.zeros(len(old), dtype=bool)
        new = np.where(known, after[at], 0.0) if len(values) else np.zeros(len(old))
        return {name: np.where(known, new.astype(np.int64) if column.kind == "nominal" else new, missing)}

    return map_rows(data, recode, [name], [replace(column, missing=True)])
