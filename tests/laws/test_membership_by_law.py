"""Membership of records in releases of masks with a known law: the ratio, its closed form, and simulation.

Every test has fixed seeds. Limits follow from the standard error over files, at a false-alarm rate of 1e-6.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.core.errors import RiskError
from sample import SECRET

FALSE_ALARM = 1e-6
Z = stats.norm.isf(FALSE_ALARM)


def population(n: int, p: int, seed: int, shape: str = "normal") -> pd.DataFrame:
    draws = np.random.default_rng(seed)
    z = draws.normal(size=(n, p)) @ np.linalg.cholesky(0.6 * np.eye(p) + 0.4).T
    return pd.DataFrame(np.exp(z) if shape == "skewed" else z, columns=[f"x{j}" for j in range(p)])


def scored(step: str, seed: int, n: int = 900, p: int = 4, shape: str = "normal") -> lv.Score:
    frame = population(n, p, seed, shape)
    data = lv.hold_out(lv.read(frame, confidential=list(frame)), 0.66, secret=SECRET + bytes([seed]))
    return lv.risk(data, lv.mask(data, step, secret=SECRET), "membership_inference(shadow_files=0)")[0]


def by_law(score: lv.Score, figure: str = "value") -> float:
    """A figure of the likelihood ratio."""
    return next(row[figure] for row in score.details["forms"] if row["form"] == "law")


def test_exact_moments_show_membership_as_the_closed_form_says():
    """The holdout is twice the file. Its moments are estimates, so the AUC is a little below that of a known population."""
    found = [scored("sufficiency_based", seed) for seed in range(12)]
    areas = np.array([by_law(f) for f in found])
    expected = found[0].details["closed_form"][0]["AUC, closed form"]
    error = Z * areas.std(ddof=1) / np.sqrt(len(areas))
    assert areas.mean() - error < expected
    assert areas.mean() + error > 0.5 + 0.5 * (expected - 0.5)
    assert areas.mean() > 0.5 + stats.norm.isf(1e-3) * areas.std(ddof=1) / np.sqrt(len(areas))
    assert any("published means and covariances" in note for note in found[0].notes)


def test_it_is_about_moments_and_not_about_the_other_draws():
    """Random orthogonal masks and sufficiency-based ones publish the same moments, and the score is the same."""
    one, other = (by_law(scored(step, 3)) for step in ("sufficiency_based", "random_orthogonal"))
    assert one == pytest.approx(other, abs=1e-9)


def test_weak_noise_shows_membership_and_strong_noise_does_not():
    weak = scored("additive_noise(variance=0.0001)", 1)
    assert by_law(weak) > 0.99
    strong = [scored("additive_noise(variance=4.0)", seed) for seed in range(8)]
    rates = [by_law(s, "recognised at 1 % false positives") for s in strong]
    bound = strong[0].details["closed_form"][0]["recognised at 1 % false positives, at most in normal columns"]
    error = Z * np.std(rates, ddof=1) / np.sqrt(len(rates))
    assert np.mean(rates) - error <= bound < 0.2
    areas = [by_law(s) for s in strong]
    assert abs(np.mean(areas) - 0.5) < Z * np.std(areas, ddof=1) / np.sqrt(len(areas)) + 0.02


def test_a_skewed_file_has_an_honest_baseline():
    """An independent file with the same law: a shuffle of other records; the ratio is not used, the densities are."""
    found = scored("data_shuffling", 2, shape="skewed")
    assert "closed_form" not in found.details
    assert "law" not in [row["form"] for row in found.details["forms"]]
    exact = [by_law(scored("sufficiency_based", seed, shape="skewed")) for seed in range(6)]
    assert min(exact) > 0.4


def test_small_sub_groups_and_missing_values_do_not_end_it():
    frame = population(900, 3, 5).assign(g=["m"] * 894 + ["n"] * 6)
    frame.loc[::9, "x1"] = np.nan
    data = lv.hold_out(lv.read(frame.iloc[:894], confidential=["x0", "x1", "x2"]), 0.5, secret=SECRET)
    assert 0.4 < lv.risk(data, lv.mask(data, "additive_noise"), "membership_inference(shadow_files=0)")[0].value <= 1
    plain = lv.read(frame, confidential=["x0", "x1", "x2"])
    with pytest.raises(RiskError, match="no holdout"):
        lv.risk(plain, lv.mask(plain, "sufficiency_based"), "membership_inference")
