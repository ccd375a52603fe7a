"""Temporary files go: at the end, after Ctrl-C, after a kill at the next start, and when the disk is full."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from larvatus.core.safe_files.work_folder import WorkFolder
from sample import people

WORK = """
import sys, time
import larvatus as lv
data = lv.read(sys.argv[1], confidential=["income", "wealth"], non_confidential=["age"], sub_groups=["sex"], engine="duckdb")
print("read", flush=True)
while True:
    lv.mask(data, "data_shuffling")
"""


def started(script: str, folder: Path, *arguments: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "LARVATUS_TEMP": str(folder)}
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def source(tmp_path) -> Path:
    people(3000).to_parquet(tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def left(folder: Path) -> list[Path]:
    return sorted(folder.glob("larvatus-work-*"))


def test_a_folder_is_private_and_goes_when_it_is_closed(tmp_path):
    folder = WorkFolder(tmp_path)
    assert (folder.path.stat().st_mode & 0o777) == 0o700
    assert left(tmp_path) == [folder.path]
    folder.close()
    assert left(tmp_path) == []


def test_a_signal_at_any_line_of_its_making_leaves_nothing(tmp_path, quick_collection):
    """The process may be told to end just after the folder was made, and before anything else was done with it."""
    made = WorkFolder.__init__.__code__
    lines = sorted({number for _, _, number in made.co_lines() if number is not None})[1:]
    seen = 0
    for stop in lines:
        where = tmp_path / str(stop)

        def tracer(frame, event, _, stop=stop):
            if frame.f_code is not made:
                return None
            if event == "line" and frame.f_lineno == stop:
                raise SystemExit(143)
            return tracer

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            WorkFolder(where).close()
        except SystemExit as error:
            seen += 1
            error.__traceback__ = None
        finally:
            sys.settrace(before)
        gc.collect()
        assert left(where) == [], f"line {stop}"
    assert seen > 8


def test_after_ctrl_c_nothing_is_left(tmp_path, source, obeys_interrupts):
    process = started(WORK, tmp_path / "work", source)
    assert process.stdout is not None
    assert process.stdout.readline() == "read\n"
    assert len(left(tmp_path / "work")) == 1
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert left(tmp_path / "work") == []


def test_what_a_killed_process_left_goes_at_the_next_start_and_that_of_a_live_one_stays(tmp_path, source):
    processes = [started(WORK, tmp_path / "work", source) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "read\n"
    both = left(tmp_path / "work")
    assert len(both) == 2
    processes[0].kill()
    processes[0].communicate(timeout=60)
    assert left(tmp_path / "work") == both
    mine = WorkFolder(tmp_path / "work")
    alive = left(tmp_path / "work")
    mine.close()
    processes[1].kill()
    processes[1].communicate(timeout=60)
    dead = next(f for f in both if f"-{processes[0].pid}-" in f.name)
    assert dead not in alive
    assert set(both) - {dead} <= set(alive)


FULL = """
import os, sys
import larvatus as lv
from larvatus.data.verbs import map_rows
from larvatus.engines.duckdb import Duckdb
rows = int(sys.argv[2])
try:
    data = lv.read(sys.argv[1], confidential=["income", "wealth"], non_confidential=["age"], engine=Duckdb(rows=rows or None))
    for _ in range(100):
        data = map_rows(lv.mask(data, "data_shuffling").data, lambda g, b: {f"copy {_}": b["age"]}, ["age"], [
            __import__("larvatus.data.contracts", fromlist=["Column"]).Column(f"copy {_}", "number")])
except lv.LarvatusError as error:
    print(error)
