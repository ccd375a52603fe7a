"""Distances between distributions: against SciPy, and the same from values in memory and from passes over sorted files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp, wasserstein_distance

import larvatus as lv
from larvatus.measures import marginal
from larvatus.stats.ranks.distribution_gap import distribution_gap


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_gap_and_area_are_those_of_scipy(decimals):
    rng = np.random.default_rng(decimals)
    x, y = (np.sort(np.round(rng.normal(shift, 2, n), decimals)) for shift, n in ((0, 300), (0.5, 170)))
    gap, area = distribution_gap(x, y)
    assert gap == pytest.approx(ks_2samp(x, y, method="asymp").statistic, abs=1e-12)
    assert area == pytest.approx(wasserstein_distance(x, y), rel=1e-12)


def test_equal_samples_have_no_distance():
    x = np.array([1.0, 1.0, 2.0, 5.0])
    assert distribution_gap(x, x) == (0.0, 0.0)
    assert distribution_gap(np.repeat(x, 2), x) == (0.0, 0.0)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_values_in_memory_and_sorted_passes_agree(engine, tmp_path):
    """With missing values, a column that is missing in one sub-group, and a constant one."""
    rng = np.random.default_rng(1)
    n = 2000
    frame = pd.DataFrame({"x": np.round(rng.normal(size=n), 1), "y": np.exp(rng.normal(size=n)), "z": np.ones(n),
                          "g": rng.integers(0, 5, n).astype(str)})
    frame.loc[rng.random(n) < 0.1, "x"] = np.nan
    frame.loc[frame["g"] == "0", "y"] = np.nan
    frame.to_parquet(tmp_path / "data.parquet")
    names = ["x", "y", "z"]
    data = lv.read(tmp_path / "data.parquet", confidential=names, sub_groups=["g"], engine=engine)
    released = lv.mask(data, "additive_noise(variance=0.5)", secret=b"s" * 32).data
    for one, other in zip(marginal._distances_in_memory(data, released, names),
                          marginal._distances_in_order(data, released, names), strict=True):
        assert one.keys() == other.keys() == set(names)
        for name in names:
            assert one[name].keys() == other[name].keys()
            for label, found in one[name].items():
                again = other[name][label]
                assert (found.largest, found.same) == (again.largest, again.same)
                assert found.area == pytest.approx(again.area, rel=1e-12, nan_ok=True)
