"""Sufficiency-based masking of a group too large for memory: reductions over chunks, then a map of rows.

The formula is that of `sufficiency`. The basis comes from a QR merged over chunks; one Gram matrix of [basis, X, noise]
makes it and the noise orthonormal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.stats.linear.portable_algebra import cholesky, inverse_of, product, total, triangle_of
from larvatus.stats.linear.portable_algebra import gram_matrix as gram_of
from larvatus.stats.linear.sufficiency import THIN, Basis, Status, noise_root, status_of


def triangle(columns: Matrix) -> Matrix:
    """The R of a QR of the rows of a chunk."""
    return triangle_of(columns.T)


def merged_triangle(one: Matrix, other: Matrix) -> Matrix:
    """The R of both sets of rows."""
    return triangle_of(np.vstack([one, other]))


def gram(*parts: Matrix) -> Matrix:
    """Products of all columns with all columns."""
    return gram_of(np.vstack(parts).T)


@dataclass(frozen=True, slots=True)
class Change:
    """The status of a group, the columns of X that can be masked, and Y − X as a map of [basis, noise]."""

    status: Status
    free: NDArray[np.bool_]
    weights: Matrix


def change_of(basis: Basis, g: Matrix, p: int, beta: Matrix, rows: int) -> Change:
    """From the Gram matrix of [basis, X, noise]: the noise projected off the basis, made orthonormal and coloured.

    With many rows the noise is nearly orthogonal to the basis from the start, so one projection suffices to rounding.
    """
    b = basis.rank
    square = inverse_of(cholesky(g[:b, :b])).T
    k = product(g[b : b + p, :b], square[:, basis.given :])
    free = np.asarray(total(k * k, axis=1) > (THIN**2) * rows)
    m, root = noise_root(k, beta)
    status = status_of(rows - basis.given, k.shape[1], root.shape[1])
    w = slice(b + p, b + p + root.shape[1])
    inside = product(square.T, g[:b, w])
    inverse = inverse_of(cholesky(g[w, w] - product(inside.T, inside))).T
    from_noise = product(inverse, root.T, k.T)
    own = product(square[:, basis.given :], m.T - np.eye(len(m)), k.T)
    return Change(status, free, np.vstack([own - product(square, inside, from_noise), from_noise]))
