"""Files whose rows can only be matched by position: confirmed by a column, said by the caller, or refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

RNG = np.random.default_rng(4)
TABLE = pd.DataFrame({"s": RNG.integers(0, 50, 300), "flat": 7, "x": RNG.normal(size=300), "y": RNG.normal(size=300)})


@pytest.mark.parametrize("given", [[], ["flat"]])
def test_a_shuffled_csv_that_nothing_confirms_is_refused(tmp_path, given):
    data = lv.read(TABLE, confidential=["x", "y"], non_confidential=given)
    lv.mask(data, "additive_noise(variance=0.001)", secret=SECRET).write(tmp_path / "out.csv")
    with pytest.raises(lv.LarvatusError, match="no unmasked column confirms"):
        lv.risk(data, tmp_path / "out.csv")
    assert lv.utility(data, tmp_path / "out.csv", ["moments"])[0].value < 0.05


def test_the_caller_may_say_that_the_order_was_kept(tmp_path):
    data = lv.read(TABLE, confidential=["x", "y"])
    lv.mask(data, "additive_noise(variance=0.0001)", secret=SECRET).write(tmp_path / "out.csv", row_order="keep")
    assert lv.risk(data, tmp_path / "out.csv", ["nearest_record"], row_order="keep")[0].value > 0.8


def test_a_column_that_varies_confirms_the_order_or_refutes_it(tmp_path):
    data = lv.read(TABLE, confidential=["x", "y"], non_confidential=["s"])
    TABLE.to_csv(tmp_path / "kept.csv", index=False)
    assert lv.risk(data, tmp_path / "kept.csv", ["nearest_record"])[0].value == 1.0
    TABLE.sample(frac=1, random_state=1).to_csv(tmp_path / "turned.csv", index=False)
    with pytest.raises(lv.LarvatusError, match="do not match"):
        lv.risk(data, tmp_path / "turned.csv")


def test_the_weight_confirms_too(tmp_path):
    data = lv.read(TABLE, confidential=["x", "y"], weight="s")
    TABLE.sample(frac=1, random_state=1).to_csv(tmp_path / "turned.csv", index=False)
    with pytest.raises(lv.LarvatusError, match="do not match"):
        lv.risk(data, tmp_path / "turned.csv")


def test_text_where_the_original_has_numbers_is_refused(tmp_path):
    data = lv.read(TABLE, confidential=["x", "y"], non_confidential=["s"])
    TABLE.assign(x=TABLE.x.astype(str).where(TABLE.index > 0, "n/a?")).to_csv(tmp_path / "out.csv", index=False)
    for score in (lv.risk, lv.utility):
        with pytest.raises(lv.LarvatusError, match="'x' contains text, but is numeric in the original"):
            score(data, tmp_path / "out.csv")


def test_a_measure_without_a_pair_says_nothing_rather_than_no_loss():
    data = lv.read(TABLE, confidential=["x"])
    assert np.isnan(lv.utility(data, lv.mask(data, "additive_noise", secret=SECRET), ["correlation"])[0].value)
