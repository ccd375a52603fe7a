"""Leverage: how far a record is held in place by a mask that keeps sums and products with [1, S] exactly.

    H = A (AᵀA)⁻¹ Aᵀ,      A = [1, S],      h_i = H_ii

The residual of a record on S has variance (1 − h_i) σ², so a record with h_i = 1 has none and cannot be moved. For a pair of
records the largest eigenvalue of its 2 × 2 block of H takes the place of h_i: if it is 1, a combination of both is kept (for
a category with two records, their sum).

Arrays here are columns × rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints, Matrix
from larvatus.stats.linear.covariance_factors import CentredRows
from larvatus.stats.linear.row_maps import solve_rows
from larvatus.stats.linear.sufficiency import THIN, independent

_HELD = 0.99  # the residual then has less than a tenth of the standard deviation of the others
_PAIR = 0.999  # of pairs, of which small sub-groups have many that are far apart by chance
_WORTH = 0.05  # lower leverages cannot belong to a pair that is held, unless the other is held alone


@dataclass(frozen=True, slots=True)
class DesignBasis:
    """An orthonormal basis of the centred terms of S in one group."""

    count: int
    mean: Matrix
    scale: Matrix
    chosen: NDArray[np.int64]
    triangle: Matrix

    @classmethod
    def of(cls, rows: CentredRows) -> DesignBasis:
        r = np.ascontiguousarray(rows.standardised_rows)
        directions, chosen, rank = independent(r, THIN * np.sqrt(max(rows.count - 1, 1)))
        kept = chosen[:rank]
        return cls(rows.count, rows.mean, rows.scale, kept, np.triu(directions[:rank] @ r[:, kept]))

    def standardise(self, terms: Matrix) -> Matrix:
        return np.asarray((terms - self.mean[:, None]) / self.scale[:, None])

    def rows(self, terms: Matrix) -> Matrix:
        """The rows of the basis; the sum of squares of a row, plus 1/n, is its leverage."""
        return np.asarray(solve_rows(self.standardise(terms), self.chosen, self.triangle))

    def leverage(self, terms: Matrix) -> Floats:
        return np.asarray(1.0 / self.count + (self.rows(terms) ** 2).sum(axis=0))

    def worth_keeping(self, terms: Matrix) -> NDArray[np.bool_]:
        """Rows that may be held, alone or in a pair."""
        return np.asarray(self.leverage(terms) > _WORTH)

    def sets_in_place(self, terms: Matrix) -> list[Ints]:
        """Rows with leverage above the limit, and pairs of the others of which a combination is (nearly) kept."""
        basis = self.rows(terms)
        h = 1.0 / self.count + (basis**2).sum(axis=0)
        out = [np.array([i]) for i in np.flatnonzero(h > _HELD)]
        rest = np.flatnonzero(h <= _HELD)
        if len(rest) < 2:
            return out
        block = basis[:, rest].T @ basis[:, rest] + 1.0 / self.count
        half = (h[rest][:, None] + h[rest]) / 2
        largest = half + np.sqrt(((h[rest][:, None] - h[rest]) / 2) ** 2 + block**2)
        first, second = np.nonzero(np.triu(largest > _PAIR, 1))
        return [*out, *(np.array([rest[i], rest[j]]) for i, j in zip(first, second, strict=True))]

    def fixed_combination(self, terms: Matrix) -> Matrix:
        """The combination of these rows (one or two) that is kept: the leading eigenvector of their block of H."""
        basis = self.rows(terms)
        return np.asarray(np.linalg.eigh(basis.T @ basis + 1.0 / self.count)[1][:, -1])
