"""Who can read what a command writes, sources that change while they are read, and where secrets do not appear."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fault_campaign import SECRET, write_inputs

import larvatus as lv
from larvatus.cli.inputs import secret_of
from larvatus.cli.main import main
from larvatus.core.errors import ReadError, SubGroupError, WriteError
from larvatus.core.files import folder_in_place
from larvatus.core.safe_files.file_sets import settle_sets
from larvatus.core.safe_files.secret_files import read_secret
from larvatus.core.worker_process import Worker
from larvatus.engines.duckdb import Duckdb
from larvatus.engines.memory import Memory
from larvatus.pipeline.candidates.cache import open_cache

SOURCE = Path(lv.__file__).parent
RUN = ["run", "study.toml", "--secret-file", "secret.txt", "--quiet", "-o"]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A folder with two runs of the same study and secret, written without a umask."""
    folder = tmp_path_factory.mktemp("runs")
    write_inputs(folder, "memory")
    here, before = Path.cwd(), os.umask(0)
    os.chdir(folder)
    try:
        assert main([*RUN, "out"]) == 0
        assert main([*RUN, "other"]) == 0
    finally:
        os.umask(before)
        os.chdir(here)
    return folder


def test_only_the_owner_can_read_scores_and_the_internal_report(run_folder):
    shared = {p.relative_to(run_folder / "out").as_posix() for p in (run_folder / "out").rglob("*")
              if p.is_file() and stat.S_IMODE(p.stat().st_mode) != 0o600}
    assert all(name.startswith("releases/") for name in shared if ".larvatus-cache" not in name), shared
    assert stat.S_IMODE((run_folder / "out" / ".larvatus-cache").stat().st_mode) == 0o700
    assert stat.S_IMODE((run_folder / "out" / "internal").stat().st_mode) == 0o700
    assert stat.S_IMODE((run_folder / "out" / "releases" / "noise.csv").stat().st_mode) == 0o666


def test_names_in_the_cache_do_not_tell_the_secret(run_folder):
    first, second = ({p.name for p in (run_folder / name / ".larvatus-cache").iterdir() if "-" in p.name}
                     for name in ("out", "other"))
    assert first
    assert {n.partition("-")[0] for n in first} == {n.partition("-")[0] for n in second}
    assert not {n.partition("-")[2] for n in first} & {n.partition("-")[2] for n in second}


def test_no_file_in_an_output_folder_is_a_pickle_or_has_the_secret(run_folder):
    for path in (p for p in run_folder.rglob("*") if p.is_file() and p.name != "secret.txt"):
        content = path.read_bytes()
        assert not re.match(rb"\x80[\x02-\x05]", content), path
        assert SECRET.encode() not in content, path


def test_pickles_are_read_from_pipes_only():
    users = {p.relative_to(SOURCE).as_posix() for p in SOURCE.rglob("*.py")
             if re.search(r"pickle\.loads?\(|read_pickle|allow_pickle=True", p.read_text(encoding="utf-8"))}
    assert users == {"core/worker_process.py", "engines/_spark/jobs.py"}


def test_a_linked_cache_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WriteError, match="cache is a link"), open_cache(tmp_path / "cache"):
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("engine", [Memory, Duckdb])
@pytest.mark.parametrize(("change", "said"), [
    (lambda file: file.write_text(file.read_text() + "5,5,50,0\n"), "was changed"),
    (lambda file: file.unlink(), "was removed"),
    (lambda file: file.write_text("income,wealth,age,region\n1,2,secret text 77,0\n"), "was changed"),
], ids=["grown", "removed", "replaced"])
def test_a_source_that_changes_while_it_is_read_is_refused(engine, change, said, tmp_path, monkeypatch):
    write_inputs(tmp_path, "memory")
    read = engine.read

    def changed_before_it_is_read(self, *given, **more):
        change(tmp_path / "people.csv")
        return read(self, *given, **more)

    monkeypatch.setattr(engine, "read", changed_before_it_is_read)
    with pytest.raises(ReadError, match=rf"people\.csv {said} while it was read") as raised:
        lv.read(tmp_path / "people.csv", confidential=["income"], non_confidential=["age"], engine=engine.name)
    assert "77" not in str(raised.value)


