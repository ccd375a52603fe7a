"""Intruders that look beside the masked value: totals of a household, one odd record in a firm, targeted swaps, angles, files.

They were written without knowledge of the attacks, and use NumPy and SciPy only. None finds more than the attacks report.
Data and secrets are fixed. For other secrets, each test fails by chance with probability FALSE_ALARM at most: a share or an R²
is allowed as many standard errors above the reported one. Measured (intruder, product): each test's docstring.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.stats import norm

import larvatus as lv

FALSE_ALARM = 1e-6
FIRMS = 160
SECRET = b"the sixth author writes this one"


def r_squared(x: np.ndarray, guess: np.ndarray) -> float:
    return float(1 - np.mean((x - guess) ** 2) / np.var(x))


def allowance(r2: float, n: int) -> float:
    """How far two estimates of the same R² from n records may lie apart."""
    return float(norm.isf(FALSE_ALARM) * np.sqrt(2) * 2 * np.sqrt(max(r2, 0.01)) * (1 - r2) / np.sqrt(n))


def reported(data: lv.Microdata, release: lv.Release, attack: str) -> lv.Score:
    return lv.risk(data, release, [attack])[0]


def posterior_wages(noisy: np.ndarray, noisy_total: np.ndarray, family: np.ndarray, wage: np.ndarray, d: float) -> np.ndarray:
    """Mean of the wages of each household given its noisy wages and its noisy total: both contain the same wages."""
    mean, variance = wage.mean(), wage.var()
    total_noise = d * np.bincount(family, wage).var()
    guess = np.empty(len(wage))
    for h in range(family.max() + 1):
        who = np.flatnonzero(family == h)
        see = np.vstack([np.eye(len(who)), np.ones(len(who))])
        noise = np.diag(np.r_[np.full(len(who), d * variance), total_noise])
        gain = variance * see.T @ np.linalg.inv(variance * see @ see.T + noise)
        guess[who] = mean + gain @ (np.r_[noisy[who], noisy_total[who[0]]] - see @ np.full(len(who), mean))
    return guess


@pytest.mark.parametrize("d", [1, 4])
def test_a_household_total_masked_apart_from_the_wages_in_it(d):
    """The total is a second look at the wages. R² of wages (.561, .558) at noise 1 and (.223, .281) at noise 4."""
    rng = np.random.default_rng(12)
    size = rng.integers(1, 4, 400)
    family = np.repeat(np.arange(400), size)
    wage = np.round(rng.lognormal(7, 0.6, len(family)))
    people = pd.DataFrame({"family": family, "size": size[family], "wage": wage,
                           "total": np.bincount(family, wage)[family]})
    data = lv.read(people, confidential=["wage", "total"], non_confidential=["size"], household="family")
    release = lv.mask(data, f"additive_noise(variance={d})", secret=SECRET)
    y = release.frame()
    own = r_squared(wage, posterior_wages(y["wage"].to_numpy(), y["total"].to_numpy(), family, wage, d))
    score = {r["variable"]: r["value"] for r in reported(data, release, "value_disclosure").by_variable}
    assert own <= score["wage"] + allowance(score["wage"], len(wage))


def firms_with_an_odd_record() -> tuple[np.ndarray, np.ndarray, lv.Microdata]:
    rng = np.random.default_rng(1)
    firm = np.repeat(np.arange(FIRMS), 20)
    revenue = np.round(rng.normal(50, 15, FIRMS), 2)[firm]
    revenue[::20] = np.round(rng.normal(50, 15, FIRMS), 2)
    frame = pd.DataFrame({"firm": firm, "sex": rng.integers(0, 2, len(firm)), "revenue": revenue})
    return firm, revenue, lv.read(frame, confidential=["revenue"], non_confidential=["firm", "sex"], nominal=["firm", "sex"])


def test_one_odd_record_in_each_firm_does_not_hide_that_the_others_share_a_value():
    """Nineteen of twenty employees state the same revenue: R² of the mean of the firm (.790, .716 with the odd records)."""
    firm, revenue, data = firms_with_an_odd_record()
    release = lv.mask(data, "additive_noise(variance=4)", secret=SECRET)
    means = release.frame()["revenue"].groupby(firm).transform("mean").to_numpy()
    usual = np.arange(len(firm)) % 20 > 0
    score = reported(data, release, "shared_values")
    own = r_squared(revenue[usual], means[usual])
    assert own > 0.5  # there is something to find
    assert own <= score.interval[1] + allowance(own, FIRMS)


def test_eight_cosines_of_one_angle_say_no_more_than_the_regression_on_all_columns():
    """The posterior of the angle over all other records. R² (.146, .127) at noise 9."""
    rng = np.random.default_rng(8)
    angle = rng.uniform(0, 2 * np.pi, 600)
    names = [f"x{j}" for j in range(1, 9)]
    x = np.array([np.cos(j * angle + j) for j in range(1, 9)]).T
    data = lv.read(pd.DataFrame(x, columns=names), confidential=names)
    release = lv.mask(data, "additive_noise(variance=9)", secret=SECRET)
    y = release.frame()[names].to_numpy()
    log = -0.5 * (((y[:, None] - x[None]) ** 2) / (9 * x.var(0))).sum(axis=2)
    np.fill_diagonal(log, -np.inf)
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    guess = weight @ x / weight.sum(axis=1, keepdims=True)
    own = float(np.mean([r_squared(x[:, j], guess[:, j]) for j in range(8)]))
    score = reported(data, release, "value_disclosure").value
    assert own <= score + allowance(score, 600)


def test_a_targeted_swap_that_cannot_reach_all_records_at_risk_says_nothing_by_its_settings():
    """Half of the records are exchanged and more than half are at risk: a lone record is exchanged or not, .49 of 258 right."""
    rng = np.random.default_rng(2)
    keys = pd.DataFrame({"age": rng.integers(0, 45, 1000), "sex": rng.integers(0, 2, 1000), "edu": rng.integers(0, 4, 1000)})
    area = np.where(rng.random(1000) < 0.5, "urban", "rural")
    data = lv.read(keys.assign(area=area), confidential=["area"], non_confidential=list(keys), nominal=["sex", "edu"])
    release = lv.mask(data, 'record_swap(rate=0.5, match=["sex"], k=3)', secret=SECRET)
    alone = keys.groupby(list(keys)).transform("size").to_numpy() < 3
    turned = release.frame()["area"].astype(str).to_numpy() != area
    assert turned[alone].mean() <= 0.5 + norm.isf(FALSE_ALARM) * 0.5 / np.sqrt(alone.sum())


def test_a_parquet_file_says_nothing_about_the_original_beside_its_columns(tmp_path):
    """Metadata, the order of rows, and the statistics of a column that is not released: nothing."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"family": np.repeat(np.arange(200), 3), "step": np.arange(600) // 100,
                          "income": rng.lognormal(5, 1, 600)})
    data = lv.read(frame, confidential=["income"], non_confidential=["step"], household="family")
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "released.parquet")
    file = pq.ParquetFile(tmp_path / "released.parquet")
    assert file.schema_arrow.names == ["step", "income"]
    assert set(file.schema_arrow.metadata) <= {b"larvatus.row_order"}
    order = file.read()["step"].to_numpy()
    assert abs(np.corrcoef(np.arange(600), order)[0, 1]) <= norm.isf(FALSE_ALARM / 2) / np.sqrt(600)


@pytest.mark.parametrize("mask", ["additive_noise(variance=9)", "data_shuffling"])
def test_noise_that_follows_the_variance_of_narrow_sub_groups_is_reported(mask):
    """In 8 of 30 sub-groups all values are alike, and so are the released ones: all 240 are within 5 %. Reported: 1."""
    rng = np.random.default_rng(91)
    group = np.repeat(np.arange(30), 30)
    narrow = group < 8
    x = np.exp(3 + np.where(narrow, 0.005, 0.8) * rng.normal(size=900) + np.where(narrow, 0.8 * rng.normal(size=30)[group], 0))
    data = lv.read(pd.DataFrame({"g": group, "x": x}), confidential=["x"], sub_groups=["g"], nominal=["g"])
    release = lv.mask(data, mask, secret=SECRET)
    near = np.abs(release.frame()["x"].to_numpy() / x - 1) < 0.05
    score = reported(data, release, "shared_values")
    assert near[narrow].mean() <= score.value + norm.isf(FALSE_ALARM) * np.sqrt(0.25 / narrow.sum())
    assert score.value - max(score.chance, score.s_alone) > 0.2  # more than any tier allows
