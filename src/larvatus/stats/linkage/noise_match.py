"""Links by the density of noise with independent draws u of a named distribution: −log f(y | x) = −Σ_k log g_k(u_k).

    likelihood rule   j* = arg max_j f(y_j | x_i)
    posterior rule    j* = arg max_j f(y_j | x_i) / m(y_j),   m(y) = Σ_l f(y | x_l) over the records that the intruder knows

All pairs are evaluated if there are few enough. Beyond that a k-d tree finds the pairs that matter: for uniform noise all of
them, for other noise the nearest ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, exp, log, sqrt

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

CODES = {"normal": 0, "uniform": 1, "laplace": 2, "mixture": 3}
_DENSE = 400_000_000  # number of pairs beyond which trees are used
_NEAR = 256  # number of nearest records that count for noise that is not uniform, if trees are used
_CHUNK = 2000
_HALF = sqrt(3.0) * (1 + 1e-6)  # half the width of the uniform law of variance 1, with room for rounding
_REACH = 6.0  # blurs, or SDs of rounding, beyond the edge of the uniform law at which a pair is impossible
_NARROW = sqrt(0.4)  # SD of nine tenths of the draws of the mixture; the rest has four times that SD


@dataclass(frozen=True, slots=True)
class NoiseMatch:
    """Expected (`left`) and actual (`right`) released values of each record, in coordinates with independent draws.

    `codes` and `blur` give the distribution of each coordinate and the SD of small changes to it, which matters for uniform
    draws. `known` holds the points, like `left`, of the records whose density is the background m: those the intruder knows.
    """

    left: Floats
    right: Floats
    codes: Ints
    blur: Floats
    known: Floats
    dense: int = _DENSE

    def costs(self, a: Ints, b: Ints) -> Floats:
        """−log f(y | x) for rows a of `left` and rows b of `right`, up to a constant; infinite if impossible."""
        return _costs(np.ascontiguousarray(self.left[a]), np.ascontiguousarray(self.right[b]), self.codes, self.blur)

    def background(self, same: Ints) -> Floats:
        """log m(y) for each released record, over the known records with the same code."""
        order, start, stop = _pools(same, np.arange(len(same)))
        return _background(self.known, np.ascontiguousarray(self.right), self.codes, self.blur, order, start, stop)

    def credit(self, own: Ints, same: Ints, guesses: Sequence[int], posterior: bool) -> Floats:
        """Probability that the own record is among the `guesses` most probable ones, with ties broken at random."""
        from larvatus.stats.linkage.nearest_counts import credit_within

        if not len(own):
            return np.zeros((len(guesses), 0))
        sizes = np.bincount(same).astype(np.float64)
        asked = float(sizes[same[own]].sum()) + (float((sizes**2).sum()) if posterior else 0.0)
        if asked <= self.dense:
            weight = self.background(same) if posterior else np.zeros(len(same))
            nearer, tied = _counted(np.ascontiguousarray(self.left[own]), np.ascontiguousarray(self.right), self.codes,
                                    self.blur, weight, own, *_pools(same, own))
        else:
            nearer, tied = self._by_trees(own, same, posterior)
        return np.array([credit_within(nearer, tied, k) for k in guesses])

    def _by_trees(self, own: Ints, same: Ints, posterior: bool) -> tuple[Floats, Floats]:
        from scipy.spatial import cKDTree

        pool: float = 4.0 * (1.0 + max(float(np.abs(v).max(initial=0.0))
                                        for v in (self._units(w) for w in (self.left, self.right))))
        apart = np.asarray(pool * same, dtype=np.float64)
        theirs = cKDTree(self._units(self.right, apart), balanced_tree=False)
        known = cKDTree(self._units(self.known, apart), balanced_tree=False) if posterior else None
        out = np.zeros((2, len(own)))
        weights = np.full(len(same), np.nan)
        for first in range(0, len(own), _CHUNK):
            rows = own[first : first + _CHUNK]
            i, j = self._pairs(theirs, self._units(self.left[rows], apart[rows]), rows)
            if known is not None:
                new = np.unique(j)
                new = new[np.isnan(weights[new])]
                for part in np.array_split(new, -(-len(new) // _CHUNK) or 1):
                    k, origin = self._pairs(known, self._units(self.right[part], apart[part]), None)
                    f = _pair_costs(self.known[origin], self.right[part[k]], self.codes, self.blur)
                    f = np.where(same[origin] == same[part[k]], f, np.inf)
                    sums = _log_sums(-f, k, len(part))
                    weights[part] = np.where(np.isfinite(sums), sums, np.inf)
            cost = _pair_costs(self.left[rows[i]], self.right[j], self.codes, self.blur) + (weights[j] if posterior else 0.0)
            cost = np.where(same[j] == same[rows[i]], cost, np.inf)
            mine = np.full(len(rows), np.inf)
            mine[i[j == rows[i]]] = cost[j == rows[i]]
            with np.errstate(invalid="ignore"):
                slack = 1e-9 * np.maximum(1.0, np.abs(mine[i]))
                lower, level = cost < mine[i] - slack, np.abs(cost - mine[i]) <= slack
            lower |= np.isinf(mine[i]) & np.isfinite(cost)
            out[:, first : first + _CHUNK] = [np.bincount(i, weights=w, minlength=len(rows)) for w in (lower, level)]
            out[0, first : first + _CHUNK][np.isinf(mine)] = np.inf
        return out[0], np.maximum(out[1], 1.0)

    def _units(self, points: Floats, pool: Floats | None = None) -> Floats:
        """Points for a tree: with uniform noise, such that a pair is possible if no coordinate differs by more than 1."""
        unit = np.ones(len(self.codes))
        if self._bounded:
            unit = np.where(self.codes == CODES["uniform"], _HALF + _REACH * self.blur, _REACH)
        points = points / unit
        return points if pool is None else np.column_stack([points, pool])

    @property
    def _bounded(self) -> bool:
        """Whether some coordinate is uniform, so that a box holds all possible records."""
        return bool((self.codes == CODES["uniform"]).any() and np.isin(self.codes, (0, 1)).all())

    def _pairs(self, tree: object, asked: Floats, own: Ints | None) -> tuple[Ints, Ints]:
        """Positions in `asked` and rows of the tree that are near, with the own row of each target."""
        if self._bounded:
            found = tree.query_ball_point(asked, 1.0, p=np.inf, workers=-1)  # type: ignore[attr-defined]
            counts = np.array([len(f) for f in found], dtype=np.int64)
            i = np.repeat(np.arange(len(asked)), counts)
            j = np.concatenate([np.asarray(f, dtype=np.int64) for f in found])
        else:
            k = min(_NEAR, tree.n)  # type: ignore[attr-defined]
            j = np.asarray(tree.query(asked, k=k, workers=-1)[1]).reshape(-1)  # type: ignore[attr-defined]
            i = np.repeat(np.arange(len(asked)), k)
        if own is None:
            return i, j
        other = j != own[i]
        return np.concatenate([i[other], np.arange(len(own))]), np.concatenate([j[other], own])


def _pools(same: Ints, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Rows sorted by code, and where the rows with the same code as each of `rows` start and stop."""
    order = np.argsort(same, kind="stable")
    low, high = (np.searchsorted(same[order], same[rows], side) for side in ("left", "right"))
    return order, low, high


