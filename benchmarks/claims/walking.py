"""A mask and an attack against the work they cannot avoid."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from scipy.spatial import cKDTree

import larvatus as lv
from run import Claim

N = 1_000_000


def claim_additive_noise() -> Claim:
    rng = np.random.default_rng(1)
    table = pa.table({f"x{j}": rng.normal(size=N) for j in range(5)})
    data = lv.read(table, confidential=table.column_names)
    return Claim(
        "additive noise, 1,000,000 × 5", lambda: rng.standard_normal((5, N)),
        lambda: lv.mask(data, "additive_noise", secret=b"0123456789abcdef"), 3.0, "drawing the noise with numpy",
    )


def _million() -> tuple[lv.Microdata, lv.Release, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1_000_000, 5))
    table = pa.table({f"x{j}": x[:, j] for j in range(5)})
    data = lv.read(table, confidential=table.column_names)
    release = lv.mask(data, "additive_noise", secret=b"0123456789abcdef")
    return data, release, x, np.column_stack([release.frame().column(f"x{j}") for j in range(5)])


def claim_nearest_record() -> Claim:
    data, release, x, y = _million()
    return Claim(
        "nearest record within 10, a million × 5", lambda: cKDTree(y).query(x, k=10, workers=-1),
        lambda: lv.risk(data, release, ["nearest_record"]), 5.0, "scipy k-d tree query", repeats=1,
    )


def claim_posterior_match() -> Claim:
    data, release, x, y = _million()
    return Claim(
        "posterior match within 10, a million × 5", lambda: cKDTree(y).query(x, k=10, workers=-1),
        lambda: lv.risk(data, release, ["posterior_match"]), 5.0, "scipy k-d tree query", repeats=1,
    )
