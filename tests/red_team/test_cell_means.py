"""An intruder who averages the released values of each firm, and knows nothing but S: values nearly shared in small cells.

45 firms with 25 employees each, noise as large as the spread of the file. Share of the variance explained (intruder / strongest
attack above its baseline, before and after cells that nearly share a value counted): .94 / .00 / .96 with .15 SD within firms,
.85 / .00 / .94 with .3 SD. Tiers `secure` and `scientific` passed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.comparison.limits import TIERS, limits_of
from sample import SECRET

FIRMS, SIZE, SE = 45, 25, 3.0


def firms(within: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    firm = np.repeat(np.arange(FIRMS), SIZE)
    return pd.DataFrame({"firm": [f"f{k}" for k in firm], "pay": 100 + 10 * (
        rng.normal(size=FIRMS)[firm] + within * rng.normal(size=len(firm)))})


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("within", [0.15, 0.3])
def test_means_of_cells_explain_no_more_than_the_product_says(within, seed):
    frame = firms(within, seed)
    data = lv.read(frame, confidential=["pay"], non_confidential=["firm"], nominal=["firm"])
    release = lv.mask(data, "additive_noise(variance=1, scope='file')", secret=SECRET + bytes([seed]))
    guess = release.frame().groupby("firm")["pay"].mean()[frame["firm"]].to_numpy()
    outsider = 1 - ((guess - frame["pay"]) ** 2).sum() / ((frame["pay"] - frame["pay"].mean()) ** 2).sum()
    scores = lv.risk(data, release, ["shared_values", "value_disclosure"])
    above = max(s.value - max(s.chance or 0.0, s.s_alone or 0.0) for s in scores)
    assert outsider > 0.8
    assert above >= outsider - SE * (1 - outsider) * 2 / np.sqrt(FIRMS)
    assert [tier for tier in TIERS if limits_of(tier).judge(scores).meets_limits] == []


def test_cells_that_share_little_do_not_count():
    """Half of the variance lies between firms: their means are statistics, and no value is nearly shared."""
    frame = firms(1.0, 1)
    data = lv.read(frame, confidential=["pay"], non_confidential=["firm"], nominal=["firm"])
    release = lv.mask(data, "additive_noise(variance=1, scope='file')", secret=SECRET)
    assert lv.risk(data, release, ["shared_values"])[0].value == 0
