"""Intruders that read the rows of a person together, and marks of unusual numbers.

They were written without knowledge of the attacks, and use NumPy and pandas only. Measured figures: each test's docstring, as
(intruder, product before, product now). Where two figures are compared, the false-alarm rate is that of three standard errors
of the difference over secrets, one side: less than .05 for the few of these tests, which are fixed.

Intruders that found no more than the product:

* `least_loss_model(bits=5)`, 300 records, 8 columns: links one to one under a fitted law .39 and .40 (product .54, .51) of
  normal columns, .26 and .24 (product .32) of lognormal ones; R² by regression .75 and .71 (product .75, .74).
* `sequential_trees` on 15 columns of S without relation to X: squared correlation with the release .20, with the mean of
  20 copies .50 (product, R² .40 and .52). Leaves of 20 copies as sets of donors, in the order of a curve in S: R² .996
  (product .997).
* Price in S, quantity and revenue with noise 1: logarithms of price × quantity and of revenue together, squared
  correlations .51 and .67 (product .70, .68). The same with ranks swapped in windows of .2: .45 and .51 (product .53, .45).
* Three masks with five copies (`multiple_imputation`, `correlated_noise`, `rank_swap`): links by mean values, logarithms and
  ranks .01 (product .02).

Intruders that found more, and are not mended:

* `data_shuffling`, then `top_coding` by the mean of the three largest values: two of the three firms compute the third. Tiers
  `scientific` and `secure` pass; only `aggregate_disclosure`, which does not decide, reports 1.
* `microaggregation(k=5)` of a giant, 20 times as large as the next: 5 times the largest mean less 4 of the next is the giant
  to within 7 %. `uniqueness` reports nothing; tiers refuse the file for other values.
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
    """No mean over nearby months if the months of each person are in random order; and a shuffled file is at its baseline."""
    from larvatus.attacks.values.unit_paths import path_means

    frame = walks(0)
    rng = np.random.default_rng(0)
    mixed = frame.groupby("person")["earned"].transform(lambda v: rng.permutation(v))
    unit, month = frame["person"].to_numpy(), {"month": frame["month"].to_numpy(float)}
    for earned, is_near in ((frame["earned"], True), (mixed, False)):
        x = (earned - earned.mean()).to_numpy()
        assert (path_means(unit, x, x + rng.normal(0, 100, len(x)), month) is not None) == is_near
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
    for k in range(2):
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


def owners(n: int = 800) -> tuple[pd.DataFrame, lv.Microdata]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"region": rng.integers(0, 6, n), "illness": rng.choice(list("ABC"), n, p=[0.6, 0.3, 0.1]),
                          "income": rng.lognormal(10, 0.5, n).round(), "wealth": rng.lognormal(11, 0.5, n).round()})
    return frame, lv.read(frame, confidential=["illness", "income", "wealth"], non_confidential=["region"],
                          nominal=["region", "illness"])


HIDDEN = ["post_randomisation(stay=0.4, columns=['illness'])", "data_shuffling(columns=['income', 'wealth'])"]


@pytest.mark.parametrize("base", [7, 12, 75])
def test_multiples_of_an_unusual_number_mark_an_illness(base: int) -> None:
    """A last step rounds the incomes of those with one illness to sevens, twelves or 75s, after everything was masked.

    Of the multiples, .33, .47 and .84 have the illness, which .10 of all have. Before, .00, .00 and .43 were reported, and tier
    scientific passed each of them.
    """
    frame, data = owners()
    step = f"rounding(base={base}, columns=['income'], where=\"illness = 'C'\")"
    release = lv.mask(data, *HIDDEN, step, secret=secret(0))
    found = (release.frame()["income"] % base == 0).to_numpy()
    right = float((frame["illness"][found] == "C").mean())
    assert right > 0.3
    score = lv.risk(data, release, ["category_disclosure"])[0]
    told = [float(row["share"]) for row in score.details["telling_categories"] if row["original"] == "C"]
    assert told
    assert told[0] >= right - 3 * np.sqrt(right * (1 - right) / found.sum())
    assert base != 75 or passed(score) == []  # .47 is within what tier secure allows


def test_multiples_of_an_unusual_number_mark_high_incomes() -> None:
    """The wealth of those who earn above 40,000 is rounded to twelves: R² of the multiples (.38, .01, .38)."""
    frame, data = owners()
    release = lv.mask(data, *HIDDEN, "rounding(base=12, columns=['wealth'], where='income > 40000')", secret=secret(0))
    mark = release.frame()["wealth"].to_numpy() % 12 == 0
    read = squared_correlation(frame["income"].to_numpy(), mark)
    assert read > 0.1
    assert of_column(lv.risk(data, release, ["value_disclosure"])[0], "income") >= read - 0.01


def test_unusual_numbers_without_relation_are_not_used() -> None:
    """A third of the incomes of everyone are multiples of 12: no note (false alarms: 1e-6 in each of three files)."""
    for seed in range(3):
        frame, _ = owners()
        some = np.random.default_rng(seed).random(len(frame)) < 0.33
        frame["income"] = np.where(some, (frame["income"] / 12).round() * 12, frame["income"])
        data = lv.read(frame, confidential=["income", "wealth"], non_confidential=["region"], nominal=["region"])
        score = lv.risk(data, lv.mask(data, "random_swap(rate=1.0)", secret=secret(seed)), ["value_disclosure"])[0]
        assert not any("round" in note for note in score.notes)


def test_odd_units_are_found_among_values_on_a_grid() -> None:
    from larvatus.attacks.values.telling_marks import odd_units

    x = np.random.default_rng(1).lognormal(10, 1, 2000).round()
    some = np.arange(2000) % 5 == 0
    assert odd_units(np.where(some, (x / 7).round() * 7, x))[0] == 7
    assert odd_units(np.where(some, (x / 12).round() * 12, x))[0] == 12
    assert odd_units(np.where(some, (x / 12).round() * 12, x) / 100)[0] == pytest.approx(0.12)
    assert odd_units(x + 0.001234) == []


def jobs(seed: int, people: int = 40, waves: int = 50) -> pd.DataFrame:
    """Four jobs; one in ten persons looks for another one, perhaps the same, from wave to wave."""
    rng = np.random.default_rng(seed)
    job = np.zeros((people, waves), dtype=int)
    job[:, 0] = rng.integers(0, 4, people)
    for t in range(1, waves):
        job[:, t] = np.where(rng.random(people) < 0.1, rng.integers(0, 4, people), job[:, t - 1])
    return pd.DataFrame({"person": np.repeat(np.arange(people), waves), "wave": np.tile(np.arange(waves), people),
                         "job": [f"j{v}" for v in job.ravel()]})


def chain(shown: np.ndarray, stay: float, change: float) -> np.ndarray:
    """The most probable state of each wave, forwards and backwards, under the law of the mask."""
    move, law = change / 4 + np.eye(4) * (1 - change), np.full((4, 4), (1 - stay) / 3) + np.eye(4) * (stay - (1 - stay) / 3)
    out = np.empty_like(shown)
    for person, y in enumerate(shown):
        before, after = np.ones((len(y), 4)), np.ones((len(y), 4))
        before[0] = law[:, y[0]]
        for t in range(1, len(y)):
            before[t] = (before[t - 1] @ move) * law[:, y[t]]
            before[t] /= before[t].sum()
        for t in range(len(y) - 2, -1, -1):
            after[t] = move @ (law[:, y[t + 1]] * after[t + 1])
            after[t] /= after[t].sum()
        out[person] = (before * after).argmax(axis=1)
    return out


def test_answers_that_change_slowly_are_a_chain_over_the_waves() -> None:
    """Post-randomisation (stay .45) of 50 waves: (.67, .53, .68) right. Before, all waves of a person counted alike."""
    intruder, product = [], []
    for k in range(4):
        frame = jobs(k)
        data = lv.read(frame, confidential=["job"], non_confidential=["wave"], nominal=["job"], person="person")
        release = lv.mask(data, "post_randomisation(stay=0.45, invariant=false)", secret=secret(k))
        true, shown = (f["job"].str[1].astype(int).to_numpy().reshape(40, 50) for f in (frame, release.frame()))
        intruder.append(float((chain(shown, 0.45, 0.1) == true).mean()))
        product.append(lv.risk(data, release, ["category_disclosure"])[0].value)
    not_below(product, intruder)
