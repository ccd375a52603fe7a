"""The badges of the README say what pyproject.toml says, and the version is the same everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import larvatus
from script_loading import load

ROOT = Path(__file__).resolve().parents[2]


def test_badges_are_up_to_date_and_shown():
    made = load("docs/build_badges.py")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"docs/badges/(\w+)\.svg", readme)) == set(made.facts())
    for name, said in made.facts().items():
        assert (made.BADGES / f"{name}.svg").read_text(encoding="utf-8") == made.badge(name, said), (
            "badges are old: run python docs/build_badges.py")


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert larvatus.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"/larvatus-{version}-py3-none-any.whl[" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f'{{% set version = "{version}" %}}' in (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