def _log_sums(values: Floats, which: Ints, size: int) -> Floats:
    """log Σ exp(values) for each code in `which`."""
    top = np.full(size, -np.inf)
    np.maximum.at(top, which, values)
    finite = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.bincount(which, weights=np.exp(values - finite[which]), minlength=size)) + finite)


@kernel()
def _minus_log(code: int, u: float, blur: float) -> float:
    """−log of the density of one draw, up to a constant."""
    r = abs(u)
    if code == 0:
        return 0.5 * r * r
    if code == 2:
        return sqrt(2.0) * r
    if code == 3:
        z = 0.5 * (r / _NARROW) ** 2
        return z / 16 - log(0.9 * exp(z / 16 - z) + 0.025)
    if blur == 0.0:
        return 0.0 if r <= _HALF else np.inf
    if r > _HALF + _REACH * blur:
        return np.inf
    return -log(max(0.5 * (erf((_HALF - r) / (blur * sqrt(2.0))) + erf((_HALF + r) / (blur * sqrt(2.0)))), 1e-12))


@kernel()
def _cost(x: Floats, y: Floats, codes: Ints, blur: Floats) -> float:
    total = 0.0
    for k in range(len(codes)):
        total += _minus_log(codes[k], y[k] - x[k], blur[k])
    return total


@kernel()
def _costs(left: Floats, right: Floats, codes: Ints, blur: Floats) -> Floats:
    out = np.empty((len(left), len(right)))
    for i in range(len(left)):
        for j in range(len(right)):
            out[i, j] = _cost(left[i], right[j], codes, blur)
    return out


@kernel()
def _pair_costs(left: Floats, right: Floats, codes: Ints, blur: Floats) -> Floats:
    out = np.empty(len(left))
    for i in range(len(left)):
        out[i] = _cost(left[i], right[i], codes, blur)
    return out


@kernel()
def _background(
    known: Floats, right: Floats, codes: Ints, blur: Floats, order: Ints, start: Ints, stop: Ints
) -> Floats:
    """log Σ f(y | x) over the known records of the same pool; infinite if none of them can be the origin of y."""
    out = np.full(len(right), np.inf)
    for j in range(len(right)):
        top, total = -np.inf, 0.0
        for k in range(start[j], stop[j]):
            value = -_cost(known[order[k]], right[j], codes, blur)
            if value == -np.inf:
                continue
            if value > top:
                total = total * exp(top - value) + 1.0
                top = value
            else:
                total += exp(value - top)
        if total > 0:
            out[j] = top + log(total)
    return out


@kernel()
def _counted(
    left: Floats, right: Floats, codes: Ints, blur: Floats, weight: Floats, own: Ints, order: Ints, start: Ints, stop: Ints
) -> tuple[Floats, Floats]:
    """Candidates that cost less than the own one, and those that cost the same; none is nearer than an impossible own one."""
    nearer, tied = np.zeros(len(own)), np.zeros(len(own))
    for i in range(len(own)):
        limit = _cost(left[i], right[own[i]], codes, blur) + weight[own[i]]
        tied[i] = 1.0
        if np.isinf(limit):
            nearer[i] = np.inf
            continue
        slack = 1e-9 * max(1.0, abs(limit))
        for k in range(start[i], stop[i]):
            j = order[k]
            if j == own[i]:
                continue
            cost = weight[j]
            for c in range(len(codes)):
                cost += _minus_log(codes[c], right[j, c] - left[i, c], blur[c])
                if cost > limit + slack:
                    break
            if cost < limit - slack:
                nearer[i] += 1
            elif cost <= limit + slack:
                tied[i] += 1
    return nearer, tied
