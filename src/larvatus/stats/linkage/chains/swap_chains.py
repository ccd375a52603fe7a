"""Undo pairwise exchanges: a guess "row r belongs to record a" is followed through all columns until it contradicts itself.

    src_j(r)  the record whose value of column j is in row r;      row_j(a)  the row that holds record a's value of column j
    if values were exchanged in pairs and r is the row of a, then row_j(a) is the row of src_j(r), for every column j

Only values that occur once among the known records and once in the release are used. A guess that leads two rows to one
record, or two records to one row, is wrong, and so is one that moves a value farther than any was moved, if that is known.
The true guess is never contradicted.

With τ_j the exchange of column j among records and R the row of each record, row_j = R τ_j. So src_i(row_j) = τ_i τ_j maps
records as row_i(src_j) = R τ_i τ_j R⁻¹ maps rows: a record and its row lie in cycles of equal length. If columns hold no ties,
only such guesses are followed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.linkage.chains.chain_steps import UNHELD, UNKNOWN, follow_chain, settle_chain
from larvatus.stats.linkage.chains.longest_chains import link_by_length

SEEDS = 5  # records tried before it is concluded that values were not exchanged in pairs
PASSES = 5  # unresolved targets are tried again with the rows that are left
_MOST_STEPS = 300_000_000  # pairs followed in one sub-group
_COMPLETE = 4  # columns without ties whose cycles are compared
_LONG, _CONFIRMED = 20, 6  # a chain of this many pairs, met again this often, is not accidental (both ends count)


def moves_in_release(x: Floats, y: Floats) -> Floats:
    """How many ranks each value moved, among the released values; NaN if the known value or the released one is missing."""
    (first, last), (from_, to) = _ranks(x, y), _ranks(y, y)
    return np.asarray(np.maximum(np.maximum(from_ - last, first - to), 0.0))


def chain_credit(
    x: Floats, y: Floats, same: Ints, own: Ints, holds: Ints, reach: Floats | None = None, steps: int = _MOST_STEPS
) -> tuple[Floats, bool]:
    """Credits of the targets, 3 × targets, and whether all guesses could be followed within `steps`.

    x and y hold the known and the released values (records × columns), with the own row of each record in the same position.
    Rows and records are linked only if `same` is equal. A target has credit 1 if the chain gives it its own row and 0 if it
    gives it another row. If several rows are possible, the first credit is shared by all of them, the second by those with
    the most values equal to the target's, and the third goes to the longest chain. If no row is possible, the intruder guesses
    among all with the same code. `reach` holds the largest move of a rank in each column, if the intruder knows it.
    """
    mine, theirs = _codes(x, y)
    src, row = _maps(mine, theirs, holds)
    src, row = _distinct(src, row)
    guess = 1.0 / np.bincount(same)[same[own]]
    if not (row >= 0).any():
        return np.array([guess, guess, guess]), True
    limits = _limits(x, y, np.full(x.shape[1], np.inf) if reach is None else reach)
    mine_kind, their_kind = _kinds(src, row, same)
    usable = (row >= 0).sum(axis=0)
    first = holds[np.argsort(-usable[holds], kind="stable")][:SEEDS]
    targets = own[np.argsort(-usable[own], kind="stable")]
    kinds = _sorted_rows(their_kind, int(mine_kind.max(initial=0)))
    link, taken, count, truth, finished, survived = _search(
        src, row, np.ascontiguousarray(mine.T), np.ascontiguousarray(theirs.T), mine_kind, their_kind, *kinds, same,
        *_sorted_rows(same), *limits, np.concatenate([first, targets]), len(first), len(holds) // 2, steps,
    )

    def credit(linked: Ints, n: Ints, inside: Ints) -> Floats:
        n, inside, linked = n[own], inside[own], linked[own]
        shared = np.where(n > 0, np.divide(inside, n, out=np.zeros(len(own)), where=n > 0), guess)
        return np.where(linked >= 0, linked == own, shared)

    by_length = link, count[0], truth[0]
    if survived and finished and (link[targets] < 0).any():
        by_length = link_by_length(src, row, mine_kind, their_kind, *kinds, *limits, targets, link.copy(), taken, PASSES, steps)
    return np.array([*(credit(link, count[k], truth[k]) for k in range(2)), credit(*by_length)]), bool(finished)


def _codes(x: Floats, y: Floats) -> tuple[Ints, Ints]:
    """Both tables, columns × records, with a code for each different value and -1 for a missing one."""
    out = np.empty((2, x.shape[1], len(x)), dtype=np.int64)
    for j in range(x.shape[1]):
        both = np.concatenate([x[:, j], y[:, j]])
        codes = np.unique(both, return_inverse=True)[1]
        out[:, j] = np.where(np.isnan(both), -1, codes).reshape(2, -1)
    return out[0], out[1]


def _maps(mine: Ints, theirs: Ints, holds: Ints) -> tuple[Ints, Ints]:
    """src and row, columns × records, from values that occur once on both sides."""
    p, n = mine.shape
    src, row = np.full((p, n), UNKNOWN), np.full((p, n), UNKNOWN)
    partly = len(holds) < n
    for j in range(p):
        size = int(max(mine[j].max(initial=0), theirs[j].max(initial=0))) + 1
        known = holds[mine[j][holds] >= 0]
        there = np.flatnonzero(theirs[j] >= 0)
        held, released = (np.bincount(c, minlength=size) for c in (mine[j][known], theirs[j][there]))
        owner, place = np.full(size, UNKNOWN), np.full(size, UNKNOWN)
        owner[mine[j][known]], place[theirs[j][there]] = known, there
        once = (held == 1) & (released == 1)
        owner[~once] = UNKNOWN
        if partly:
            owner[(held == 0) & (released == 1)] = UNHELD
        place[~once] = UNKNOWN
        src[j, there], row[j, known] = owner[theirs[j][there]], place[mine[j][known]]
    return src, row


def _kinds(src: Ints, row: Ints, same: Ints) -> tuple[Ints, Ints]:
    """Codes of the records and of the rows; a row can belong to a record only if their codes are equal."""
    full = [j for j in range(len(src)) if (src[j] >= 0).all() and (row[j] >= 0).all()][:_COMPLETE]
    pairs = [(i, j) for i in full for j in full if i < j] if len(full) > 2 else []
    mine = np.array([same, *(_cycle_lengths(src[i][row[j]]) for i, j in pairs)])
    theirs = np.array([same, *(_cycle_lengths(row[i][src[j]]) for i, j in pairs)])
    codes = np.unique(np.concatenate([mine, theirs], axis=1), axis=1, return_inverse=True)[1].reshape(2, -1)
    return codes[0], codes[1]


def _sorted_rows(code: Ints, largest: int = 0) -> tuple[Ints, Ints]:
    """Rows sorted by code, and where each code up to the largest starts: some records have a code that no row has."""
    order = np.argsort(code, kind="stable")
    return order, np.searchsorted(code[order], np.arange(max(int(code.max(initial=0)), largest) + 2))


@kernel()
def _cycle_lengths(to: Ints) -> Any:
    """The length of the cycle of a permutation that each place lies in."""
    out = np.zeros(len(to), dtype=np.int64)
    for i in range(len(to)):
        if out[i] == 0:
            length, at = 1, to[i]
            while at != i:
                length, at = length + 1, to[at]
            out[i], at = length, to[i]
            while at != i:
                out[at], at = length, to[at]
    return out


def _ranks(values: Floats, y: Floats) -> tuple[Floats, Floats]:
    """First and last rank of each value among the released ones, column by column; NaN if missing."""
    first, last = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    for j in range(values.shape[1]):
        there, ordered = ~np.isnan(values[:, j]), np.sort(y[~np.isnan(y[:, j]), j])
        first[there, j] = np.searchsorted(ordered, values[there, j], "left")
        last[there, j] = np.maximum(np.searchsorted(ordered, values[there, j], "right") - 1, first[there, j])
    return first, last


def _limits(x: Floats, y: Floats, reach: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The lowest and the highest rank that a record's value may have moved to, and the ranks of the released values."""
    (first, last), (from_, to) = _ranks(x, y), _ranks(y, y)
    low, high = np.nan_to_num(first - reach, nan=-np.inf), np.nan_to_num(last + reach, nan=np.inf)
    return low, high, np.nan_to_num(from_, nan=-np.inf), np.nan_to_num(to, nan=np.inf)


