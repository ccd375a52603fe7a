"""Sufficiency-based masking: Y shares mean and covariance with X exactly (Burridge 2003; 000 §3.3).

Columns of [1, S, X] are centred and scaled and get an orthonormal basis, column by column, dependent ones left out. Then

    Y = X + (Q (Mᵀ - I) + E root) Kᵀ,      root rootᵀ = I - M Mᵀ

where Q is the basis of X given S, K = Xᵀ Q, M is the similarity seen in that basis, and E is noise made orthonormal and
orthogonal to 1, S and X. The difference of Y from X lies in the span of K, so every identity among columns of X stays.
All factors are the ones with positive diagonals or symmetric, hence the same however the work was cut.

Arrays here are columns × rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from larvatus.core.kernels import kernel
from larvatus.stats.rows import solved_rows

Matrix = NDArray[np.float64]
Status = Literal["exact", "rotated", "reflected", "forced", "constant"]
THIN = 1e-13
LEAST_NOISE = 1e-9
SLACK = 1e-9


class Infeasible(Exception):
    """A similarity that would need noise of negative variance in some direction of the standardised columns."""

    def __init__(self, direction: Matrix, eigenvalue: float) -> None:
        super().__init__()
        self.direction, self.eigenvalue = direction / np.sqrt(direction @ direction), eigenvalue


@dataclass(frozen=True, slots=True)
class Basis:
    """How rows of [1, S, X] become rows of an almost orthonormal basis: `given` columns for [1, S], then X given S.

    The chosen columns are the basis times the triangle, to rounding.
    """

    chosen: NDArray[np.int64]
    triangle: Matrix
    given: int

    @property
    def rank(self) -> int:
        return len(self.chosen)

    def rows(self, columns: Matrix) -> Matrix:
        """Computed the same way each time, to the last bit, so that corrections found once hold later."""
        return solved_rows(columns, self.chosen, self.triangle)


@kernel()
def independent(r: Matrix, thin: float) -> tuple[Matrix, NDArray[np.int64], int]:
    """Gram-Schmidt over the columns of R, each projected twice: directions, the columns they come from, how many."""
    k = r.shape[1]
    basis = np.zeros((k, r.shape[0]))
    chosen = np.zeros(k, dtype=np.int64)
    rank = 0
    for j in range(k):
        v = r[:, j].copy()
        for _ in range(2):
            for b in range(rank):
                v -= (basis[b] @ v) * basis[b]
        norm = np.sqrt(v @ v)
        if norm > thin and rank < r.shape[0]:
            basis[rank] = v / norm
            chosen[rank] = j
            rank += 1
    return basis, chosen, rank


def basis_of(r: Matrix, given: int, rows: int) -> Basis:
    """From the R of a QR of [1, S, X]; a column that depends on those before it gives no direction."""
    directions, chosen, rank = independent(np.ascontiguousarray(r), THIN * np.sqrt(max(rows - 1, 1)))
    kept = chosen[:rank]
    return Basis(kept, np.triu(directions[:rank] @ r[:, kept]), int((kept < given).sum()))


def noise_root(k: Matrix, beta: Matrix) -> tuple[Matrix, Matrix]:
    """M with K M = β K, and a factor of I - M Mᵀ; refused where β leads out of the span of X or the factor does not exist."""
    rank = k.shape[1]
    if np.array_equal(beta, beta[0, 0] * np.eye(len(beta))):
        d = beta[0, 0]
        if 1 - d * d < LEAST_NOISE:
            raise Infeasible(np.eye(len(beta))[0], 0.0)
        return d * np.eye(rank), np.sqrt(1 - d * d) * np.eye(rank)
    inverse = np.linalg.pinv(k, rcond=THIN)
    m = inverse @ beta @ k
    left = beta @ k - k @ m
    if np.abs(left).max(initial=0.0) > SLACK * max(np.abs(k).max(initial=0.0), 1e-300):
        worst = left[:, np.argmax((left**2).sum(axis=0))]
        raise Infeasible(worst, -float(worst @ worst) / max(float((k * k).sum()), 1e-300))
    values, vectors = np.linalg.eigh(np.eye(rank) - m @ m.T)
    if rank and values[0] < -SLACK:
        raise Infeasible(inverse.T @ vectors[:, 0], float(values[0]))
    if rank and values[0] < LEAST_NOISE:
        raise Infeasible(inverse.T @ vectors[:, 0], 0.0)
    return m, (vectors * np.sqrt(values)) @ vectors.T


def status_of(freedom: int, rank: int, noise: int) -> Status:
    """What can be done with `freedom` residual dimensions for X of a rank and noise of a rank."""
    if freedom <= 0 or rank == 0:
        return "forced"
    if freedom >= rank + noise:
        return "exact"
    return "rotated" if freedom >= 2 else "reflected"


@kernel()
def _standardised(values: Matrix, out: Matrix, scale: Matrix) -> None:
    """Columns less their mean, over their standard deviation; 0 and scale 1 where they do not vary."""
    k, n = values.shape
    for c in range(k):
        centre = values[c].mean()
        centre += (values[c] - centre).mean()
        total = 0.0
        flat = True
        for i in range(n):
            flat = flat and values[c, i] == values[c, 0]
            out[c, i] = values[c, i] - centre
            total += out[c, i] * out[c, i]
        sd = np.sqrt(total / max(n - 1, 1))
        scale[c] = 1.0 if flat else sd
        for i in range(n):
            out[c, i] = 0.0 if flat else out[c, i] / sd


def standardised(values: Matrix) -> tuple[Matrix, Matrix]:
    """Columns less their mean, over their standard deviation, and these; 0 and 1 where a column does not vary."""
    out, scale = np.empty(values.shape), np.empty(len(values))
    _standardised(np.ascontiguousarray(values), out, scale)
    return out, scale


@kernel()
def grown(basis: Matrix, filled: int, columns: Matrix, thin: float) -> int:
    """Add to an orthonormal basis what each column has outside it; how many rows it has then.

    A column is projected again for as long as a projection takes away more than half of it: then digits were lost.
    """
    for c in range(len(columns)):
        if filled == len(basis):
            break
        v = columns[c].copy()
        norm = np.sqrt(v @ v)
        before = np.inf
        while filled and norm > thin and norm < 0.5 * before:
            v -= (basis[:filled] @ v) @ basis[:filled]
            before, norm = norm, np.sqrt(v @ v)
        if norm > thin:
            basis[filled] = v / norm
            filled += 1
    return filled


def mask_group(
    x: Matrix, s: Matrix, w: Matrix, beta: Matrix, rotate: bool = False
) -> tuple[Matrix, Status, NDArray[np.bool_]]:
    """Y for one group held whole, its status, and which columns of X could be moved at all.

    `w` holds a column of noise for each of X; where the status is neither exact nor rotated, Y is X. With `rotate` no
    similarity is prescribed and residuals are rotated at random wherever they can be.
    """
    n, q, p = x.shape[1], len(s), len(x)
    thin = THIN * np.sqrt(max(n - 1, 1))
    a, scales = standardised(np.vstack([np.ones((1, n)), s, x]))
    a[0] = 1.0
    xs, scale = a[1 + q :], scales[1 + q :]
    basis = np.empty((min(1 + q + 2 * p, n), n))
    given = grown(basis, 0, a[: 1 + q], thin)
    filled = grown(basis, given, xs, thin)
    rank = filled - given
    if rank == 0:
        return x, "forced" if xs.any() else "constant", np.zeros(p, dtype=bool)
    own = basis[given:filled].copy()
    k = xs @ own.T
    free = np.asarray((k * k).sum(axis=1) > thin * thin)
    m, root = noise_root(k, beta * scale / scale[:, None])
    status = status_of(n - given, rank, root.shape[1])
    if status == "exact" and rotate:
        status = "rotated"
    if status == "exact":
        noise = basis[filled : grown(basis, filled, w[: root.shape[1]], 0.0)]
        change = (k @ (m - np.eye(rank))) @ own + (k @ root) @ noise
    elif status == "rotated":
        change = k @ (basis[given : grown(basis, given, w[:rank], 0.0)] - own)
    else:
        return x, status, free
    return x + change * scale[:, None], status, free
