"""No masked value becomes a code of missing values: readers of the release would take it for missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import larvatus as lv
from larvatus.data.labelling.code_collisions import code_ranges
from sample import SECRET

N = 600


def frame() -> pd.DataFrame:
    draws = np.random.default_rng(4)
    x = draws.integers(90, 110, N).astype(float)
    x[(x == 99) | (x == 98)] = 100
    x[::20], x[1::40] = 99, 98
    return pd.DataFrame({"x": x, "y": draws.normal(size=N)})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("step", ["additive_noise", "rounding(base=3)", "normal_model"])
def test_masked_values_do_not_become_codes(step, engine):
    data = lv.read(frame(), confidential="x", non_confidential="y", missing={"x": [98, 99]}, engine=engine)
    release = lv.mask(data, step, secret=SECRET, constraints={"integers": ["x"]})
    released = release.frame()["x"].to_numpy()
    assert np.array_equal(np.isin(released, [98, 99]), np.isin(frame()["x"], [98, 99]))
    assert any("fell on codes of missing values" in n.text for n in release.notes)
    assert not step.startswith("rounding") or not np.any(released[~np.isin(released, [98, 99])] % 3)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_range_of_codes_stays_free(tmp_path, engine):
    draws = np.random.default_rng(5)
    z = draws.normal(20, 30, N).clip(0)
    z[::15] = -5
    pyreadstat.write_sav(pd.DataFrame({"z": z}), str(tmp_path / "in.sav"), missing_ranges={"z": [{"lo": -9, "hi": -1}]})
    data = lv.read(tmp_path / "in.sav", confidential="z", engine=engine)
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.sav")
    found, _ = pyreadstat.read_sav(str(tmp_path / "out.sav"), user_missing=True)
    assert int(found["z"].between(-9, -1).sum()) == int((z == -5).sum())


def test_a_column_that_a_rule_ties_is_reported():
    data = lv.read(frame().assign(y=frame()["x"] + 20), confidential=["x", "y"], missing={"x": [98, 99]})
    release = lv.mask(data, "additive_noise", secret=SECRET, constraints={"integers": ["x"], "rules": ["x <= y"]})
    assert any("equal codes of missing values" in n.text and n.kind == "warning" for n in release.notes)


def test_ranges_are_joined():
    assert code_ranges([99, (-9.0, -7.0), -8, "refused", 98]) == ((-9.0, -7.0), (98.0, 98.0), (99.0, 99.0))
    assert code_ranges([(1.0, 3.0), (2.0, 5.0)]) == ((1.0, 5.0),)
