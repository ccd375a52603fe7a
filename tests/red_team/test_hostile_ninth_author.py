"""Intruders that read values without finding a record: bounded noise, rows of one person, other waves, neighbours in S.

They were written without knowledge of the attacks, and use NumPy and pandas only. Measured figures: each test's docstring, as
(intruder, product before, product now). Where two figures are compared, the false-alarm rate is that of three standard errors
of the difference over secrets, one side: .001 for many secrets, less than .05 for the few of the fast tests, which are fixed.

Intruders that found no more than the product:

* The nearest survey weight, after `weight_noise(sd)` of .002, .02 and .1: .95, .64, .28 of 400 records (product .97, .71, .28).
* What `local_suppression` blanks is rare: half of the blanked diagnoses are the rarest one (product .967 right, baseline .49).
* Classes of a diagnosis by eight laboratory values with noise 6: .44 right (product .38), but tier secure is refused.
* The public report of a release of 300 records with a giant: losses are rounded to two decimals and give nothing of it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.comparison.limits import TIERS, limits_of
from larvatus.core.arrays import Floats
from larvatus.data.score import Score

SURE = 3.0  # standard errors


def secret(k: int) -> bytes:
    return b"the ninth author writes number %02d" % k


def passed(*scores: Score) -> list[str]:
    return [tier for tier in TIERS if limits_of(tier).judge(scores).meets_limits]


def explained(true: Floats, guess: Floats) -> float:
    return float(1 - np.mean((true - guess) ** 2) / np.var(true))


def of_column(score: Score, name: str) -> float:
    assert score.by_variable is not None
    return next(float(str(row["value"])) for row in score.by_variable if row["variable"] == name)


def not_below(product: list[float], intruder: list[float], slack: float = 0.0) -> None:
    apart = np.array(intruder) - np.array(product)
    limit = SURE * apart.std(ddof=1) / np.sqrt(len(apart))
    assert apart.mean() <= max(limit, slack), (np.mean(product), np.mean(intruder))


def posterior_mean_in_a_box(x: Floats, y: Floats, variance: float) -> Floats:
    """The mean of the other records' values that uniform noise can have moved to y."""
    half = np.sqrt(3 * variance * x.var()) * 1.001
    reach = (np.abs(y[:, None] - x) <= half).astype(float)
    np.fill_diagonal(reach, 0)
    count = reach.sum(axis=1)
    return np.where(count > 0, reach @ x / np.maximum(count, 1), x.mean())


def rare_ones(n: int = 1500) -> Floats:
    return np.random.default_rng(7).permutation(np.repeat([1.0, 0.0], [30, n - 30]))


def long_tail(n: int = 1000) -> Floats:
    return (np.random.default_rng(7).pareto(1.3, n) + 1).round(3)


@pytest.mark.parametrize(("kind", "variance"), [("ones", 50), ("tail", 12)])
def test_bounded_noise_leaves_values_outside_its_reach(kind: str, variance: int) -> None:
    """Uniform noise of 50 variances on 30 ones among 1,500, and of 12 variances on a long tail without giants; four secrets.

    Mean R² (.25, .01, .25) and (.36, .10, .67). Before, tier secure passed the ones, of which 2 to 5 are read for certain.
    """
    x = rare_ones() if kind == "ones" else long_tail()
    frame = pd.DataFrame({"x": x, "u": np.random.default_rng(9).normal(size=len(x)).round(3)})
    data = lv.read(frame, confidential=["x", "u"])
    intruder, product = [], []
    for k in range(4):
        release = lv.mask(data, f"additive_noise(variance={variance}, noise='uniform')", secret=secret(k))
        intruder.append(explained(x, posterior_mean_in_a_box(x, release.frame()["x"].to_numpy(), variance)))
        score = lv.risk(data, release, ["value_disclosure"])[0]
        product.append(of_column(score, "x"))
        if intruder[-1] > 0.25:
            assert "secure" not in passed(score)
    assert np.mean(intruder) > 0.1
    not_below(product, intruder)


def test_noise_that_is_as_wide_as_long_says_no_more_than_a_regression() -> None:
    """Normal values, normal noise: no reading is better, and none is used (the choice does not depend on the release)."""
    x = np.random.default_rng(2).normal(size=400).round(3)
    data = lv.read(pd.DataFrame({"x": x, "u": np.random.default_rng(3).normal(size=400).round(3)}), confidential=["x", "u"])
    release = lv.mask(data, "additive_noise(variance=9)", secret=secret(0))
    score = lv.risk(data, release, ["value_disclosure"])[0]
    assert not any("simulated" in note for note in score.notes)
    assert "secure" in passed(score)


