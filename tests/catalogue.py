"""Everything discovered, with the settings each method offers for trying."""

from __future__ import annotations

import atexit
import os
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from larvatus.core.discovery import discover, file_names


def examples(package: str) -> list:
    """One test parameter for each example of each method in a folder."""
    return [
        pytest.param(example, id=f"{name}-{i}")
        for name, method in discover(package).items()
        for i, example in enumerate(method.examples())
    ]


CLUSTERS = SPARK, SAIL = "spark", "sail"
ALL_MASKS = examples("larvatus.masks")
WEIGHT_MASKS = [m for m in ALL_MASKS if m.values[0].masks_weight]  # they change the weight and no confidential column
MASKS = [m for m in ALL_MASKS if m not in WEIGHT_MASKS]
EVERY_ATTACK = examples("larvatus.attacks")
ATTACKS = [a for a in EVERY_ATTACK if a.values[0].paired]
UNPAIRED_ATTACKS = [a for a in EVERY_ATTACK if not a.values[0].paired]
MEASURES = examples("larvatus.measures")
METHODS = [*ALL_MASKS, *EVERY_ATTACK, *MEASURES]
# Attacks that need to know the steps of a release: steps to state for a file from elsewhere, and a mask that they attack.
KNOWS_STEPS = {
    "date_intervals": ("date_shift(where='a > \"1900-01-01\"')", "date_shift"),
    "rerun": ("rounding(base=1e-9, columns=['a', 'b'])", "microaggregation(k=2)"),
    "simulated_release": ("additive_noise(variance=0.01)", "additive_noise"),
}
SMALL = "duckdb with room for 60 rows"
SAIL_IS_HERE = find_spec("pysail") is not None
ENGINES = [*file_names("larvatus.engines"), SMALL, *([SAIL] if SAIL_IS_HERE else [])]


def attacked_mask(method: object) -> str:
    """A mask that an attack applies to; any file has what a measure needs."""
    plain = "additive_noise" if "number" in getattr(method, "handles", {"number"}) else "post_randomisation"
    return KNOWS_STEPS.get(method.name(), ("", plain))[1]


BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"  # Java for minutes: what it compiles best comes too late
ROOT = Path(__file__).resolve().parent.parent


def _only_here() -> None:
    """Fail where another process of the same run has a session already: each takes two executors and a minute."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        return
    mark = Path(tempfile.gettempdir()) / f"larvatus-one-session-{run}"
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        pytest.fail("two processes of one run start a Spark session. Is the run grouped (--dist loadgroup)?")
    atexit.register(mark.unlink, missing_ok=True)


@cache
def spark_session() -> object:
    """One session for the whole run: two executors, each a process of its own, bound to this machine."""
    from larvatus.core.errors import EngineError
    from larvatus.engines._spark.session import start_session

    _only_here()
    paths = os.pathsep.join(str(ROOT / part) for part in ("src", "tests", "."))
    try:
        return start_session("local-cluster[2,1,1024]", **{
            "spark.executorEnv.PYTHONPATH": paths, "spark.executorEnv.NUMBA_NUM_THREADS": "1",
            "spark.driver.extraJavaOptions": BRIEF, "spark.executor.extraJavaOptions": BRIEF,
            "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        })
    except EngineError as error:
        pytest.skip(str(error))


def engine_of(label: str, rows: int = 110) -> object:
    """What `read` takes: the name, or an engine whose sorts, moves and joins go through a database or a cluster."""
    if label in (SPARK, SAIL):
        from larvatus.engines.spark import Spark

        return Spark(session=spark_session(), rows=rows) if label == SPARK else Spark(master=SAIL, rows=rows)
    if label != SMALL:
        return label
    from larvatus.engines.duckdb import Duckdb

    return Duckdb(rows=60)
