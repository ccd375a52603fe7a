"""Intruders who know that a value was kept, nearly or up to rounding, or else replaced by a value from elsewhere.

NumPy and SciPy alone. The intruder knows original records and the settings of the steps. For each column

    log((1 − r) d(y − x) + r g(y)) − log g(y)

with the rate r of replaced values, the density d of small noise (or equality after rounding), and the density g of released
values. Links are one to one at the largest sum over the columns. The product's strongest link must find no fewer records.
Both rules link the same records, so the standard error of the difference of their shares is at most √(2 share (1 − share) / n);
4.75 of them are exceeded by chance once in a million.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment

import larvatus as lv
from strongest_attack import strongest

SIGMAS = 4.75  # FALSE_ALARM = 1e-6
N = 300
NAMES = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL"]
KEEPS = ("simulated_release", "optimal_assignment")
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


def incomes(n: int = N, p: int = 8, seed: int = 3) -> pd.DataFrame:
    """Skewed whole numbers with common causes."""
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=(n, 3))[:, np.arange(p) % 3]
    return pd.DataFrame(np.exp(9 + 0.6 * cause + 0.5 * rng.normal(size=(n, p))).round(), columns=[f"x{j}" for j in range(p)])


def small_noise(rate: float, variance: float) -> Score:
    """Kept values have normal noise with this share of the variance; replaced ones are any released value."""

    def score(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        sd = np.sqrt(variance / (1 + variance) * y.var(ddof=1))
        near, dense = (np.exp(-0.5 * ((y[None] - v[:, None]) / sd) ** 2) for v in (x, y))
        g = dense.mean(axis=0)
        order = np.sort(y)
        place = np.searchsorted(order, y)
        width = order[np.minimum(place + 15, len(y) - 1)] - order[np.maximum(place - 15, 0)]
        g = np.maximum(g, 30 / len(y) * sd * np.sqrt(2 * np.pi) / np.maximum(width, sd))  # imputed values are between others
        return np.log((1 - rate) * near / g + rate)

    return score


def equal_after(rate: float, step: Callable[[np.ndarray], np.ndarray]) -> Score:
    """Kept values equal the known one after the step."""

    def score(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        equal = np.abs(y[None] - step(x)[:, None]) <= 1e-6
        share = np.array([(np.abs(y - v) <= 1e-6).mean() for v in y])
        return np.log((1 - rate) * equal / share + rate)

    return score


def to_multiples(base: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda v: np.sign(v) * np.floor(np.abs(v) / base + 0.5) * base


def linked(x: np.ndarray, y: np.ndarray, own: np.ndarray, score: Score) -> float:
    total = sum(score(a, b) for a, b in zip(x.T, y.T, strict=True))
    order = np.random.default_rng(0).permutation(len(y))
    return float((order[linear_sum_assignment(-total[:, order])[1]] == own).mean())


SWAP = "random_swap(rate=0.7)"
CASES = {
    "swap, noise": ([SWAP, "additive_noise(variance=0.0001)"], small_noise(0.7, 1e-4)),
    "swap, more noise": ([SWAP, "additive_noise(variance=0.001)"], small_noise(0.7, 1e-3)),
    "swap, rounding": ([SWAP, "rounding(base=500)"], equal_after(0.7, to_multiples(500))),
}


def check(frame: pd.DataFrame, steps: list[str], score: Score, secret: int, attacks: tuple[str, ...] | None = KEEPS) -> None:
    data = lv.read(frame, confidential=list(frame))
    release = lv.mask(data, *steps, secret=bytes([secret]) * 32)
    y = release.to_pandas()[list(frame)].to_numpy(float)
    mine = linked(frame.to_numpy(float), y, np.arange(len(frame)), score)
    assert mine > 0.1
    least = mine - SIGMAS * np.sqrt(2 * mine * (1 - mine) / len(frame))
    best = strongest(data, release, least, attacks)
    assert best >= least, (best, mine)


@pytest.mark.parametrize("case", CASES)
def test_values_that_are_kept_or_replaced(case):
    check(incomes(), *CASES[case], secret=1)


def test_imputed_values():
    """The law is learnt from true pairs; simulations of this mask take long."""
    check(incomes(), ["blank_and_impute(rate=0.7)", "additive_noise(variance=0.0001)"], small_noise(0.7, 1e-4), 1,
          ("optimal_assignment",))


CENSUS = {  # 300 records
    "swap .8, noise": (["random_swap(rate=0.8)", "additive_noise(variance=0.0001)"], small_noise(0.8, 1e-4)),
    "swap .9, noise": (["random_swap(rate=0.9)", "additive_noise(variance=0.0001)"], small_noise(0.9, 1e-4)),
    "imputation .8, noise": (["blank_and_impute(rate=0.8)", "additive_noise(variance=0.0001)"], small_noise(0.8, 1e-4)),
    "swap .8, multiples of 50": (["random_swap(rate=0.8)", "rounding(base=50)"], equal_after(0.8, to_multiples(50))),
    "swap .8, multiples of 500": (["random_swap(rate=0.8)", "rounding(base=500)"], equal_after(0.8, to_multiples(500))),
}


@pytest.mark.slow
@pytest.mark.parametrize("secret", range(1, 11))
@pytest.mark.parametrize("case", CENSUS)
def test_census(real_files: Path, case: str, secret: int) -> None:
    frame = pd.read_csv(real_files / "census.csv")[NAMES].astype(float).sample(N, random_state=secret).reset_index(drop=True)
    check(frame, *CENSUS[case], secret=secret)


def test_a_fifth_of_the_records_is_known(real_files: Path, tmp_path: Path) -> None:
    """The law is learnt from the records of the intruder's file; they are linked one to one among all released rows."""
    frame = pd.read_csv(real_files / "census.csv")[NAMES].astype(float).assign(id=np.arange(1080))
    names = list(frame)[:-1]
    data = lv.read(frame, confidential=names, record_id="id")
    release = lv.mask(data, "random_swap(rate=0.6)", "additive_noise(variance=0.0001)", secret=bytes([1]) * 32)
    known = np.sort(np.random.default_rng(1).choice(1080, 216, replace=False))
    frame.iloc[known].to_csv(tmp_path / "known.csv", index=False)
    y = release.to_pandas()[names].to_numpy(float)
    mine = linked(frame.iloc[known][names].to_numpy(float), y, known, small_noise(0.6, 1e-4))
    least = mine - SIGMAS * np.sqrt(2 * mine * (1 - mine) / len(known))
    who = lv.Intruder(file=str(tmp_path / "known.csv"), truth="id")
    best = strongest(data, release, least, ("optimal_assignment", "probabilistic_linkage"), intruder=who)
    assert mine > 0.5
    assert best >= least, (best, mine)
