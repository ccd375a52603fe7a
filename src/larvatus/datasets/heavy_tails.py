"""Pairs of columns with heavy tails, symmetric or not, after the eight data sets of 003 §3.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

FREEDOM, F_FREEDOM = 2, 10
F_VARIANCE = 2 * F_FREEDOM**2 * (2 * F_FREEDOM - 2) / (F_FREEDOM * (F_FREEDOM - 2) ** 2 * (F_FREEDOM - 4))


def heavy_tails(
    n: int = 10_000, seed: int = 0, *, shape: Literal["symmetric", "skewed"] = "symmetric", correlation: float = 0.75,
    mirrored: bool = False,
) -> pa.Table:
    """Columns x1 and x2: bivariate t with two degrees of freedom, or F(10, 10) and a linear regression on it.

    `correlation` is that of the normal pair behind the t, whose own covariance does not exist, or of the skewed pair in
    the population; the error of the regression is normal. `mirrored` turns the sign of x2. 003 says "highly correlated":
    .75 is what its printed measures fit, and its distributions and n = 10,000 are matched; neither its slopes nor its
    records are printed. Two of its eight data sets are uncorrelated with a sign: here the second is the mirror image.
    """
    import pyarrow as pa

    if n < 1 or not -1 < correlation < 1:
        raise ValueError(f"n: at least 1, and correlation inside -1 to 1; got {n} and {correlation}.")
    rng = np.random.Generator(np.random.Philox(seed))
    if shape == "symmetric":
        z, error = rng.standard_normal((2, n))
        scale = np.sqrt(rng.chisquare(FREEDOM, n) / FREEDOM)
        x1, x2 = z / scale, (correlation * z + np.sqrt(1 - correlation**2) * error) / scale
    else:
        x1 = rng.f(F_FREEDOM, F_FREEDOM, n)
        x2 = correlation * x1 + np.sqrt(F_VARIANCE * (1 - correlation**2)) * rng.standard_normal(n)
    return pa.table({"x1": x1, "x2": -x2 if mirrored else x2})
