"""Microaggregation against the sorts and the neighbour searches it cannot avoid."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sklearn.neighbors import KDTree

import larvatus as lv
from run import Claim, MemoryClaim

N = 1_000_000
SECRET = b"0123456789abcdef"


def _data(n: int) -> tuple[np.ndarray, lv.Microdata]:
    x = np.random.default_rng(1).normal(size=(n, 5))
    columns = {f"x{j}": np.ascontiguousarray(x[:, j]) for j in range(5)}
    return x, lv.read(pa.table(columns), confidential=list(columns))


def _against_sorts(grouping: str, at_most: float) -> Claim:
    x, data = _data(N)
    step = f"microaggregation(grouping={grouping!r})"
    return Claim(
        f"microaggregation, {grouping}, 1,000,000 × 5", lambda: [np.argsort(c) for c in np.ascontiguousarray(x.T)],
        lambda: lv.mask(data, step, secret=SECRET), at_most, "5 plain argsorts", repeats=5,
    )


def claim_fixed() -> Claim:
    return _against_sorts("fixed", 3.0)


def claim_optimal() -> Claim:
    return _against_sorts("optimal", 10.0)


def claim_mdav() -> Claim:
    x, data = _data(100_000)
    return Claim(
        "microaggregation, exact MDAV, 100,000 × 5", lambda: KDTree(x).query(x, k=3),
        lambda: lv.mask(data, "microaggregation", secret=SECRET), 2.0, "scikit-learn's tree and its 3 nearest of all",
        repeats=3,
    )


def claim_mdav_in_parts() -> Claim:
    x, data = _data(N)
    return Claim(
        "microaggregation, MDAV in parts of 50,000, 1,000,000 × 5", lambda: KDTree(x[:100_000]).query(x[:100_000], k=3),
        lambda: lv.mask(data, "microaggregation(partition=50_000)", secret=SECRET), 15.0,
        "scikit-learn's tree and 3 nearest of 100,000", repeats=1,
    )


def claim_memory_mdav() -> MemoryClaim:
    return MemoryClaim(
        "microaggregation, exact MDAV, 100,000 × 5, peak memory", 8.0, "the input",
        """
import larvatus as lv
from claims.microaggregation import _data, SECRET
lv.mask(_data(5000)[1], "microaggregation", secret=SECRET)
data = _data(100_000)[1]
INPUT = 100_000 * 5 * 8
def work():
    return lv.mask(data, "microaggregation", secret=SECRET)
""",
    )
