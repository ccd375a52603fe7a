"""Greedy local suppression: blank key values so that every combination occurs in at least k records, at low cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Bools, Ints

MOST_SETS = 100


@dataclass(slots=True)
class KeyPieces:
    """Records with the same combination and the same blanked values: the combination, their number, and what is blanked."""

    origin: Ints
    count: Ints
    blank: Bools

    def keys(self, rows: Ints) -> Ints:
        return np.where(self.blank, 0, rows[self.origin])


def suppress(rows: Ints, part: Ints, counts: Ints, k: int, cost: NDArray[np.float64]) -> KeyPieces:
    """Split combinations (codes from 1; 0 is missing, treated as a level) into pieces of at least k records each.

    Only combinations of the same `part` can become equal. Sets of one column are tried first, then of two, and so on. Among
    sets of equal size, the one that resolves the most records at the lowest cost is used. The fewer than k records of a part
    that remain are joined by some records of a frequent combination, which lose the same values. A part of fewer than k
    records loses every value.
    """
    pieces = KeyPieces(np.arange(len(rows)), counts.astype(np.int64), np.zeros(rows.shape, dtype=bool))
    for size in range(1, rows.shape[1] + 1):
        while _settle_some(pieces, rows, part, k, cost, size):
            pass
    return _recruited(pieces, rows, part, k, cost)


def suppressed_cells(keys: Ints, part: Ints, count: Ints) -> tuple[Ints, Ints]:
    """The cell of each piece, and the number of records in its cell."""
    code = part.astype(np.int64)
    for column in keys.T:
        width = int(column.max(initial=0)) + 1
        if int(code.max(initial=0)) + 1 > 2**62 // width:
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
        code = code * width + column
    cell = np.unique(code, return_inverse=True)[1]
    return cell, np.bincount(cell, weights=count, minlength=1).astype(np.int64)[cell]


def _sets(keys: Ints, rare: Bools, cost: NDArray[np.float64], size: int) -> Iterator[tuple[int, ...]]:
    """Sets of columns of a given size: all of them, or those of the columns that separate the most rare records per cost."""
    m = keys.shape[1]
    telling = [-len(np.unique(keys[rare, j])) / cost[j] for j in range(m)]
    few = m
    while few > size and comb(few, size) > MOST_SETS:
        few -= 1
    yield from combinations(sorted(np.argsort(telling, kind="stable")[:few].tolist()), size)


def _settle_some(pieces: KeyPieces, rows: Ints, part: Ints, k: int, cost: NDArray[np.float64], size: int) -> bool:
    """Blank sets of columns, best first, in the rare pieces that become frequent enough; returns whether any did."""
    where = part[pieces.origin]
    keys = pieces.keys(rows)
    rare = suppressed_cells(keys, where, pieces.count)[1] < k
    if not rare.any():
        return False
    sets = list(_sets(keys, rare, cost, size))
    worth = [_settled(keys, where, pieces.count, rare, k, list(s), cost)[0] for s in sets]
    done = False
    for i in np.argsort(-np.array(worth), kind="stable")[: np.count_nonzero(worth)].tolist():
        chosen = list(sets[i])
        gain, moved = _settled(keys, where, pieces.count, rare, k, chosen, cost)
        if gain:
            pieces.blank[moved[:, None], chosen] = True
            keys[moved[:, None], chosen] = 0
            rare[moved] = False
            done = True
    return done


def _settled(
    keys: Ints, where: Ints, count: Ints, rare: Bools, k: int, columns: list[int], cost: NDArray[np.float64]
) -> tuple[float, Ints]:
    """The rare pieces that are frequent enough without these columns, and their value: records per cost."""
    near = np.flatnonzero(rare | (keys[:, columns] == 0).all(axis=1))
    after = keys[near]
    open_ = rare[near] & (after[:, columns] != 0).any(axis=1)
    after[np.flatnonzero(rare[near])[:, None], columns] = 0
    moved = near[open_ & (suppressed_cells(after, where[near], count[near])[1] >= k)]
    paid = float(count[moved] @ ((keys[moved][:, columns] != 0) @ cost[columns]))
    return (int(count[moved].sum()) ** 2 / paid if len(moved) else 0.0), moved


def _recruited(pieces: KeyPieces, rows: Ints, part: Ints, k: int, cost: NDArray[np.float64]) -> KeyPieces:
    """Pieces that are still rare, joined by records of frequent combinations of the same part."""
    total = suppressed_cells(pieces.keys(rows), part[pieces.origin], pieces.count)[1]
    for home in np.unique(part[pieces.origin[total < k]]).tolist():
        pieces = _help(pieces, rows, part, home, k, cost)
    return pieces


def _help(pieces: KeyPieces, rows: Ints, part: Ints, home: int, k: int, cost: NDArray[np.float64]) -> KeyPieces:
    while True:
        inside = np.flatnonzero(part[pieces.origin] == home)
        keys = pieces.keys(rows)[inside]
        cell, total = suppressed_cells(keys, np.zeros(len(inside), dtype=np.int64), pieces.count[inside])
        rare = total < k
        if not rare.any():
            return pieces
        if pieces.count[inside].sum() < k:
            pieces.blank[inside] = True
            return pieces
        one = _one_column(keys, cell, total, rare, k, cost)
        if one is not None:
            members, donors, need, column = one
            pieces.blank[inside[members], column] = True
            pieces = _split(pieces, inside[donors], need, [column])
            continue
        pieces.blank[inside[rare]] = True
        lacking = k - int(pieces.count[inside[(keys == 0).all(axis=1) | rare]].sum())
        if lacking <= 0:
            continue
        spare = {int(c): int(total[cell == c][0]) - k for c in np.unique(cell[~rare & (keys != 0).any(axis=1)])}
        giver = max(spare, key=lambda c: (spare[c], -c))
        if spare[giver] <= 0:
            giver = min(spare, key=lambda c: (spare[c], c))
            pieces.blank[inside[cell == giver]] = True
        else:
            every = list(range(rows.shape[1]))
            pieces = _split(pieces, inside[cell == giver], min(spare[giver], lacking), every)


def _one_column(
    keys: Ints, cell: Ints, total: Ints, rare: Bools, k: int, cost: NDArray[np.float64]
) -> tuple[Ints, Ints, int, int] | None:
    """A rare cell, a frequent one that differs from it in one column, and how many of its records must lose that column."""
    best: tuple[float, tuple[Ints, Ints, int, int]] | None = None
    for c in np.unique(cell[rare]).tolist():
        members = np.flatnonzero(cell == c)
        own = keys[members[0]]
        for j in np.flatnonzero(own).tolist():
            same = (np.delete(keys, j, axis=1) == np.delete(own, j)).all(axis=1)
            there = same & (keys[:, j] == 0)
            need = max(k - int(total[members[0]]) - (int(total[there][0]) if there.any() else 0), 0)
            giving = np.flatnonzero(same & ~there & (total >= k + need))
            if need and not len(giving):
                continue
            donors = np.flatnonzero(cell == cell[giving[np.argmax(total[giving])]]) if need else giving[:0]
            paid = cost[j] * (int(total[members[0]]) + need)
            if best is None or paid < best[0]:
                best = paid, (members, donors, need, j)
    return best[1] if best else None


def _split(pieces: KeyPieces, donors: Ints, need: int, columns: Sequence[int]) -> KeyPieces:
    """Split some records off the donors, as pieces that lose these columns too."""
    count, added = pieces.count.copy(), []
    for i in donors.tolist():
        added.append(min(need, int(count[i])))
        count[i] -= added[-1]
        need -= added[-1]
    blank = pieces.blank[donors].copy()
    blank[:, list(columns)] = True
    return KeyPieces(
        np.concatenate([pieces.origin, pieces.origin[donors]]),
        np.concatenate([count, np.array(added, dtype=np.int64)]), np.concatenate([pieces.blank, blank]),
    )
