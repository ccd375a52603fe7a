"""One sub-group holds nine tenths of the records and is too large for a task: the same release and the same scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import SAIL_IS_HERE, spark_session
from larvatus.data.microdata import collect
from larvatus.engines.duckdb import Duckdb
from larvatus.engines.spark import Spark
from larvatus.measures import marginal

N, SECRET = 4000, b"skewed sub-groups" * 2
STEPS = ["data_shuffling", "sufficiency_based(similarity=0.5)"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    rng = np.random.default_rng(90)
    x = rng.normal(size=(N, 3)) @ np.linalg.cholesky(0.5 * np.eye(3) + 0.5).T
    frame = pd.DataFrame({
        "x": np.exp(x[:, 0]), "y": np.round(x[:, 1], 1), "s": np.round(10 * x[:, 2]),
        "g": np.where(rng.random(N) < 0.9, 0, rng.integers(1, 5, N)),
    })
    assert 0.88 < (frame["g"] == 0).mean() < 0.92
    path = tmp_path_factory.mktemp("skewed") / "source.parquet"
    frame.to_parquet(path)
    return path


def read(source, engine):
    return lv.read(source, confidential=["x", "y"], non_confidential=["s"], sub_groups=["g"], engine=engine)


ENGINES = [
    "duckdb", pytest.param("sail", marks=pytest.mark.skipif(not SAIL_IS_HERE, reason="pysail is not installed")),
    pytest.param("spark", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_releases_and_scores_are_those_of_the_memory_engine(source, engine):
    """500 rows are held at once, and the large sub-group has 3,600."""
    there = Duckdb(rows=500) if engine == "duckdb" else Spark(
        **({"session": spark_session()} if engine == "spark" else {"master": "sail"}), rows=500)
    one, other = read(source, "memory"), read(source, there)
    for step in STEPS:
        a, b = (lv.mask(data, step, secret=SECRET) for data in (one, other))
        for name in ("x", "y"):
            mine, theirs = (collect(r.data, [name])[2][name] for r in (a, b))
            assert mine.tobytes() == theirs.tobytes()
        assert marginal._way(other, b.data) is marginal._distances_by_runs or engine == "duckdb"
        whole, inside = marginal._distances_by_runs(other, b.data, ["x", "y"])
        in_file, in_groups = marginal._distances_in_memory(one, a.data, ["x", "y"])
        for found, expected in ((whole, in_file), (inside, in_groups)):
            for name in ("x", "y"):
                for label, distance in expected[name].items():
                    assert found[name][label].largest == distance.largest
                    assert found[name][label].area == pytest.approx(distance.area, rel=1e-9)
        scores = [lv.risk(d, r, ["nearest_record(targets=300)"])[0] for d, r in ((one, a), (other, b))]
        assert scores[0].records.tobytes() == scores[1].records.tobytes()
        assert scores[0].value == pytest.approx(scores[1].value, rel=1e-9)
