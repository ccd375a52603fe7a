"""An intruder who knows S, and takes the released value of the only record with its category for the truth.

If the model gave the lone category an effect of its own, that effect would be the record's value. Released values of a record
at 2.5 standard deviations, over 12 secrets, before rare categories were pooled: 2.91 (data_shuffling), 2.66
(copula_perturbation), 2.56 (multiple_imputation), 2.50 (blank_and_impute). Values drawn given nothing are 0 ± 1.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import larvatus as lv
from larvatus.core.errors import SubGroupError
from sample import SECRET

FALSE_ALARM = 1e-6
MASKS = ["data_shuffling", "copula_perturbation", "multiple_imputation", "blank_and_impute(rate=1.0)"]
FILES, N, OWN = 12, 300, 2.5


def with_bishop(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"job": rng.choice(list("abc"), N), "x": rng.normal(size=N), "y": rng.normal(size=N)})
    frame.loc[7, ["job", "x"]] = "bishop", OWN
    return frame


@pytest.mark.parametrize("mask", MASKS)
def test_the_value_of_a_lone_record_is_not_centred_on_its_own(mask):
    found = []
    for i in range(FILES):
        data = lv.read(with_bishop(i), confidential=["x", "y"], non_confidential=["job"])
        release = lv.mask(data, mask, secret=SECRET + bytes([i]))
        found.append(float(release.frame()["x"].iloc[7]))
    assert np.mean(found) < norm.isf(FALSE_ALARM) / np.sqrt(FILES) < OWN - 1
    assert any("job" in note.text and "pooled" in note.text for note in release.notes)


@pytest.mark.parametrize("mask", MASKS[2:])
def test_a_giant_value_of_s_is_refused_by_name(mask):
    frame = with_bishop(1).assign(land=np.where(np.arange(N) == 7, 1e6, np.arange(N) % 10))
    data = lv.read(frame[["land", "x", "y"]], confidential=["x", "y"], non_confidential=["land"])
    with pytest.raises(SubGroupError, match="land"):
        lv.mask(data, mask, secret=SECRET)


@pytest.mark.parametrize("mask", ["linear_model", "sufficiency_based", "multiple_imputation", "blank_and_impute"])
def test_two_records_with_an_extreme_value_of_s_are_refused(mask: str) -> None:
    """Their fit is their own mean: with values of 2.5 the released ones were 2.4 to 2.5 on average."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"s": np.r_[1000.0, 1001.0, rng.normal(size=398)], "x": np.r_[2.5, 2.5, rng.normal(size=398)],
                          "v": rng.normal(size=400)})
    data = lv.read(frame, confidential=["x", "v"], non_confidential=["s"])
    with pytest.raises(SubGroupError, match="extreme value of s"):
        lv.mask(data, mask, secret=bytes(32))
