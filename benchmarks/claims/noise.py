"""Noise masks against drawing as much noise with NumPy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import larvatus as lv
from run import Claim

N = 1_000_000
SECRET = b"0123456789abcdef"
X = [f"x{j}" for j in range(5)]


def _noise(mask: str, lanes: int = 5, at_most: float = 3.0) -> Claim:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(N, 5)) @ rng.normal(size=(5, 5))
    table = pa.table({name: np.ascontiguousarray(z[:, j]) for j, name in enumerate(X)})
    data = lv.read(table, confidential=X)
    return Claim(
        f"{mask}, 1,000,000 × 5", lambda: rng.standard_normal((lanes, N)), lambda: lv.mask(data, mask, secret=SECRET), at_most,
        "drawing the noise with numpy",
    )


def claim_correlated_noise() -> Claim:
    return _noise("correlated_noise")


def claim_variance_preserving_noise() -> Claim:
    return _noise("variance_preserving_noise")


def claim_bias_and_noise() -> Claim:
    return _noise("bias_and_noise", lanes=10)


def claim_linear_model() -> Claim:
    return _noise("linear_model(similarity=0.5)", at_most=5.0)
