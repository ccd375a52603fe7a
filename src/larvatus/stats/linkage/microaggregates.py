"""Microaggregates visible in a release: columns tied in the same records, and the aggregate nearest to a target."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.linkage.missing_patterns import patterns_of
from larvatus.stats.neighbours.distinct_rows import distinct_rows


def tied_together(y: Floats) -> list[list[int]]:
    """Lists of columns that partition the records in the same way; constant columns are left out.

    Records in which one of two columns is missing are ignored for this pair.
    """
    codes, found = _codes(y), list[list[int]]()
    for j in range(y.shape[1]):
        there = y[~np.isnan(y[:, j]), j]
        if not len(there) or there.min() == there.max():
            continue
        group = next((g for g in found if _same_parts(codes[:, g[0]], codes[:, j])), None)
        if group is None:
            found.append([j])
        else:
            group.append(j)
    return found


def _codes(y: Floats) -> Ints:
    """Codes of the values of each column; -1 if missing."""
    out = np.full(y.shape, -1, dtype=np.int64)
    for j in range(y.shape[1]):
        there = ~np.isnan(y[:, j])
        out[there, j] = np.unique(y[there, j], return_inverse=True)[1]
    return out


def _same_parts(a: Ints, b: Ints) -> bool:
    both = (a >= 0) & (b >= 0)
    a, b = a[both], b[both]
    if not len(a):
        return False
    if both.all() and (a.max() != b.max() or a.max() + 1 == len(a)):  # codes are consecutive
        return bool(a.max() == b.max())
    pairs = len(np.unique(a * (int(b.max()) + 1) + b))
    return pairs == len(np.unique(a)) == len(np.unique(b))


def codes_of_intervals(x: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """The first and the last interval that contain each x, as codes, and the code of the interval [low, high] of each record.

    Intervals are numbered by their lower ends. If they overlap, an interval between the first and the last may not contain x.
    If no interval does, the first code exceeds the last one. A missing value has the code NaN.
    """
    there = ~np.isnan(low)
    ends, code = np.unique(np.column_stack([low[there], high[there]]), axis=0, return_inverse=True)
    mine = np.full(len(low), np.nan)
    mine[there] = code.reshape(-1)
    reached = np.maximum.accumulate(ends[:, 1]) if len(ends) else np.zeros(0)
    first = np.searchsorted(reached, x, "left").astype(np.float64)
    last = np.searchsorted(ends[:, 0], x, "right") - 1.0
    return np.where(np.isnan(x), np.nan, first), np.where(np.isnan(x), np.nan, last), mine


def joined_intervals(y: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """For each record, the interval that covers those of all records with the same value.

    Records with one value may be in two groups, and which of them is where depends on how ties were broken.
    """
    _, code = np.unique(y, return_inverse=True)
    least, most = np.full(int(code.max(initial=0)) + 1, np.inf), np.full(int(code.max(initial=0)) + 1, -np.inf)
    there = ~np.isnan(low)
    np.minimum.at(least, code[there], low[there])
    np.maximum.at(most, code[there], high[there])
    return np.where(there, least[code], np.nan), np.where(there, most[code], np.nan)


def fill_blanks(y: Floats) -> Floats:
    """Records of one group of columns, with blanked cells taken from a record that shares a present value.

    Only if all records that share the value agree: then the microaggregate is known despite the blank.
    """
    if not np.isnan(y).any():
        return y
    out = y.copy()
    codes = _codes(y)
    for j in range(y.shape[1]):
        there = codes[:, j] >= 0
        for k in (k for k in range(y.shape[1]) if k != j):
            both = there & (codes[:, k] >= 0)
            width = int(codes[:, j].max(initial=0)) + 1
            low, high = np.full(width, np.inf), np.full(width, -np.inf)
            np.minimum.at(low, codes[both, j], y[both, k])
            np.maximum.at(high, codes[both, j], y[both, k])
            asked = np.flatnonzero(there & np.isnan(out[:, k]))
            certain = low[codes[asked, j]] == high[codes[asked, j]]
            out[asked[certain], k] = low[codes[asked[certain], j]]
    return out


def nearest_codes(x: Floats, y: Floats) -> list[tuple[Floats, Floats]]:
    """Pairs of codes for the rows of x and of y: rows whose codes agree, or are missing, may belong together.

    The first pair is for complete rows. Each further one is for rows of y that lack the same cells; they belong to a target
    if no other row is nearer to it in the cells they have.
    """
    out = [nearest_of(x, y)]
    y = fill_blanks(y)
    there = ~np.isnan(y)
    partial = np.isnan(out[0][1]) & there.any(axis=1)
    for pattern in np.unique(there[partial], axis=0):
        inside = there[:, pattern].all(axis=1)
        sub = y[np.ix_(inside, pattern)]
        sd = sub.std(axis=0)
        scale = np.where(sd > 0, sd, 1.0)
        rows, code, _ = distinct_rows(sub / scale)
        mine, theirs, every = np.full(len(x), np.nan), np.full(len(y), np.nan), np.full(len(y), np.nan)
        whole = ~np.isnan(x[:, pattern]).any(axis=1)
        mine[whole] = _nearest(x[np.ix_(whole, pattern)] / scale, rows)
        every[inside] = code
        these = partial & (there == pattern).all(axis=1)
        theirs[these] = every[these]
        out.append((mine, theirs))
    return out


def nearest_of(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The code of the distinct row of y nearest to each row of x, and the code of each row of y; NaN if it is incomplete.

    Rows of x are compared on the cells they have. They are compared with rows of y that lack the same cells if about as many
    rows on both sides do (these cells stayed missing), otherwise with complete ones.
    """
    y = fill_blanks(y)
    whole = ~np.isnan(y).any(axis=1)
    mine, theirs = np.full(len(x), np.nan), np.full(len(y), np.nan)
    if not whole.any():
        return mine, theirs
    kept = y[whole]
    centre, sd = kept.mean(axis=0), kept.std(axis=0)
    scale = np.where(sd > 0, sd, 1.0)
    rows, code, _ = distinct_rows((kept - centre) / scale)
    theirs[whole] = code
    patterns, which = patterns_of(~np.isnan(x))
    used = len(rows)
    for i, there in enumerate(patterns):
        if not there.any():
            continue
        asked = which == i
        alike = ((~np.isnan(y)) == there).all(axis=1)
        points, first = rows[:, there], 0
        if not there.all() and asked.mean() >= 0.5 * alike.mean() > 0:
            points, code, _ = distinct_rows(((y - centre) / scale)[np.ix_(alike, there)])
            theirs[alike], first, used = used + code, used, used + len(points)
        mine[asked] = first + _nearest(((x - centre) / scale)[np.ix_(asked, there)], points)
    return mine, theirs


def _nearest(targets: Floats, points: Floats) -> Ints:
    """The row of the nearest point of each target."""
    from larvatus.stats.neighbours.nearest_rows import nearest_lists

    return nearest_lists(targets, points, (1,))[0][:, 0]