def test_a_file_that_is_added_to_a_folder_while_it_is_read_is_noticed(tmp_path, monkeypatch):
    write_inputs(tmp_path, "memory")
    (tmp_path / "parts").mkdir()
    (tmp_path / "people.csv").rename(tmp_path / "parts" / "a.csv")
    read = Memory.read

    def added(self, *given, **more):
        (tmp_path / "parts" / "b.csv").write_bytes((tmp_path / "parts" / "a.csv").read_bytes())
        return read(self, *given, **more)

    monkeypatch.setattr(Memory, "read", added)
    with pytest.raises(ReadError, match=r"b\.csv appeared while it was read"):
        lv.read(tmp_path / "parts", confidential=["income"], engine="memory")


def test_the_refusal_of_sub_groups_shows_no_confidential_value(tmp_path):
    write_inputs(tmp_path, "memory")
    data = lv.read(tmp_path / "people.csv", confidential=["wealth"], sub_groups=["region", "income"], engine="memory")
    with pytest.raises(SubGroupError) as raised:
        lv.mask(data, "additive_noise")
    assert "'income': there are few records per value" in str(raised.value)
    incomes = [line.split(",")[0] for line in (tmp_path / "people.csv").read_text().splitlines()[1:]]
    assert not [income for income in incomes if income in str(raised.value)]


def test_a_sub_group_of_categories_is_still_named(tmp_path):
    write_inputs(tmp_path, "memory")
    with (tmp_path / "people.csv").open("a") as file:
        file.write("5,5,50,7\n")
    data = lv.read(tmp_path / "people.csv", confidential=["wealth"], sub_groups=["region"], engine="memory")
    with pytest.raises(SubGroupError, match=r"\(region=7\) has 1"):
        lv.mask(data, "additive_noise")


def test_frames_of_duckdb_load_no_extensions(tmp_path):
    write_inputs(tmp_path, "duckdb")
    relation = lv.read(tmp_path / "people.csv", confidential=["income"], engine="duckdb").frame()
    for name in ("autoload_known_extensions", "autoinstall_known_extensions"):
        assert relation.query("given", f"SELECT current_setting('{name}')").fetchall() == [(False,)]


def test_a_folder_is_not_lost_when_its_replacement_fails(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "part-00000.parquet").write_text("old")
    replace, calls = os.replace, []

    def fails_second(*given):
        calls.append(given)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        replace(*given)

    monkeypatch.setattr(os, "replace", fails_second)
    with pytest.raises(WriteError), folder_in_place(tmp_path / "r") as folder:
        (folder / "part-00000.parquet").write_text("new")
    assert (tmp_path / "r" / "part-00000.parquet").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_a_worker_gets_its_secret_through_a_pipe(monkeypatch):
    started, popen = [], subprocess.Popen

    def noted(words, **more):
        started.append((words, more.get("env")))
        return popen(words, **more)

    monkeypatch.setattr(subprocess, "Popen", noted)
    worker = Worker({"secret": SECRET.encode()})
    worker.stop()
    worker.close()
    assert started
    assert SECRET not in repr(started)


def test_an_error_of_the_system_is_reported_without_its_text(monkeypatch, capsys, tmp_path):
    def full(*_, **__):
        raise OSError(28, "confidential 4711")

    monkeypatch.setattr("larvatus.documents.verification.verify_files", full)
    assert main(["verify", str(tmp_path / "x.manifest.json")]) == 2
    said = capsys.readouterr().err
    assert "the disk is full" in said
    assert "4711" not in said


def memory_of(process: int) -> bytes:
    """What a process can write to."""
    out = []
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as memory:
        for low, high in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw", maps.read(), re.MULTILINE):
            memory.seek(int(low, 16))
            out.append(memory.read(int(high, 16) - int(low, 16)))
    return b"".join(out)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process by /proc")
