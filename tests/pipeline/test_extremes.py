"""The warning that extremes are released unchanged is true of the finished release."""

from __future__ import annotations

import numpy as np
import pytest

import larvatus as lv

SAID = "the smallest and the largest value of every column are released unchanged"
LOW = "the smallest value of every column is released unchanged"
NAMES = ["home_value", "net_assets"]


@pytest.mark.parametrize(("later", "wanted"), [
    ([], SAID), (["top_coding(tail=0.02)"], LOW), (["top_coding(tail=0.02, side='both')"], None),
    (["top_coding(tail=0.02, columns=['home_value'])"],
     "the smallest value of every column and the largest value of net_assets are released unchanged"),
])
def test_the_warning_on_extremes_is_true_of_the_release(later, wanted):
    table = lv.datasets.households(400, 3)
    data = lv.read(table, confidential=NAMES, sub_groups=["gender"])
    release = lv.mask(data, ["data_shuffling", *later], secret=b"made-up households hide nothing")
    said = [n.text for n in release.notes if n.code == "extremes"]
    assert said == ([wanted] if wanted else [])
    before, after = table.to_pandas(), release.frame().to_pandas()
    for end in ("min", "max"):
        same = [bool(np.isclose(getattr(before[n], end)(), getattr(after[n], end)(), rtol=1e-12)) for n in NAMES]
        word = {"min": "smallest", "max": "largest"}[end]
        assert any(same) == bool(wanted and word in wanted)