def incomes_of_persons(seed: int) -> pd.DataFrame:
    """Sixty persons in fifteen months; most of the variance lies between persons."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(60), 15)
    income = 30000 + 8000 * rng.normal(size=60)[person] + 1500 * rng.normal(size=900)
    return pd.DataFrame({"person": person, "month": np.tile(np.arange(15), 60), "income": income.round(1)})


def test_noise_is_averaged_over_the_rows_of_a_person() -> None:
    """Noise of 30 variances for each row; the intruder takes the mean of a person's rows. Mean R² (.25, .04, .25).

    Before, each row was read alone.
    """
    intruder, product = [], []
    for k in range(4):
        frame = incomes_of_persons(k)
        data = lv.read(frame, confidential=["income"], non_confidential=["month"], person="person")
        release = lv.mask(data, "additive_noise(variance=30)", secret=secret(k))
        mean = release.frame()["income"].groupby(frame["person"]).transform("mean")
        intruder.append(float(np.corrcoef(mean, frame["income"])[0, 1] ** 2))
        score = lv.risk(data, release, ["value_disclosure"])[0]
        product.append(score.value)
        assert any("all rows of a person" in note for note in score.notes)
    not_below(product, intruder)


def test_rows_of_persons_that_have_nothing_in_common_are_not_averaged() -> None:
    """The same file with the incomes in random order, and the same file shuffled: near the baseline."""
    frame = incomes_of_persons(0)
    mixed = frame.assign(income=np.random.default_rng(0).permutation(frame["income"]))
    for file, step in ((mixed, "additive_noise(variance=30)"), (frame, "data_shuffling")):
        data = lv.read(file, confidential=["income"], non_confidential=["month"], person="person")
        score = lv.risk(data, lv.mask(data, step, secret=secret(0)), ["value_disclosure"])[0]
        assert "secure" in passed(score)
        assert score.chance is not None
        assert score.value <= max(score.chance, score.s_alone or 0.0) + 0.1
        assert any("all rows of a person" in note for note in score.notes) == (step == "data_shuffling")


def test_visits_of_a_year_show_the_shift_of_all_dates() -> None:
    """Twelve visits a year, all dates of a person shifted by up to 1,500 days: the year of the file undoes it.

    R² (.96, .02, .96). The intruder moves the middle of a person's dates to the middle of the year.
    """
    rng = np.random.default_rng(2)
    person, day = np.repeat(np.arange(70), 12), rng.integers(0, 365, 840)
    start = pd.Timestamp("2023-01-01")
    frame = pd.DataFrame({"person": person, "sex": person % 2, "visit": start + pd.to_timedelta(day, "D")})
    data = lv.read(frame, confidential=["visit"], non_confidential=["sex"], person="person", nominal=["sex"])
    intruder, product = [], []
    for k in range(3):
        release = lv.mask(data, "date_shift(days=1500)", secret=secret(k))
        shown = pd.Series((pd.to_datetime(release.frame()["visit"]) - start).dt.days.to_numpy()).groupby(person)
        guess = shown.transform(lambda v: v - (v.min() + v.max()) / 2 + 182)
        intruder.append(explained(day.astype(float), guess.to_numpy()))
        product.append(lv.risk(data, release, ["value_disclosure"])[0].value)
    not_below(product, intruder)


def test_a_household_votes_on_the_religion_of_a_member() -> None:
    """Four religions, the same in 95 % of each household; post-randomisation (stay .45): (.63, .47, .62) right, four secrets.

    Members are found by their rent, which is masked once per household. Before, each record was read alone.
    """
    intruder, product = [], []
    for k in range(4):
        rng = np.random.default_rng(k)
        home = np.repeat(np.arange(120), rng.integers(4, 8, 120))
        n = len(home)
        religion = np.where(rng.random(n) < 0.05, rng.integers(0, 4, n), rng.integers(0, 4, 120)[home])
        frame = pd.DataFrame({"home": home, "sex": rng.integers(0, 2, n), "religion": [f"r{v}" for v in religion],
                              "rent": rng.lognormal(6, 0.5, 120).round(2)[home]})
        data = lv.read(frame, confidential=["religion", "rent"], non_confidential=["sex"], nominal=["religion", "sex"],
                       household="home")
        release = lv.mask(data, "additive_noise(variance=30, columns=['rent'])",
                          "post_randomisation(stay=0.45, invariant=false, columns=['religion'])", secret=secret(k))
        shown = release.frame()
        vote = shown["rent"].map(shown.groupby("rent")["religion"].agg(lambda v: v.mode().iloc[0]))
        intruder.append(float((vote.to_numpy() == frame["religion"].to_numpy()).mean()))
        product.append(lv.risk(data, release, ["category_disclosure"])[0].value)
    not_below(product, intruder)


def file_with_newcomers() -> tuple[pd.DataFrame, np.ndarray]:
    """Eight regions with about fifty persons each, one of whom is new."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"person": np.arange(400), "region": rng.integers(0, 8, 400), "sex": rng.integers(0, 2, 400),
                          "income": rng.lognormal(10, 0.5, 400).round(), "wealth": rng.lognormal(10, 1, 400).round()})
    return frame, frame.groupby("region").cumcount().eq(0).to_numpy()


