"""Likelihood ratios of «x was in the file» against «it was not», in closed form for normal columns, and what they are worth.

    published exactly: mean m and scatter A = Σ (x_i − m)(x_i − m)ᵀ of n records with p columns
        f(x | m, A) = Γ((n−1)/2) / (π^(p/2) Γ((n−1−p)/2)) · (n/(n−1))^(p/2) |A|^(−1/2) · (n/(n−1) · (1 − h))^((n−p−3)/2)
        h = 1/n + (x − m)ᵀ A⁻¹ (x − m), the leverage;     ratio = f(x | m, A) / f(x)
    published: n rows Y = B X + ε of a linear mask
        ratio = mean over rows of f(y_j | x) / f(y_j)

In large files the log ratio of a person x (in whitened columns) is nearly normal in the first case, with means ±v/2 and
variance v = (|x|⁴ + p) / (2 n). Persons differ; the mean of v is p (p + 3) / (2 n). In the second, χ² = (Π 1/(1 − ρ²) − 1) / n
with the canonical correlations ρ, and true positives ≤ α + √(α (1 − α) χ²) at false positives α.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv, gammaln, logsumexp, ndtr

from larvatus.core.arrays import Floats, Matrix

_PERSONS, _FAR, _HALVINGS = 400, 40.0, 80
_THIN = 1e-10  # directions in which columns vary by less, relative to the largest, are left out


def moment_log_density(at: Floats, records: int) -> Floats:
    """log f(x | m, A) in coordinates in which m is 0 and A the identity; minus infinity where no such file contains x."""
    p, n = at.shape[1], records
    rest = 1 - n / (n - 1) * (at**2).sum(axis=1)
    constant = gammaln((n - 1) / 2) - gammaln((n - 1 - p) / 2) - p / 2 * np.log(np.pi) + p / 2 * np.log(n / (n - 1))
    with np.errstate(divide="ignore"):
        return np.asarray(constant + (n - p - 3) / 2 * np.log(np.maximum(rest, 0.0)))


def moment_log_ratios(x: Floats, mean: Floats, scatter: Matrix, records: int, population: tuple[Floats, Matrix]) -> Floats:
    """The log ratio for each row of x, for an intruder who knows mean and covariance of the population."""
    turn = to_unit_scatter(scatter)
    middle, covariance = population
    away = normal_log_density((x - middle) @ turn, turn.T @ covariance @ turn)
    return np.asarray(moment_log_density((x - mean) @ turn, records) - away)


def reference_log_densities(x: Floats, reference: Floats) -> tuple[Floats, Floats]:
    """Normal log densities with the moments of a reference file: of x, and of each of its own records without itself."""
    n, p = reference.shape
    mean = reference.mean(axis=0)
    covariance = np.cov(reference.T, ddof=0).reshape(p, p)
    root = np.linalg.cholesky(covariance)
    fixed = -np.log(np.diag(root)).sum() - p / 2 * np.log(2 * np.pi)
    apart, own = ((np.linalg.solve(root, (z - mean).T) ** 2).sum(axis=0) for z in (x, reference))
    left = np.maximum(1 - own / (n - 1), 1e-12)
    grown = n / (n - 1)
    return fixed - apart / 2, fixed - (p * np.log(grown) + np.log(left) + grown * own / left) / 2


def row_log_ratios(x: Floats, rows: Floats, on_x: Matrix, intercept: Floats, noise: Matrix) -> Floats:
    """The log ratio for each row of x, given released rows; their own law is taken as normal with their moments."""
    whole = np.cov(rows.T, ddof=0).reshape(rows.shape[1], -1)
    alone = normal_log_density(rows - rows.mean(axis=0), whole)
    out = np.empty(len(x))
    for i, centre in enumerate(x @ on_x.T + intercept):
        out[i] = logsumexp(normal_log_density(rows - centre, noise) - alone) - np.log(len(rows))
    return out


def moment_separations(columns: int, records: int) -> Floats:
    """v of equally probable persons, if means and covariances of normal columns are published: |x|² is χ² distributed."""
    square = 2 * gammaincinv(columns / 2, (np.arange(_PERSONS) + 0.5) / _PERSONS)
    return np.asarray((square**2 + columns) / (2 * records))


def area_of(separations: Floats) -> float:
    """The area under the ROC curve of log ratios that are N(±v/2, v), for a member and a stranger with their own v."""
    return float(ndtr(np.sqrt(separations[:, None] + separations) / 2).mean())


def true_positives_of(separations: Floats, false_positives: float) -> float:
    """The share of members recognised at this share of false positives, with one limit for all persons."""
    root = np.sqrt(np.maximum(separations, _THIN))
    low, high = -_FAR * root.max(), _FAR * root.max()
    for _ in range(_HALVINGS):
        limit = (low + high) / 2
        low, high = (limit, high) if ndtr(-root / 2 - limit / root).mean() > false_positives else (low, limit)
    return float(ndtr(root / 2 - high / root).mean())


def row_divergence(correlations: Floats, records: int) -> float:
    """χ² of the two hypotheses, for normal columns under a linear mask."""
    return float(np.expm1(-np.log1p(-(correlations**2)).sum()) / records)


def most_true_positives(divergence: float, false_positives: float) -> float:
    """No rule recognises more members at this share of false positives (Cauchy and Schwarz)."""
    a = false_positives
    return float(min(1.0, a + np.sqrt(a * (1 - a) * divergence)))


def to_unit_scatter(scatter: Matrix) -> Matrix:
    """A matrix W with Wᵀ A W = I, without directions in which nothing varies."""
    sd = np.sqrt(np.maximum(np.diag(scatter), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    kept = values > _THIN * max(float(values.max(initial=0.0)), _THIN)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None])


def normal_log_density(away: Floats, covariance: Matrix) -> Floats:
    """log N(away; 0, covariance) of each row."""
    root = np.linalg.cholesky(covariance)
    solved = np.linalg.solve(root, away.T)
    p = len(covariance)
    return np.asarray(-0.5 * (solved**2).sum(axis=0) - np.log(np.diag(root)).sum() - p / 2 * np.log(2 * np.pi))
