"""Risk of households: 1 − Π (1 − r) over the members, with the interval that the law of the class sizes gives."""

from __future__ import annotations

import numpy as np
import pytest

import larvatus as lv
from family_sample import family_file
from larvatus.stats.key_risk.household_risk import household_risk
from larvatus.stats.key_risk.individual_risk import individual_risk, inverse_variance
from sample import SECRET


def summary(score: lv.Score) -> dict[str, float]:
    return {str(r["figure"]): float(r["value"]) for r in score.details["household_summary"]}


def test_the_risk_of_a_household_is_that_any_member_is_found():
    frame = family_file()
    keys = ["region", "sex", "age"]
    data = lv.read(frame, confidential=["wage"], non_confidential=keys, nominal=["region", "sex"], household="family")
    score = lv.risk(data, lv.mask(data, "additive_noise", secret=SECRET), ["key_risk"])[0]
    risk = 1 / frame.groupby(keys).age.transform("size")
    by_family = 1 - (1 - risk).groupby(frame.family).prod()
    found = summary(score)
    assert found["households"] == len(by_family)
    assert found["expected number of households found"] == pytest.approx(by_family.sum(), abs=1e-9)
    assert found["mean risk of a household"] == pytest.approx(by_family.mean(), abs=1e-12)
    assert found["mean over records of the risk of their household"] == pytest.approx(frame.family.map(by_family).mean())
    sizes = score.details["household_sizes"]
    expected = by_family.groupby(frame.groupby("family").size()).agg(["size", "sum"])
    assert sizes.column("households") == expected["size"].tolist()
    assert sizes.column("expected_found") == pytest.approx(expected["sum"].tolist())


def test_a_household_is_never_safer_than_its_members_and_a_certain_member_gives_it_away():
    found = household_risk(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 2, 2, 0]), np.array([0.2, 1.0, 0.5]), np.zeros(3))
    assert found.by_household == pytest.approx([1.0, 0.75, 0.2])
    assert found.low == found.high == found.value


def test_the_interval_holds_under_the_law_of_the_class_sizes():
    """F is negative binomial given f. The simulated spread of the share found must be that of the interval, within a tenth.

    4,000 samples estimate a standard deviation within 5 standard errors of 1.1 % each.
    """
    rng = np.random.default_rng(3)
    classes, p = 60, 0.08
    place = rng.integers(0, classes, 900)
    household = np.sort(rng.integers(0, 300, 900))
    household = np.unique(household, return_inverse=True)[1]
    count = np.maximum(np.bincount(place, minlength=classes), 1)
    share = np.full(classes, p)
    risk, spread = individual_risk(count, share), inverse_variance(count, share)
    found = household_risk(household, place, risk, spread)
    population = count + rng.negative_binomial(count, p, size=(4000, classes))
    missed = np.log1p(-1 / np.maximum(population, 1 + 1e-9))[:, place]
    order = np.argsort(household, kind="stable")
    starts = np.searchsorted(household[order], np.arange(household.max() + 1))
    simulated = (1 - np.exp(np.add.reduceat(missed[:, order], starts, axis=1))).mean(axis=1)
    assert found.value == pytest.approx(simulated.mean(), rel=0.02)
    width = found.high - found.low
    assert width == pytest.approx(np.quantile(simulated, 0.975) - np.quantile(simulated, 0.025), rel=0.1)


def test_a_release_read_from_a_file_has_the_households_of_the_original(tmp_path):
    frame = family_file()
    data = lv.read(frame, confidential=["wage"], non_confidential=["region", "sex", "age"], household="family")
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / "r.csv", pairing=tmp_path / "p.csv")
    here = lv.risk(data, release, ["key_risk"])[0]
    read = lv.risk(data, tmp_path / "r.csv", ["key_risk"], pairing=tmp_path / "p.csv")[0]
    assert summary(here) == pytest.approx(summary(read))


def test_no_household_no_table():
    frame = family_file()
    data = lv.read(frame, confidential=["wage"], non_confidential=["region", "sex", "age"])
    score = lv.risk(data, lv.mask(data, "additive_noise", secret=SECRET), ["key_risk"])[0]
    assert "household_summary" not in score.details
