"""What a worker is given at once, and how long that takes: long work first, so that no worker is busy alone at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from catalogue import SPARK

DURATIONS = Path(__file__).with_name("durations.txt")
USUAL = 0.1  # seconds of a test
SPARK_FILES = ("/test_spark.py", "/test_lost_executors.py")  # all of their tests need the session
# Tests that share nothing and take long are given out one by one.
ONE_BY_ONE = ("tests/papers/test_quick.py", "tests/cli/test_interrupts.py", "tests/cli/test_processes.py",
              "tests/faults/test_every_operation.py", "tests/pipeline/test_nemesis.py",
              "tests/red_team/test_hostile_mixture.py")
# These look at the syntax of all files of the package, which is parsed once.
SYNTAX = tuple(f"tests/shape/test_{name}.py" for name in ("examples", "layers", "names", "scratch_names", "sentences", "words"))


def engines_of(nodeid: str) -> list[str]:
    """The parts of the name of a case, one of which may be an engine."""
    return nodeid.partition("::")[2].rpartition("[")[2].rstrip("]").split("-")


def in_spark_file(nodeid: str) -> bool:
    """Whether a test is in a file for Spark alone."""
    return nodeid.partition("::")[0].endswith(SPARK_FILES)


def on_spark(nodeid: str) -> bool:
    """Whether a test needs the session, by its file or by its engine."""
    return in_spark_file(nodeid) or SPARK in engines_of(nodeid)


def work_unit(nodeid: str) -> str:
    """What a worker is given at once: a file, since its tests share fixtures and results; all that needs the one session."""
    file = nodeid.partition("::")[0]
    if on_spark(nodeid):
        return SPARK
    return "syntax" if file in SYNTAX else nodeid if file in ONE_BY_ONE else file


def expected_seconds(nodeids: Iterable[str], durations: str) -> dict[str, float]:
    """How long each unit takes, from lines `seconds unit` of an earlier run; a unit without a line by its number of tests."""
    tests = Counter(map(work_unit, nodeids))
    stored = {unit: float(seconds) for seconds, unit in (line.split(maxsplit=1) for line in durations.splitlines())}
    return {unit: stored.get(unit, USUAL * number) for unit, number in tests.items()}
