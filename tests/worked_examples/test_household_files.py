"""Real files of households: zero inconsistent households through every mask, and the same release in memory and on disk."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import MASKS
from family_sample import inconsistent
from sample import SECRET
from shrinking import Shrunk

SHARED = ["hh_expend", "roof", "walls"]
FIRST = [m for m in MASKS if m.id.endswith("-0") and m.values[0].handles != {"date"}]  # the file has no dates


@cache
def households(folder: Path) -> pd.DataFrame:
    frame = pd.read_csv(folder / "households.csv")
    return frame.assign(hh_expend=frame.groupby("ori_hid").expend.transform("sum").astype(float))


def release_of(mask, frame: pd.DataFrame, engine: str) -> pd.DataFrame:
    kinds = {"number": ["income", "savings", "hh_expend"], "nominal": ["roof", "walls"]}
    names = [n for kind, own in kinds.items() if kind in mask.handles for n in own]
    if mask.name() == "recoding":
        names = [n for n in names if n not in ("roof", "walls")]
    if mask.name() == "local_suppression":
        names = ["roof", "walls", "hhcivil"]
    if mask.name() == "rounding":
        mask = mask.model_copy(update={"base": 1000.0})
    if getattr(mask, "bound", None) is not None:
        mask = mask.model_copy(update={"bound": 1e7})
    data = lv.read(frame, confidential=names, non_confidential=["age"],
                   sub_groups=lv.SubGroups(columns=("urbrur",), small="pool"), nominal=["roof", "walls", "hhcivil"],
                   household="ori_hid", engine=engine)
    steps = [lv.masks.AdditiveNoise(), Shrunk(), mask] if mask.follows else [mask]
    return lv.mask(data, *steps, secret=SECRET).frame()


@pytest.mark.parametrize("mask", FIRST)
def test_zero_inconsistent_households_in_memory_and_on_disk(mask, real_files):
    frame = households(real_files)
    one, other = (release_of(mask, frame, engine) for engine in ("memory", "duckdb"))
    shared = [n for n in SHARED if n in one.columns]
    assert shared
    assert inconsistent(one, frame.ori_hid, shared) == 0
    assert one.index.equals(other.index)
    for name in one.columns:
        pd.testing.assert_series_equal(one[name], other[name])


@pytest.mark.parametrize("weight", ["household_weights", "sampling_weight"])
def test_margins_of_the_real_household_file_hold_after_sampling(weight, real_files):
    frame = households(real_files)
    keys = ["urbrur", "sex", "walls"]
    data = lv.read(frame, confidential=["income"], non_confidential=keys, nominal=keys, household="ori_hid", weight=weight)
    step = "weight_calibration(margins=['urbrur', 'sex', 'walls'], lower=0.2, upper=5)"
    after = lv.mask(data, "additive_noise", "sampling(rate=0.5)", step, secret=SECRET).frame()
    for name in ("urbrur", "sex", "walls"):
        np.testing.assert_allclose(after.groupby(name)[weight].sum(), frame.groupby(name)[weight].sum(), rtol=1e-9)
    assert after[weight].groupby(frame.ori_hid).nunique().max() == 1


def test_margins_of_the_real_survey_hold_after_grouping(real_files):
    frame = pd.read_csv(real_files / "survey.csv")
    both = ["SEX", "MARSTAT"]
    data = lv.read(frame, confidential=["INCOME"], non_confidential=both, nominal=both, weight="WEIGHT")
    step = "weight_calibration(margins=['SEX * MARSTAT'], distance='linear')"
    after = lv.mask(data, "additive_noise", "weight_grouping(classes=5)", step, secret=SECRET).frame()
    np.testing.assert_allclose(after.groupby(both).WEIGHT.sum(), frame.groupby(both).WEIGHT.sum(), rtol=1e-9)
