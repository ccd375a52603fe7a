"""`recoding` with new labels of levels, restricted by `where`: every selected record gets its new label, and only that.

Found by an intruder that undoes a known exchange of labels: there was nothing to undo. If all new labels are labels of the
column already, the places of the new list of levels are read in the old list. An exchange of two labels changes nothing, and
joining one level to another moves all levels after it to a wrong label. The note of the step counts what should have changed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv

SECRET = b"%032d" % 1
BEFORE = ["c1", "c2", "c3", "c4", "c5", "c5"]


def released(levels: dict[str, str]) -> list[str]:
    """The released categories of six selected records, beside six others that stay."""
    frame = pd.DataFrame({"s": ["a"] * 6 + ["b"] * 6, "x": BEFORE * 2, "y": np.random.default_rng(0).normal(size=12)})
    data = lv.read(frame, confidential=["x", "y"], non_confidential=["s"])
    step = lv.masks.Recoding(levels={"x": levels}, rare=1, columns=["x"], where="s = 'a'")
    out = lv.mask(data, lv.masks.RandomSwap(rate=1.0, columns=["y"]), step, secret=SECRET).frame()["x"].tolist()
    assert out[6:] == BEFORE
    return [str(x) for x in out[:6]]


@pytest.mark.parametrize("levels", [{"c1": "ill", "c2": "ill"}, {"c1": "z", "c2": "y"}])
def test_labels_that_are_new(levels: dict[str, str]) -> None:
    assert released(levels) == [levels.get(x, x) for x in BEFORE]


@pytest.mark.parametrize("levels", [{"c4": "c1"}, {"c2": "c1", "c4": "c3"}, {"c1": "c2", "c2": "c1"}])
def test_labels_that_the_column_has(levels: dict[str, str]) -> None:
    """{"c4": "c1"} releases c4 for every selected record with c5."""
    assert released(levels) == [levels.get(x, x) for x in BEFORE]
