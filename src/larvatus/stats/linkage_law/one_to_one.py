"""The share linked by whoever assigns all records at once, one to one, in normal columns: by simulation.

    X ~ N(0, I_d),  Y = ρX + √(1 − ρ²) ε
    σ̂ = arg max_σ Σ_t log f(y_σ(t) | x_t) = arg max_σ Σ_t Σ_i ρ_i / (1 − ρ_i²) x_ti y_σ(t)i

No closed form is known for few columns. The share is the mean over files that are drawn afresh, with rows in random order, so
that equal totals are chosen among at random.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats

MOST_MATCHED_AT_ONCE = 2000
_TARGETS, _FEWEST = 4000, 10
_SEED = 20_260_102


def assignment_share(correlations: Floats, records: int) -> tuple[float, float]:
    """The mean share and its standard error, for at most 2,000 records with canonical correlations below 1."""
    from scipy.optimize import linear_sum_assignment

    rho, random = np.asarray(correlations, dtype=np.float64), np.random.default_rng(_SEED)
    found = []
    for _ in range(max(_FEWEST, _TARGETS // records)):
        x, noise = random.standard_normal((2, records, len(rho)))
        y = rho * x + np.sqrt(1 - rho**2) * noise
        order = random.permutation(records)
        rows, columns = linear_sum_assignment(-(x * rho / (1 - rho**2)) @ y[order].T)
        found.append(float((rows == order[columns]).mean()))
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found)))
