"""Fixtures: the sample table, and the folder of real files."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from found import SPARK
from sample import people

QUICK = {  # what `make test` runs on Spark; `make check` runs every case
    "test_engine_and_partitioning_change_nothing": (
        "additive_noise-0", "data_shuffling-0", "sufficiency_based-0", "reverse_map-0", "rank_swap-0", "microaggregation-0"
    ),
    "test_engines_agree": ("moments-0", "correlation-0", "value_disclosure-0", "nearest_record-0"),
    "test_average_ranks": ("wealth",), "test_keyed_ranks": ("wealth",), "test_place_from_another_number_of_records": (),
    "test_scan_carries_in_sorted_order": (), "test_carried_over_stacked_tables_meets_every_row_of_both": (),
    "test_pair_joins_by_record_and_says_what_lacks": (),
}


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
