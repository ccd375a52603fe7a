"""Unpenalised logistic regression by Newton's method with step halving, with one pass over the rows per step.

    β ← β + h (Σ p(1 − p) t tᵀ)⁻¹ Σ (label − p) t,   p = 1 / (1 + exp(−βᵀt)),   h = 1, ½, ¼ …
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

CONSTANT, _COLLINEAR = 1e-12, 1e-9
DONE, DONE_APART, _COMPLETE = 1e-9, 1e-4, 1e-6
_FLAT, _ROUNDING = 1e-6, 1e-13
_MOST_STEPS, MOST_HALVINGS = 60, 40


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums at given coefficients: rows, log-likelihood, sum of (p − c)², gradient, and information (weighted Gram matrix)."""

    rows: float
    likelihood: float
    departure: float
    gradient: Floats
    information: Floats

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.rows + other.rows, self.likelihood + other.likelihood, self.departure + other.departure,
            self.gradient + other.gradient, self.information + other.information,
        )


def sums_at(terms: Floats, coefficient: Floats, label: float, share: float, root: Floats) -> Sums:
    """One pass over terms × rows that all have the same label; `root` is workspace for terms × rows."""
    residual = np.empty(terms.shape[1])
    likelihood, departure = _passed(terms, coefficient, label, share, residual, root)
    return Sums(terms.shape[1], likelihood, departure, terms @ residual, root @ root.T)


@kernel(error_model="numpy")
def _passed(
    terms: Floats, coefficient: Floats, label: float, share: float, residual: Floats, root: Floats
) -> tuple[float, float]:
    """Log-likelihood and squared deviation; fills the residuals and the terms times the root of their weight."""
    k, n = terms.shape
    score = np.zeros(n)
    for j in range(k):
        b = coefficient[j]
        if b != 0.0:
            for i in range(n):
                score[i] += b * terms[j, i]
    likelihood = departure = 0.0
    for i in range(n):
        e = np.exp(-abs(score[i]))
        p = 1.0 / (1.0 + e) if score[i] >= 0 else e / (1.0 + e)
        own = score[i] if label > 0 else -score[i]
        likelihood += min(own, 0.0) - np.log1p(e)
        departure += (p - share) ** 2
        residual[i] = label - p
        score[i] = np.sqrt(e) / (1.0 + e)
    for j in range(k):
        for i in range(n):
            root[j, i] = terms[j, i] * score[i]
    return likelihood, departure


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """A fitted regression: mean squared deviation of the scores from c, and how the iteration ended."""

    coefficient: Floats
    kept: Ints
    rows: float
    departure: float
    steps: int
    apart: bool
    complete: bool
    converged: bool
    mean: Floats
    scatter: Floats
    shift: Floats

    @property
    def terms(self) -> int:
        """Number of terms other than the intercept that are not combinations of earlier ones."""
        return len(self.kept)


