"""Fixtures: the sample table, and the folder of real files."""

from __future__ import annotations

import gc
import math
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pandas as pd
import pytest

from catalogue import SAIL, SAIL_IS_HERE
from compile_once import compile_once
from drawn_examples import ALL, number_of
from rewrite_once import rewrite_once
from sample import people
from source_trees import tree
from work_units import DURATIONS, USUAL, engines_of, expected_seconds, in_spark_file, on_spark, work_unit

# What `make test` runs on Sail and on Spark, beside the tests of that engine that are not marked slow; `make check` runs every
# case. Both run the same code of ours; Sail needs no Java and starts in a fraction of a second.
MASKS = ("additive_noise-0", "sufficiency_based-0", "data_shuffling-0", "rank_swap-0", "post_randomisation-0")
SCORES = ("value_disclosure-0", "nearest_record-0", "moments-0", "correlation-0")
AGREE, UNCHANGED = "test_engines_agree", "test_engine_and_partitioning_change_nothing"
ON_SAIL = {UNCHANGED: MASKS, AGREE: SCORES}
ON_SPARK = {UNCHANGED: ("data_shuffling-0",), AGREE: ("value_disclosure-0",)} if SAIL_IS_HERE else ON_SAIL


# The same examples in every run: a failure that another run does not show helps nobody. `make check` draws new ones.
hypothesis.settings.register_profile("same", derandomize=True, database=None, max_examples=number_of(100))
if not ALL:
    hypothesis.settings.load_profile("same")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Cases on Spark that are not chosen above are slow, except in files of its own. Workers get long tests first.

    Every method runs on duckdb with room for 60 rows, in many parts; in one part, with all room, run those that Sail runs.
    """
    for item in items:
        name, _, case = item.nodeid.rpartition("::")[2].partition("[")
        if case.endswith("-duckdb]") and name in ON_SAIL and case.removesuffix("-duckdb]") not in ON_SAIL[name]:
            item.add_marker(pytest.mark.slow)
        sail = SAIL in engines_of(item.nodeid)
        if in_spark_file(item.nodeid) or not (sail or on_spark(item.nodeid)):
            continue
        quick = (ON_SAIL if sail else ON_SPARK).get(name, ())
        if not any(f"-{chosen}-" in f"-{case.rstrip(']')}-" for chosen in quick):
            item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):
        seconds = expected_seconds((item.nodeid for item in items), DURATIONS.read_text(encoding="utf-8"))
        items.sort(key=lambda item: -seconds[work_unit(item.nodeid)])


def pytest_collection_finish() -> None:
    """What is there before the first test stays to the end: the collector of garbage need not look at it again and again.

    It also looks less often at what comes later. With the usual thresholds it takes a tenth of the processor time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_sessionstart() -> None:
    """Signals that a shell ignores for work in the background reach the programs that tests start."""
    if threading.current_thread() is threading.main_thread():
        for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, usual)


def pytest_unconfigure() -> None:
    gc.unfreeze()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Results that the tests of a file share go with the file: a worker that stored all of them would hold over a gigabyte."""
    if nextitem is None or work_unit(nextitem.nodeid) != work_unit(item.nodeid):
        tree.cache_clear()
    if nextitem is None or nextitem.path != item.path:
        module = getattr(item, "module", None)
        for stored in vars(module).values() if module else ():
            if hasattr(stored, "cache_clear") and getattr(stored, "__module__", "") == module.__name__:
                stored.cache_clear()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Before the workers of a whole run start, all test files are prepared for them."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        rewrite_once(config, sorted(Path(__file__).parent.rglob("test_*.py")))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Units are given out in the order in which workers collect them: those that take longest come first.

    Marks `xdist_group` would group tests too, if xdist 3.8 could still write them into the names that pytest 9 gives to tests.
    With one unit for each test, xdist spends more time on counting units than on some of the tests.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return work_unit(nodeid)

    config.option.loadscopereorder = False  # otherwise the units with most tests would come first
    return ByFile(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The ten files that took most seconds.

    After a run of the whole suite the seconds of all units are stored beside the environment, if there is one. To balance the
    workers again after large changes, copy that file to `tests/durations.txt`.
    """
    if hasattr(config, "workerinput"):
        return
    files, units = Counter[str](), Counter[str]()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                files[report.nodeid.partition("::")[0]] += report.duration
                units[work_unit(report.nodeid)] += report.duration
    if len(files) > 100:  # the whole suite
        terminalreporter.section("slowest 10 files")
        for file, spent in files.most_common(10):
            terminalreporter.line(f"{spent:.2f}s {file}")
        folder = config.rootpath / ".bootstrap"
        if folder.is_dir():
            lines = [f"{spent:.1f} {unit}\n" for unit, spent in units.most_common() if spent >= USUAL]
            (folder / "test-durations.txt").write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def no_second_process() -> Iterator[None]:
    """Comparisons start a second process only for tests that ask for one: the other core runs tests as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("larvatus.pipeline.candidates.unit_runner.WORTH", math.inf)
        yield


READ_IN_A_COPY = {"io", "fuzz", "faults", "core"}  # folders whose tests read files as users do


@pytest.fixture(scope="module", autouse=True)
def files_are_not_tried_in_a_copy(request: pytest.FixtureRequest) -> Iterator[None]:
    """A copy of the process reads small files first, as some damaged ones end it. Copying a worker takes longer than reading.

    Tests of reading, and commands in a process of their own, do all that users do.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name not in READ_IN_A_COPY:
            for reader in ("sources", "statistical_files"):
                patch.setattr(f"larvatus.engines._files.{reader}.survives", lambda work: True)
        yield


@pytest.fixture(scope="session", autouse=True)
def kernels_compiled_once(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Workers of one run share the work of compiling; without a cache on disk each compiles on its own."""
    if hasattr(pytestconfig, "workerinput"):
        compile_once(tmp_path_factory.getbasetemp().parent / "kernels")


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


@pytest.fixture
def quick_collection() -> None:
    """The garbage collector looks only at what the test makes: after thousands of tests it would take a second each time."""
    gc.collect()
    gc.freeze()
