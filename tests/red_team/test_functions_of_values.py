"""Files that were masked elsewhere by a function of each value: remainders, folded values, codes, transformations.

The intruder of each test knows the function, and needs nothing else. The product is not told: it learns functions from known
pairs. 300 records with whole values, so links are certain or nearly so. Before functions were learnt, the product found .27 of
the remainders, .49 of the folded values and .30 of the codes, and tier `secure` passed the remainders.

An intruder who holds a part of the records learns from these pairs only. Files and draws are fixed; for others, each test
fails by chance with probability FALSE_ALARM at most.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import larvatus as lv
from larvatus.comparison.headline import clearly_beyond
from larvatus.comparison.limits import TIERS, limits_of
from strongest_attack import strongest

N = 300
FALSE_ALARM = 1e-6
Function = Callable[[np.ndarray], np.ndarray]


def amounts(columns: int, zeros: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(3)
    x = np.round(np.exp(8 + 0.6 * rng.normal(size=(N, 1)) + 0.6 * rng.normal(size=(N, columns))))
    return np.where(rng.random(x.shape) < zeros, 0.0, x)


def encrypted(v: np.ndarray) -> np.ndarray:
    """A secret number for each value of a column."""
    rng = np.random.default_rng(5)
    columns = []
    for column in v.T:
        values, place = np.unique(column, return_inverse=True)
        columns.append(rng.permutation(100_000)[: len(values)].astype(float)[place])
    return np.array(columns).T


def nearest(known: np.ndarray, shown: np.ndarray) -> float:
    """The share of records whose own row is the only nearest one, in the sum of absolute differences."""
    apart = np.abs(known[:, None] - shown[None]).sum(axis=2)
    own = np.diag(apart)
    return float(((apart <= own[:, None] + 1e-9).sum(axis=1) == 1).mean())


def frequent(known: np.ndarray, shown: np.ndarray) -> float:
    """The share of records found by which of their values are zero: each column's most frequent code stands for zero."""
    codes = [pd.Series(column).mode()[0] for column in shown.T]
    a, b = (pd.Series(list(map(tuple, p))) for p in (known == 0, shown == codes))
    assert (a == b).all()
    return len(set(a)) / len(a)


def compared(x: np.ndarray, y: np.ndarray) -> tuple[lv.Microdata, pd.DataFrame]:
    names = [f"x{j}" for j in range(x.shape[1])]
    return lv.read(pd.DataFrame(x, columns=names), confidential=names), pd.DataFrame(y, columns=names)


FUNCTIONS: dict[str, tuple[Function, float]] = {  # and the least that the intruder finds
    "remainder": (lambda v: np.mod(v, 1000), 0.99), "folded": (lambda v: np.abs(v - np.median(v, axis=0)), 0.99),
    "turned": (lambda v: v.max(axis=0) - v, 0.99), "squared": (np.square, 0.99), "one over": (lambda v: 1e6 / v, 0.99),
    "remainder of pence": (lambda v: np.mod(v * 1.07, 250), 0.99),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_each_value_is_learnt(name: str) -> None:
    function, least = FUNCTIONS[name]
    x = amounts(6)
    y = function(x)
    own = nearest(function(x), y)
    assert own >= least
    data, shown = compared(x, y)
    scores = lv.risk(data, shown, ["optimal_assignment"], row_order="keep")
    assert scores[0].value >= own - 0.02
    assert [tier for tier in TIERS if limits_of(tier).judge(scores).meets_limits] == []
    assert clearly_beyond(scores[0])


def test_codes_of_zeros_are_learnt() -> None:
    """Ten columns, half of the values zero, each value encrypted: .84 by the codes that occur most often."""
    x = amounts(10, zeros=0.5)
    y = encrypted(x)
    own = frequent(x, y)
    assert own > 0.8
    data, shown = compared(x, y)
    score = lv.risk(data, shown, ["optimal_assignment"], row_order="keep")[0]
    assert own <= score.value + norm.isf(FALSE_ALARM) * np.sqrt(2 * own * (1 - own) / N)


def test_a_function_is_learnt_from_a_third_of_the_records(tmp_path: Path) -> None:
    """Folded values: the pairs that are held are fewer, and farther apart."""
    x = amounts(6)
    y = np.abs(x - np.median(x, axis=0))
    held = np.sort(np.random.default_rng(6).permutation(N)[: N // 3])
    data, shown = compared(x, y)
    pd.DataFrame(x[held], columns=shown.columns).assign(who=held).to_csv(tmp_path / "held.csv", index=False)
    who = lv.Intruder(file=str(tmp_path / "held.csv"), truth="who")
    score = lv.risk(data, shown, ["optimal_assignment"], intruder=who, row_order="keep")[0]
    assert score.value > 0.9


@pytest.mark.parametrize("y", ["noise", "another order", "swapped"])
def test_no_function_is_learnt_where_there_is_none(y: str) -> None:
    """The trial makes no link then, so it cannot raise a score by chance."""
    rng, x = np.random.default_rng(7), amounts(6)
    shown = {"noise": x + 0.5 * x.std(axis=0) * rng.normal(size=x.shape), "another order": x[rng.permutation(N)],
             "swapped": np.array([rng.permutation(column) for column in x.T]).T}[y]
    data, released = compared(x, shown)
    score = lv.risk(data, released, ["optimal_assignment"], row_order="keep")[0]
    assert {row["cost"]: row["value"] for row in score.details["cost"]}["learnt function"] == 0


@pytest.mark.slow
def test_remainders_are_found_by_the_strongest_attack() -> None:
    x = amounts(6)
    data, shown = compared(x, np.mod(x, 1000))
    assert strongest(data, shown, enough=0.98) >= 0.98
