"""Combining rules: worked by hand, by simulation with the mask itself, and refused where one copy is all there is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.analysis import combine

FALSE_ALARM = 1e-6
STUDIES, COPIES, N = 400, 5, 120
SLOPE = 0.8


def test_partially_synthetic_by_hand():
    """Estimates 1, 2, 3 with variances .5, .25, .75: ū = .5, b = 1, T = .5 + 1/3, df = 2 (1 + .5 · 3)² = 12.5."""
    found = combine([1, 2, 3], [0.5, 0.25, 0.75])
    assert (found.estimate, found.within, found.between) == (2, 0.5, 1)
    assert found.variance == pytest.approx(0.5 + 1 / 3, rel=1e-15)
    assert found.freedom == pytest.approx(12.5, rel=1e-15)
    low, high = found.interval()
    assert high - 2 == pytest.approx(stats.t(12.5).ppf(0.975) * np.sqrt(5 / 6), rel=1e-12)
    assert low + high == pytest.approx(4, rel=1e-15)
    assert found.error == np.sqrt(found.variance)


def test_fully_synthetic_by_hand_and_where_it_would_be_negative():
    """b = 1, m = 3: (1 + 1/3) · 1 − .5 = 5/6 with df 2 (1 − .5 / (4/3))²; at ū = 2 the variance would be −2/3."""
    found = combine([[1, 1], [2, 2], [3, 3]], [[0.5, 2], [0.5, 2], [0.5, 2]], "fully_synthetic", share=0.5)
    assert found.variance == pytest.approx([5 / 6, 1], rel=1e-15)
    assert found.replaced.tolist() == [False, True]
    assert found.freedom == pytest.approx([1, 2], rel=1e-15)
    wide = combine([0, 6, 12], [3, 3, 3], "fully_synthetic")
    assert wide.freedom == pytest.approx(2 * (1 - 3 / 48) ** 2, rel=1e-15)


def test_missing_data_by_hand_and_copies_that_agree():
    found = combine([1, 2, 3], [0.5, 0.5, 0.5], "missing_data")
    assert found.variance == pytest.approx(0.5 + 4 / 3, rel=1e-15)
    assert found.freedom == pytest.approx(2 * (1 + 0.5 / (4 / 3)) ** 2, rel=1e-15)
    same = combine([2, 2], [0.25, 0.25])
    assert np.isinf(same.freedom)
    assert same.interval()[1] == pytest.approx(2 + 0.5 * stats.norm.ppf(0.975), rel=1e-12)


@pytest.mark.parametrize(("arguments", "said"), [
    (([1.0], [1.0]), "come from one copy"), ((3.0, 1.0), "come from one copy"), (([1, 2], [1, 2, 3]), "shape"),
    (([1, 2], [1, -1]), "negative"), (([1, np.nan], [1, 1]), "missing or infinite"), (([1, "a"], [1, 1]), "need numbers"),
    (([1, 2], [1, 1], "rubin"), "none of"), (([1, 2], [1, 1], "fully_synthetic", 0.0), "above 0"),
])
def test_what_cannot_be_combined_is_refused(arguments, said):
    with pytest.raises(lv.LarvatusError, match=said):
        combine(*arguments)


def test_a_level_outside_the_unit_interval_is_refused():
    with pytest.raises(lv.LarvatusError, match="level"):
        combine([1, 2], [1, 1]).interval(95)


def slope(frame: pd.DataFrame) -> tuple[float, float]:
    """Least squares of y on s, and its variance."""
    found = stats.linregress(frame.s, frame.y)
    return found.slope, found.stderr**2


def mean(frame: pd.DataFrame) -> tuple[float, float]:
    return frame.y.mean(), frame.y.var() / len(frame)


def studied(mask) -> dict[str, np.ndarray]:
    """Estimates and variances, studies × copies × 2, from releases of many samples of one population.

    One file holds all the samples as sub-groups, so that one release masks each of them by itself.
    """
    rng = np.random.default_rng(23)
    s = rng.normal(size=STUDIES * N)
    table = pd.DataFrame({"g": np.repeat(np.arange(STUDIES), N), "s": s, "y": 1 + SLOPE * s + rng.normal(size=STUDIES * N)})
    data = lv.read(table, confidential="y", non_confidential="s", sub_groups="g")
    release = lv.mask(data, mask, secret=b"for coverage, not for secrecy")
    frames = [release.frame(c) for c in range(COPIES)]
    groups = [[part for _, part in frame.groupby("g")] for frame in frames]
    return {
        how.__name__: np.array([[how(groups[c][g]) for c in range(COPIES)] for g in range(STUDIES)]) for how in (slope, mean)
    }


@pytest.fixture(scope="module")
def studies() -> dict[str, np.ndarray]:
    return studied(lv.masks.MultipleImputation(copies=COPIES))


def covered(found: np.ndarray, truth: float, rule: str) -> int:
    both = combine(found[:, :, 0].T, found[:, :, 1].T, rule)
    low, high = both.interval()
    return int(((low < truth) & (truth < high)).sum())


@pytest.mark.parametrize(("what", "truth"), [("slope", SLOPE), ("mean", 1.0)])
def test_reiters_intervals_cover_at_their_level_and_rubins_too_often(studies, what, truth):
    reiter, rubin = (covered(studies[what], truth, rule) for rule in ("partially_synthetic", "missing_data"))
    assert stats.binomtest(reiter, STUDIES, 0.95).pvalue > FALSE_ALARM
    assert rubin > reiter
    assert stats.binom.sf(rubin - 1, STUDIES, 0.95) < 0.01
    alone = [
        np.abs(studies[what][:, c, 0] - truth) < 1.96 * np.sqrt(studies[what][:, c, 1]) for c in range(COPIES)
    ]
    assert stats.binomtest(int(alone[0].sum()), STUDIES, 0.95).pvalue < FALSE_ALARM, "one copy claims too much"


@pytest.mark.slow
def test_reiters_intervals_cover_after_blanking_some_cells_too():
    found = studied(lv.masks.BlankAndImpute(copies=COPIES, rate=0.5, within_range=False))
    for what, truth in (("slope", SLOPE), ("mean", 1.0)):
        reiter, rubin = (covered(found[what], truth, rule) for rule in ("partially_synthetic", "missing_data"))
        assert stats.binomtest(reiter, STUDIES, 0.95).pvalue > FALSE_ALARM
        assert rubin > reiter


def test_the_fully_synthetic_rule_is_honest_for_new_units():
    """Copies that are samples of new units from the posterior predictive of a normal mean and variance."""
    rng = np.random.default_rng(29)
    m, n = 20, 200
    x = rng.normal(3, 1, (STUDIES, n))
    variance = (n - 1) * x.var(axis=1, ddof=1) / rng.chisquare(n - 1, (m, STUDIES))
    centre = x.mean(axis=1) + rng.normal(size=(m, STUDIES)) * np.sqrt(variance / n)
    y = centre[..., None] + rng.normal(size=(m, STUDIES, n)) * np.sqrt(variance)[..., None]
    both = combine(y.mean(axis=2), y.var(axis=2, ddof=1) / n, "fully_synthetic")
    low, high = both.interval()
    hits = int(((low < 3) & (high > 3)).sum())
    assert stats.binom.cdf(hits, STUDIES, 0.95) > FALSE_ALARM
    rule = (1 + 1 / m) * both.between - both.within
    assert np.array_equal(both.variance, np.where(rule > 0, rule, both.within))
    expected = (2 * (1 + 1 / m) - 1) * (n - 1) / (n - 3) / n
    assert stats.ttest_1samp(rule, expected).pvalue > FALSE_ALARM


def test_nothing_is_not_one_copy():
    with pytest.raises(lv.LarvatusError, match="estimates: none are given"):
        combine([], [])
    with pytest.raises(lv.LarvatusError, match="estimates: come from one copy"):
        combine([1.0], [1.0])
