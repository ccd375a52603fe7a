"""Files that somebody planted are not run: modules beside the data, and compiled kernels where others can write."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import larvatus
from larvatus.core import kernels

SOURCE = str(Path(larvatus.__file__).parents[1])
PLANTED = ("pickle", "struct", "signal", "numpy", "sitecustomize", "usercustomize", "multiprocessing", "larvatus")
IN_A_WORKER = """
import operator, os, sys
here = sys.path.pop(0)
from larvatus.core.worker_process import Worker, WorkerGone
sys.path.insert(0, here)
worker = Worker(os.path.abspath)
print(worker.call(operator.call, "x"))
worker.stop()
worker.close()
"""
SERVED = """
import sys
here = sys.path.pop(0)
from larvatus.core.progress import silent
from larvatus.papers.framework import runner
from larvatus.papers.framework.cache import Task
from larvatus.papers.framework.catalogue import papers
from larvatus.papers.framework.model import Where
if __name__ == "__main__":
    import concurrent.futures.process, multiprocessing.context, multiprocessing.popen_spawn_posix, pickle, struct, numpy
    sys.path.insert(0, here)
    tasks = [Task("004", "constrained", seed) for seed in range(2)]
    print(len(list(runner._results(tasks, Where(quick=True), 2, 0, 2, silent))))
"""


def planted(folder: Path) -> Path:
    """A folder with modules that leave a trace when they are imported."""
    for name in PLANTED:
        trace = f"open({str(folder / 'ran')!r}, 'a').write({name!r} + '\\n')\n"
        (folder / f"{name}.py").write_text(trace, encoding="utf-8")
    return folder


@pytest.mark.parametrize("given", ["", ".", "absolute"])
def test_modules_in_the_working_folder_are_not_run_by_the_worker(tmp_path, given):
    """The parent was started there too: `python -c` puts the folder in front of its path, and so may PYTHONPATH."""
    planted(tmp_path)
    code = IN_A_WORKER
    if given:
        code = f"import sys\nsys.path[0] = {str(tmp_path) if given == 'absolute' else given!r}\n" + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": SOURCE})
    assert not (tmp_path / "ran").exists()
    assert done.stdout.strip() == str(tmp_path / "x"), done.stderr


def test_modules_in_the_working_folder_are_not_run_by_the_processes_of_reproduce(tmp_path):
    done = subprocess.run([sys.executable, "-c", SERVED], capture_output=True, text=True, timeout=300, check=False,
                          cwd=planted(tmp_path), env={**os.environ, "PYTHONPATH": SOURCE})
    assert not (tmp_path / "ran").exists()
    assert done.stdout.strip() == "2", done.stderr


def test_every_child_process_of_python_is_isolated():
    """No module starts Python but through `core/worker_process.py`; two modules copy the process as it is."""
    starts = ("multiprocessing", "ProcessPool", "sys.executable", "os.fork", "os.exec", "os.spawn", "os.system")
    found = [str(p.relative_to(SOURCE)) for p in Path(SOURCE, "larvatus").rglob("*.py")
             if any(word in p.read_text(encoding="utf-8") for word in starts)]
    assert sorted(found) == [
        "larvatus/core/safe_files/trial_process.py", "larvatus/core/supervision.py", "larvatus/core/worker_process.py",
        "larvatus/desk/work/process.py",
        "larvatus/desk/worker.py", "larvatus/engines/_spark/session.py"]
    assert 'sys.executable, "-I", ' in Path(SOURCE, "larvatus/desk/worker.py").read_text(encoding="utf-8")


KERNELS = """
import pathlib, sys, warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from larvatus.core import kernels
    @kernels.kernel()
    def twice(x):
        return 2 * x
    twice(1)
    import other
    other.outer(1)
    notes = [str(w.message) for w in said if "kernels" in str(w.message)]
    print(len(notes), kernels.cache_folder(), *notes)
"""

# Kernels of a second file, one of which calls the other, as in the package; quick to compile.
OTHER = """
from larvatus.core.kernels import kernel
@kernel()
def inner(x):
    return 3 * x
@kernel()
def outer(x):
    return inner(x) + 1