def read_region(frame: pd.DataFrame, person: str | None = "person") -> lv.Microdata:
    return lv.read(frame.reset_index(drop=True), confidential=["income", "wealth"], non_confidential=["sex"],
                   sub_groups=["region"], nominal=["sex"], person=person)


@pytest.mark.parametrize("step", [
    "data_shuffling", "sufficiency_based",
    pytest.param("rank_swap(window=0.3)", marks=pytest.mark.slow),  # it keeps the same values as a shuffle
])
def test_a_file_released_again_with_a_few_more_persons(step: str) -> None:
    """Eight persons are new. What both releases of their region differ by is their income: (8, 0, 8) of 8.

    Exact moments give it as the difference of the totals. Before, tier secure passed, also for an intruder with both releases.
    """
    frame, new = file_with_newcomers()
    before, data = read_region(frame[~new]), read_region(frame)
    old, release = lv.mask(before, step, secret=secret(0)), lv.mask(data, step, secret=secret(1))
    read = 0
    for region in range(8):
        now, then = (r.frame()["income"][f["region"].to_numpy() == region] for r, f in ((release, frame), (old, frame[~new])))
        true = float(frame["income"][new & (frame["region"] == region)].iloc[0])
        left = [float(v) for v in (Counter(now) - Counter(then)).elements()]
        read += left == [true] or abs(now.sum() - then.sum() - true) < 1e-3
    assert read == 8
    score = lv.risk(data, release, ["uniqueness"], other_releases=old)[0]
    assert sum("8 records are in one release and not in another" in note for note in score.notes) == 1
    assert passed(score) == []
    if step == "data_shuffling":  # the other scores of a tier cannot mend this one
        assert not lv.check(data, release, "secure", other_releases=old).meets_limits


def test_a_sample_shows_what_it_left_out() -> None:
    """A file, and a sample of 97 % of it, both shuffled by region. Of 12 persons left out, those alone in a region are read."""
    frame, _ = file_with_newcomers()
    data = read_region(frame, None)
    release = lv.mask(data, "data_shuffling", secret=secret(2))
    sample = lv.mask(data, "sampling(rate=0.97)", "data_shuffling", secret=secret(3))
    score = lv.risk(data, release, ["uniqueness"], other_releases=sample)[0]
    assert any("in one release and not in another" in note for note in score.notes)
    assert passed(score) == []


@pytest.mark.parametrize(("step", "changed"), [("additive_noise(variance=4)", False), ("data_shuffling", True)])
def test_nothing_is_left_over_if_values_are_new(step: str, changed: bool) -> None:
    """Noise, or incomes of another year: no value is what the releases differ by."""
    frame, new = file_with_newcomers()
    old = frame[~new].copy()
    if changed:
        old[["income", "wealth"]] *= 1.03
    before, data = read_region(old), read_region(frame)
    release = lv.mask(data, step, secret=secret(1))
    score = lv.risk(data, release, ["uniqueness"], other_releases=lv.mask(before, step, secret=secret(0)))[0]
    assert not any("in one release and not in another" in note for note in score.notes)
    assert "secure" in passed(score)


