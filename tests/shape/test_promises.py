"""Each promise in the README, and what SECURITY.md promises, names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def section(name: str, begin: str, end: str) -> list[str]:
    """The items of a list in a section, with their continuation lines."""
    text = (ROOT / name).read_text(encoding="utf-8").split(begin)[1].split(end)[0]
    return [item.strip() for item in re.split(r"^\* ", text, flags=re.MULTILINE)[1:]]


PROMISES = {
    "README.md": section("README.md", "## Promises", "\n## "),
    "SECURITY.md": section("SECURITY.md", "## What is promised", "\n## "),
}


def names_of_tests(path: Path) -> list[str]:
    files = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    return [name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)]


@pytest.mark.parametrize("page", PROMISES)
def test_every_promise_names_tests_that_exist(page):
    assert len(PROMISES[page]) > 4
    for promise in PROMISES[page]:
        named = re.findall(r"tests/[\w/]+(?:\.py)?", promise)
        assert named, promise
        for name in named:
            assert names_of_tests(ROOT / name), name
