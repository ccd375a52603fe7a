"""Methods that other packages add by entry points: what breaks a rule is refused, and listing them stays fast.

`test_installed_package.py` installs such a package and uses it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import larvatus
from larvatus.core.discovery import OF_SCORES

ROOT = Path(larvatus.__file__).parents[1]
MODULES = {
    "plus_one.py": '''
"""Add a constant to every number."""
from __future__ import annotations
from typing import Annotated
from pydantic import Field
from larvatus.data.contracts import Mask, Masked
from larvatus.data.verbs import map_rows

class PlusOne(Mask):
    """Add a constant to every confidential number."""
    amount: Annotated[float, Field(gt=0)] = Field(default=1.0, description="what is added")

    def apply(self, current, original, random):
        names = current.numeric(current.confidential)
        return Masked(map_rows(current, lambda group, block: {n: block[n] + self.amount for n in names}, names))

    def public_sentence(self):
        return "A constant was added to every value."
''',
    "guess_first.py": '''
"""Guess the first record."""
from larvatus.data.contracts import Attack
from larvatus.data.score import Score

class GuessFirst(Attack):
    """Guess the first record for every target."""
    def attack(self, original, release, intruder, random):
        return Score(self.name(), "risk", 1 / original.rows, "share of records found", chance=1 / original.rows)
''',
    "mean_shift.py": '''
"""The shift of means."""
from larvatus.data.contracts import Measure
from larvatus.data.score import Score
from larvatus.data.verbs import moments_by_group

class MeanShift(Measure):
    """The mean absolute shift of means."""
    def score(self, original, release, random):
        before, after = (moments_by_group(d, d.confidential)[0].mean for d in (original, release.data))
        return Score(self.name(), "loss", float(abs(after - before).mean()), "shift of means")
''',
}
POINTS = {"larvatus.masks": "plus_one", "larvatus.attacks": "guess_first", "larvatus.measures": "mean_shift"}


def installed(site: Path, package: str, points: dict[str, str], modules: dict[str, str]) -> None:
    """A package in a folder, as an installer would leave it."""
    (site / package).mkdir(parents=True)
    (site / package / "__init__.py").write_text("")
    for name, text in modules.items():
        (site / package / name).write_text(text)
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("".join(f"[{group}]\n{line}\n" for group, line in points.items()))


def line(package: str, name: str, made: str | None = None) -> str:
    named = made or "".join(part.capitalize() for part in name.split("_"))
    return f"{name} = {package}.{name}:{named}"


def ran(site: Path, *arguments: str, code: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    command = [sys.executable, "-m", "larvatus.cli.main", *arguments]
    done = subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    installed(folder, "tiny_sdc", {group: line("tiny_sdc", name) for group, name in POINTS.items()}, MODULES)
    return folder


WRONG = {
    "a name of ours": ({"larvatus.masks": line("other", "additive_noise")}, "adds 'additive_noise' to larvatus.masks, but "
                       "larvatus.masks has a method of that name"),
    "a name of another room": ({"larvatus.measures": line("other", "nearest_record")}, "larvatus.attacks has a method of that "
                               "name"),
    "a name of another package": ({"larvatus.masks": line("other", "plus_one")}, "adds one of that name, too"),
    "an attribute of scores": ({"larvatus.measures": line("other", "summary")}, "scores.summary is an attribute"),
    "an attribute of tuples": ({"larvatus.attacks": line("other", "count")}, "scores.count is an attribute"),
    "no file name": ({"larvatus.masks": "PlusTwo = other.plus_two:PlusTwo"}, "in lower case with underscores"),
    "another class": ({"larvatus.masks": line("other", "plus_two", "Other")}, "must name a class PlusTwo"),
    "another contract": ({"larvatus.attacks": line("other", "plus_two")}, "must be a sub-class of larvatus.Attack"),
    "no such module": ({"larvatus.masks": line("other", "plus_three")}, "cannot be imported: No module named"),
}
OTHER = {"plus_two.py": MODULES["plus_one.py"].replace("PlusOne", "PlusTwo") + "\nclass Other(PlusTwo):\n    pass\n"}


# The command `list`, in a copy of one started process for each folder with packages.
LISTED = """
import os, sys
import cyclopts, pydantic, larvatus.cli.main
for site in sys.argv[1:]:
    if (copy := os.fork()) == 0:
        with open(os.path.join(site, "said"), "w") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        sys.path.insert(0, site)
        code = larvatus.cli.main.main(["list"])
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))
"""


@pytest.fixture(scope="module")
def listed(tmp_path_factory) -> dict[str, tuple[int, str]]:
    """Exit code and text of `list`, for each package that breaks a rule."""
    sites = {wrong: tmp_path_factory.mktemp("wrong") for wrong in WRONG}
    for wrong, folder in sites.items():
        installed(folder, "tiny_sdc", {group: line("tiny_sdc", name) for group, name in POINTS.items()}, MODULES)
        installed(folder, "other", WRONG[wrong][0], OTHER)
    done = subprocess.run([sys.executable, "-c", LISTED, *map(str, sites.values())], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=300, check=True)
    said = [(folder / "said").read_text(encoding="utf-8") for folder in sites.values()]
    return dict(zip(sites, zip(map(int, done.stdout.split()), said, strict=True), strict=True))


@pytest.mark.parametrize("wrong", WRONG)
def test_what_breaks_the_rules_is_refused_by_name(listed, wrong):
    code, said = listed[wrong]
    assert code == 2
    assert WRONG[wrong][1] in said
    assert "the package other" in said or "the package tiny_sdc" in said


def test_help_is_there_even_if_a_package_breaks_a_rule(tmp_path):
    installed(tmp_path, "other", next(iter(WRONG.values()))[0], OTHER)
    assert "Masks: additive_noise" in " ".join(ran(tmp_path, "mask", "--help").split())


def test_an_engine_of_another_package(site, tmp_path):
    installed(tmp_path, "other", {"larvatus.engines": line("other", "half_engine")},
              {"half_engine.py": "class HalfEngine:\n    def read(self): ...\n"})
    assert "half_engine" in ran(tmp_path, "list")
    (tmp_path / "in.csv").write_text("x\n1\n2\n")
    said = ran(tmp_path, "mask", "in.csv", "-o", "out.csv", "--confidential", "x", "--method", "additive_noise",
               "--engine", "half_engine", code=2)
    assert "HalfEngine lacks name, names, has_random_order, frame, write" in said


def test_listing_stays_light(site):
    code = ("import sys; from larvatus.cli.main import main; main(['list']); "
            "print('LOADED', *sorted({m.split('.')[0] for m in sys.modules}))")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    assert "tiny_sdc" in loaded
    assert not loaded & {"scipy", "numba", "pyarrow", "pandas", "polars", "sklearn", "duckdb", "pyspark"}


def test_added_methods_run(site):
    code = ("import numpy as np, pandas as pd, larvatus as lv\n"
            "data = lv.read(pd.DataFrame({'x': np.arange(9.0)}), confidential=['x'])\n"
            "release = lv.mask(data, 'plus_one(amount=2.5)')\n"
            "print(lv.utility(data, release, ['mean_shift']).mean_shift.value)\n"
            "print(round(9 * lv.risk(data, release, ['guess_first']).guess_first.value))")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2.5", "1"]


def test_no_attack_or_measure_has_the_name_of_an_attribute_of_scores():
    assert {n for n in dir(larvatus.Scores) if not n.startswith("_")} == OF_SCORES
