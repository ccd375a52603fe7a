"""Find columns that are sums or differences of other columns in most rows:  x_T = Σ s_j x_j  with  s_j in {−1, 0, 1}.

For each column T the coefficients minimise

    Σ_i log(r_i² + ε²),   r_i = (x_iT − Σ_j β_j x_ij) / |x_iT|,   with ε falling from 1 to 10⁻⁹,

by reweighted least squares with a small penalty for many coefficients: the sum of logarithms rewards rows that fit exactly,
however far off the others are. The coefficients are rounded, and changed one at a time while this makes more rows hold. A row
holds if |x_T − Σ s_j x_j| ≤ 10⁻¹⁰ of the sum of all absolute values. Work grows with rows × columns³.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints

CLOSENESS, MOST = 1e-10, 0.5
_FEWEST, _FEWEST_OF_PART, _MOST_PASSES, _MOST_CHOICES, _MOST_COPIES, _MOST_RETRIES = 20, 5, 6, 4, 3, 10
_PENALTY, _HIGHEST_COST = 1e-9, 12
_EPSILONS = np.geomspace(1.0, 1e-9, 28)


@dataclass(frozen=True, slots=True)
class ColumnSum:
    """A column and its parts, each with sign +1 or −1, by position."""

    total: int
    parts: Mapping[int, int]

    def holds(self, x: Floats) -> Bools:
        """The rows in which it holds; false if a value is missing."""
        apart = x[:, self.total] - sum(s * x[:, j] for j, s in self.parts.items())
        return np.asarray(np.abs(apart) <= CLOSENESS * self._size(x))

    def present(self, x: Floats) -> Bools:
        """The rows in which all values are present, and not all are zero: only these say something."""
        return np.asarray(self._size(x) > 0)

    def _size(self, x: Floats) -> Floats:
        return np.asarray(np.abs(x[:, [self.total, *self.parts]]).sum(axis=1))

    def vector(self, columns: int) -> Ints:
        """The coefficients of total − parts."""
        out = np.zeros(columns, dtype=np.int64)
        out[self.total] = 1
        out[list(self.parts)] = [-s for s in self.parts.values()]
        return out


def find_sums(x: Floats) -> list[ColumnSum]:
    """Sums and differences that hold in at least half of the rows with all values, and not by chance.

    Every second row is used to search and the others to confirm. Each sum has a total of its own, no sum follows from the
    others, and none is circular. Constant columns and copies of earlier columns are not used.
    """
    columns = _useful(x)
    fit, confirm = x[::2], x[1::2]
    accepted: list[ColumnSum] = []
    searches = [(target, columns) for target in columns]
    for _ in range(_MOST_PASSES):
        found = _distinct([s for target, among in searches for s in _sums_of(target, among, fit)], x.shape[1])
        found = [s for s in found if is_supported(s, fit) and is_supported(s, confirm)]
        merged = _distinct([*accepted, *found, *_combined([*accepted, *found], x.shape[1])], x.shape[1])[len(accepted) :]
        candidates = [s for s in merged if s in found or (is_supported(s, fit) and is_supported(s, confirm))]
        before = list(accepted)
        for new in sorted(candidates, key=lambda s: (-share_of_rows(s, x), len(s.parts), s.total)):
            if not any(_is_part_of(new, known, x) for known in accepted):
                accepted = _with_own_totals([*accepted, new], x) or accepted
        new_sums = accepted[len(before) :]
        if not new_sums:
            break
        left = [j for j in columns if j not in {s.total for s in accepted}]
        searches = [(target, left) for target in left]
        searches += [search for s in new_sums for search in _other_sums(s, columns)]
    return accepted


def _other_sums(known: ColumnSum, columns: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Searches for other sums with columns of a known one: its total without its parts, and each part without its total."""
    apart = [{*known.parts}, *({j} for j in known.parts)][:_MOST_RETRIES]
    searches = [(known.total, [j for j in columns if j not in out]) for out in apart]
    return searches + [(part, [j for j in columns if j != known.total]) for part in list(known.parts)[:_MOST_RETRIES]]


def share_of_rows(sum_: ColumnSum, x: Floats) -> float:
    """The share of rows that hold, among those with all values present and not all zero."""
    there = sum_.present(x)
    return float(sum_.holds(x)[there].mean()) if there.any() else 0.0


