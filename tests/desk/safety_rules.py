"""The rules of the desk's safety: for each, its code, that code without the rule, and the test that must fail then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import larvatus

PACKAGE = Path(larvatus.__file__).parent
TESTS = Path(__file__).parent


@dataclass(frozen=True)
class Rule:
    """A line of the desk that keeps it safe. `without` is the line without the rule; `test` is the one that notices."""

    name: str
    file: str
    code: str
    without: str
    test: str

    def source(self) -> str:
        return (PACKAGE / "desk" / self.file).read_text(encoding="utf-8")


def package_without(rule: Rule, folder: Path) -> Path:
    """A copy of the package in which a rule is removed: links to all of it, and the changed part."""
    package = folder / "larvatus"
    package.mkdir(parents=True)
    for part in PACKAGE.iterdir():
        if part.name not in ("desk", "__pycache__"):
            (package / part.name).symlink_to(part)
    shutil.copytree(PACKAGE / "desk", package / "desk", ignore=shutil.ignore_patterns("__pycache__"))
    changed = rule.source().replace(rule.code, rule.without)
    (package / "desk" / rule.file).write_text(changed, encoding="utf-8")
    return folder


def run_without(rule: Rule, folder: Path, *chosen: str) -> subprocess.CompletedProcess[str]:
    """Run tests of this folder with a rule removed."""
    place = package_without(rule, folder)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=line", *chosen],
        cwd=TESTS.parent.parent, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.fspath(place), "PYTHONDONTWRITEBYTECODE": "1"},
    )


RULES = tuple(Rule(**one) for one in tomllib.loads((TESTS / "safety_rules.toml").read_text(encoding="utf-8"))["rule"])
