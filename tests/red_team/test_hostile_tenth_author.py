"""Intruders that read the rows of a person together: repeated values, values that change slowly, and what S says of dates.

They were written without knowledge of the attacks, and use NumPy and pandas only. Measured figures: each test's docstring, as
(intruder, product before, product now). Where two figures are compared, the false-alarm rate is that of three standard errors
of the difference over secrets, one side: less than .05 for the few of these tests, which are fixed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.comparison.limits import TIERS, limits_of
from larvatus.core.arrays import Floats
from larvatus.data.score import Score

SURE = 3.0  # standard errors


def secret(k: int) -> bytes:
    return b"the tenth author writes number %02d" % k


def passed(*scores: Score) -> list[str]:
    return [tier for tier in TIERS if limits_of(tier).judge(scores).meets_limits]


def squared_correlation(true: Floats, guess: Floats) -> float:
    return float(np.corrcoef(true, guess)[0, 1] ** 2)


def not_below(product: list[float], intruder: list[float]) -> None:
    apart = np.array(intruder) - np.array(product)
    assert apart.mean() <= SURE * apart.std(ddof=1) / np.sqrt(len(apart)), (product, intruder)


def of_column(score: Score, name: str) -> float:
    assert score.by_variable is not None
    return next(float(str(row["value"])) for row in score.by_variable if row["variable"] == name)


def pensions(seed: int, changed: float = 0.1) -> pd.DataFrame:
    """Sixty persons in fifteen months with the same pension in nine months of ten."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(60), 15)
    own, other = np.exp(rng.normal(10, 0.5, 60)).round(2)[person], np.exp(rng.normal(10, 0.5, 900)).round(2)
    return pd.DataFrame({"person": person, "month": np.tile(np.arange(15), 60),
                         "pension": np.where(rng.random(900) < changed, other, own)})


def most_frequent(frame: pd.DataFrame, shown: pd.Series) -> Floats:
    def of_person(v: pd.Series) -> float:
        return v.value_counts().idxmax() if v.value_counts().iloc[0] > 1 else v.mean()

    return shown.groupby(frame["person"].to_numpy()).transform(of_person).to_numpy()


@pytest.mark.parametrize("step", ["random_swap(rate=0.8)", "blank_and_impute(rate=0.85)"])
def test_a_value_that_a_person_repeats_is_the_one_that_the_release_repeats(step: str) -> None:
    """The pension is masked month by month. What a person's rows show twice is true.

    Squared correlation with swaps (.54, .35, .59), with blanks that are imputed (.57, .16, .58).
    """
    intruder, product = [], []
    for k in range(3):
        frame = pensions(k)
        data = lv.read(frame, confidential=["pension"], non_confidential=["month"], person="person")
        release = lv.mask(data, step, secret=secret(k))
        guess = most_frequent(frame, release.frame()["pension"])
        assert (guess == frame["pension"]).mean() > 0.5
        intruder.append(squared_correlation(frame["pension"].to_numpy(), guess))
        product.append(lv.risk(data, release, ["value_disclosure"])[0].value)
    not_below(product, intruder)


def test_values_that_rows_share_by_chance_are_no_reading() -> None:
    """The same file with its pensions in random order, and small whole numbers that every person has: near the baseline."""
    frame = pensions(0)
    rng = np.random.default_rng(0)
    for x in (rng.permutation(frame["pension"]), rng.integers(0, 4, 900)):
        data = lv.read(frame.assign(pension=x), confidential=["pension"], non_confidential=["month"], person="person")
        score = lv.risk(data, lv.mask(data, "random_swap(rate=0.8)", secret=secret(0)), ["value_disclosure"])[0]
        assert not any("all rows of a person" in note for note in score.notes)
        assert "secure" in passed(score)


