"""Intruders who know the law of the noise, written with NumPy and SciPy only: the attacks must not find fewer records.

* One to one: assign released to original records at the least sum of −log f(y | x).
* Box: uniform noise moves a record inside a box once its mixing is undone; of the records in the target's box, take the one
  that fewest other originals explain.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm

import larvatus as lv

FALSE_ALARM = 1e-6
COLUMNS = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL"]
ATTACKS = ["posterior_match", "optimal_assignment"]


def residuals(x: np.ndarray, y: np.ndarray, step: str, size: float) -> np.ndarray:
    """All differences y − E(y | x), pairs × columns, in units in which noise is independent with variance 1."""
    middle, spread = x.mean(axis=0), np.cov(x.T)
    expected, noise = x, spread * size
    if step in ("sufficiency_based", "linear_model"):
        expected, noise = middle + size * (x - middle), spread * (1 - size**2)
    if step == "additive_noise":
        noise = np.diag(np.diag(noise))
    back = np.linalg.inv(np.linalg.cholesky(noise)).T
    return (y @ back)[None] - (expected @ back)[:, None]


def one_to_one(u: np.ndarray, shape: str) -> np.ndarray:
    """Which targets the assignment of least cost finds; ties are settled by small random numbers."""
    cost = {"normal": lambda: (u**2).sum(axis=2) / 2, "laplace": lambda: np.sqrt(2) * np.abs(u).sum(axis=2),
            "uniform": lambda: np.where((np.abs(u) <= 1.73206).all(axis=2), 0.0, 1000.0)}[shape]()
    rows, columns = linear_sum_assignment(cost + 1e-6 * np.random.default_rng(1).random(cost.shape))
    return (rows == columns).astype(float)


def box(u: np.ndarray) -> np.ndarray:
    """The credit of each target: its own record must be in its box, and explained by the fewest originals."""
    inside = (np.abs(u) <= 1.73206).all(axis=2)
    rivals = np.where(inside, inside.sum(axis=0), len(u) + 1)
    least = rivals.min(axis=1)
    return np.where(np.diag(rivals) == least, 1 / (rivals == least[:, None]).sum(axis=1), 0.0)


def heavy(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    common = rng.normal(size=(n, 1))
    return pd.DataFrame(np.exp(common + 0.6 * rng.normal(size=(n, 5))), columns=list("abcde"))


def not_below(frame: pd.DataFrame, step: str, size: float, shape: str, secret: bytes) -> tuple[float, float]:
    """Assert that the strongest attack is not below the intruders here, by a paired test; returns both figures."""
    names = list(frame.columns)
    data = lv.read(frame, confidential=names)
    setting = "similarity" if step in ("sufficiency_based", "linear_model") else "variance"
    release = lv.mask(data, f'{step}({setting}={size}, noise="{shape}")', secret=secret)
    u = residuals(frame.to_numpy(float), release.frame()[names].to_numpy(float), step, size)
    found = [one_to_one(u, shape), *([box(u)] if shape == "uniform" and step != "sufficiency_based" else [])]
    strongest = max(lv.risk(data, release, ATTACKS), key=lambda s: s.value)
    for mine in found:
        gap = strongest.by_record - mine
        assert gap.sum() >= -norm.isf(FALSE_ALARM) * np.sqrt((gap**2).sum())
    return strongest.value, max(float(f.mean()) for f in found)


CASES = [
    ("correlated_noise", 0.25, "normal"), ("sufficiency_based", 0.9, "normal"), ("correlated_noise", 0.5, "uniform"),
    ("additive_noise", 0.25, "uniform"), ("linear_model", 0.9, "laplace"),
]


@pytest.mark.parametrize(("step", "size", "shape"), CASES)
def test_the_attacks_find_no_fewer_records_of_made_data(step, size, shape):
    not_below(heavy(), step, size, shape, b"1" * 16)


@pytest.mark.parametrize(("step", "size", "shape", "least"), [
    ("sufficiency_based", 0.9, "normal", 0.402),
    pytest.param("correlated_noise", 0.25, "normal", 0.384, marks=pytest.mark.slow),
    ("correlated_noise", 0.5, "uniform", 0.257),
])
def test_the_attacks_find_no_fewer_records_of_census(real_files, step, size, shape, least):
    """`least` is what an independent intruder found on average; one release varies by chance."""
    frame = pd.read_csv(real_files / "census.csv")[COLUMNS]
    value, _ = not_below(frame, step, size, shape, b"2" * 16)
    assert value > least - norm.isf(FALSE_ALARM) * np.sqrt(least * (1 - least) / len(frame))


@pytest.mark.slow
@pytest.mark.parametrize(("step", "size", "shape"), CASES)
def test_ten_secrets(real_files, step, size, shape):
    frame = pd.read_csv(real_files / "census.csv")[COLUMNS]
    both = np.array([not_below(frame, step, size, shape, bytes([k]) * 16) for k in range(10)])
    assert both[:, 0].mean() >= both[:, 1].mean()
