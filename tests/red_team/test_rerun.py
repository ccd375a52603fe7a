"""An intruder who holds the whole file reruns a deterministic mask, and looks for the values that it gives (METHODS §6).

Everything here is NumPy and SciPy, written from the definitions of the masks. A release is taken as a table of numbers; the
row of a record is used only to count successes. `strongest` is what the product reports. It may not be lower, apart from ties,
which both break at random: two intruders with the same success differ by more than the limit once in a million cases.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import scipy.spatial
import scipy.stats

import larvatus as lv
from sample import SECRET

FALSE_ALARM = 1e-6
CENSUS = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL"]
LINKAGE = ["nearest_record", "interval_match", "group_intersection", "rank_window", "rerun"]


def standardised(x: np.ndarray) -> np.ndarray:
    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1)


def by_projection(x: np.ndarray, k: int) -> np.ndarray:
    """The order of the sum of standardised columns, cut every k records; the last group takes the remainder."""
    order = np.argsort(standardised(x).sum(axis=1), kind="stable")
    group = np.empty(len(x), dtype=int)
    group[order] = np.minimum(np.arange(len(x)) // k, len(x) // k - 1)
    return group


def by_mdav(x: np.ndarray, k: int) -> np.ndarray:
    """Maximum distance to average vector: the farthest record with its k - 1 nearest, then the one farthest from it."""
    z, left, group, g = standardised(x), np.arange(len(x)), np.full(len(x), -1), 0

    def close(around: np.ndarray) -> None:
        nonlocal left, g
        near = left[np.argsort(((z[left] - around) ** 2).sum(axis=1), kind="stable")[:k]]
        group[near] = g
        left, g = np.setdiff1d(left, near), g + 1

    while len(left) >= 2 * k:
        far = z[left[np.argmax(((z[left] - z[left].mean(axis=0)) ** 2).sum(axis=1))]]
        close(far)
        if len(left) >= k:
            close(z[left[np.argmax(((z[left] - far) ** 2).sum(axis=1))]])
    group[left] = g
    return group


def centres(x: np.ndarray, group: np.ndarray) -> np.ndarray:
    return np.array([np.bincount(group, weights=c) / np.bincount(group) for c in x.T])[:, group].T


def inside(low: np.ndarray, high: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Credits: one over the number of released rows in each target's box, if its own row is one of them."""
    room = 1e-9 * (np.abs(y).max(axis=0) + 1)
    out = np.zeros(len(y))
    for i in range(len(y)):
        there = ((y >= low[i] - room) & (y <= high[i] + room)).all(axis=1)
        out[i] = there[i] / max(there.sum(), 1)
    return out


