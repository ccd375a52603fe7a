"""Distances between distributions: against SciPy, and the same from values in memory and from passes over sorted files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp, wasserstein_distance

import larvatus as lv
from larvatus.measures import marginal
from larvatus.stats.ranks.distribution_gap import distribution_gap, distribution_gap_of_runs


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


class Run:
    """Sorted values; what was read at once is noted."""

    def __init__(self, values, most):
        self.values, self.most = np.sort(values), most

    def __len__(self):
        return len(self.values)

    def read(self, low, high):
        self.most.append(high - low)
        return self.values[low:high]

    def every(self, step):
        return self.values[::step]

    def find(self, value, side):
        return int(np.searchsorted(self.values, value, side))


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_sorted_runs_have_the_distance_of_all_values_together(decimals):
    """Also with many ties, which are counted and not read."""
    rng = np.random.default_rng(decimals)
    x, y = (np.round(rng.normal(shift, 2, n), decimals) for shift, n in ((0, 30_000), (0.1, 17_000)))
    held: list[int] = []
    runs = [[Run(part, held) for part in np.split(v, [0, 5, len(v) // 3])] for v in (x, y)]
    gap, area = distribution_gap_of_runs(*runs, most=1000)
    expected = distribution_gap(np.sort(x), np.sort(y))
    assert gap == expected[0]
    assert area == pytest.approx(expected[1], rel=1e-12)
    assert max(held) < 1000
    assert distribution_gap_of_runs(*runs) == expected


@pytest.mark.parametrize("rows", [None, 100])
def test_sub_groups_sorted_on_disk_agree(rows, tmp_path, monkeypatch):
    from larvatus.engines.duckdb import Duckdb
    from larvatus.stats.ranks import distribution_gap as gaps

    monkeypatch.setattr(gaps.distribution_gap_of_runs, "__defaults__", (300,))
    data, released, names = _with_gaps(tmp_path, Duckdb(rows=rows))
    _agree(marginal._distances_in_memory(data, released, names), marginal._distances_by_runs(data, released, names), names)
    monkeypatch.setattr(marginal, "_MOST_IN_MEMORY", 10)
    assert marginal._way(data, released) is marginal._distances_by_runs


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_values_in_memory_and_sorted_passes_agree(engine, tmp_path):
    """With missing values, a column that is missing in one sub-group, and a constant one."""
    data, released, names = _with_gaps(tmp_path, engine)
    _agree(marginal._distances_in_memory(data, released, names), marginal._distances_in_order(data, released, names), names)


def _with_gaps(folder, engine):
    rng = np.random.default_rng(1)
    n = 2000
    frame = pd.DataFrame({"x": np.round(rng.normal(size=n), 1), "y": np.exp(rng.normal(size=n)), "z": np.ones(n),
                          "g": rng.integers(0, 5, n).astype(str)})
    frame.loc[rng.random(n) < 0.1, "x"] = np.nan
    frame.loc[frame["g"] == "0", "y"] = np.nan
    frame.to_parquet(folder / "data.parquet")
    names = ["x", "y", "z"]
    data = lv.read(folder / "data.parquet", confidential=names, sub_groups=["g"], engine=engine)
    return data, lv.mask(data, "additive_noise(variance=0.5)", secret=b"s" * 32).data, names


def _agree(ones, others, names):
    for one, other in zip(ones, others, strict=True):
        assert one.keys() == other.keys() == set(names)
        for name in names:
            assert one[name].keys() == other[name].keys()
            for label, found in one[name].items():
                again = other[name][label]
                assert (found.largest, found.same) == (again.largest, again.same)
                assert found.area == pytest.approx(again.area, rel=1e-12, nan_ok=True)
