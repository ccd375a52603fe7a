"""Shuffling and sufficiency-based masking against the sorts and the draws they cannot avoid."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import larvatus as lv
from run import Claim, MemoryClaim

N = 1_000_000
SECRET = b"0123456789abcdef"
X, S = [f"x{j}" for j in range(5)], ["s0", "s1"]


def _columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(N, 7)) @ rng.normal(size=(7, 7))
    return {name: np.ascontiguousarray(z[:, j]) for j, name in enumerate([*X, *S])}


def _data(groups: int = 1) -> lv.Microdata:
    columns = _columns()
    if groups > 1:
        columns["g"] = np.arange(N) % groups
    return lv.read(pa.table(columns), confidential=X, non_confidential=S, sub_groups=["g"] if groups > 1 else [])


def claim_shuffling() -> Claim:
    data, columns = _data(), list(_columns().values())
    sorted_twelve = [*columns, *columns[:5]]
    return Claim(
        "data shuffling, 1,000,000 × (5 + 2)", lambda: [np.argsort(c) for c in sorted_twelve],
        lambda: lv.mask(data, "data_shuffling", secret=SECRET), 2.5, "12 plain argsorts", repeats=5,
    )


def claim_sufficiency_based() -> Claim:
    data, rng = _data(), np.random.default_rng(1)
    return Claim(
        "sufficiency-based, 1,000,000 × (5 + 2)", lambda: rng.standard_normal((5, N)),
        lambda: lv.mask(data, "sufficiency_based(similarity=0.5)", secret=SECRET), 8.0, "drawing its noise with numpy",
    )


def _grouped(mask: str) -> Claim:
    one, many = _data(), _data(1000)
    return Claim(
        f"{mask.partition('(')[0]}, 1,000,000 rows in 1,000 sub-groups", lambda: lv.mask(one, mask, secret=SECRET),
        lambda: lv.mask(many, mask, secret=SECRET), 1.5, "the same in one group", repeats=5,
    )


def claim_sufficiency_based_in_groups() -> Claim:
    return _grouped("sufficiency_based(similarity=0.5)")


def claim_shuffling_in_groups() -> Claim:
    return _grouped("data_shuffling")


def _memory(mask: str) -> MemoryClaim:
    return MemoryClaim(
        f"{mask.partition('(')[0]}, 1,000,000 × (5 + 2), peak memory", 6.0, "the input",
        f"""
import larvatus as lv
from claims.flagships import _data, N, SECRET, X, S
data = _data()
small = lv.read(lv.mask(data, "additive_noise", secret=SECRET).frame().slice(0, 80_000), confidential=X, non_confidential=S)
lv.mask(small, {mask!r}, secret=SECRET)
INPUT = N * (len(X) + len(S)) * 8
def work():
    return lv.mask(data, {mask!r}, secret=SECRET)
""",
    )


def claim_memory_sufficiency_based() -> MemoryClaim:
    return _memory("sufficiency_based(similarity=0.5)")


def claim_memory_shuffling() -> MemoryClaim:
    return _memory("data_shuffling")
