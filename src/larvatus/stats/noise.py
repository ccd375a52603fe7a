"""Laws of noise with mean 0 and variance 1, each from keyed draws."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from larvatus.core.randomness import RecordRandom

Shape = Literal["normal", "uniform", "laplace", "mixture"]
MIXTURE_SHARE, MIXTURE_WIDE = 0.1, 4.0


def standard_noise(
    shape: Shape, random: RecordRandom, record: NDArray[np.int64], lanes: int, attempt: int = 0
) -> NDArray[np.float64]:
    """Lanes × records draws of the named law; `mixture` is a tenth of the draws with four times the spread of the rest."""
    if shape == "normal":
        return random.normal(record, lanes, attempt=attempt)
    u = random.uniform(record, lanes, attempt=attempt)
    if shape == "uniform":
        return np.asarray((u - 0.5) * np.sqrt(12.0))
    if shape == "laplace":
        side = u - 0.5
        return np.asarray(-np.sign(side) * np.log1p(-2.0 * np.abs(side)) / np.sqrt(2.0))
    narrow = 1.0 / np.sqrt(1.0 - MIXTURE_SHARE + MIXTURE_SHARE * MIXTURE_WIDE**2)
    spread = np.where(u < MIXTURE_SHARE, MIXTURE_WIDE * narrow, narrow)
    return np.asarray(spread * random.normal(record, lanes, attempt=attempt))


def coloured_noise(
    shape: Shape, random: RecordRandom, record: NDArray[np.int64], weights: NDArray[np.float64], attempt: int = 0
) -> NDArray[np.float64]:
    """Columns × records of independent draws of the law, mixed by a covariance factor (rank × columns)."""
    from larvatus.stats.rows import mapped_rows

    return mapped_rows(standard_noise(shape, random, record, len(weights), attempt), weights)
