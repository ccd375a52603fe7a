"""An intruder who uses kept zeros and missing cells as keys: block on the pattern, then link by distance. NumPy alone.

Within the block of records that have the same pattern of zeros and missing cells as the target, the nearest record wins: in
standard deviations of the released values, or by Mahalanobis distance on the columns that are neither zero nor missing. The
product's strongest linkage must find no fewer records. The standard error of the difference of two shares on the same records
is at most √(2 · share · (1 − share) / n); 4.75 of them are exceeded by chance once in a million.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv

SIGMAS = 4.75
ATTACKS = ["nearest_record", "posterior_match"]


def pattern_intruder(x: np.ndarray, y: np.ndarray, mahalanobis: bool) -> float:
    """Share of records found: block on zeros and missing cells, then the least distance; an empty block is a guess of all."""
    n, p = x.shape
    positive = np.where(y == 0, np.nan, y)
    sd = np.nanstd(positive, axis=0)
    pairs = pd.DataFrame(positive / sd).cov(min_periods=3).fillna(0.0).to_numpy()
    known, shown = (np.where(np.isnan(v), 2, (v == 0).astype(int)) @ 3 ** np.arange(p) for v in (x, y))
    out = np.zeros(n)
    for code in np.unique(known):
        mine, theirs = np.flatnonzero(known == code), np.flatnonzero(shown == code)
        if not len(theirs):
            out[mine] = 1 / n
            continue
        there = [j for j in range(p) if (code // 3**j) % 3 == 0]
        apart = (x[np.ix_(mine, there)][:, None] - y[np.ix_(theirs, there)][None]) / sd[there]
        inverse = np.linalg.pinv(pairs[np.ix_(there, there)], rcond=1e-6) if mahalanobis else np.eye(len(there))
        cost = np.einsum("abi,ij,abj->ab", apart, inverse, apart)
        best = cost <= cost.min(axis=1, keepdims=True) + 1e-12
        out[mine] = (best & (theirs == mine[:, None])).sum(axis=1) / best.sum(axis=1)
    return float(out.mean())


def strongest(x: np.ndarray, y: np.ndarray) -> float:
    return max(pattern_intruder(x, y, m) for m in (False, True))


def half_zeros(n: int = 800, p: int = 8, seed: int = 1, tail: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, p)) @ np.linalg.cholesky(0.5 * np.eye(p) + 0.5).T
    x = np.exp(3 + tail * z) if tail else 10 + z
    return pd.DataFrame(np.where(rng.random((n, p)) < 0.5, 0.0, x), columns=[f"x{j}" for j in range(p)])


def check(frame: pd.DataFrame, step: str, attacks: list[str] = ATTACKS, **roles: object) -> tuple[float, float]:
    data = lv.read(frame, confidential=list(frame.columns))
    release = lv.mask(data, step, secret=bytes([9]) * 32)
    independent = strongest(frame.to_numpy(float), release.to_pandas()[list(frame.columns)].to_numpy(float))
    found = max(s.value for s in lv.risk(data, release, attacks))
    assert found > independent - SIGMAS * np.sqrt(2 * independent * (1 - independent) / len(frame))
    return independent, found


STEPS = [
    "correlated_noise(variance=0.25, zeros=\"keep\")", "correlated_noise(variance=1.0, zeros=\"keep\")",
    "additive_noise(variance=0.5, zeros=\"keep\")", "variance_preserving_noise(variance=0.5, zeros=\"keep\")",
    "bias_and_noise(zeros=\"keep\")", "additive_noise(variance=0.5, zeros=\"keep\", noise=\"laplace\")",
]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("tail", [0.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_zeros_that_noise_keeps(step, attack, tail):
    independent, _ = check(half_zeros(tail=tail), step, [attack])
    assert independent > 0.1


def test_the_pattern_of_zeros_is_worth_three_times_the_distance():
    """Half of 8 columns zero, correlated noise of the same variance: distance alone found .15, pattern and distance .48."""
    frame = half_zeros()
    _, found = check(frame, "correlated_noise(variance=1.0, zeros=\"keep\")")
    assert found > 0.4


def test_missing_cells_that_stay_missing():
    frame = half_zeros().replace(0.0, np.nan)
    check(frame, "additive_noise(variance=0.5)")


def test_zeros_and_missing_cells_together():
    rng = np.random.default_rng(6)
    frame = half_zeros()
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    check(frame, "correlated_noise(variance=0.5, zeros=\"keep\")")


@pytest.mark.parametrize("step", ["data_shuffling", "random_swap(rate=1.0)", "additive_noise(variance=0.2)"])
def test_no_record_is_excluded_by_a_pattern_that_the_mask_does_not_keep(step):
    """Counts of zeros agree after shuffling and swapping, but the zeros are elsewhere."""
    check(half_zeros(300), step)
    frame = half_zeros(300)
    data = lv.read(frame, confidential=list(frame.columns))
    release = lv.mask(data, step, secret=bytes([9]) * 32)
    known, elsewhere = (lv.risk(data, r, ["nearest_record"])[0].value for r in (release, release.to_pandas()))
    assert elsewhere >= known - 1e-9


def test_a_file_masked_elsewhere():
    """Without the steps, equal counts of zeros are the only sign that the pattern was kept."""
    frame = half_zeros()
    data = lv.read(frame, confidential=list(frame.columns))
    shown = lv.mask(data, "correlated_noise(variance=0.5, zeros=\"keep\")", secret=bytes([9]) * 32).to_pandas()
    independent = strongest(frame.to_numpy(float), shown[list(frame.columns)].to_numpy(float))
    for score in lv.risk(data, shown, ATTACKS, row_order="keep"):
        assert score.value > independent - SIGMAS * np.sqrt(2 * independent * (1 - independent) / len(frame))
