"""Values shared by records with equal S: against plain averages and refitted regressions; no alarm if nothing is shared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import CLUSTERS, ENGINES, engine_of
from larvatus.core.errors import RiskError
from larvatus.stats.estimates.cell_predictions import CellValues, without_cell
from larvatus.stats.estimates.shared_cells import Cells, Neighbours
from sample import SECRET, close

FALSE_ALARM = 6e-7  # five standard errors
M = lv.masks
ROLES = {"confidential": ["revenue", "wage"], "non_confidential": ["firm", "age"]}


def staff(firms: int = 400, each: int = 3, seed: int = 1) -> pd.DataFrame:
    """Employees with the revenue of their firm, which they share, and a wage of their own."""
    rng = np.random.default_rng(seed)
    firm, n = np.repeat(rng.permutation(firms), each), firms * each
    return pd.DataFrame({"firm": 7.0 * firm, "age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n),
                         "revenue": rng.normal(100, 20, firms)[firm], "wage": rng.normal(size=n)})


def attacked(frame: pd.DataFrame, steps: object, **roles: object) -> lv.Score:
    data = lv.read(frame, **{**ROLES, **roles})
    return lv.risk(data, lv.mask(data, steps, secret=SECRET), ["shared_values"])[0]


@pytest.mark.parametrize(("each", "noise"), [(3, 0.5), (10, 4.0)])
def test_the_mean_of_m_records_has_an_m_th_of_the_noise(each, noise):
    score = attacked(staff(each=each), M.AdditiveNoise(variance=noise), confidential=["revenue"])
    r2 = 1 / (1 + noise / each)
    assert abs(score.value - r2) < 5 * np.sqrt(4 * r2 * (1 - r2) ** 2 / 400 + 1 / 400**2)
    assert max(score.chance, score.s_alone) < 0.05
    assert [(r["variable"], r["equal"], r["cells"]) for r in score.details["shared"]] == [("revenue", "firm", 400)]


def test_the_baseline_leaves_the_whole_firm_out():
    """A regression on the firms that is fitted to the other employees knows the revenue; without the firm it does not."""
    frame = staff(20, 30).assign(firm=lambda f: f["firm"].map("f{:.0f}".format))
    data = lv.read(frame, confidential=["revenue"], non_confidential=["firm"])
    release = lv.mask(data, M.AdditiveNoise(variance=1.0), secret=SECRET)
    record, firm = lv.risk(data, release, ["value_disclosure", "shared_values"])
    assert record.s_alone > 0.99
    assert firm.s_alone < 0.05
    assert firm.value > 0.85
    assert not lv.check(data, release, "secure").meets_limits


def test_swapped_values_are_found_by_their_frequency():
    frame = staff(60, 12)
    data = lv.read(frame, confidential=["revenue"], non_confidential=["firm"])
    release = lv.mask(data, M.RandomSwap(rate=0.7), secret=SECRET)
    counts = release.to_pandas()["revenue"].groupby(frame["firm"]).agg(lambda v: v.value_counts().iloc[0])
    score = lv.risk(data, release, ["shared_values"])[0]
    row = score.details["shared"][0]
    assert (counts > 1).mean() > 0.8
    assert row["found"] > 0.8 * (counts > 1).mean()
    assert row["rule"].startswith("most frequent value")
    assert score.by_record.mean() == pytest.approx(row["found"])


@pytest.mark.parametrize("steps", [M.AdditiveNoise(variance=0.1), "data_shuffling", M.RandomSwap(rate=0.3)])
def test_values_that_are_not_shared_raise_no_alarm(steps):
    """Independent values are not shared; false alarm 1e-6 for each column. Half of the variance between pairs is not enough."""
    rng = np.random.default_rng(2)
    s = np.repeat(rng.normal(size=700), 2)
    frame = pd.DataFrame({"s": s, "x": s + rng.normal(size=1400), "y": rng.normal(size=1400),
                          "zeros": np.where(rng.random(1400) < 0.7, 0, rng.normal(size=1400)),
                          "ties": rng.integers(0, 5, 1400)})
    score = attacked(frame, steps, confidential=["x", "y", "zeros", "ties"], non_confidential=["s"])
    assert (score.value, score.chance, score.s_alone, score.interval) == (0, 0, 0, (0, 0))
    assert score.notes == ("records with equal S share no confidential value, beyond what chance explains",)


@pytest.mark.parametrize("steps", ["data_shuffling", M.RandomSwap(rate=0.3)])
def test_values_that_s_explains_well_are_at_their_baseline(steps):
    """Nine tenths of the variance of x lie between pairs with equal S, and S explains them: the release adds nothing."""
    rng = np.random.default_rng(2)
    s = np.repeat(rng.normal(size=700), 2)
    frame = pd.DataFrame({"s": s, "x": 3 * s + rng.normal(size=1400)})
    score = attacked(frame, steps, confidential=["x"], non_confidential=["s"])
    assert score.s_alone > 0.9
    assert score.value - score.s_alone < 0.01


@pytest.mark.parametrize("steps", ["data_shuffling", M.SufficiencyBased()])
def test_a_release_that_does_not_tell_the_firm_is_at_its_baseline(steps):
    score = attacked(staff(), steps, sub_groups=["sex"])
    assert score.details["shared"][0]["cells"] == 400
    assert score.value < 0.02
    assert score.interval[1] < 0.02


def test_zeros_that_firms_share_by_chance_do_not_count():
    """80 % of the firms have no revenue: pairs of zeros tell nothing, and the other firms are found."""
    frame = staff(500, 2)
    frame["revenue"] = frame["revenue"].where(frame["firm"] % 5 == 0, 0.0)
    score = attacked(frame, M.AdditiveNoise(variance=0.1), confidential=["revenue"])
    row = score.details["shared"][0]
    assert row["cells"] <= (frame["revenue"] > 0).sum() / 2
    assert row["cells"] > 0.8 * (frame["revenue"] > 0).sum() / 2
    assert score.value > 0.5


def test_columns_that_share_only_together_are_found():
    """The revenue differs between the years: firm and year together."""
    frame = pd.concat([staff(each=2).assign(year=y) for y in range(3)], ignore_index=True)
    frame["revenue"] += np.random.default_rng(4).normal(0, 20, 1200)[(frame["firm"] / 7 + 400 * frame["year"]).astype(int)]
    score = attacked(frame, M.AdditiveNoise(variance=0.5), confidential=["revenue"], non_confidential=["firm", "year", "age"])
    assert [r["equal"] for r in score.details["shared"]] == ["firm, year"]
    assert score.value > 0.7


def test_missing_values_and_lost_records_are_left_out():
    frame = staff()
    frame.loc[::7, "revenue"] = np.nan
    frame.loc[::5, "age"] = np.nan
    score = attacked(frame, [M.AdditiveNoise(variance=0.5), M.RandomBlanking(rate=0.2), M.Sampling(rate=0.9)],
                     non_confidential=["firm", "age"])
    assert 0.6 < score.value < 0.95
    assert np.isfinite([r["value"] for r in score.by_group]).all()


def test_few_firms_have_no_interval():
    score = attacked(staff(3, 200), M.AdditiveNoise(variance=5.0), confidential=["revenue"])
    assert score.value > 0.9
    assert score.interval is None
    assert score.notes == ("revenue: shared in fewer than 5 cells, so that there is no interval",)


def test_it_is_not_run_if_no_column_is_unmasked():
    frame = staff()[["revenue", "wage"]]
    data = lv.read(frame, confidential=list(frame))
    release = lv.mask(data, "additive_noise", secret=SECRET)
    assert "shared_values" not in [s.method for s in lv.risk(data, release, ["value_disclosure"])]
    with pytest.raises(RiskError, match="no column is released unmasked"):
        lv.risk(data, release, ["shared_values"])


@pytest.mark.parametrize("engine", [e for e in ENGINES if e not in ("memory", *CLUSTERS)])
def test_engines_agree(engine):
    frame = staff(60)
    values = []
    for name in ("memory", engine):
        data = lv.read(frame, **ROLES, sub_groups=["sex"], engine=engine_of(name))
        values.append(lv.risk(data, lv.mask(data, M.AdditiveNoise(variance=0.5), secret=SECRET), ["shared_values"])[0])
    assert values[0].value > 0.5
    assert close(values[0].plain(), values[1].plain())


def test_a_regression_without_a_cell_equals_refitting():
    rng = np.random.default_rng(5)
    given = np.column_stack([rng.normal(size=30), rng.integers(0, 2, 30), np.eye(30)[4]])
    x, weight = given @ [1.0, -2.0, 9.0] + rng.normal(size=30), rng.integers(2, 9, 30).astype(float)
    found = without_cell(x, weight, given, np.zeros(30))
    for c in range(30):
        rest = np.arange(30) != c
        design, root = np.column_stack([np.ones(30), given[:, :2]]), np.sqrt(weight[rest])
        beta = np.linalg.lstsq(design[rest] * root[:, None], x[rest] * root, rcond=None)[0]
        assert np.isclose(found[c], design[c] @ beta, rtol=1e-9)


def test_values_of_cells_are_those_of_a_plain_table():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"key": rng.integers(0, 40, 300).astype(float), "y": rng.integers(0, 30, 300).astype(float)})
    frame.loc[rng.random(300) < 0.1, "y"] = np.nan
    frame.loc[frame["key"] == 3, "y"] = np.nan
    cells, chosen = Cells.of(frame["key"].to_numpy()), np.arange(40) % 2 == 1
    found, groups = CellValues.of(frame["y"].to_numpy(), cells, chosen), frame.groupby("key")["y"]
    assert found.mean == pytest.approx(groups.mean().to_numpy()[chosen], nan_ok=True)
    assert found.median == pytest.approx(groups.median().to_numpy()[chosen], nan_ok=True)
    assert found.count == pytest.approx(groups.count().to_numpy()[chosen])
    share = frame["y"].value_counts() / frame["y"].notna().sum()
    for place, key in enumerate(np.flatnonzero(chosen)):
        k = frame.loc[frame["key"] == key, "y"].value_counts()
        expected = k.sum() * share[k.index]
        evidence = (k * np.log(k / expected) - k + expected).where((k > 1) & (k > expected), 0.0)
        assert found.evidence[place] == pytest.approx(evidence.max() if len(k) else 0.0)


def test_cells_agree_by_chance_as_often_as_expected():
    """Random cells of two: the number that agree and count is not above the expected one by five standard errors."""
    rng = np.random.default_rng(7)
    near = Neighbours.of(rng.exponential(size=20_000))
    x = near.x.reshape(-1, 2)
    alike = (near.share.reshape(-1, 2).mean(axis=1) <= 0.1) & (np.ptp(x, axis=1) <= near.tolerance)
    expected = near._expected(np.full(10_000, 2.0))
    assert 0 < alike.sum() < expected + 5 * np.sqrt(expected)
    assert not near.sharing_cells(Cells.of(np.repeat(np.arange(10_000.0), 2))).any()
