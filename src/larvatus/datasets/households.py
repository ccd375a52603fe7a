"""A population of households with three money columns in 24 sub-groups, after the simulated file of 000 §5.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

_SIZES = np.array([
    1220, 1181, 1193, 1162, 1159, 1181, 4672, 4723, 4671, 4719, 4635, 4650,
    515, 468, 502, 511, 503, 464, 2019, 1968, 2044, 1940, 1960, 1940,
])
SPEARMAN = np.array([[1.0, 0.540, 0.620], [0.540, 1.0, 0.762], [0.620, 0.762, 1.0]])
LOADINGS = np.array([0.667, 0.289, 0.397])
HOME_SCALE, HOME_LEVEL = 2.25, 1.476


def households(n: int = 50_000, seed: int = 0) -> pa.Table:
    """Households by gender, marital status and age group, with home value, mortgage balance and net assets.

    Made by normal-to-anything: normal scores with a stated correlation inside sub-groups plus a common sub-group effect,
    sent through the marginals: home value lognormal, mortgage balance exponential, net assets normal. It matches the
    published sub-group sizes (exactly at n = 50,000, in proportion otherwise), the average rank correlations inside
    sub-groups (.540, .620, .762) and over the file (.582, .681, .782), the mean home value of the first sub-group (2.872)
    and, by the choice of the marginals, the product moment correlations: an exponential mortgage balance gives those with
    assets that rise from .69 among the young to .73 among the old, a lognormal home value of shape 2.25 those that fall
    with the number of records. How high the sub-groups lie is not published; here worth rises with age and is lower for
    marital = 1. Units are arbitrary.
    """
    import pyarrow as pa
    from scipy.special import log_ndtr

    if n < 1:
        raise ValueError(f"n: at least 1 record is needed, got {n}.")
    rng = np.random.Generator(np.random.Philox(seed))
    sizes = _apportioned(n)
    gender, marital, age = (np.repeat(level, sizes) for level in _cells())
    effect = np.repeat(_effects(), sizes)
    latent = 2 * np.sin(np.pi * SPEARMAN / 6)
    z = rng.standard_normal((n, 3)) @ np.linalg.cholesky(latent).T + np.outer(effect, LOADINGS)
    z /= np.sqrt(1 + LOADINGS**2)  # standard normal over the population
    order = rng.permutation(n)
    columns: dict[str, NDArray[np.generic]] = {
        "gender": gender, "marital": marital, "age_group": age,
        "home_value": HOME_LEVEL * np.exp(HOME_SCALE * z[:, 0]),
        "mortgage_balance": -log_ndtr(-z[:, 1]),
        "net_assets": z[:, 2],
    }
    return pa.table({name: pa.array(values[order]) for name, values in columns.items()})


def _cells() -> tuple[NDArray[np.int64], ...]:
    gender, marital, age = np.meshgrid([0, 1], [0, 1], np.arange(1, 7), indexing="ij")
    return tuple(np.asarray(level, dtype=np.int64).ravel() for level in (gender, marital, age))


def _effects() -> NDArray[np.float64]:
    """One effect per sub-group, of mean 0 and variance 1 over the population."""
    _, marital, age = _cells()
    raw = 0.85 * (age - 3.5) - marital
    share = _SIZES / _SIZES.sum()
    centred = raw - share @ raw
    return np.asarray(centred / np.sqrt(share @ centred**2))


def _apportioned(n: int) -> NDArray[np.int64]:
    """Sub-group sizes in proportion to the published ones, by largest remainder."""
    exact = n * _SIZES / _SIZES.sum()
    sizes = np.floor(exact).astype(np.int64)
    sizes[np.argsort(sizes - exact, kind="stable")[: n - sizes.sum()]] += 1
    return np.asarray(sizes)
