"""Sufficiency-based masking of a group too large to hold: three reductions over chunks, then a map of rows.

The basis comes from a QR merged over chunks, its orthogonality and that of the noise from Gram matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.stats.rows import mapped_rows
from larvatus.stats.sufficiency import THIN, Basis, Matrix, Status, noise_root, status_of


def triangle(columns: Matrix) -> Matrix:
    """The R of a QR of the rows of a chunk."""
    return np.asarray(np.linalg.qr(columns.T, mode="r"))


def merged_triangle(one: Matrix, other: Matrix) -> Matrix:
    """The R of both sets of rows."""
    return np.asarray(np.linalg.qr(np.vstack([one, other]), mode="r"))


def gram(*parts: Matrix) -> Matrix:
    """Products of all columns with all columns."""
    z = np.vstack(parts)
    return np.asarray(z @ z.T)


@dataclass(frozen=True, slots=True)
class Projection:
    """After the first Gram matrix: how to make the basis orthonormal, what X is in it, and how noise is projected."""

    basis: Basis
    status: Status
    free: NDArray[np.bool_]
    square: Matrix
    k: Matrix
    m: Matrix
    root: Matrix
    noise_weights: Matrix

    def noise(self, rows: Matrix, w: Matrix) -> Matrix:
        """Noise less what of it lies in the basis."""
        return np.asarray(w[: self.noise_weights.shape[1]] - mapped_rows(rows, self.noise_weights))


def projection_of(basis: Basis, g: Matrix, p: int, beta: Matrix, rows: int) -> Projection:
    """From the Gram matrix of [basis, X, noise]."""
    b = basis.rank
    square = np.linalg.inv(np.linalg.cholesky(g[:b, :b])).T
    k = g[b : b + p, :b] @ square[:, basis.given :]
    free = np.asarray((k * k).sum(axis=1) > (THIN**2) * rows)
    m, root = noise_root(k, beta)
    status = status_of(rows - basis.given, k.shape[1], root.shape[1])
    return Projection(basis, status, free, square, k, m, root, square @ square.T @ g[:b, b + p : b + p + root.shape[1]])


def change_weights(step: Projection, g: Matrix) -> Matrix:
    """How Y differs from X as a map of [basis, projected noise]; from the Gram matrix of the two."""
    b = step.basis.rank
    left = step.square.T @ g[:b, b:]
    inverse = np.linalg.inv(np.linalg.cholesky(g[b:, b:] - left.T @ left)).T
    from_noise = inverse @ step.root.T @ step.k.T
    own = step.square[:, step.basis.given :] @ (step.m.T - np.eye(len(step.m))) @ step.k.T
    return np.vstack([own - step.square @ left @ from_noise, from_noise])
