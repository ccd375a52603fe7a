"""Numbers that were released as labels of classes, read as numbers again, in two ways.

    by order      label l has the shares F(l − 1) to F(l) of the release, its labels in order; y = mean of the quantiles of X
                  between these shares
    by members    y = mean of the original values of the records with the same label in the other half of the file
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.verbs import map_rows, moments_by_group, reduce_groups, with_table

_STEPS = np.linspace(0, 1, 2001)
_ORDER, _MEMBERS = "by order", "by members"


def labelled_numbers(original: Microdata, released: Microdata) -> tuple[str, ...]:
    """Confidential columns that are numeric in the original and categorical in the release."""
    mine, theirs = original.table.columns, released.table.columns
    return tuple(n for n in released.confidential if n in mine and (mine[n].kind, theirs[n].kind) == ("number", "nominal"))


def with_decoded_labels(original: Microdata, release: Release, random: RecordRandom) -> tuple[Release, list[str]]:
    """The release with numbers for the labels of classes, as an intruder reads them who knows the classes, and notes on it.

    Labels are read in two ways within each sub-group, and the one that agrees better with the original values counts. By
    order: labels are taken to ascend, as those of `recoding` do, and the intruder knows the distribution of the original
    values. By members: the intruder knows the mean of each class. For that mean the file is halved by record id, so that no
    record tells its own value; if a class has records in one half only, its other records are used. Both ways leave labels
    unrelated that are unrelated to the original values.
    """
    names = labelled_numbers(original, release.data)
    if not names:
        return release, []
    copies = tuple(_decoded(original, copy, names, random) for copy in release.copies)
    notes = [f"{n} is released as labels; the intruder is assumed to know which values they stand for" for n in names]
    return replace(release, copies=copies), notes


def _decoded(original: Microdata, data: Microdata, names: Sequence[str], random: RecordRandom) -> Microdata:
    before = {_was(n): n for n in names}
    joined = with_table(data, data.table.pair(original.table, before))
    levels = {n: len(data.table.columns[n].levels) for n in names}

    def totals(group: int, block: Block) -> dict[str, Floats]:
        half = _half(block, random)
        return {n: _totals(block[n], half, block[_was(n)], levels[n]) for n in names}

    sums = reduce_groups(joined, [*names, *before], totals, lambda a, b: {n: a[n] + b[n] for n in a})
    quantiles = {n: joined.table.quantiles(_was(n), _STEPS.tolist()) for n in names}
    scale = [{n: _means_by_order(sums[g][n][2].sum(axis=0), quantiles[n][g]) for n in names} for g in range(len(sums))]

    def decode(group: int, block: Block) -> Mapping[str, Array]:
        half = _half(block, random)
        return {
            **{scratch(_ORDER, n): np.where(block[n] < 0, np.nan, scale[group][n][block[n]]) for n in names},
            **{scratch(_MEMBERS, n): _means_of_members(block[n], half, block[_was(n)], sums[group][n]) for n in names},
        }

    made = [Column(scratch(way, n), "number") for n in names for way in (_ORDER, _MEMBERS)]
    both = map_rows(joined, decode, [*names, *before], made)
    chosen = {n: max((_ORDER, _MEMBERS), key=lambda way: _agreement(both, n, way)) for n in names}
    return with_table(data, data.table.pair(both.table, {n: scratch(way, n) for n, way in chosen.items()}))


def _was(name: str) -> str:
    return scratch("original", name)


def _half(block: Block, random: RecordRandom) -> Ints:
    return np.asarray(random.uniform(block.record, purpose="halves of classes")[0] < 0.5, dtype=np.int64)


def _totals(code: Ints, half: Ints, x: Floats, levels: int) -> Floats:
    """Numbers and sums of the original values, and numbers of records, by half and label: 3 × 2 × levels."""
    shown, there = code >= 0, (code >= 0) & ~np.isnan(x)
    return np.array([
        np.bincount((half * levels + code)[rows], weights=w, minlength=2 * levels).reshape(2, levels)
        for rows, w in ((there, None), (there, x[there]), (shown, None))
    ])


def _means_by_order(count: Floats, quantiles: Floats) -> Floats:
    """The mean of the quantile function between the shares that each label begins and ends with."""
    area = np.concatenate([[0.0], np.cumsum((quantiles[1:] + quantiles[:-1]) / 2 * np.diff(_STEPS))])
    ends = np.concatenate([[0.0], np.cumsum(count)]) / max(count.sum(), 1.0)
    return np.asarray(np.diff(np.interp(ends, _STEPS, area)) / np.maximum(np.diff(ends), 1e-300))


def _means_of_members(code: Ints, half: Ints, x: Floats, totals: Floats) -> Floats:
    """The mean of the class in the other half, or of its other records if that half has none; NaN if there is no other."""
    at, there = np.maximum(code, 0), ~np.isnan(x)
    count, total = totals[:2, 1 - half, at]
    others, rest = totals[:2].sum(axis=1)[:, at] - np.array([there, np.where(there, x, 0.0)])
    mean = np.where(count > 0, total / np.maximum(count, 1), rest / np.maximum(others, 1))
    return np.asarray(np.where((code >= 0) & (others > 0.5), mean, np.nan))


def _agreement(data: Microdata, name: str, way: str) -> float:
    """The squared correlation of the numbers with the original values, as a mean over the records in all sub-groups."""
    moments = moments_by_group(data, [_was(name), scratch(way, name)])
    return sum(float(np.nan_to_num(m.correlation[0, 1]) ** 2 * m.count[0, 1]) for m in moments)
