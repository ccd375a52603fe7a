"""Sufficiency-based masking: Y shares mean and covariance with X exactly (Burridge 2003; 000 §3.3).

The columns of [1, S, X] are centred and scaled. An orthonormal basis is built column by column, without dependent ones. Then

    Y = X + (Q (Mᵀ - I) + E root) Kᵀ,      root rootᵀ = I - M Mᵀ

where Q is the basis of X given S, K = Xᵀ Q, M is the similarity expressed in that basis, and E is noise made orthonormal and
orthogonal to 1, S and X. The difference Y − X lies in the span of K, so every identity among columns of X is preserved.
Factors have positive diagonals or are symmetric, so they do not depend on how the work was divided.

Arrays here are columns × rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.core.kernels import kernel
from larvatus.stats.linear.portable_algebra import column_mean as mean
from larvatus.stats.linear.portable_algebra import product, pseudo_inverse, symmetric_eigen, total
from larvatus.stats.linear.portable_algebra import scalar_product as dot
from larvatus.stats.linear.row_maps import solve_rows

Status = Literal["exact", "rotated", "reflected", "forced", "constant"]
THIN = 1e-13
LEAST_NOISE = 1e-9
_SLACK = 1e-9
FAR = 1e7
MANY_GROUPS = 2000  # fewer are masked one by one in less time than the pass over them takes to compile


class MaskedGroup(NamedTuple):
    """The result for a group: status, columns of X that could be masked, columns too far from zero for floats to represent
    their moments exactly, and whether only the sign of one direction was random."""

    status: Status
    free: NDArray[np.bool_]
    far: NDArray[np.bool_]
    two: bool = False


class Infeasible(Exception):
    """A similarity that would need noise of negative variance in some direction of the standardised columns."""

    def __init__(self, direction: Matrix, eigenvalue: float) -> None:
        super().__init__()
        self.direction, self.eigenvalue = direction / np.sqrt(product(direction, direction)), eigenvalue


@dataclass(frozen=True, slots=True)
class Basis:
    """The map from rows of [1, S, X] to rows of an almost orthonormal basis: `given` columns for [1, S], then X given S.

    The chosen columns are the basis times the triangle, to rounding.
    """

    chosen: NDArray[np.int64]
    triangle: Matrix
    given: int

    @property
    def rank(self) -> int:
        return len(self.chosen)

    def rows(self, columns: Matrix) -> Matrix:
        """Rows of the basis, computed identically each time to the last bit, so that corrections remain valid."""
        return solve_rows(columns, self.chosen, self.triangle)


@kernel()
def independent(r: Matrix, thin: float) -> tuple[Matrix, NDArray[np.int64], int]:
    """Gram-Schmidt over the columns of R, each projected twice: directions, their source columns, and their number."""
    k = r.shape[1]
    basis = np.zeros((k, r.shape[0]))
    chosen = np.zeros(k, dtype=np.int64)
    rank = 0
    for j in range(k):
        v = r[:, j].copy()
        for _ in range(2):
            for b in range(rank):
                share = dot(basis[b], v)
                for i in range(len(v)):
                    v[i] -= share * basis[b, i]
        norm = np.sqrt(dot(v, v))
        if norm > thin and rank < r.shape[0]:
            for i in range(len(v)):
                basis[rank, i] = v[i] / norm
            chosen[rank] = j
            rank += 1
    return basis, chosen, rank


def basis_of(r: Matrix, given: int, rows: int) -> Basis:
    """The basis from the R of a QR of [1, S, X]; a column that depends on earlier ones gives no direction."""
    directions, chosen, rank = independent(np.ascontiguousarray(r), THIN * np.sqrt(max(rows - 1, 1)))
    kept = chosen[:rank]
    return Basis(kept, np.triu(product(directions[:rank], r[:, kept])), int((kept < given).sum()))


def noise_root(k: Matrix, beta: Matrix) -> tuple[Matrix, Matrix]:
    """M with K M = β K, and a factor of I - M Mᵀ; an error if β leaves the span of X or there is no such factor."""
    rank = k.shape[1]
    d = beta[0, 0]
    if (beta == d * np.eye(len(beta))).all():
        if 1 - d * d < LEAST_NOISE:
            raise Infeasible(np.eye(len(beta))[0], 0.0)
        return d * np.eye(rank), np.sqrt(1 - d * d) * np.eye(rank)
    inverse = pseudo_inverse(k, THIN)
    m = product(inverse, beta, k)
    left = product(beta, k) - product(k, m)
    if np.abs(left).max(initial=0.0) > _SLACK * max(np.abs(k).max(initial=0.0), 1e-300):
        worst = left[:, np.argmax(total(left**2))]
        raise Infeasible(worst, -float(product(worst, worst)) / max(float(total((k * k).ravel())), 1e-300))
    values, vectors = symmetric_eigen(np.eye(rank) - product(m, m.T))
    if rank and values[0] < -_SLACK:
        raise Infeasible(product(inverse.T, vectors[:, 0]), float(values[0]))
    if rank and values[0] < LEAST_NOISE:
        raise Infeasible(product(inverse.T, vectors[:, 0]), 0.0)
    return m, product(vectors * np.sqrt(values), vectors.T)


def one_similarity(beta: Matrix) -> float | None:
    """The value d if the similarity is d·I and leaves room for noise, else None."""
    d = float(beta[0, 0]) if len(beta) else 0.0
    return d if 1 - d * d >= LEAST_NOISE and (beta == d * np.eye(len(beta))).all() else None


def in_units(beta: Matrix, scale: Matrix) -> Matrix:
    """A similarity of columns, converted to scaled columns; d·I is the same in all units, without rounding."""
    return beta if one_similarity(beta) is not None else beta * scale / scale[:, None]


def status_of(freedom: int, rank: int, noise: int) -> Status:
    """The status possible with `freedom` residual dimensions, for given ranks of X and of the noise."""
    if freedom <= 0 or rank == 0:
        return "forced"
    if freedom >= rank + noise:
        return "exact"
    return "rotated" if freedom >= 2 else "reflected"


@kernel()
def _mean(values: Matrix) -> float:
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total / len(values)


@kernel()
def _standardise(values: Matrix, scale: Matrix, far: NDArray[np.bool_]) -> None:
    """Standardise columns in place; 0 with scale 1 if they do not vary; `far` marks columns far from zero."""
    k, n = values.shape
    for c in range(k):
        column = values[c]
        flat = True
        for i in range(n):
            if column[i] != column[0]:
                flat = False
                break
        scale[c], far[c] = 1.0, False
        if flat:
            for i in range(n):
                column[i] = 0.0
            continue
        centre = _mean(column)
        for i in range(n):
            column[i] -= centre
        rest = _mean(column)
        for i in range(n):
            column[i] -= rest
        total = 0.0
        for i in range(n):
            total += column[i] * column[i]
        scale[c] = np.sqrt(total / max(n - 1, 1))
        far[c] = abs(centre) > FAR * scale[c]
        for i in range(n):
            column[i] /= scale[c]


def standardise(values: Matrix) -> tuple[Matrix, Matrix]:
    """Standardised columns and their standard deviations; 0 and 1 if a column does not vary."""
    out, scale = np.array(values, dtype=np.float64, order="C"), np.empty(len(values))
    _standardise(out, scale, np.empty(len(values), dtype=bool))
    return out, scale


@kernel()
def extend_basis(basis: Matrix, filled: int, columns: Matrix, thin: float) -> int:
    """Extend an orthonormal basis by the part of each column outside it; returns the new number of rows.

    A column is projected again as long as a projection removes more than half of it, because digits were then lost.
    """
    share = np.empty(len(basis))
    for c in range(len(columns)):
        if filled == len(basis):
            break
        v = columns[c].copy()
        norm = np.sqrt(dot(v, v))
        before = np.inf
        while filled and norm > thin and norm < 0.5 * before:
            for b in range(filled):
                share[b] = dot(basis[b], v)
            for b in range(filled):
                for i in range(len(v)):
                    v[i] -= share[b] * basis[b, i]
            before, norm = norm, np.sqrt(dot(v, v))
        if norm > thin:
            for i in range(len(v)):
                basis[filled, i] = v[i] / norm
            filled += 1
    return filled


@kernel()
def _based(x: Matrix, s: Matrix, thin: float) -> tuple[Matrix, int, int, Matrix, Matrix, NDArray[np.bool_], bool]:
    """An orthonormal basis, filled for [1, S] and then for X; X in terms of its own part; scales; far; whether all are flat."""
    (p, n), q = x.shape, len(s)
    a, scale, far = np.empty((1 + q + p, n)), np.empty(q + p), np.empty(q + p, dtype=np.bool_)
    for i in range(n):  # loops: assignments between slices take seconds to compile, for the text of their errors
        a[0, i] = 1.0
    for j in range(q + p):
        for i in range(n):
            a[1 + j, i] = s[j, i] if j < q else x[j - q, i]
    _standardise(a[1:], scale, far)
    basis = np.empty((min(1 + q + 2 * p, n), n))
    given = extend_basis(basis, np.int64(0), a[: 1 + q], thin)  # type: ignore[arg-type]  # 0 would be compiled for itself
    filled = extend_basis(basis, given, a[1 + q :], thin)
    k = np.empty((p, filled - given))
    for j in range(p):
        for b in range(given, filled):
            k[j, b - given] = dot(a[1 + q + j], basis[b])
    flat = True
    for j in range(1 + q, 1 + q + p):
        for i in range(n):
            flat = flat and a[j, i] == 0.0
    return basis, given, filled, k, scale[q:], far[q:], flat


@kernel()
def _changed(x: Matrix, scale: Matrix, basis: Matrix, first: int, filled: int, w: Matrix, weights: Matrix) -> Matrix:
    """X plus, on its scale, a combination of rows of the basis from `first` on, after noise has completed the basis."""
    last = extend_basis(basis, filled, w, 0.0)
    y = np.zeros(x.shape)
    for j in range(len(x)):
        for b in range(first, last):
            for i in range(x.shape[1]):
                y[j, i] += weights[j, b - first] * basis[b, i]
        for i in range(x.shape[1]):
            y[j, i] = x[j, i] + y[j, i] * scale[j]
    return y


def weight_root(weight: Matrix, average: float | None = None) -> Matrix:
    """√(weight / mean): weighted moments are the plain moments of rows of [1, S, X] multiplied by it."""
    return np.asarray(np.sqrt(weight / (mean(weight) if average is None else average)))


def _based_by_weight(
    x: Matrix, s: Matrix, root: Matrix, thin: float
) -> tuple[Matrix, int, int, Matrix, Matrix, NDArray[np.bool_], bool]:
    """As `_based`, for rows multiplied by the root of their weights, centred and scaled by weight."""
    (p, n), q = x.shape, len(s)
    a = np.vstack([np.ones((1, n)), s, x])
    share = root * root / product(root, root)
    flat = (a[1:] == a[1:, :1]).all(axis=1)
    centre = product(a[1:], share)
    a[1:] -= centre[:, None]
    a[1:] -= product(a[1:], share)[:, None]
    a[1:][flat] = 0.0
    scale = np.where(flat, 1.0, np.sqrt(product(a[1:] ** 2, share)))
    a[1:] /= scale[:, None]
    a *= root
    basis = np.empty((min(1 + q + 2 * p, n), n))
    given = extend_basis(basis, 0, a[: 1 + q], thin)
    filled = extend_basis(basis, given, a[1 + q :], thin)
    k = product(a[1 + q :], basis[given:filled].T)
    far = ~flat & (np.abs(centre) > FAR * scale)
    return basis, given, filled, k, scale[q:], far[q:], not a[1 + q :].any()


def mask_group(
    x: Matrix, s: Matrix, w: Matrix, beta: Matrix, rotate: bool = False, weight: Matrix | None = None
) -> tuple[Matrix, MaskedGroup]:
    """Y for one group in memory, and its status.

    `w` has a column of noise for each column of X. If the status is neither exact nor rotated, Y is X. With `rotate` no
    similarity is prescribed and residuals are rotated at random if possible. With positive weights, weighted moments are
    preserved: rows are multiplied by the root of their weight, and the change is divided by it.
    """
    if weight is not None:
        root = weight_root(weight)
        change, outcome = _mask_based(np.zeros_like(x), w * root, beta, rotate, _based_by_weight(x, s, root, _thin(x)))
        return x + change / root, outcome
    return _mask_based(x, w, beta, rotate, _based(x, s, _thin(x)))


def _thin(x: Matrix) -> float:
    return float(THIN * np.sqrt(max(x.shape[1] - 1, 1)))


def _mask_based(
    x: Matrix, w: Matrix, beta: Matrix, rotate: bool,
    based: tuple[Matrix, int, int, Matrix, Matrix, NDArray[np.bool_], bool],
) -> tuple[Matrix, MaskedGroup]:
    n, p = x.shape[1], len(x)
    thin = _thin(x)
    basis, given, filled, k, scale, far, flat = based
    rank = filled - given
    if rank == 0:
        return x, MaskedGroup("constant" if flat else "forced", np.zeros(p, dtype=bool), far)
    free = np.asarray(total(k * k, axis=1) > thin * thin)
    m, root = noise_root(k, in_units(beta, scale))
    status = status_of(n - given, rank, root.shape[1])
    if status == "exact" and rotate:
        status = "rotated"
    outcome = MaskedGroup(status, free, far, status == "exact" and n - given - rank == 1)
    if status == "exact":
        weights = np.hstack([product(k, m) - k, product(k, root)])
        return _changed(x, scale, basis, given, filled, w[: root.shape[1]], weights), outcome
    if status == "rotated":
        own = basis[given:filled].copy()
        change = product(k, basis[given : extend_basis(basis, given, w[:rank], 0.0)] - own)
        return x + change * scale[:, None], outcome
    return x, outcome


@kernel()
def _mask_many(
    x: Matrix, s: Matrix, w: Matrix, starts: NDArray[np.int64], d: float, y: Matrix, exact: NDArray[np.bool_],
    free: NDArray[np.bool_], far: NDArray[np.bool_], two: NDArray[np.bool_],
) -> None:
    p = len(x)
    for g in range(len(starts) - 1):
        low, high = starts[g], starts[g + 1]
        n = high - low
        thin = THIN * np.sqrt(max(n - 1, 1))
        own = x[:, low:high].copy()
        basis, given, filled, k, scale, distant, _ = _based(own, s[:, low:high].copy(), thin)
        rank = filled - given
        exact[g] = rank > 0 and n - given >= 2 * rank
        if not exact[g]:
            continue
        weights = np.empty((p, 2 * rank))
        noise = np.sqrt(1 - d * d)
        for j in range(p):
            square = 0.0
            for r in range(rank):
                weights[j, r], weights[j, rank + r] = k[j, r] * d - k[j, r], k[j, r] * noise
                square += k[j, r] * k[j, r]
            free[g, j], far[g, j] = square > thin * thin, distant[j]
        changed = _changed(own, scale, basis, given, filled, w[:rank, low:high].copy(), weights)
        for j in range(p):
            for i in range(n):
                y[j, low + i] = changed[j, i]
        two[g] = n - given - rank == 1


def mask_groups(x: Matrix, s: Matrix, w: Matrix, starts: NDArray[np.int64], beta: Matrix) -> tuple[Matrix, list[MaskedGroup]]:
    """The same for consecutive groups, with one similarity for all columns; many groups in one compiled pass."""
    d = one_similarity(beta)
    if d is None:
        raise ValueError("one similarity for all columns is needed")
    groups, p = len(starts) - 1, len(x)
    y, (exact, two) = np.empty(x.shape), np.zeros((2, groups), dtype=bool)
    free, far = np.zeros((2, groups, p), dtype=bool)
    if groups > MANY_GROUPS:
        _mask_many(x, s, w, starts, d, y, exact, free, far, two)
    out = [MaskedGroup("exact", free[g], far[g], bool(two[g])) for g in range(groups)]
    for g in np.flatnonzero(~exact):
        rows = slice(starts[g], starts[g + 1])
        part, given, noise = (np.ascontiguousarray(v[:, rows]) for v in (x, s, w))
        y[:, rows], out[g] = mask_group(part, given, noise, beta)
    return y, out
