"""A package of somebody else, built and installed with pip: its methods and its engine work like our own.

The package is built from its sources without a network: its build backend is part of the sources, as PEP 517 allows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus

OURS = Path(larvatus.__file__).parents[1]
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "{name}"
version = "1.0"
"""
BACKEND = '''
"""Write a wheel of the package beside this file, as pyproject.toml describes it."""
import tomllib
import zipfile
from pathlib import Path


def build_wheel(folder, config_settings=None, metadata_directory=None):
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    points = "".join(
        f"[{group}]\\n" + "".join(f"{n} = {value}\\n" for n, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    info = f"{name}-{version}.dist-info"
    files = {f"{name}/{path.name}": path.read_text() for path in Path(name).glob("*.py")} | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nGenerator: backend\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{info}/entry_points.txt": points,
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"])
    wheel = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel
'''
MODULES = {
    "plus_one.py": '''
"""Add a constant to every number."""
from __future__ import annotations

from typing import Annotated

import larvatus as lv
from larvatus.data.verbs import map_rows
from pydantic import Field


class PlusOne(lv.Mask):
    """Add a constant to every confidential number."""

    amount: Annotated[float, Field(gt=0)] = Field(default=1.0, description="what is added")

    def apply(self, current: lv.Microdata, original: lv.Microdata, random: lv.RecordRandom) -> lv.Masked:
        names = current.numeric(current.confidential)
        return lv.Masked(map_rows(current, lambda group, block: {n: block[n] + self.amount for n in names}, names))

    def public_sentence(self) -> str:
        return "A constant was added to every value."
''',
    "guess_first.py": '''
"""Guess the first record."""
import larvatus as lv


class GuessFirst(lv.Attack):
    """Guess the first record for every target."""

    def attack(
        self, original: lv.Microdata, release: lv.Release, intruder: lv.Intruder, random: lv.RecordRandom
    ) -> lv.Score:
        return lv.Score(self.name(), "risk", 1 / original.rows, "share of records found", chance=1 / original.rows)
''',
    "mean_shift.py": '''
"""The shift of means."""
import larvatus as lv
from larvatus.data.verbs import moments_by_group


class MeanShift(lv.Measure):
    """The mean absolute shift of means."""

    def score(self, original: lv.Microdata, release: lv.Release, random: lv.RecordRandom) -> lv.Score:
        before, after = (moments_by_group(d, d.confidential)[0].mean for d in (original, release.data))
        return lv.Score(self.name(), "loss", float(abs(after - before).mean()), "shift of means")
''',
    "audited_memory.py": '''
"""Memory, with a line for every source that is read."""
from pathlib import Path

from larvatus.engines.memory import Memory


class AuditedMemory(Memory):
    """Keeps data in memory, and writes a line to audit.txt for every source that it reads."""

    name = "audited_memory"

    def read(self, source, roles, sub_groups, pairing=None):
        with Path("audit.txt").open("a") as file:
            file.write(f"{source}\\n")
        return super().read(source, roles, sub_groups, pairing)
''',
}
POINTS = {
    "larvatus.masks": "plus_one", "larvatus.attacks": "guess_first", "larvatus.measures": "mean_shift",
    "larvatus.engines": "audited_memory",
}
STUDY = """
source = "in.csv"
engine = "audited_memory"
[roles]
confidential = ["income"]
non_confidential = ["age"]
[[release]]
name = "shifted"
steps = [{ method = "plus_one", grid.amount = [1, 2] }]
[[attack]]
method = "guess_first"
[[measure]]
method = "mean_shift"
[limits]
guess_first = { above_chance = 0.1 }
"""
COMMANDS = """
import contextlib, io, json, sys
from larvatus.cli.main import main

texts = []
for line in json.loads(sys.argv[1]):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main(line)
    texts.append((code, out.getvalue()))
print(json.dumps(texts))
"""
PYTHON = """
import json, sys
from pathlib import Path
import larvatus as lv
from tiny_sdc.plus_one import PlusOne

data = lv.read("in.csv", confidential=["income"], non_confidential=["age"], engine="audited_memory")
one = lv.mask(data, lv.masks.PlusOne(amount=3), secret=b"x" * 32)
named = lv.mask(data, "plus_one(amount=3)", secret=b"x" * 32)
own = lv.mask(lv.read("in.csv", confidential=["income"], engine="memory"), "plus_one(amount=3)", secret=b"x" * 32)
scoring = lv.Scoring(attacks=["guess_first"], measures=["mean_shift"])
planned = {"name": "planned", "steps": ["plus_one(amount=1)"]}
compared = lv.compare(data, [planned, one], scoring=scoring)
whole = lv.run(lv.Study.read("study.toml"), output_dir="by_python")
print(json.dumps({
    "same": lv.masks.PlusOne is PlusOne, "masks": "PlusOne" in dir(lv.masks), "attacks": "GuessFirst" in dir(lv.attacks),
    "engine": data.engine.name, "audited": Path("audit.txt").read_text().count("in.csv"),
    "shift": [r.frame()["income"].equals(own.frame()["income"]) for r in (one, named)],
    "risk": lv.risk(data, one, "guess_first")[0].value,
    "loss": lv.utility(data, one, "mean_shift")[0].value,
    "losses": [c.of_kind("loss")[0].value for c in compared.candidates],
    "studied": sorted(c.of_kind("loss")[0].value for c in whole.candidates),
}))
"""


