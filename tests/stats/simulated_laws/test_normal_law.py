"""The joint normal law of simulated values keeps thin directions of the noise if cells are missing."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.simulated_laws import normal_law
from larvatus.stats.simulated_laws.normal_law import NormalLaw

TIMES, RECORDS, COLUMNS = 40, 150, 6


def simulations(thin: float, missing: float = 0.15, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, simulated releases with noise that hardly differs between columns, and the correlation of the noise."""
    rng = np.random.default_rng(seed)
    root = np.column_stack([np.ones(COLUMNS), thin * rng.normal(size=(COLUMNS, COLUMNS))])
    x = np.exp(rng.normal(size=(RECORDS, COLUMNS)))
    y = x + rng.normal(size=(TIMES, RECORDS, COLUMNS + 1)) @ root.T
    y[rng.random(y.shape) < missing] = np.nan
    size = np.sqrt((root**2).sum(axis=1))
    return x, y, root @ root.T / np.outer(size, size)


def test_thin_directions_are_kept():
    """Variance of the law along the true thin directions: 1 ± 5 standard errors of a variance from 6,000 rows."""
    x, y, truth = simulations(0.03)
    law = NormalLaw(x, y, y[0], by_record=False)
    values, vectors = np.linalg.eigh(truth)
    along = np.einsum("ij,ik,kj->j", vectors, law.correlation, vectors) / values
    assert values.min() < 1e-3
    assert np.abs(along - 1).max() < 5 * np.sqrt(2 / (TIMES * RECORDS * 0.85**COLUMNS))


def test_means_err_along_the_noise():
    """In units of the noise, errors of the means are about 1 / √times in thin directions as in others."""
    x, y, truth = simulations(0.03)
    law = NormalLaw(x, y, y[0], by_record=False)
    root = np.linalg.cholesky(truth)
    errors = np.linalg.solve(root, ((law.centre - x) / law.sd).T)
    assert np.sqrt((errors**2).mean(axis=1)).max() < 2 / np.sqrt(TIMES * 0.85)


@pytest.mark.parametrize("missing", [0.15, 0.7])
def test_noise_without_any_difference_between_columns(missing):
    x, y, _ = simulations(0.0, missing)
    law = NormalLaw(x, y, y[0], by_record=False)
    assert np.isfinite(law.log_densities(np.arange(RECORDS), np.arange(RECORDS))).all()


def test_coordinates_out_of_reach_are_in_the_outermost_classes():
    """Without a warning of a cast, which is an error here: a column cut at a bound has hardly any spread."""
    found = normal_law._classes(np.array([-np.inf, -1e300, 1e300, np.inf]))
    assert found.tolist() == [0, 0, normal_law._BINS - 1, normal_law._BINS - 1]
    assert normal_law._classes(np.array([np.nan]))[0] == 0
