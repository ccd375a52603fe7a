"""A category of S that one record has, two records with extreme values of S: no model of X given S may be fitted to them alone.

The intruder knows S alone, and reads the released value of the only record with its category. Without the release the best
guess is the mean of the others, off by about 2.5 standard deviations here. NumPy alone.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import SubGroupError
from larvatus.data.roles import SubGroups

N, FAR = 400, 2.5
BY_RANK = ("data_shuffling", "copula_perturbation")
FITTED = ("multiple_imputation(copies=3)", "blank_and_impute(rate=1.0)", "linear_model", "sufficiency_based")
SECRETS = 12


def people(records: int, what: str) -> pd.DataFrame:
    """The first records are 2.5 standard deviations high, and share a category or an extreme value of s."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=N)
    z[:records] = FAR
    frame = pd.DataFrame({"region": rng.choice(list("abc"), N), "s": rng.normal(size=N), "x": z, "v": rng.normal(size=N)})
    if what == "category":
        frame.loc[: records - 1, "region"] = "rare"
    else:
        frame.loc[: records - 1, "s"] = 1000.0 + np.arange(records)
    return frame


def read(frame: pd.DataFrame, small: str = "refuse") -> lv.Microdata:
    return lv.read(frame, confidential=["x", "v"], non_confidential=["region", "s"], nominal=["region"],
                   sub_groups=SubGroups(small=small))


CASES = [(m, k, "category") for m in (*BY_RANK, *FITTED) for k in (1, 2)] + [(m, k, "extreme") for m in FITTED for k in (1, 2)]


@pytest.mark.parametrize(("mask", "records", "what"), CASES)
def test_records_that_a_model_would_return_are_refused(mask: str, records: int, what: str) -> None:
    with pytest.raises(SubGroupError, match="region=rare" if what == "category" else "extreme value of s"):
        lv.mask(read(people(records, what)), mask, secret=bytes(32))


@pytest.mark.parametrize("mask", [*BY_RANK, "multiple_imputation(copies=1)", "blank_and_impute(rate=1.0)"])
def test_a_pooled_category_does_not_show_its_record(mask: str) -> None:
    """Released values of the lone record over twelve secrets, with mean 2.5 if the model returned it. If they are drawn like
    those of others, their mean exceeds 1.5 standard deviations less than once in a million times (5.2 standard errors)."""
    data = read(people(1, "category"), "pool")
    shown = [float(lv.mask(data, mask, secret=bytes([k]) * 32).to_pandas()["x"][0]) for k in range(SECRETS)]
    assert np.mean(shown) < 1.5, np.mean(shown)


def test_suppressed_records_are_not_released():
    for mask in BY_RANK:
        release = lv.mask(read(people(1, "category"), "suppress"), mask, secret=bytes(32))
        assert release.data.rows == N - 1
