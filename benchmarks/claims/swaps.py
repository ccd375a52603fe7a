"""Swapping against the sorts it cannot avoid."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import larvatus as lv
from run import Claim

N = 1_000_000
SECRET = b"0123456789abcdef"


def _against_sorts(mask: str, at_most: float) -> Claim:
    rng = np.random.default_rng(1)
    columns = {f"x{j}": rng.normal(size=N) for j in range(5)}
    data = lv.read(pa.table(columns), confidential=list(columns))
    return Claim(
        f"{mask}, 1,000,000 × 5", lambda: [np.argsort(c) for c in columns.values()],
        lambda: lv.mask(data, mask, secret=SECRET), at_most, "5 plain argsorts", repeats=5,
    )


def claim_rank_swap() -> Claim:
    return _against_sorts("rank_swap", 4.0)


def claim_rank_swap_two_sided() -> Claim:
    return _against_sorts("rank_swap(tails=\"two_sided\")", 6.0)


def claim_random_swap() -> Claim:
    return _against_sorts("random_swap", 6.0)


def claim_random_swap_together() -> Claim:
    return _against_sorts("random_swap(together=true)", 2.0)