@pytest.mark.parametrize("forgotten", [True, False])
def test_a_secret_that_was_read_from_a_file_is_overwritten_in_memory(forgotten, tmp_path):
    (tmp_path / "secret").write_text(SECRET + "\n")
    code = (f"from pathlib import Path\nfrom larvatus.core.safe_files.secret_files import forget, read_secret\n"
            f"secret = read_secret(Path('secret'))\nassert len(secret) == {len(SECRET)}\n"
            f"{'forget(secret)' if forgotten else ''}\nprint('ready', flush=True)\ninput()\n")
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout.readline() == b"ready\n"
        assert (SECRET.encode() in memory_of(process.pid)) is not forgotten
        process.communicate(b"\n")


@pytest.mark.parametrize(("content", "secret"), [(b"a" * 20, b"a" * 20), (b"a\nb\r\n", b"a\nb"), (b"\n", b""), (b"", b"")])
def test_a_secret_is_the_file_without_its_last_line_break(content, secret, tmp_path):
    (tmp_path / "secret").write_bytes(content)
    assert read_secret(tmp_path / "secret") == secret


def test_a_secret_of_a_command_is_overwritten_at_its_end(tmp_path, monkeypatch):
    later = []
    monkeypatch.setattr("atexit.register", lambda *given: later.append(given))
    write_inputs(tmp_path, "memory")
    secret = secret_of(tmp_path / "secret.txt")
    (function, given), = later
    assert given is secret
    function(given)
    assert secret == bytes(len(SECRET))


def test_a_crash_leaves_no_image_of_the_memory():
    code = ("import sys; sys.argv = ['larvatus', '--version']\nfrom larvatus.cli.main import main\nmain()\n"
            "import resource; print(resource.getrlimit(resource.RLIMIT_CORE)[0])")
    ran = subprocess.run(["bash", "-c", 'ulimit -S -c "$(ulimit -H -c)"; exec "$0" -c "$1"', sys.executable, code],
                         capture_output=True, text=True)
    assert ran.stdout.split()[-1] == "0", ran.stderr


def test_a_file_without_a_header_shows_no_record(tmp_path, capsys):
    """Its first record would be taken for the names of the columns, which messages list."""
    (tmp_path / "people.csv").write_text("4313.6,north,33\n5150.25,south,44\n1999.5,north,51\n", encoding="utf-8")
    asked = f"mask {tmp_path}/people.csv --confidential income --method additive_noise -o {tmp_path}/o.csv"
    assert main(asked.split()) == 2
    said = capsys.readouterr().err
    assert "header" in said
    assert not re.search("4313|north|33", said)


@pytest.mark.parametrize("hours", [-1000, 1000])
def test_what_a_dead_process_left_is_removed_whatever_the_clock_says(tmp_path, hours):
    staging = tmp_path / ".larvatus-set"
    (staging / "new").mkdir(parents=True, mode=0o700)
    (staging / "lock").write_text("1", encoding="utf-8")
    (staging / "new" / "release.csv").write_text("income", encoding="utf-8")
    for path in (staging / "new" / "release.csv", staging / "lock", staging):
        os.utime(path, (moment := time.time() + 3600 * hours, moment))
    settle_sets(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_released_with_the_lock_in_it(tmp_path, monkeypatch):
    """If the lock cannot be removed, the earlier folder comes back."""
    target = tmp_path / "release"
    target.mkdir()
    (target / "part-00000.parquet").write_text("earlier", encoding="utf-8")
    remove = Path.unlink

    def refuse(self, missing_ok=False):
        if self.name == ".lock":
            raise OSError(28, "No space left on device")
        remove(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(WriteError), folder_in_place(target) as made:
        (made / "part-00000.parquet").write_text("new", encoding="utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["release"]
    assert [(p.name, p.read_text(encoding="utf-8")) for p in target.iterdir()] == [("part-00000.parquet", "earlier")]
