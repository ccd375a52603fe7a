"""A pair of wages reported by two sources, with heavy tails, modelled on the file that 004 truncates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

MIDDLE, _SPREAD, SKEW = 10.143, 0.8054, 0.1243  # of the logarithm of the wage common to both sources
_CLOSE, _FAR, SHARE_FAR, OF_CPS = 0.1198, 0.7908, 0.2184, 0.4746  # SD of the disagreement, and cpswage's share of it
WAGE_TAIL, WAGE_POWER = 132_750.0, 2.1025
CPS_TAIL, CPS_POWER = 136_697.0, 5.1495
LOWEST, HIGHEST_WAGE, HIGHEST_CPS = 11.0, 3_932_720.0, 434_999.0


def wages(n: int = 26_418, seed: int = 0) -> pa.Table:
    """A wage and the wage reported to a survey, which agree closely for four in five records and loosely for the others.

    Both are lognormal up to a threshold, with independent Pareto tails beyond it, because the upper tail of the published file
    was replaced by draws from a model. Constants are fitted to Tables 3 to 5 of 004: mean and standard deviation of both,
    correlation (.623) and regression before and after truncation at 400,000 to 50,000. Minima and maxima are as published.
    Nothing else is known about that file, so the shapes are a guess.

    Examples:
        >>> import larvatus as lv
        >>> lv.datasets.wages(400).column_names
        ['wage', 'cpswage']
    """
    import pyarrow as pa

    rng = np.random.Generator(np.random.Philox(seed))
    u = rng.standard_normal(n)
    common = np.exp(MIDDLE + _SPREAD * (u - SKEW * (u**2 - 1) / 2))
    apart = np.where(rng.random(n) < SHARE_FAR, _FAR, _CLOSE) * rng.standard_normal(n)
    wage = _tailed(common * np.exp((1 - OF_CPS) * apart), WAGE_TAIL, WAGE_POWER, HIGHEST_WAGE, rng)
    cps = _tailed(common * np.exp(-OF_CPS * apart), CPS_TAIL, CPS_POWER, HIGHEST_CPS, rng)
    return pa.table({"wage": wage, "cpswage": cps})


def _tailed(
    values: NDArray[np.float64], start: float, power: float, highest: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Integer values, with those beyond `start` drawn from a Pareto tail and the published minimum and maximum."""
    drawn = start * rng.random(len(values)) ** (-1 / power)
    out = np.round(np.clip(np.where(values > start, drawn, values), LOWEST, highest))
    out[np.argmin(out)], out[np.argmax(out)] = LOWEST, highest
    return out
