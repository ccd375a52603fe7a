"""Keyed draws against NumPy's own generator, one thread each."""

from __future__ import annotations

import numpy as np

from larvatus.core.randomness import RecordRandom, stream_key
from run import Claim

N = 1_000_000
RECORDS = np.arange(N, dtype=np.int64)
RANDOM = RecordRandom(stream_key(b"a secret for the benchmark", "draws"))


def _normal(lanes: int) -> Claim:
    rng = np.random.default_rng(1)
    return Claim(
        f"keyed normal draws, {lanes} × 1,000,000", lambda: rng.standard_normal((lanes, N)),
        lambda: RANDOM.normal(RECORDS, lanes), 3.0, "numpy standard_normal",
    )


def claim_normal_one_lane() -> Claim:
    return _normal(1)


def claim_normal_five_lanes() -> Claim:
    return _normal(5)


def claim_uniform() -> Claim:
    rng = np.random.default_rng(1)
    return Claim(
        "keyed uniform draws, 4 × 1,000,000", lambda: rng.random((4, N)), lambda: RANDOM.uniform(RECORDS, 4), 3.0,
        "numpy random",
    )