def is_supported(sum_: ColumnSum, x: Floats) -> bool:
    """Whether at least half of the rows hold, overall and where a part is not zero, also after subtracting chance agreement.

    The agreement by chance is that after the column is exchanged between rows at random. With agreement a and agreement by
    chance c, (a − c) / (1 − c) must be at least one half.
    """
    there, holds = sum_.present(x), sum_.holds(x)
    several = (x[:, list(sum_.parts)] != 0).sum(axis=1) >= 2
    if len(sum_.parts) < 2 or there.sum() < _FEWEST or (there & holds & several).sum() < _FEWEST_OF_PART:
        return False
    for j in (sum_.total, *sum_.parts):
        rows = there & (x[:, j] != 0)
        column = x[~np.isnan(x[:, j]), j]
        values, counts = np.unique(column, return_counts=True)
        chance = (counts / len(column))[np.searchsorted(values, x[rows, j]).clip(max=len(values) - 1)]
        agreement, by_chance = holds[rows].mean() if rows.any() else 0.0, (chance * holds[rows]).mean() if rows.any() else 1.0
        if rows.sum() < _FEWEST_OF_PART or agreement < MOST or agreement - by_chance < MOST * (1 - by_chance):
            return False
    return bool(holds[there].mean() >= MOST)


def _useful(x: Floats) -> list[int]:
    """Columns that vary and do not repeat an earlier column."""
    out: list[int] = []
    for j in range(x.shape[1]):
        there = x[~np.isnan(x[:, j]), j]
        if len(there) and (there != there[0]).any() and not any(np.array_equal(x[:, j], x[:, k], equal_nan=True) for k in out):
            out.append(j)
    return out


def _sums_of(target: int, columns: Sequence[int], x: Floats) -> list[ColumnSum]:
    """Candidates for one column; if it repeats another column in most rows, that column is left out and the rest searched."""
    others = [j for j in columns if j != target]
    out = []
    for _ in range(_MOST_COPIES):
        if len(others) < 2:
            break
        parts = _signs(x[:, target], x[:, others])
        found = {others[i]: int(s) for i, s in enumerate(parts) if s}
        if len(found) >= 2:
            out.append(ColumnSum(target, found))
        if len(found) != 1 or share_of_rows(ColumnSum(target, found), x) < MOST:
            break
        others.remove(next(iter(found)))
    return out


def _signs(y: Floats, z: Floats) -> Ints:
    """Signs of the parts of one column; missing parts count as zero here, which costs only rows in which they matter."""
    rows = ~np.isnan(y) & (y != 0)
    if rows.sum() < _FEWEST // 2:
        return np.zeros(z.shape[1], dtype=np.int64)
    size = np.abs(y[rows])
    y, z = y[rows] / size, np.nan_to_num(z[rows]) / size[:, None]
    return _improved(np.clip(np.rint(_fit(y, z)), -1, 1).astype(np.int64), y, z)


def _fit(y: Floats, z: Floats) -> Floats:
    """The coefficients, by reweighted least squares."""
    beta = np.zeros(z.shape[1])
    weight = 1 / (1 + (z**2).sum(axis=1))  # rows with giant values do not decide the first fit
    for k, epsilon in enumerate(_EPSILONS):
        weighted = z * weight[:, None]
        square = z.T @ weighted
        scale = np.sqrt(np.diag(square)) + 1e-150
        penalty = _PENALTY / (np.abs(beta) + (1e-3 if k else 1.0)) + 1e-13  # prefers few parts among equal sums
        beta = np.linalg.solve(square / np.outer(scale, scale) + np.diag(penalty), weighted.T @ y / scale) / scale
        weight = 1 / ((y - z @ beta) ** 2 + epsilon**2)
        weight = weight / weight.max()
    return np.asarray(beta)


def _improved(signs: Ints, y: Floats, z: Floats) -> Ints:
    """Change one sign at a time while more rows hold, then drop parts without which as many rows hold."""
    rest, size = y - z @ signs, np.abs(y) + np.abs(z) @ np.abs(signs)
    best = int((np.abs(rest) <= CLOSENESS * size).sum())
    for _ in range(2 * len(signs)):
        counts = np.array([(np.abs(rest[:, None] - (v - signs) * z) <= CLOSENESS * (size[:, None] + np.abs(z))).sum(axis=0)
                           for v in (-1, 0, 1)])
        v, j = np.unravel_index(int(counts.argmax()), counts.shape)
        if counts[v, j] <= best:
            break
        best, rest = int(counts[v, j]), rest - (v - 1 - signs[j]) * z[:, j]
        signs[j] = v - 1
        size = np.abs(y) + np.abs(z) @ np.abs(signs)
    for j in np.flatnonzero(signs):
        less = np.where(np.arange(len(signs)) == j, 0, signs)
        if (np.abs(y - z @ less) <= CLOSENESS * (np.abs(y) + np.abs(z) @ np.abs(less))).sum() >= best:
            signs = less
    return signs