"""


def notes_and_folder(tmp_path: Path, folder: Path, home: Path | None = None, umask: int = 0o022) -> tuple[int, str, str]:
    (tmp_path / "code").mkdir(exist_ok=True)
    script = tmp_path / "code" / "script.py"
    script.write_text(KERNELS, encoding="utf-8")
    (tmp_path / "code" / "other.py").write_text(OTHER, encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if k not in {"XDG_CACHE_HOME", "NUMBA_CACHE_DIR"}}
    environment = kept | {"LARVATUS_CACHE": str(folder), "HOME": str(home or tmp_path / "none"), "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False,
                          env=environment, umask=umask)
    assert done.returncode == 0, done.stderr
    notes, where, *text = done.stdout.split(" ", 2)
    return int(notes), where.strip(), "".join(text)


def compiled(folder: Path) -> list[Path]:
    return list(folder.rglob("*.nb?"))


def home_that_cannot_be_written(tmp_path: Path) -> Path:
    (tmp_path / "none").write_text("", encoding="utf-8")
    return tmp_path / "none"


@pytest.fixture
def chosen(tmp_path, monkeypatch) -> Callable[..., tuple[int, str, str]]:
    """Notes and folder as `notes_and_folder` has them, without a process that compiles something."""
    def choose(folder: Path, home: Path | None = None) -> tuple[int, str, str]:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv("LARVATUS_CACHE", str(folder))
        monkeypatch.setenv("HOME", str(home or tmp_path / "none"))
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            used = kernels.cache_folder.__wrapped__()
        return len(notes), str(used), " ".join(str(note.message) for note in notes)

    monkeypatch.setattr(kernels, "_note_unsafe", cache(kernels._note_unsafe.__wrapped__))
    return choose


needs_posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes are those of POSIX")


@needs_posix
@pytest.mark.parametrize(("mode", "where"), [(m, w) for m in (0o770, 0o707, 0o777, 0o1777) for w in ("itself", "parent")])
def test_no_folder_that_others_can_write_is_chosen(tmp_path, chosen, mode, where):
    home_that_cannot_be_written(tmp_path)
    folder = tmp_path / "shared" / "cache"
    folder.mkdir(parents=True, mode=0o700)
    (folder if where == "itself" else folder.parent).chmod(mode)
    notes, used, text = chosen(folder)
    if mode == 0o1777 and where == "parent":  # as /tmp: nobody else can move or replace a folder of ours there
        assert (notes, used) == (0, str(folder))
        return
    assert (notes, used) == (1, "None")
    assert "other users can write" in text


@needs_posix
def test_no_kernels_from_a_folder_that_others_can_write(tmp_path):
    home_that_cannot_be_written(tmp_path)
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o770)
    notes, used, text = notes_and_folder(tmp_path, folder)
    assert (notes, used) == (1, "None")
    assert "other users can write" in text
    assert not compiled(folder)


@needs_posix
def test_an_unsafe_folder_is_not_used_where_another_is_safe_and_that_is_noted_once(tmp_path, chosen):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    (tmp_path / "home").mkdir()
    notes, used, text = chosen(folder, tmp_path / "home")
    assert (notes, used) == (1, str(tmp_path / "home" / ".cache" / "larvatus"))
    assert "other users can write" in text


@needs_posix
def test_a_link_is_followed_before_the_owner_is_looked_at(tmp_path, chosen):
    home_that_cannot_be_written(tmp_path)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "shared")
    assert chosen(tmp_path / "link")[:2] == (1, "None")


@needs_posix
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder to another owner")
@pytest.mark.parametrize("what", ["folder", "parent"])
def test_nor_one_that_another_user_owns(tmp_path, chosen, what):
    home_that_cannot_be_written(tmp_path)
    folder = tmp_path / "theirs" / "cache"
    folder.mkdir(parents=True)
    os.chown(folder if what == "folder" else folder.parent, 12345, 12345)
    assert chosen(folder)[:2] == (1, "None")


@needs_posix
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a file to another owner")
def test_nor_kernels_that_another_user_owns(tmp_path):
    home_that_cannot_be_written(tmp_path)
    folder = tmp_path / "cache"
    folder.mkdir(parents=True)
    assert notes_and_folder(tmp_path, folder)[0] == 0
    for file in compiled(folder):
        os.chown(file, 12345, 12345)
    before = {p: p.read_bytes() for p in compiled(folder)}
    assert notes_and_folder(tmp_path, folder)[0] == 1
    assert {p: p.read_bytes() for p in compiled(folder)} == before


@needs_posix
def test_a_planted_index_is_not_run(tmp_path):
    """What Numba caches is a pickle, and reading it runs what it says."""
    import pickle

    home_that_cannot_be_written(tmp_path)
    folder = tmp_path / "cache"
    folder.mkdir()
    assert notes_and_folder(tmp_path, folder)[0] == 0

    class Planted:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {tmp_path / 'ran'}",)

    for index in folder.rglob("*.nbi"):
        first, second = index.read_bytes(), pickle.dumps(Planted())
        version, end = pickle.loads(first), len(pickle.dumps(pickle.loads(first)))
        assert isinstance(version, str)
        index.write_bytes(first[:end] + second)
        index.chmod(0o666)
    for digest in folder.iterdir():
        digest.chmod(0o755)
    assert notes_and_folder(tmp_path, folder)[0] == 1
    assert not (tmp_path / "ran").exists()


@needs_posix
def test_folders_are_made_for_the_owner_alone_whatever_the_umask(tmp_path):
    folder = tmp_path / "new" / "cache"
    assert notes_and_folder(tmp_path, folder, umask=0o000)[0] == 0
    assert notes_and_folder(tmp_path, folder, umask=0o000)[0] == 0
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0