def rerun(masked: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def attack(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        found = masked(x)
        return inside(found, found, y)

    return attack


def rerun_ranks(masked: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """After reverse mapping: records with the same masked value have the original values of the ranks they share."""
    def attack(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        found, values = masked(x), np.sort(x, axis=0)
        low, high = (np.array([scipy.stats.rankdata(c, how).astype(int) - 1 for c in found.T]).T for how in ("min", "max"))
        return inside(np.take_along_axis(values, low, 0), np.take_along_axis(values, high, 0), y)

    return attack


def nearest_to(masked: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """If a random step follows: the released row nearest to the values before it, in standard deviations."""
    def attack(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        unit = np.where(y.std(axis=0) > 0, y.std(axis=0), 1)
        gaps = scipy.spatial.distance.cdist(masked(x) / unit, y / unit)
        best = gaps <= gaps.min(axis=1, keepdims=True) + 1e-12
        return np.diag(best) / best.sum(axis=1)

    return attack


def rounded(base: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.sign(x) * base * np.floor(np.abs(x) / base + 0.5)


def top_coded(bound: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.minimum(x, bound)


def classes(cuts: list[float]) -> Callable[[np.ndarray], np.ndarray]:
    """Each value replaced by the mean of its class."""
    def masked(x: np.ndarray) -> np.ndarray:
        out = np.empty_like(x)
        for j, c in enumerate(x.T):
            at = np.searchsorted(cuts, c, side="right")
            out[:, j] = (np.bincount(at, weights=c) / np.maximum(np.bincount(at), 1))[at]
        return out

    return masked


def grouped(how: Callable[[np.ndarray, int], np.ndarray], k: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: centres(x, how(x, k))


PROJECTED = "microaggregation(k={}, grouping='projection')"
CASES = {
    "projection": ([PROJECTED.format(10)], rerun(grouped(by_projection, 10))),
    "mdav": (["microaggregation(k=5)"], rerun(grouped(by_mdav, 5))),
    "projection and ranks": ([PROJECTED.format(3), "reverse_map"], rerun_ranks(grouped(by_projection, 3))),
    "mdav and ranks": (["microaggregation(k=3)", "reverse_map"], rerun_ranks(grouped(by_mdav, 3))),
    "rounding": (["rounding(base=20000)"], rerun(rounded(20000))),
    "top coding": (["top_coding(bound=2000)"], rerun(top_coded(2000))),
    "recoding": (["recoding(cuts=[1000, 5000, 20000, 50000])"], rerun(classes([1000, 5000, 20000, 50000]))),
    "noise on groups": ([PROJECTED.format(3), "additive_noise(variance=0.1)"], nearest_to(grouped(by_projection, 3))),
    "swaps of groups": ([PROJECTED.format(3), "rank_swap(window=0.05)"], nearest_to(grouped(by_projection, 3))),
    "rounding of groups": ([PROJECTED.format(10), "rounding(base=500)"],
                           rerun(lambda x: rounded(500)(grouped(by_projection, 10)(x)))),
}


def heavy(rng: np.random.Generator, n: int = 400) -> np.ndarray:
    return 8000 * np.exp(rng.normal(size=(n, 4)) @ (np.eye(4) + 0.4))


def tied(rng: np.random.Generator, n: int = 400) -> np.ndarray:
    return np.rint(heavy(rng, n) / 4000) * 4000


def zeros(rng: np.random.Generator, n: int = 400) -> np.ndarray:
    return np.where(rng.random((n, 4)) < 0.5, 0.0, heavy(rng, n))


MADE = {"heavy tails": heavy, "ties": tied, "many zeros": zeros, "one column": lambda rng: heavy(rng)[:, :1],
        "13 columns": lambda rng: np.hstack([heavy(rng) for _ in range(4)])[:, :13]}


def strongest(data: lv.Microdata, release: lv.Release) -> tuple[float, str]:
    return max((s.value, s.method) for s in lv.risk(data, release, LINKAGE))


def not_below(frame: pd.DataFrame, case: str, secret: bytes) -> tuple[float, float]:
    """The product's figure is not below that of the intruder; both are returned."""
    steps, attack = CASES[case]
    data = lv.read(frame, confidential=list(frame.columns))
    release = lv.mask(data, *steps, secret=secret)
    credits = attack(frame.to_numpy(dtype=float), release.to_pandas().to_numpy(dtype=float))
    room = scipy.stats.norm.isf(FALSE_ALARM) * np.sqrt(2 * credits.var() / len(credits)) if has_ties(frame) else 0.0
    value, _ = strongest(data, release)
    assert value >= credits.mean() - room - 1e-9
    return value, float(credits.mean())


def has_ties(frame: pd.DataFrame) -> bool:
    return any(frame[c].duplicated().any() for c in frame)


@pytest.fixture(scope="module")
def census(real_files) -> pd.DataFrame:
    return pd.read_csv(real_files / "census.csv")[CENSUS]


@pytest.mark.parametrize("case", CASES)
def test_no_weaker_than_a_rerun_on_census(case, census):
    not_below(census, case, SECRET)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_no_weaker_than_a_rerun_with_ten_secrets(case, census):
    for i in range(10):
        not_below(census, case, SECRET + bytes([i]))


@pytest.mark.parametrize("shape", MADE)
@pytest.mark.parametrize("case", CASES)
def test_no_weaker_than_a_rerun_on_made_data(case, shape):
    x = MADE[shape](np.random.default_rng(5))
    not_below(pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]), case, SECRET)


@pytest.mark.parametrize(("case", "least"), [("projection", 0.1), ("projection and ranks", 0.333)])
def test_figures_of_the_review_are_reached(case, least, census):
    value, by_hand = not_below(census, case, SECRET)
    assert by_hand >= least - 0.0005
    assert value >= least - 0.0005
