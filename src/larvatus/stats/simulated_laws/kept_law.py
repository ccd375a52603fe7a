"""The law of continuous values that a mask nearly keeps or replaces, column by column, learnt from simulated releases:

    −cost = Σ_j log f_j(y | x) / g_j(y),   f_j(y | x) = k_j(|y − x|) + (1 − w_j) g_j(y)

`KeptValues` describes k, w and g. x is the value that a record has if every random step leaves it as it is.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.linkage.kept_values import KeptValues


class KeptLaw:
    """`simulated` is simulations × records × columns; missing cells are NaN and say nothing."""

    def __init__(self, x: Floats, simulated: Floats, y: Floats) -> None:
        self.x, self.y = x, y
        times = len(simulated)
        self._laws = [KeptValues.learn(np.tile(x[:, j], times), simulated[..., j].ravel(), y[:, j]) for j in range(y.shape[1])]

    def log_densities(self, records: Ints, rows: Ints) -> Floats:
        """Logarithms of the ratios of every pair, records × rows."""
        out = np.zeros((len(records), len(rows)))
        for j, law in enumerate(self._laws):
            out += law.log_ratios(self.x[records, j], self.y[rows, j])
        return out
