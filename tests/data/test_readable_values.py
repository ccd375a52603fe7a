"""Values that can be read although they changed: recognised by the nearest value, or told by a blank; luck is no alarm."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.data.exposure.readable_values import disclosing_blanks, recognised

FALSE_ALARM = 0.01  # of `disclosing_blanks`, over all columns and parts of a file together


def test_the_nearest_value_is_the_record_s_own_until_noise_exceeds_half_the_spacing():
    x = np.array([1.0, 2.0, 3.0, np.nan, 3.0])
    assert recognised(x, x + 0.4).tolist() == [True, True, True, False, True]
    assert recognised(x, x + 0.6).tolist() == [False, False, True, False, True]  # nothing lies above the largest value
    assert recognised(x, np.full(5, np.nan)).tolist() == [False] * 5
    assert recognised(np.full(3, np.nan), np.ones(3)).tolist() == [False] * 3
    assert recognised(np.ones(2), np.array([7.0, 7.0])).tolist() == [True, True]


def told(x: np.ndarray, blank: np.ndarray, tried: int = 1) -> list:
    released = np.where(blank, np.nan, x)
    return list(disclosing_blanks("x", x, released, np.zeros(len(x), dtype=np.int64), ["all"], tried))


def test_blanks_of_one_value_tell_it():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    x[:60] = 0.5
    (row,) = told(x, np.arange(300) < 60)
    assert (row["count"], row["beyond"], row["sub_group"]) == (60, 60, "x where it is missing")
    assert told(x, np.arange(300) < 60, tried=10**300) == []
    assert told(x, (np.arange(300) < 60) | (np.arange(300) >= 280)) == [], "a fourth of the blanks are of other values"


def test_a_part_can_tell_a_value_that_the_file_does_not():
    rng = np.random.default_rng(2)
    x, part = rng.normal(size=400), np.repeat([0, 1], 200)
    x[:20] = 1.0
    blank = (np.arange(400) < 20) | ((part == 1) & (rng.random(400) < 0.5))
    rows = list(disclosing_blanks("x", x, np.where(blank, np.nan, x), part, ["g=0", "g=1"], 3))
    assert [r["sub_group"] for r in rows] == ["x where it is missing, g=0"]


@pytest.mark.parametrize("zeros", [0.0, 0.5, 0.95])
def test_random_blanks_tell_nothing(zeros):
    """400 files: the number of alarms is at most the 1 − 10⁻⁶ quantile of its binomial distribution."""
    from scipy.stats import binom

    rng, alarms = np.random.default_rng(3), 0
    for _ in range(400):
        x = np.where(rng.random(120) < zeros, 0.0, rng.lognormal(size=120))
        alarms += bool(told(x, rng.random(120) < 0.1))
    assert alarms <= binom.ppf(1 - 1e-6, 400, FALSE_ALARM)