def _distinct(src: Ints, row: Ints) -> tuple[Ints, Ints]:
    """Columns that were exchanged together are one column for the chain: merge those that never disagree."""
    found: list[tuple[Ints, Ints]] = []
    for s, r in zip(src, row, strict=True):
        for t, q in found:
            both = (s >= 0) & (t >= 0)
            if 2 * both.sum() > max((s >= 0).sum(), 1) and (s == t)[both].all():
                t[:], q[:] = np.where(t >= 0, t, s), np.where(q >= 0, q, r)
                break
        else:
            found.append((s.copy(), r.copy()))
    return np.array([s for s, _ in found]), np.array([r for _, r in found])


@kernel()
def _search(
    src: Ints, row: Ints, x: Ints, y: Ints, mine: Ints, theirs: Ints, by_kind: Ints, kind_at: Ints, same: Ints, by_same: Ints,
    same_at: Ints, low: Floats, high: Floats, first: Floats, last: Floats, tried: Ints, seeds: Any, half: Any, most: Any,
) -> Any:
    n = src.shape[1]
    link, taken = np.full(n, UNKNOWN), np.full(n, UNKNOWN)
    own, rev = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    own_at, rev_at = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    queue = np.empty((n + 1, 3), dtype=np.int64)
    count, truth = np.zeros((2, n), dtype=np.int64), np.zeros((2, n), dtype=np.int64)
    stamp, steps, survived, finished = 0, 0, False, True
    for _ in range(PASSES):
        settled = False
        for t in range(len(tried)):
            a = tried[t]
            if link[a] >= 0:
                continue
            blind = steps > most or (t >= seeds and not survived)
            finished = finished and not steps > most
            found = -1
            n_all, n_best, in_all, in_best, level = 0, 0, 0, 0, -1
            strong = False
            from_, to = (same_at[same[a]], same_at[same[a] + 1]) if blind else (kind_at[mine[a]], kind_at[mine[a] + 1])
            for i in range(from_, to):
                r = by_same[i] if blind else by_kind[i]
                if taken[r] != UNKNOWN:
                    continue
                equal = 0
                for j in range(x.shape[1]):
                    equal += x[a, j] >= 0 and x[a, j] == y[r, j]
                long = False
                if not blind:
                    stamp += 1
                    tail, again, used = follow_chain(
                        a, r, src, row, mine, theirs, low, high, first, last, link, taken, own, rev, own_at, rev_at, stamp,
                        queue,
                    )
                    steps += used
                    if tail == 0:
                        continue
                    long = tail >= _LONG and again >= _CONFIRMED
                    if strong and not long:
                        continue
                    if long and not strong:
                        strong, n_all, n_best, in_all, in_best, level = True, 0, 0, 0, 0, -1
                n_all += 1
                in_all += r == a
                found = r
                if equal > level:
                    level, n_best, in_best = equal, 0, 0
                if equal == level:
                    n_best += 1
                    in_best += r == a
                if long and tail > half:
                    break
            survived = survived or n_all > 0
            count[0, a], count[1, a], truth[0, a], truth[1, a] = n_all, n_best, in_all, in_best
            if n_all == 1 and not blind:
                stamp += 1
                tail, again, used = follow_chain(
                    a, found, src, row, mine, theirs, low, high, first, last, link, taken, own, rev, own_at, rev_at, stamp,
                    queue,
                )
                settle_chain(tail, src, row, link, taken, queue)
                settled = True
        if not settled or not survived or steps > most:
            break
    return link, taken, count, truth, finished, survived