def class_of(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def installed(folder: Path, name: str, points: dict[str, str], modules: dict[str, str]) -> Path:
    """Build a package from its sources and install it into a folder of its own, without a network."""
    sources, site = folder / f"{name}-sources", folder / f"{name}-site"
    (sources / name).mkdir(parents=True)
    entries = "".join(
        f'[project.entry-points."{group}"]\n{point} = "{name}.{point}:{class_of(point)}"\n' for group, point in points.items()
    )
    files = {"pyproject.toml": PROJECT.format(name=name) + entries, "backend.py": BACKEND, f"{name}/__init__.py": ""}
    for path, text in (files | {f"{name}/{path}": text for path, text in modules.items()}).items():
        (sources / path).write_text(text)
    command = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "--quiet",
               "--disable-pip-version-check", "--no-cache-dir", "--target", str(site), str(sources)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "No module named pip" in done.stderr:
        pytest.skip("pip is not installed in this environment, so no package can be installed")
    assert done.returncode == 0, done.stderr
    return site


def ran(site: Path, *arguments: str, code: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(OURS)])}
    done = subprocess.run([sys.executable, *arguments], cwd=site, env=environment, capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def commands(site: Path, *lines: Sequence[str]) -> list[tuple[int, str]]:
    """The exit code and the text of each command line, all of them run in one process."""
    texts = json.loads(ran(site, "-c", COMMANDS, json.dumps(lines)).splitlines()[-1])
    return [(code, text) for code, text in texts]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = installed(tmp_path_factory.mktemp("package"), "tiny_sdc", POINTS, MODULES)
    rng = np.random.default_rng(1)
    pd.DataFrame({"income": rng.normal(100, 10, 60), "age": rng.integers(20, 60, 60)}).to_csv(folder / "in.csv", index=False)
    (folder / "study.toml").write_text(STUDY)
    return folder


def test_the_command_line_lists_describes_and_uses_them(site):
    mask = ["mask", "in.csv", "--confidential", "income", "--engine", "audited_memory"]
    (code, listed), *pages, (_, help_of_mask), (_, help_of_method), used, wrong, unlimited = commands(
        site, ["list", "--json"], *(["describe", name, "--json"] for name in POINTS.values()),
        ["mask", "--help"], ["mask", "--method", "plus_one", "--help"],
        [*mask, "-o", "out.csv", "--method", "plus_one", "--amount", "2.5", "--row-order", "keep"],
        [*mask, "-o", "no.csv", "--step", "plus_one(amount=-1)"],
        [*mask, "-o", "no.csv", "--method", "plus_one", "--memory", "1GB"],
    )
    assert code == 0
    kinds = json.loads(listed)
    assert all(name in kinds[group.partition(".")[2]] for group, name in POINTS.items())
    assert "additive_noise" in kinds["masks"]
    described = [json.loads(text) for _, text in pages]
    assert [page["name"] for page in described] == list(POINTS.values())
    assert [page["summary"].split()[0] for page in described] == ["Add", "Guess", "The", "Keeps"]
    assert "plus_one" in help_of_mask
    assert "what is added" in help_of_method
    assert used[0] == 0, used
    before, after = pd.read_csv(site / "in.csv"), pd.read_csv(site / "out.csv")
    assert np.allclose(after.income, before.income + 2.5)
    assert wrong[0] == unlimited[0] == 2
    assert "plus_one.amount: must be above 0" in wrong[1]
    assert "memory: engine audited_memory cannot limit its memory" in unlimited[1]
    assert not (site / "no.csv").exists()


def test_a_study_runs_them_on_the_engine(site):
    (site / "audit.txt").unlink(missing_ok=True)
    ran(site, "-m", "larvatus.cli.main", "run", "study.toml", "-o", "out", "-q")
    scores = pd.read_csv(site / "out" / "scores.csv")
    whole = scores[scores.level == "overall"]
    shifts = whole[whole.score == "mean_shift"].groupby("release").value.first()
    assert sorted(shifts.round(9)) == [1.0, 2.0]
    assert set(whole.score) == {"guess_first", "mean_shift"}
    assert "in.csv" in (site / "audit.txt").read_text()
    inside = [json.loads(p.read_text()) for p in (site / "out" / "internal").glob("*.internal.json")]
    assert [manifest["engine"] for manifest in inside] == ["audited_memory"] * 2


def test_python_uses_them(site):
    told = json.loads(ran(site, "-c", PYTHON).splitlines()[-1])
    assert told["same"]
    assert told["masks"]
    assert told["attacks"]
    assert told["engine"] == "audited_memory"
    assert told["audited"] > 0
    assert told["shift"] == [True, True]
    assert told["risk"] == 1 / 60
    assert np.isclose(told["loss"], 3)
    assert np.allclose(told["losses"], [1, 3])
    assert np.allclose(told["studied"], [1, 2])


def test_a_name_that_is_taken_is_refused(tmp_path):
    text = MODULES["plus_one.py"].replace("PlusOne", "AdditiveNoise")
    site = installed(tmp_path, "other_sdc", {"larvatus.masks": "additive_noise"}, {"additive_noise.py": text})
    said = " ".join(ran(site, "-m", "larvatus.cli.main", "list", code=2).split())
    assert ("the package other_sdc adds 'additive_noise' to larvatus.masks, but larvatus.masks has a method of that name. "
            "Rename it there, or uninstall that package.") in said
