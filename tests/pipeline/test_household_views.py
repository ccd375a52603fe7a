"""Attacks that know the mask also attack households, where household variables were masked."""

from __future__ import annotations

import numpy as np
import pandas as pd

import larvatus as lv
from sample import SECRET


def test_household_variables_are_also_attacked_with_one_record_per_household():
    """Members share their masked values, so among records the own one ties with its household and the credit is shared."""
    rng = np.random.default_rng(1)
    family = np.repeat(np.arange(40), rng.integers(1, 5, 40))
    frame = pd.DataFrame({"family": family, "rent": rng.normal(size=40)[family], "heat": rng.normal(size=40)[family]})
    data = lv.read(frame, confidential=["rent", "heat"], household="family")
    release = lv.mask(data, "additive_noise(variance=0.05)", secret=SECRET)
    score = lv.risk(data, release, ["posterior_match"])[0]
    rows = {str(r["targets"]): float(r["value"]) for r in score.details["households"]}
    assert rows["households, household variables"] > rows["records, all columns"]
    assert score.value == rows["households, household variables"]
    assert any("targets are households" in n for n in score.notes)


def test_files_without_household_variables_are_attacked_as_before():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"family": np.arange(60) // 2, "wage": rng.normal(size=60)})
    data = lv.read(frame, confidential=["wage"], household="family")
    score = lv.risk(data, lv.mask(data, "additive_noise", secret=SECRET), ["nearest_record"])[0]
    assert "households" not in score.details