class Newton:
    """One regression as a sequence of requests for sums at given coefficients, until the maximum is found.

    The first term is the intercept. The first sums, at the intercept alone, give the orthogonal basis for all later steps (a
    Cholesky factor without terms explained by earlier ones), and the first step itself.
    """

    def __init__(self, terms: int, share: float) -> None:
        self._share = share
        self._trial = np.zeros(terms)
        self._trial[0] = np.log(share) - np.log1p(-share)
        self._basis: Floats | None = None
        self._at = self._step = self._trial
        self._now: Sums | None = None
        self._scale, self._halvings, self._last = 1.0, 0, False
        self._apart = False
        self.steps = 0
        self.fit: LogisticFit | None = None

    def asks(self) -> Floats:
        """The coefficients at which sums are needed next."""
        return self._trial

    def tell(self, sums: Sums) -> None:
        """Process the requested sums: take the next step, halve the step, or end."""
        if self._basis is None or self._now is None:
            self._prepare(sums)
        elif sums.likelihood < self._now.likelihood - _ROUNDING * sums.rows and not self._last:
            self._halve()
            return
        self._at, self._now = self._trial, sums
        if self._last:
            self._end(sums, True)
            return
        self._advance(sums)

    def _prepare(self, sums: Sums) -> None:
        gram = sums.information / (self._share * (1 - self._share) * sums.rows)
        self._mean = gram[0].copy()
        covariance = gram - np.outer(self._mean, self._mean)
        self._covariance = covariance
        self._shift = sums.gradient / (self._share * (1 - self._share) * sums.rows)
        self._kept, self._basis = orthogonal_basis(self._mean, covariance, np.diag(gram))

    def _advance(self, sums: Sums) -> None:
        assert self._basis is not None
        gradient = self._basis.T @ sums.gradient
        information = self._basis.T @ sums.information @ self._basis
        flat, turn = np.linalg.eigh(information)
        usual = sums.rows * self._share * (1 - self._share)
        self._apart = bool(flat[0] < _FLAT * usual)
        direction = turn @ ((turn.T @ gradient) / np.maximum(flat, 1e-14 * usual))
        gain = float(gradient @ direction)
        self._step = self._basis @ direction
        if -sums.likelihood < _COMPLETE * sums.rows:
            self._end(sums, True)
        elif gain <= (DONE_APART if self._apart and self.steps > 8 else DONE):
            self._last = True
            self._trial = self._at + self._step
            self.steps += 1
            if gain <= 0.0:
                self._trial = self._at
                self._end(sums, True)
        elif self.steps >= _MOST_STEPS:
            self._end(sums, False)
        else:
            self._scale, self._halvings = 1.0, 0
            self._trial = self._at + self._step
            self.steps += 1

    def _halve(self) -> None:
        assert self._now is not None
        self._scale, self._halvings = self._scale / 2, self._halvings + 1
        if self._halvings > MOST_HALVINGS:
            self._trial = self._at
            self._end(self._now, False)
            return
        self._trial = self._at + self._scale * self._step

    def _end(self, sums: Sums, converged: bool) -> None:
        c = self._share
        complete = -sums.likelihood < _COMPLETE * sums.rows
        departure = sums.rows * c * (1 - c) if complete else sums.departure
        self.fit = LogisticFit(
            self._at, self._kept, sums.rows, departure, self.steps, self._apart or complete, complete, converged,
            self._mean, self._covariance, self._shift,
        )


def orthogonal_basis(mean: Floats, covariance: Floats, square: Floats) -> tuple[Ints, Floats]:
    """Terms that vary and are not combinations of earlier ones, and an orthonormal basis in terms of all.

    The first column of the basis is the intercept; the others have mean zero and variance one.
    """
    variance = np.diag(covariance)
    varies = variance > CONSTANT * square
    sd = np.sqrt(np.where(varies, variance, 1.0))
    correlation = covariance / np.outer(sd, sd)
    k = len(mean)
    factor = np.zeros((k, k))
    kept: list[int] = []
    for j in range(1, k):
        if not varies[j]:
            continue
        r = len(kept)
        row = np.zeros(r)
        if r:
            from scipy.linalg import solve_triangular

            row = solve_triangular(factor[:r, :r], correlation[kept, j], lower=True, check_finite=False)
        left = correlation[j, j] - float(row @ row)
        if left > _COLLINEAR:
            factor[r, :r], factor[r, r] = row, np.sqrt(left)
            kept.append(j)
    r = len(kept)
    basis = np.zeros((k, r + 1))
    basis[0, 0] = 1.0
    if r:
        basis[kept, 1:] = np.linalg.inv(factor[:r, :r]).T / sd[kept][:, None]
        basis[0, 1:] = -mean[kept] @ basis[kept, 1:]
    return np.array(kept, dtype=np.int64), basis


def fit_logistic(terms: Floats, label: NDArray[np.bool_]) -> LogisticFit:
    """The regression of a label on terms × rows in memory; the first term is the intercept."""
    sides = [np.ascontiguousarray(terms[:, label == which]) for which in (False, True)]
    rooms = [np.empty_like(s) for s in sides]
    share = float(label.mean())
    newton = Newton(len(terms), share)
    while newton.fit is None:
        at = newton.asks()
        newton.tell(sums_at(sides[0], at, 0.0, share, rooms[0]) + sums_at(sides[1], at, 1.0, share, rooms[1]))
    return newton.fit