def walks(seed: int) -> pd.DataFrame:
    """Forty persons in 36 months; what a person earns changes a little every month."""
    steps = np.random.default_rng(seed).normal(size=(40, 36))
    return pd.DataFrame({"person": np.repeat(np.arange(40), 36), "month": np.tile(np.arange(36), 40),
                         "earned": (100 + 10 * np.cumsum(steps, axis=1)).ravel().round(2)})


@pytest.mark.parametrize(("step", "width"), [("additive_noise(variance=4)", 32), ("rank_swap(window=0.3)", 8)])
def test_values_that_change_slowly_are_averaged_over_a_few_months(step: str, width: float) -> None:
    """The intruder averages the months nearby of the same person: noise (.72, .62, .73), swaps (.81, .70, .81).

    Before, only the mean over all months was used.
    """
    apart = np.subtract.outer(np.arange(36), np.arange(36))
    near = np.exp(-(apart**2) / (2 * width))
    near /= near.sum(axis=1, keepdims=True)
    intruder, product = [], []
    for k in range(3):
        frame = walks(k)
        data = lv.read(frame, confidential=["earned"], non_confidential=["month"], person="person")
        release = lv.mask(data, step, secret=secret(k))
        guess = (release.frame()["earned"].to_numpy().reshape(40, 36) @ near.T).ravel()
        intruder.append(squared_correlation(frame["earned"].to_numpy(), guess))
        product.append(lv.risk(data, release, ["value_disclosure"])[0].value)
    not_below(product, intruder)


def test_months_in_random_order_are_not_averaged_nearby() -> None:
    """What a person has in common counts, and no more: the months of each person are in random order, and shuffled files."""
    frame = walks(0)
    rng = np.random.default_rng(0)
    mixed = frame.groupby("person")["earned"].transform(lambda v: rng.permutation(v))
    means = lv.risk(*masked(frame.assign(earned=mixed), "additive_noise(variance=4)"), ["value_disclosure"])[0]
    assert means.value < squared_correlation(mixed.to_numpy(), mixed.groupby(frame["person"]).transform("mean").to_numpy())
    shuffled = lv.risk(*masked(frame, "data_shuffling"), ["value_disclosure"])[0]
    assert shuffled.chance is not None
    assert shuffled.value <= shuffled.chance + 0.05


def masked(frame: pd.DataFrame, step: str) -> tuple[lv.Microdata, lv.Release]:
    data = lv.read(frame, confidential=["earned"], non_confidential=["month"], person="person")
    return data, lv.mask(data, step, secret=secret(0))


def test_the_year_of_a_visit_shows_the_shift_of_all_dates() -> None:
    """Twelve visits in four years, S has their years, all dates of a person are shifted by up to 400 days.

    The dates of a person fit their years for few shifts only. R² (.998, .980, .998). S alone
    says .937: two thirds of the rest were read before, and .96 of it now.
    """
    start = pd.Timestamp("2020-01-01")
    intruder, product = [], []
    for k in range(3):
        rng = np.random.default_rng(k)
        person, day = np.repeat(np.arange(60), 12), rng.integers(0, 365 * 4, 720)
        visit = start + pd.to_timedelta(day, "D")
        frame = pd.DataFrame({"person": person, "year": visit.year, "sex": person % 2, "visit": visit})
        data = lv.read(frame, confidential=["visit"], non_confidential=["sex", "year"], person="person", nominal=["sex"])
        release = lv.mask(data, "date_shift(days=400)", secret=secret(k))
        shown = (pd.to_datetime(release.frame()["visit"]) - start).dt.days.to_numpy()
        first, last = ((pd.to_datetime(frame["year"].astype(str) + day_of) - start).dt.days.to_numpy()
                       for day_of in ("-01-01", "-12-31"))
        low = pd.Series(shown - last).groupby(person).transform("max")
        high = pd.Series(shown - first).groupby(person).transform("min")
        error = day - (shown - (low + high) / 2).to_numpy()
        intruder.append(1 - float(np.mean(error**2) / np.var(day)))
        product.append(lv.risk(data, release, ["value_disclosure"])[0].value)
    not_below(product, intruder)
