"""What every mask of the survey weight must keep: confidential columns, households, engines, files."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import CLUSTERS, ENGINES, WEIGHT_MASKS, engine_of
from family_sample import inconsistent, with_families
from sample import SECRET, people

ROLES = {"confidential": ["income", "wealth"], "non_confidential": ["age"], "sub_groups": ["sex"], "weight": "weight"}


@cache
def sample(shared: bool = False) -> pd.DataFrame:
    frame = with_families(people(400, missing=False), shared=("region", "wealth"))
    frame["weight"] = np.random.default_rng(5).uniform(1, 60, len(frame))
    if shared:
        frame["weight"] = frame.groupby("family").weight.transform("first")
    return frame


def release_of(mask, engine: str = "memory", secret: bytes = SECRET, shared: bool = False, **roles: object) -> lv.Release:
    data = lv.read(sample(shared), **{**ROLES, **roles}, engine=engine_of(engine))
    return lv.mask(data, "additive_noise", mask, secret=secret)


@pytest.mark.parametrize("mask", WEIGHT_MASKS)
def test_only_the_weight_changes(mask):
    after, plain = release_of(mask).frame(), lv.mask(lv.read(sample(), **ROLES), "additive_noise", secret=SECRET).frame()
    pd.testing.assert_frame_equal(after.drop(columns="weight")[["age", "sex"]], plain[["age", "sex"]])
    assert (after.weight != sample().weight).any() or mask.name() == "weight_calibration"
    assert np.isfinite(after.weight).all()
    assert (after.weight > 0).all()


@pytest.mark.parametrize("mask", WEIGHT_MASKS)
def test_says_what_it_did(mask):
    release = release_of(mask)
    told = " ".join(n.text for n in release.notes if n.step == mask.name())
    assert "design effect" in told
    assert "singles out" in told
    assert mask.public_sentence().endswith(".")
    assert mask.publishable <= set(type(mask).model_fields)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e not in ("memory", *CLUSTERS)])
@pytest.mark.parametrize("mask", WEIGHT_MASKS)
def test_engines_make_the_same_release(mask, engine):
    one, other = release_of(mask).frame(), release_of(mask, engine).frame()
    np.testing.assert_array_equal(one.weight, other.weight)


@pytest.mark.parametrize("mask", WEIGHT_MASKS)
def test_households_that_share_a_weight_still_do(mask):
    after = release_of(mask, shared=True, household="family").frame()
    assert inconsistent(after, sample().family, ["weight", "wealth"]) == 0


@pytest.mark.parametrize("mask", WEIGHT_MASKS)
def test_only_the_chosen_records_change(mask):
    after = release_of(mask.model_copy(update={"where": "age > 50"})).frame()
    still = sample().age <= 50
    np.testing.assert_array_equal(after.weight[still], sample().weight[still])


@pytest.mark.parametrize("mask", WEIGHT_MASKS)
def test_without_a_weight_it_refuses(mask):
    with pytest.raises(lv.LarvatusError, match="no column has the role weight"):
        release_of(mask, weight=None)


@pytest.mark.parametrize("mask", WEIGHT_MASKS)
def test_a_written_release_is_read_back_with_its_weights(mask, tmp_path):
    release = release_of(mask)
    release.write(tmp_path / "r.csv", pairing=tmp_path / "p.csv")
    data = lv.read(sample(), **ROLES)
    here, read = (lv.risk(data, r, ["uniqueness"], **p)[0] for r, p in
                  ((release, {}), (tmp_path / "r.csv", {"pairing": tmp_path / "p.csv"})))
    assert mask.name() == "weight_noise" or here.value == pytest.approx(read.value)


def test_a_weight_alone_masks_nothing_confidential():
    with pytest.raises(lv.LarvatusError, match="no step masks it"):
        lv.mask(lv.read(sample(), **ROLES), "weight_rounding", secret=SECRET)


@pytest.mark.parametrize("where", ["frame", "file"])
def test_a_weight_that_is_not_released_is_used_and_never_shown(where, tmp_path):
    data = lv.read(sample(), **ROLES, release_weight=False)
    release = lv.mask(data, "additive_noise", secret=SECRET)
    assert "weight" not in release.columns
    release.write(tmp_path / "r.csv", pairing=tmp_path / "p.csv")
    assert "weight" not in pd.read_csv(tmp_path / "r.csv").columns
    told = lv.risk(data, release if where == "frame" else tmp_path / "r.csv", ["key_risk"],
                   **({} if where == "frame" else {"pairing": tmp_path / "p.csv"}))[0]
    assert any("estimated by the survey weight" in n for n in told.notes)
    shown = lv.mask(lv.read(sample(), **ROLES), "additive_noise", secret=SECRET)
    found = [lv.risk(d, r, ["uniqueness"])[0].s_alone for d, r in ((data, release), (lv.read(sample(), **ROLES), shown))]
    assert found[0] < found[1]
