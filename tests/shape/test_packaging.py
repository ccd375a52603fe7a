"""The conda recipe and the container file agree with pyproject.toml. Neither can be built here."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from jinja2 import Environment

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(recipe: str, part: str) -> set[str]:
    listed = re.search(rf"^  {part}:\n((?:    - .*\n)+)", recipe, re.M)
    assert listed, part
    return {line.removeprefix("    - ").replace(" ", "") for line in listed[1].splitlines()}


def test_the_conda_recipe_needs_what_the_package_needs():
    text = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    recipe = Environment().from_string(text).render(PYTHON="python")
    assert f"\n  version: {PROJECT['version']}\n" in recipe
    assert requirements(recipe, "run") == {"python" + PROJECT["requires-python"], *PROJECT["dependencies"]}
    assert f"- larvatus = {PROJECT['scripts']['larvatus']}\n" in recipe


def test_the_container_file_copies_files_that_exist_and_installs_extras_that_exist():
    text = (ROOT / "packaging" / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    copied = [word for line in re.findall(r"^COPY (.*)$", text, re.M) for word in line.split()[:-1]]
    assert "pyproject.toml" in copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    extras = re.search(r"'\.\[([\w,]+)\]'", text)
    assert extras
    assert set(extras[1].split(",")) <= set(PROJECT["optional-dependencies"])
    instructions = {line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("#")}
    assert instructions <= {"FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "ENTRYPOINT", "CMD"}
