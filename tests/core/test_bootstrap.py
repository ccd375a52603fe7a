"""What `make test` sets up for its tests: stored byte code, and temporary files in memory if there is room."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from script_loading import load

MEMORY = Path("/dev/shm")
USABLE = MEMORY.is_dir() and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC


@pytest.fixture
def bootstrap(monkeypatch):
    monkeypatch.delenv("TMPDIR", raising=False)
    module = load("bootstrap.py")
    monkeypatch.setattr(module, "MEMORY_FOR_FILES", 0)
    return module


@pytest.mark.skipif(not USABLE, reason="this system has no folder in memory in which programs can run")
def test_temporary_files_are_in_memory_and_only_the_owner_s_until_the_end(bootstrap):
    with bootstrap.in_memory() as variables:
        folder = Path(variables["TMPDIR"])
        assert folder.parent == MEMORY
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "left").mkdir()
    assert not folder.exists()


def test_without_room_or_with_a_folder_of_the_caller_nothing_is_set(bootstrap, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr(bootstrap, "MEMORY_FOR_FILES", 2**80)
        with bootstrap.in_memory() as variables:
            assert variables == {}
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with bootstrap.in_memory() as variables:
        assert variables == {}
    assert bootstrap.environment()["TMPDIR"] == str(tmp_path)


def test_byte_code_is_stored_whatever_the_caller_wants(bootstrap, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in bootstrap.environment()
    assert os.environ["PYTHONDONTWRITEBYTECODE"] == "1"


def test_what_was_installed_is_compiled_without_its_tests(bootstrap, monkeypatch, tmp_path):
    """The folder of the project may be called tests, and one file that is no Python stops nothing."""
    monkeypatch.setattr(bootstrap, "PYTHON", Path(sys.executable))
    packages = tmp_path / "tests" / "site-packages"
    (packages / "one" / "tests").mkdir(parents=True)
    for name in ("one/__init__.py", "one/tests/test_it.py", "two.py"):
        (packages / name).write_text("X = 1\n", encoding="utf-8")
    (packages / "template.py").write_text("{{ no Python }\n", encoding="utf-8")
    bootstrap.compile_modules(str(packages))
    assert sorted(p.name.partition(".")[0] for p in packages.rglob("*.pyc")) == ["__init__", "two"]
