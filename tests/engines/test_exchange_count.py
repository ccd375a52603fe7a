"""How many exchanges of rows a job plans where no task can hold a sub-group: one more is a cost that somebody should notice."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import SAIL_IS_HERE, spark_session
from larvatus.engines._spark import jobs, layout
from larvatus.engines._spark.rows_aside import RowsAside
from larvatus.engines.spark import Spark
from sample import SECRET

N = 600
EXCHANGES = {
    "mask": 5,  # columns to their sub-groups; ranks there and back; latent values there, and placed values back
    "marginal": 1,  # the released columns; the mask sorted those of the original
    "write": 1,  # the order of the output
}
ROLES = {"confidential": ["x", "y", "z"], "non_confidential": ["s"], "sub_groups": ["g"]}
ROW, CODE, NUMBER = 4, 2, 8  # bytes: the place of a row, the code of a sub-group and column, and any other number
BYTES = {  # of each row, before compression
    "mask": sum((
        ROW + 6 * NUMBER + 4,  # record id, position, x, y, z and s, and the level of the sub-group
        4 * (CODE + NUMBER + ROW) + 4 * (ROW + NUMBER),  # ranks of four columns
        3 * (CODE + 2 * NUMBER + ROW) + 3 * (ROW + NUMBER),  # three columns in the order of latent values and their words
    )),
    "marginal": 3 * (CODE + NUMBER + ROW),
    "write": 2 * NUMBER + 4 * NUMBER + 4,  # word and record id, x, y, z and s, and the level of the sub-group
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(N, 4)) @ np.linalg.cholesky(0.5 * np.eye(4) + 0.5).T
    frame = pd.DataFrame({"g": rng.integers(0, 2, N), "s": x[:, 3], "x": np.exp(x[:, 0]), "y": x[:, 1], "z": x[:, 2].round(1)})
    path = tmp_path_factory.mktemp("counted") / "source.parquet"
    frame.to_parquet(path)
    return path


ENGINES = [
    pytest.param("sail", marks=pytest.mark.skipif(not SAIL_IS_HERE, reason="pysail is not installed")),
    pytest.param("spark", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_job_exchanges_rows_as_often_as_stated_and_no_more(source, engine, tmp_path, monkeypatch):
    """Columns are moved and sorted as those of large tables are, several in one pass."""
    monkeypatch.setattr(layout, "SMALL_TABLE", 0)
    there = Spark(master="sail", rows=150) if engine == "sail" else Spark(session=spark_session(), rows=150)
    planned, seen, moved = Counter[str](), Counter[str](), Counter[str]()
    step = ""
    by_key, asked, put = jobs.SparkCluster.by_key, jobs.SparkCluster.asked, RowsAside.put

    def counted(cluster, *given):
        planned[step] += 1
        return by_key(cluster, *given)

    def looked_at(cluster, frame):
        if engine == "spark":
            seen[step] += frame._jdf.queryExecution().executedPlan().toString().count("Exchange hashpartitioning(bucket")
        return asked(cluster, frame)

    def weighed(aside, values):
        moved[step] += sum(map(len, values))
        return put(aside, values)

    monkeypatch.setattr(RowsAside, "put", weighed)
    monkeypatch.setattr(jobs.SparkCluster, "by_key", counted)
    monkeypatch.setattr(jobs.SparkCluster, "asked", looked_at)
    step = "read"
    data = lv.read(source, **ROLES, engine=there)
    step = "mask"
    release = lv.mask(data, "data_shuffling", secret=SECRET)
    for step in ("marginal", "moments"):
        lv.utility(data, release, [step])
    step = "write"
    release.write(tmp_path / "out")
    assert planned == EXCHANGES
    if engine == "spark":
        assert seen == planned
    else:  # one process, which sees every task
        assert moved == {name: N * size for name, size in BYTES.items()}
