"""The linear model of X on S, from one triangle over all rows, and its masked values row by row:

    Y = β₀ + β₁S + β₂X + ε,   β₁ = (I − β₂) Σ_XS Σ_SS⁻¹,   β₀ = (I − β₂) μ_X − β₁ μ_S,   Σ_εε = Σ_X|S − β₂ Σ_X|S β₂ᵀ

Columns are standardised, S comes first, and a column that depends on earlier ones adds no direction. Arrays here are columns
× rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.stats.linear.covariance_factors import CentredRows
from larvatus.stats.linear.portable_algebra import product, total
from larvatus.stats.linear.row_maps import rows_times_weights, solve_rows
from larvatus.stats.linear.sufficiency import THIN, independent, noise_root


@dataclass(frozen=True, slots=True)
class FitOnS:
    """Standardised X is `on_given` times the basis of S plus a residual with covariance restᵀ rest.

    Row i of `rest` first enters column `lanes[i]` of X, and uses the draw of that number.
    """

    centre: Matrix
    scale: Matrix
    chosen: NDArray[np.int64]
    triangle: Matrix
    on_given: Matrix
    rest: Matrix
    lanes: NDArray[np.int64]
    varies: NDArray[np.bool_]

    @property
    def free(self) -> NDArray[np.bool_]:
        """Columns of X that are not determined by S."""
        return np.asarray(total(self.rest**2) > THIN**2)

    def noise_weights(self, beta: Matrix) -> Matrix:
        """A factor of the noise covariance for a similarity in the columns' own units; an error if there is none."""
        if len(self.rest) == 0:
            return self.rest
        _, root = noise_root(self.rest.T, self._standard(beta))
        return np.asarray(product(root.T, self.rest))

    def masked(self, s: Matrix, x: Matrix, beta: Matrix, weights: Matrix, draws: Matrix) -> Matrix:
        """Y for a block of rows, with a draw for each column of X; columns determined by S stay unchanged."""
        q, own = len(s), self._standard(beta)
        centre, scale = self.centre[q:], self.scale[q:]
        given = (s - self.centre[:q, None]) / self.scale[:q, None]
        parts = np.vstack([solve_rows(given, self.chosen, self.triangle), x, draws[self.lanes]])
        on_given = product(self.on_given, (np.eye(len(x)) - own).T) * scale
        y = rows_times_weights(parts, np.vstack([on_given, beta.T, weights * scale]))
        y += (centre - product(beta, centre))[:, None]
        return y if self.free.all() else np.where(self.free[:, None], y, x)

    def _standard(self, beta: Matrix) -> Matrix:
        spread = self.scale[-len(beta) :]
        return np.asarray(beta * spread / spread[:, None])


def fit_of(rows: CentredRows, q: int) -> FitOnS:
    """The fit from [S, X] with q columns of S."""
    r = np.ascontiguousarray(rows.standardised_rows)
    freedom = np.sqrt(max(rows.count - 1, 1))
    directions, chosen, rank = independent(r, THIN * freedom)
    kept = chosen[:rank]
    given = int((kept < q).sum())
    k = product(directions[:rank], r[:, q:])
    triangle = np.triu(product(directions[:given], r[:, kept[:given]]))
    return FitOnS(
        rows.mean, rows.scale, kept[:given], triangle, k[:given], k[given:] / freedom, kept[given:] - q, ~rows.constant[q:],
    )
