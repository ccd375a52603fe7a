"""Distributions of noise (mean 0, variance 1) and of random factors (mean 1).

    noise: normal, uniform on ±√3, Laplace of scale 1/√2, or 0.9 N(0, s²) + 0.1 N(0, 16 s²) with s² = 1/2.5
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.core.portable.portable_functions import exp, log, log1p
from larvatus.core.randomness import RecordRandom

_Bias = Literal["normal", "lognormal", "gamma"]
_TRIES = 64


def factors(
    law: _Bias, sd: Matrix, random: RecordRandom, record: NDArray[np.int64], attempt: int = 0
) -> Matrix:
    """Factors, columns × records, with standard deviation sd[j] in column j; a factor of SD 0 is exactly 1."""
    spread = sd[:, None]
    if law == "gamma":
        return np.asarray(np.where(spread > 0, _gamma(np.where(sd > 0, sd, 1.0), random, record, attempt), 1.0))
    z = random.normal(record, len(sd), purpose="bias", attempt=attempt)
    if law == "normal":
        return np.asarray(1.0 + spread * z)
    log_variance = log1p(spread**2)
    return np.asarray(exp(np.sqrt(log_variance) * z - log_variance / 2))


def _gamma(sd: Matrix, random: RecordRandom, record: NDArray[np.int64], attempt: int) -> Matrix:
    """Gamma of shape 1/sd² (at least 1), divided by its mean, by rejection (Marsaglia and Tsang 2000).

    Acceptance of a draw depends only on its own record and column, so the result does not depend on the block.
    """
    shape = (1.0 / sd**2)[:, None]
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    out = np.zeros((len(sd), len(record)))
    left = np.arange(len(record))
    for again in range(_TRIES):
        turn = attempt * _TRIES + again
        z = random.normal(record[left], len(sd), purpose="bias", attempt=turn)
        u = random.uniform(record[left], len(sd), purpose="bias taken", attempt=turn)
        v = 1.0 + c * z
        v = v * v * v
        inside = v > 0
        safe = np.where(inside, v, 1.0)
        taken = inside & (log(u) < 0.5 * z * z + d - d * safe + d * log(safe)) & (out[:, left] == 0)
        out[:, left] = np.where(taken, d * safe / shape, out[:, left])
        left = left[(out[:, left] == 0).any(axis=0)]
        if len(left) == 0:
            return out
    raise AssertionError("a rejection of a few per cent cannot happen this often")


NoiseShape = Literal["normal", "uniform", "laplace", "mixture"]
MIXTURE_SHARE, MIXTURE_WIDE = 0.1, 4.0


def standard_noise(
    shape: NoiseShape, random: RecordRandom, record: NDArray[np.int64], lanes: int, attempt: int = 0
) -> NDArray[np.float64]:
    """Draws of the named law, lanes × records; in `mixture` a tenth of the draws has four times the SD of the rest."""
    if shape == "normal":
        return random.normal(record, lanes, attempt=attempt)
    u = random.uniform(record, lanes, attempt=attempt)
    if shape == "uniform":
        return np.asarray((u - 0.5) * np.sqrt(12.0))
    if shape == "laplace":
        side = u - 0.5
        return np.asarray(-np.sign(side) * log1p(-2.0 * np.abs(side)) / np.sqrt(2.0))
    narrow = 1.0 / np.sqrt(1.0 - MIXTURE_SHARE + MIXTURE_SHARE * MIXTURE_WIDE**2)
    spread = np.where(u < MIXTURE_SHARE, MIXTURE_WIDE * narrow, narrow)
    return np.asarray(spread * random.normal(record, lanes, attempt=attempt))


def coloured_noise(
    shape: NoiseShape, random: RecordRandom, record: NDArray[np.int64], weights: NDArray[np.float64], attempt: int = 0
) -> NDArray[np.float64]:
    """Independent draws of the law, multiplied by a covariance factor (rank × columns); columns × records."""
    from larvatus.stats.linear.row_maps import rows_times_weights

    return rows_times_weights(standard_noise(shape, random, record, len(weights), attempt), weights)
