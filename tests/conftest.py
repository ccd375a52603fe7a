"""Fixtures: the sample table, and the folder of real files."""

from __future__ import annotations

import gc
import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pandas as pd
import pytest

from catalogue import SPARK
from drawn_examples import ALL, number_of
from sample import people

# What `make test` runs on Spark, beside the tests of that engine that are not marked slow; `make check` runs every case.
MASKS = ("additive_noise-0", "sufficiency_based-0", "data_shuffling-0", "rank_swap-0", "post_randomisation-0")
SCORES = ("value_disclosure-0", "nearest_record-0", "moments-0", "correlation-0")
QUICK = {"test_engine_and_partitioning_change_nothing": MASKS, "test_engines_agree": SCORES}


# The same examples in every run: a failure that another run does not show helps nobody. `make check` draws new ones.
hypothesis.settings.register_profile("same", derandomize=True, database=None, max_examples=number_of(100))
if not ALL:
    hypothesis.settings.load_profile("same")


def on_spark(nodeid: str) -> bool:
    """Whether a test needs the session, by its file or by its engine."""
    file, _, rest = nodeid.partition("::")
    return file.endswith("test_spark.py") or SPARK in rest.rpartition("[")[2].rstrip("]").split("-")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cases on Spark that are not chosen above are slow."""
    for item in items:
        if "test_spark.py" in item.nodeid or not on_spark(item.nodeid):
            continue
        name, _, case = item.nodeid.rpartition("::")[2].partition("[")
        if not any(f"-{chosen}-" in f"-{case.rstrip(']')}-" for chosen in QUICK.get(name, ())):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """What is there before the first test stays to the end: the collector of garbage need not look at it again and again.

    It also looks less often at what comes later. With the usual thresholds it takes a tenth of the processor time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_unconfigure() -> None:
    gc.unfreeze()


# Few tests that share nothing and take long: they are given out one by one at the end, so that no worker waits for another.
ONE_BY_ONE = ("tests/papers/test_quick.py", "tests/cli/test_interrupts.py", "tests/cli/test_processes.py",
              "tests/pipeline/test_nemesis.py", "tests/red_team/test_hostile_mixture.py")


def work_unit(nodeid: str) -> str:
    """What a worker is given at once: a file, since its tests share fixtures and results; all that needs the one session."""
    file = nodeid.partition("::")[0]
    return SPARK if on_spark(nodeid) else nodeid if file in ONE_BY_ONE else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Units are given out by their number of tests, the largest first.

    Marks `xdist_group` would group tests too, if xdist 3.8 could still write them into the names that pytest 9 gives to tests.
    With one unit for each test, xdist spends more time on counting units than on some of the tests.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return work_unit(nodeid)

    return ByFile(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The ten files that took most seconds; the seconds of all files are stored beside the environment, if there is one."""
    seconds: dict[str, float] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                file = report.nodeid.partition("::")[0]
                seconds[file] = seconds.get(file, 0.0) + report.duration
    slowest = sorted(seconds.items(), key=lambda pair: -pair[1])
    if len(slowest) > 100:  # the whole suite
        terminalreporter.section("slowest 10 files")
        for file, spent in slowest[:10]:
            terminalreporter.line(f"{spent:.2f}s {file}")
        folder = config.rootpath / ".bootstrap"
        if folder.is_dir():
            lines = [f"{spent:10.2f}  {file}\n" for file, spent in slowest]
            (folder / "test-durations.txt").write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def no_second_process() -> Iterator[None]:
    """Comparisons start a second process only for tests that ask for one: the other core runs tests as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("larvatus.pipeline.candidates.unit_runner.WORTH", math.inf)
        yield


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


@pytest.fixture
def obeys_interrupts() -> Iterator[None]:
    """Interrupts as at a terminal: a shell that runs the tests in the background lets its processes ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
