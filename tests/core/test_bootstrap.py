"""What `make test` sets for its tests: stored byte code, and temporary files in memory if there is room."""

from __future__ import annotations

import os
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
