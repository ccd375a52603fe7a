"""A set of files appears as a whole, whatever happens at any of its file operations, and two processes do not mix theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from larvatus.core.errors import WriteError
from larvatus.core.files import replace_file
from larvatus.core.remains import Remains, report_to
from larvatus.core.safe_files.file_sets import file_set, settle_sets, shared_lock_on_sets
from larvatus.core.safe_files.staging import JOURNAL, STAGING

POINTS = Path(__file__).with_name("set_points.py")
FIRST, REST = ("SIGKILL", "EIO", "SIGINT"), ("SIGTERM", "ENOSPC", "EACCES", "full")


def attack(folder: Path, faults: tuple[str, ...], earlier: str) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, str(POINTS), str(folder), earlier, *faults], capture_output=True, text=True,
                          timeout=600, check=True)
    tried, wrong = json.loads(done.stdout)
    return tried, wrong


def test_a_set_survives_a_fault_at_any_operation(tmp_path):
    tried, wrong = attack(tmp_path, FIRST, "earlier")
    assert wrong == []
    assert tried > 200


@pytest.mark.slow
@pytest.mark.parametrize(("faults", "earlier"), [(FIRST, "none"), (REST, "none"), (REST, "earlier")])
def test_a_set_survives_every_other_fault(faults, earlier, tmp_path):
    tried, wrong = attack(tmp_path, faults, earlier)
    assert wrong == []
    assert tried > 150


WAITS = """
import sys, time
from pathlib import Path
from larvatus.core.safe_files.file_sets import file_set
with file_set(Path(sys.argv[1]), "r") as files:
    (files.place / "r.csv").write_text("theirs")
    print("writing", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def another(tmp_path):
    """Another process that is writing the set."""
    process = subprocess.Popen([sys.executable, "-c", WAITS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_a_second_process_is_refused_while_the_first_one_lives(tmp_path, another):
    with pytest.raises(WriteError, match=rf"r is being written by another process \(process {another.pid}\). Wait"), (
            file_set(tmp_path, "r")):
        pass
    with file_set(tmp_path, "other") as files:
        (files.place / "o.csv").write_text("mine")
    another.communicate(b"")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"r.csv": "theirs", "o.csv": "mine"}


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path, another):
    another.kill()
    another.wait()
    assert list(tmp_path.glob(f"{STAGING}*"))
    with file_set(tmp_path, "r") as files:
        (files.place / "r.csv").write_text("mine")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"r.csv": "mine"}


def test_a_reader_removes_what_a_dead_process_has_left_and_leaves_a_living_one_alone(tmp_path, another):
    settle_sets(tmp_path)
    assert list(tmp_path.glob(f"{STAGING}*"))
    another.kill()
    another.wait()
    settle_sets(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_files_that_appear_in_the_meantime_are_not_replaced_without_overwrite(tmp_path):
    def write() -> None:
        with file_set(tmp_path, "r", overwrite=False) as files:
            (files.place / "r.csv").write_text("mine")
            (tmp_path / "r.csv").write_text("theirs")

    with pytest.raises(WriteError, match=r"r\.csv was written by another process in the meantime"):
        write()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"r.csv": "theirs"}


def test_a_journal_of_another_user_is_not_carried_out(tmp_path, monkeypatch):
    staging = tmp_path / STAGING
    (staging / "new").mkdir(parents=True)
    (staging / "new" / "r.csv").write_text("planted")
    (staging / JOURNAL).write_text(json.dumps({"moves": [["new/r.csv", "../r.csv", "old/0"]], "removals": []}))
    monkeypatch.setattr(os, "getuid", lambda: staging.stat().st_uid + 1)
    with pytest.raises(WriteError, match="belongs to another user"):
        settle_sets(tmp_path)
    assert not (tmp_path / "r.csv").exists()


def test_the_supervisor_of_a_killed_process_finishes_its_set(tmp_path):
    staging = tmp_path / f"{STAGING}-r"
    (staging / "new").mkdir(parents=True)
    (staging / "new" / "r.csv").write_text("new")
    (staging / JOURNAL).write_text(json.dumps({"moves": [["new/r.csv", "../r.csv", "old/0"]], "removals": []}))
    Remains({str(staging): None}).remove()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"r.csv": "new"}


def test_a_process_that_was_refused_does_not_remove_the_files_of_the_other(tmp_path, another):
    """Its supervisor removes what it reported, and it may not report what is not its own."""
    reader, writer = os.pipe()
    report_to(writer)
    try:
        with pytest.raises(WriteError, match="is being written"), file_set(tmp_path, "r"):
            pass
    finally:
        report_to(None)
        os.close(writer)
    left = Remains()
    left.read(os.read(reader, 1 << 16))
    os.close(reader)
    assert left.paths == {}
    Remains({str(tmp_path / f"{STAGING}-r"): None}).remove()  # nor is a folder removed that another process has taken over
    another.communicate(b"")
    assert (tmp_path / "r.csv").read_text() == "theirs"


def test_a_linked_staging_folder_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / STAGING).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WriteError, match="belongs to another user"), file_set(tmp_path / "out"):
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_writer_waits_for_a_reader(tmp_path, monkeypatch):
    (tmp_path / "r.csv").write_text("old")
    monkeypatch.setattr("larvatus.core.safe_files.file_sets._WAIT", 0.3)
    with shared_lock_on_sets(tmp_path), file_set(tmp_path, "r") as files:
        (files.place / "r.csv").write_text("new")
        started = time.monotonic()
    assert time.monotonic() - started >= 0.3
    assert (tmp_path / "r.csv").read_text() == "new"


def test_staged_files_are_private_and_called_by_their_later_names(tmp_path):
    before = os.umask(0)
    try:
        with file_set(tmp_path, "r") as files:
            assert files.staging.stat().st_mode & 0o777 == 0o700
            with pytest.raises(WriteError, match=rf"^{tmp_path}/r.csv cannot be written: the disk is full"), (
                    replace_file(files.path(tmp_path / "r.csv"))):
                raise OSError(28, "No space left on device")
    finally:
        os.umask(before)
