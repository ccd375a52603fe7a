"""Numbers that were released as labels of classes, read as numbers again.

    y_i = mean of the original values of the records with the same label, in the same sub-group and in the other half of the file
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.verbs import map_rows, reduce_groups, with_table


def labelled_numbers(original: Microdata, released: Microdata) -> tuple[str, ...]:
    """Confidential columns that are numeric in the original and categorical in the release."""
    mine, theirs = original.table.columns, released.table.columns
    return tuple(n for n in released.confidential if n in mine and (mine[n].kind, theirs[n].kind) == ("number", "nominal"))


def with_decoded_labels(original: Microdata, release: Release, random: RecordRandom) -> tuple[Release, list[str]]:
    """The release with numbers for the labels of classes, as an intruder reads them who knows the classes, and notes on it.

    The halves of the file are drawn by record id, so that no record tells its own value: labels unrelated to the original
    values stay unrelated. If a class has records in one half only, the mean of its other records is used. A class of one
    record has no number.
    """
    names = labelled_numbers(original, release.data)
    if not names:
        return release, []
    copies = tuple(_decoded(original, copy, [n for n in names if copy.table.columns[n].kind == "nominal"], random)
                   for copy in release.copies)
    notes = [f"{n} is released as labels; the intruder is assumed to know the mean of each class" for n in names]
    return replace(release, copies=copies), notes


def _decoded(original: Microdata, data: Microdata, names: list[str], random: RecordRandom) -> Microdata:
    before = {scratch("original", n): n for n in names}
    joined = with_table(data, data.table.pair(original.table, before))
    levels = {n: len(data.table.columns[n].levels) for n in names}

    def totals(group: int, block: Block) -> dict[str, Floats]:
        half = _half(block, random)
        return {n: _totals(block[n], half, block[scratch("original", n)], levels[n]) for n in names}

    sums = reduce_groups(joined, [*names, *before], totals, lambda a, b: {n: a[n] + b[n] for n in a})

    def decode(group: int, block: Block) -> Mapping[str, Array]:
        half = _half(block, random)
        return {n: _class_mean(block[n], half, block[scratch("original", n)], sums[group][n]) for n in names}

    return with_table(data, data.table.pair(
        map_rows(joined, decode, [*names, *before], [Column(n, "number") for n in names]).table, {n: n for n in names}))


def _half(block: Block, random: RecordRandom) -> Ints:
    return (random.uniform(block.record, purpose="halves of classes")[0] < 0.5).astype(np.int64)


def _totals(code: Ints, half: Ints, x: Floats, levels: int) -> Floats:
    """Numbers and sums of the original values: 2 × halves × levels."""
    there = (code >= 0) & ~np.isnan(x)
    place = half[there] * levels + code[there]
    return np.array([np.bincount(place, weights=w, minlength=2 * levels).reshape(2, levels)
                     for w in (np.ones(int(there.sum())), x[there])])


def _class_mean(code: Ints, half: Ints, x: Floats, totals: Floats) -> Floats:
    """The mean of the class in the other half; of the other records of the class if there is none; NaN if it has no others."""
    at, there = np.maximum(code, 0), ~np.isnan(x)
    count, total = totals[:, 1 - half, at]
    others, rest = totals.sum(axis=1)[:, at] - np.array([there, np.where(there, x, 0.0)])
    mean = np.where(count > 0, total / np.maximum(count, 1), rest / np.maximum(others, 1))
    return np.asarray(np.where((code >= 0) & (others > 0.5), mean, np.nan))