def _distinct(sums: Sequence[ColumnSum], columns: int) -> list[ColumnSum]:
    """The sums without repeated equations."""
    out: dict[tuple[int, ...], ColumnSum] = {}
    for one in sums:
        vector = one.vector(columns)
        out.setdefault(tuple((vector if vector[np.flatnonzero(vector)[0]] > 0 else -vector).tolist()), one)
    return list(out.values())


def _combined(sums: Sequence[ColumnSum], columns: int) -> list[ColumnSum]:
    """Sums and differences of two equations that have fewer parts than one of them: a total in place of its own parts."""
    out = []
    for one, other in combinations([s.vector(columns) for s in sums], 2):
        for vector in (one - other, one + other):
            size = np.count_nonzero(vector)
            if 3 <= size < max(np.count_nonzero(one), np.count_nonzero(other)) and np.abs(vector).max() == 1:
                out.append(_solved(vector, int(np.flatnonzero(vector)[0])))
    return out


def _is_part_of(new: ColumnSum, known: ColumnSum, x: Floats) -> bool:
    """Whether a sum holds only because a known one holds and the columns in which they differ are mostly zero.

    It then fails in most rows in which the known one holds and these columns are not zero.
    """
    one, other = new.vector(x.shape[1]), known.vector(x.shape[1])
    differ = min((one - other, one + other), key=np.count_nonzero)
    if np.count_nonzero(differ) == np.count_nonzero(one) + np.count_nonzero(other):
        return False
    rows = known.holds(x) & new.present(x) & (np.nan_to_num(x[:, differ != 0]) != 0).any(axis=1)
    return bool(rows.any() and new.holds(x)[rows].mean() < MOST)


def _with_own_totals(sums: Sequence[ColumnSum], x: Floats) -> list[ColumnSum]:
    """The same equations, each solved for a column of its own, without circles; none if one follows from the others.

    Each is solved for its natural total if possible: the only column on its side, or else the largest on the shorter side.
    """
    vectors = np.array([s.vector(x.shape[1]) for s in sums])
    if np.linalg.matrix_rank(vectors) < len(vectors):
        return []
    choices = [_by_nature(v, x) for v in vectors]
    for cost in range(_HIGHEST_COST):
        totals = _assigned(vectors, choices, (), cost)
        if totals:
            return [_solved(v, t) for v, t in zip(vectors, totals, strict=True)]
    return []


def _by_nature(vector: Ints, x: Floats) -> list[int]:
    """The columns of an equation, the most natural total first; at most four."""
    sides = sorted((np.flatnonzero(vector > 0), np.flatnonzero(vector < 0)), key=lambda side: (len(side) == 0, len(side)))
    size = np.nan_to_num(np.nanmean(np.abs(x), axis=0))
    return [int(j) for side in sides for j in sorted(side, key=lambda j: (-size[j], j))][:_MOST_CHOICES]


def _assigned(vectors: Ints, choices: Sequence[Sequence[int]], taken: tuple[int, ...], cost: int) -> tuple[int, ...]:
    """Different totals without circles, at this cost in all; none if there are none.

    The natural total costs nothing, another column its place in the list, and more if the equation has many columns.
    """
    if len(taken) == len(vectors):
        return taken if cost == 0 and not _circular(vectors, taken) else ()
    long = int(np.count_nonzero(vectors[len(taken)])) - 3
    for place, total in enumerate(choices[len(taken)]):
        price = place + (long if place else 0)
        if total not in taken and price <= cost:
            found = _assigned(vectors, choices, (*taken, total), cost - price)
            if found:
                return found
    return ()


def _circular(vectors: Ints, totals: Sequence[int]) -> bool:
    """Whether a total is needed for its own parts."""
    parts = {t: [int(j) for j in np.flatnonzero(v) if j != t] for t, v in zip(totals, vectors, strict=True)}
    while parts:
        free = [t for t, needed in parts.items() if not any(j in parts for j in needed)]
        if not free:
            return True
        parts = {t: needed for t, needed in parts.items() if t not in free}
    return False


def _solved(vector: Ints, total: int) -> ColumnSum:
    sign = -vector[total]
    return ColumnSum(total, {int(j): int(sign * vector[j]) for j in np.flatnonzero(vector) if j != total})