def prices_by_place(seed: int, n: int = 700) -> pd.DataFrame:
    """A price that varies smoothly over a map of 14 by 14 squares, about 3.6 records in each; a fifth of it is their own."""
    rng = np.random.default_rng(seed)
    east, north = rng.integers(0, 14, n), rng.integers(0, 14, n)
    waves = [np.cos(a * east + b * north + c) for a, b, c in zip(
        rng.normal(0, 0.45, 60), rng.normal(0, 0.45, 60), rng.uniform(0, 2 * np.pi, 60), strict=True)]
    field = np.sum(waves, axis=0)
    price = 100 + 20 * (np.sqrt(0.8) * (field - field.mean()) / field.std() + np.sqrt(0.2) * rng.normal(size=n))
    return pd.DataFrame({"east": east, "north": north, "price": price.round(2)})


def mean_of_neighbours(frame: pd.DataFrame, values: Floats, width: float) -> Floats:
    apart = sum(np.subtract.outer(v, v) ** 2 for v in (frame["east"].to_numpy(), frame["north"].to_numpy()))
    weight = np.exp(-apart / (2 * width))
    return np.asarray(weight @ values / weight.sum(axis=1))


@pytest.mark.parametrize("step", ["additive_noise(variance=9)", "rank_swap(window=0.3)"])
def test_prices_are_averaged_over_a_neighbourhood(step: str) -> None:
    """The intruder averages the released prices of squares nearby: R² of noise (.53, .21, .56), of swaps (.70, .65, .80).

    Before, `value_disclosure` saw cells of a hundred records only, and `shared_values` cells of one square.
    """
    intruder, product = [], []
    for k in range(3):
        frame = prices_by_place(k)
        data = lv.read(frame, confidential=["price"], non_confidential=["east", "north"])
        release = lv.mask(data, step, secret=secret(k))
        guess = mean_of_neighbours(frame, release.frame()["price"].to_numpy(), 2.0)
        intruder.append(float(np.corrcoef(guess, frame["price"])[0, 1] ** 2))
        product.append(lv.risk(data, release, ["value_disclosure"])[0].value)
    not_below(product, intruder)


def test_neighbours_without_anything_in_common_are_not_averaged() -> None:
    """Prices in random order: no mean is used. Prices drawn anew within nine areas: the mean says what the area says."""
    frame = prices_by_place(0)
    mixed = frame.assign(price=np.random.default_rng(0).permutation(frame["price"]))
    data = lv.read(mixed, confidential=["price"], non_confidential=["east", "north"])
    score = lv.risk(data, lv.mask(data, "additive_noise(variance=30)", secret=secret(0)), ["value_disclosure"])[0]
    assert not any("nearby" in note for note in score.notes)
    assert "secure" in passed(score)
    area = (frame["east"] // 5).astype(str) + (frame["north"] // 5).astype(str)
    data = lv.read(frame.assign(area=area), confidential=["price"], non_confidential=["east", "north"], sub_groups=["area"])
    score = lv.risk(data, lv.mask(data, "random_swap(rate=1.0)", secret=secret(0)), ["value_disclosure"])[0]
    assert score.chance is not None
    assert score.value <= max(score.chance, score.s_alone or 0.0) + 0.1


def test_several_releases_of_a_category_vote() -> None:
    """Eight releases with stay .4 of one answer among four: (.59, .43, .60) right. Before, each release was read alone."""
    intruder, product = [], []
    for k in range(3):
        rng = np.random.default_rng(k)
        frame = pd.DataFrame({"sex": rng.integers(0, 2, 400), "answer": [f"a{v}" for v in rng.integers(0, 4, 400)]})
        data = lv.read(frame, confidential=["answer"], non_confidential=["sex"], nominal=["sex", "answer"])
        releases = [lv.mask(data, "post_randomisation(stay=0.4, invariant=false)", secret=secret(10 * k + i)) for i in range(8)]
        shown = np.array([r.frame()["answer"].to_numpy() for r in releases]).T
        vote = np.array([Counter(row).most_common(1)[0][0] for row in shown])
        intruder.append(float((vote == frame["answer"].to_numpy()).mean()))
        product.append(lv.risk(data, releases[0], ["category_disclosure"], other_releases=releases[1:])[0].value)
    print(np.round(intruder, 3), np.round(product, 3))
    not_below(product, intruder)
