"""The information of masked values about a record, for noise with a known law.

    Y = B X + ε,  Cov(ε) = Ω         P = Bᵀ Ω⁻¹ B, the precision
    I(X; Y) ≤ ½ log det(I + Σ P) + r J

Σ is the covariance of X over the candidates. Nothing else is assumed about X: a normal X has the largest information for its
covariance. J is the entropy that the distribution of the r independent draws lacks to a normal one. Independent releases add
their precisions: I(X; Y₁, Y₂) ≤ ½ log det(I + Σ (P₁ + P₂)) + …

    levels, drawn by the matrix M      I(X; Y) = H(mean of the rows of M) − mean of H(row)
    Y = X θ + ε, both normal           I(X; Y) ≤ ½ log Var(Y) − mean of ½ log(σ² + φ² x²)
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints, Matrix
from larvatus.stats.noise.laws import MIXTURE_SHARE, MIXTURE_WIDE

_NO_NOISE = 1e-7  # noise that is narrower than this, relative to the widest direction, is no noise
_ROUNDING = 64 * np.finfo(float).eps


def gaussian_nats(covariance: Matrix, precision: Matrix) -> float:
    """½ log det(I + Σ P)."""
    return float(0.5 * np.log1p(_strengths(covariance, precision)).sum())


def joint_correlations(covariance: Matrix, precision: Matrix) -> Floats:
    """The canonical correlations of X with everything that was released: √(λ / (1 + λ)), λ the eigenvalues of Σ P."""
    found = _strengths(covariance, precision)[::-1]
    return np.asarray(np.sqrt(found / (1 + found)))


def _strengths(covariance: Matrix, precision: Matrix) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    root = np.sqrt(np.maximum(values, 0.0)) * vectors
    inner = root.T @ precision @ root
    return np.asarray(np.maximum(np.linalg.eigvalsh((inner + inner.T) / 2), 0.0))


def precision_of(on_x: Matrix, root: Matrix, values: Matrix, cells: Ints | None = None) -> Matrix | None:
    """Bᵀ Ω⁻¹ B for noise rootᵀ u (root: draws × columns); None if X varies in a direction without noise.

    `values` are those of X, records × columns; only those of records in one cell are compared. Differences within the rounding
    of the two values themselves are none.
    """
    _, sizes, right = np.linalg.svd(root, full_matrices=True)
    widest = float(sizes.max(initial=0.0))
    wide = np.zeros(len(right), dtype=bool)
    wide[: len(sizes)] = sizes > _NO_NOISE * max(widest, 1e-300)
    silent = right[~wide] @ on_x
    at, doubt = values @ silent.T, _ROUNDING * (np.abs(values) @ np.abs(silent).T)
    code = np.zeros(len(values), dtype=np.int64) if cells is None else np.unique(cells, return_inverse=True)[1]
    if len(values) and (_largest(at - doubt, code) > -_largest(-at - doubt, code)).any():
        return None
    inner = (right[: len(sizes)][wide[: len(sizes)]] / sizes[wide[: len(sizes)], None]) @ on_x
    return np.asarray(inner.T @ inner)


def _largest(values: Matrix, cells: Ints) -> Matrix:
    """The largest value of each column in every cell."""
    out = np.full((int(cells.max(initial=0)) + 1, values.shape[1]), -np.inf)
    np.maximum.at(out, cells, values)
    return out


def missing_entropy(shape: str) -> float:
    """J: the entropy of a normal draw less that of a draw of the same variance from this distribution."""
    if shape == "normal":
        return 0.0
    if shape == "uniform":
        return float(0.5 * np.log(2 * np.pi * np.e / 12))
    if shape == "laplace":
        return float(0.5 * np.log(np.pi * np.e) - 1)
    if shape != "mixture":
        raise ValueError(shape)
    narrow = 1.0 / np.sqrt(1.0 - MIXTURE_SHARE + MIXTURE_SHARE * MIXTURE_WIDE**2)
    at, step = np.linspace(-24.0, 24.0, 48_001, retstep=True)
    density = sum(
        weight * np.exp(-0.5 * (at / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        for weight, sd in ((1 - MIXTURE_SHARE, narrow), (MIXTURE_SHARE, MIXTURE_WIDE * narrow))
    )
    held = np.maximum(density, 1e-300)
    return float(0.5 * np.log(2 * np.pi * np.e) + (density * np.log(held)).sum() * step)


def level_nats(codes: Ints, moves: Matrix) -> float:
    """The information about which record it is, of a level drawn by the matrix, among records with these levels."""
    return max(0.0, _entropy(moves[codes].mean(axis=0)) - float(np.array([_entropy(row) for row in moves])[codes].mean()))


def factor_nats(x: Floats, noise_sd: float, factor_sd: float) -> float:
    """The bound for Y = X θ + ε with normal θ of mean 1 and SD `factor_sd`; infinite without noise where x is 0."""
    spread = noise_sd**2 + factor_sd**2 * x**2
    if np.ptp(x) == 0:
        return 0.0
    if spread.min() <= 0:
        return float("inf")
    return max(0.0, float(0.5 * np.log(x.var() + spread.mean()) - 0.5 * np.log(spread).mean()))


def _entropy(shares: Floats) -> float:
    there = shares[shares > 0]
    return float(-(there * np.log(there)).sum())
