"""Loops that an installation compiles: the list names loops that are there, and what it compiles is not compiled again."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import larvatus
from larvatus.cli.compile_ahead import read_list, type_of, type_text

SOURCE = str(Path(larvatus.__file__).parents[1])
LISTED = [*read_list()]


def test_every_loop_in_the_list_is_there_and_takes_as_many_arguments():
    assert len(LISTED) > 30
    for module, name, types in LISTED:
        loop = getattr(importlib.import_module(module), name)
        function = getattr(loop, "py_func", None) or loop.__wrapped__
        assert len(inspect.signature(function).parameters) == len(types), name


@pytest.mark.parametrize("text", sorted({t for _, _, types in LISTED for t in types}))
def test_types_can_be_read_and_written(text):
    assert type_text(type_of(text)) == text


def compiled(cache: Path) -> set[str]:
    """The compiled loops in a cache."""
    return {p.name for p in cache.rglob("*.nbc")}


def run(cache: Path, *command: str) -> None:
    environment = {**os.environ, "PYTHONPATH": SOURCE, "LARVATUS_CACHE": str(cache)}
    subprocess.run([sys.executable, *command], env=environment, check=True, capture_output=True, cwd=cache.parent)


ONE = """
from larvatus.cli import compile_ahead
wanted = [loop for loop in compile_ahead.read_list() if loop[1] == "fill_words"]
compile_ahead.read_list = lambda: iter(wanted)
assert compile_ahead.compile_part() == 1
"""
CALL = """
import numpy as np
from larvatus.core.randomness import RecordRandom, stream_key
RecordRandom(stream_key(b"secret")).words(np.arange(5_000))
"""


def test_a_loop_that_was_compiled_ahead_is_not_compiled_again(tmp_path):
    cache = tmp_path / "cache"
    run(cache, "-c", ONE)
    before = compiled(cache)
    assert any("fill_words" in name for name in before)
    run(cache, "-c", CALL)
    assert compiled(cache) == before


@pytest.mark.slow
def test_the_demo_compiles_nothing_after_an_installation(tmp_path):
    cache = tmp_path / "cache"
    run(cache, "-m", "larvatus.cli.compile_ahead")
    before = compiled(cache)
    run(cache, "-m", "larvatus.cli.main", "demo", "-o", str(tmp_path / "demo"), "--quiet")
    assert sorted(compiled(cache) - before) == []