"""


@pytest.mark.parametrize("rows", [0, 500])
def test_a_full_disk_is_a_clear_error(tmp_path, rows):
    """On a file system of 3 MB, mounted for one process alone where the system allows it."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not there to mount a small file system with")
    people(20_000).to_parquet(tmp_path / "in.parquet")
    small = tmp_path / "small"
    small.mkdir()
    (tmp_path / "full.py").write_text(FULL, encoding="utf-8")
    inside = (f"mount -t tmpfs -o size=3m tmpfs {small} && {sys.executable} {tmp_path}/full.py {tmp_path}/in.parquet {rows}; "
              f"ls -A {small}")
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", inside]
    done = subprocess.run(command, env={**os.environ, "LARVATUS_TEMP": str(small)}, capture_output=True, text=True, check=False)
    if "permitted" in done.stderr or ("failed" in done.stderr and "unshare" in done.stderr):
        pytest.skip("this system does not let a process mount a file system of its own")
    assert "there is no space for temporary files" in done.stdout, done.stderr
    assert "LARVATUS_TEMP" in done.stdout
    assert "larvatus-work" not in done.stdout.replace(str(small), "")


def test_an_abandoned_folder_without_a_lock_goes_at_once(tmp_path):
    """Its process died before it locked the folder, or while it removed it. The time plays no role: clocks are set back."""
    for name, file in (("larvatus-work-1-x", None), ("larvatus-work-2-x", "a.column")):
        (tmp_path / name).mkdir()
        if file is not None:
            (tmp_path / name / file).touch()
        os.utime(tmp_path / name, (time.time() + 9000,) * 2)
    WorkFolder(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


COMMAND = """
import sys
from larvatus.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_told_to_end_removes_its_files(tmp_path, number):
    people(60_000).to_parquet(tmp_path / "in.parquet")
    process = started(
        COMMAND, tmp_path / "work", "mask", tmp_path / "in.parquet", "-o", tmp_path / "out.csv", "--confidential",
        "income,wealth", "--method", "sufficiency_based", "--engine", "duckdb", "-q",
    )
    for _ in range(600):
        if left(tmp_path / "work"):
            break
        time.sleep(0.05)
    assert left(tmp_path / "work")
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode in (0, 128 + number)
    assert left(tmp_path / "work") == []
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_what_a_killed_process_left_beside_a_target_goes_at_the_next_write(tmp_path):
    from larvatus.core.files import replace_file

    script = """
    import sys, time
    from pathlib import Path
    from larvatus.core.files import folder_in_place, replace_file
    with replace_file(Path(sys.argv[1]) / "a.csv"), folder_in_place(Path(sys.argv[1]) / "b") as folder:
        (folder / "part").write_text("x")
        print("written", flush=True)
        time.sleep(600)
    """
    processes = [started(script, tmp_path / "work", tmp_path) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
    processes[0].kill()
    processes[0].communicate(timeout=60)
    old = time.time() - 7200
    for path in tmp_path.glob(".*.tmp"):
        os.utime(path, (old, old))
    assert len(list(tmp_path.glob(".*.tmp"))) == 4
    with replace_file(tmp_path / "c.csv"):
        assert len(list(tmp_path.glob(".[ab]*.tmp"))) == 2
    processes[1].kill()
    processes[1].communicate(timeout=60)


ENDING = """
import os, shutil, signal, sys
from pathlib import Path
from larvatus.core.supervision import obey_signals
from larvatus.core.safe_files.work_folder import WorkFolder
obey_signals()
folder = WorkFolder(Path(sys.argv[1]))
remove = shutil.rmtree
def disturbed(*given, **more):
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
    remove(*given, **more)
shutil.rmtree = disturbed
"""


def test_a_signal_while_the_process_ends_does_not_disturb_the_removal(tmp_path):
    command = [sys.executable, "-c", ENDING, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_folders_made_at_the_same_time_do_not_take_each_other_for_left_ones(tmp_path):
    """Every new folder first removes those of dead processes. With the lock looked for twice, some of 600 were lost."""
    def use(_: int) -> None:
        folder = WorkFolder(tmp_path)
        folder.file().write_text("data")
        folder.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(600)))
    assert list(tmp_path.iterdir()) == []
