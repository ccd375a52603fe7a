"""One sub-group of thirty whose members earn nearly the same: the median of its released values tells all of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET


def narrow() -> tuple[lv.Microdata, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(91)
    group = np.repeat(np.arange(30), 30)
    own = np.where(group == 0, 0.005, 0.8) * rng.normal(size=900)
    pay = np.exp(3 + own + np.where(group == 0, 0.8 * rng.normal(size=30)[group], 0))
    frame = pd.DataFrame({"g": group.astype(str), "pay": pay})
    return lv.read(frame, confidential=["pay"], sub_groups=["g"]), pay, group


@pytest.mark.parametrize("step", ["data_shuffling", "additive_noise(variance=49)"])
def test_a_value_shared_in_one_cell_is_not_its_own_baseline(step: str) -> None:
    """Exchanging the values of one cell between cells is no exchange: chance was 1, and tier `secure` passed."""
    data, pay, group = narrow()
    release = lv.mask(data, step, secret=SECRET)
    middle = float(np.median(release.frame()["pay"].to_numpy()[group == 0]))
    assert np.mean(np.abs(middle / pay[group == 0] - 1) < 0.02) == 1
    score = lv.risk(data, release, ["shared_values"])[0]
    assert score.value > 0.9
    assert score.chance < 0.05
    assert not lv.Limits(tier="secure").judge([score]).meets_limits


def test_values_exchanged_over_the_file_tell_nothing() -> None:
    data, _, _ = narrow()
    score = lv.risk(data, lv.mask(data, "random_swap(rate=1.0, scope='file')", secret=SECRET), ["shared_values"])[0]
    assert score.value <= score.chance + 0.01


def test_means_of_firms_that_nearly_share_a_value() -> None:
    """60 firms of 20 with 83 % of the variance between them. Means of the release tell each employee's value: R² .53 to .66."""
    rng = np.random.default_rng(4)
    firm = np.repeat(np.arange(60), 20)
    pay = np.sqrt(0.83) * rng.normal(size=60)[firm] + np.sqrt(0.17) * rng.normal(size=1200)
    data = lv.read(pd.DataFrame({"firm": firm.astype(str), "pay": pay}), confidential=["pay"], non_confidential=["firm"])
    release = lv.mask(data, "additive_noise(variance=4)", secret=SECRET)
    mean = release.frame()["pay"].groupby(firm).transform("mean").to_numpy()
    intruder = 1 - float(np.mean((pay - mean / (1 + 4.17 / 20 / 0.83)) ** 2)) / float(pay.var())
    assert intruder > 0.45
    score = lv.risk(data, release, ["shared_values"])[0]
    assert score.value > intruder
    assert max(score.chance, score.s_alone) < 0.2
