"""The recipes in CONTRIBUTING.md are files that work as they stand."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.core.discovery import public_class

TEXT = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"```python\n# src/larvatus/(\w+/\w+)\.py\n(.*?)```", TEXT, re.DOTALL))
ROLES = {"confidential": ["income", "wealth"], "sub_groups": ["region"]}


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """The public class of a recipe, loaded from a file of its own."""

    def load(name: str) -> type:
        file = tmp_path / f"{name.rpartition('/')[2]}.py"
        file.write_text(RECIPES[name], encoding="utf-8")
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, file.stem, module)
        spec.loader.exec_module(module)
        return public_class(module)

    return load


@pytest.fixture
def table() -> pa.Table:
    rng = np.random.default_rng(4)
    z = rng.normal(size=(2, 400))
    return pa.table({"region": rng.integers(0, 3, 400), "income": np.exp(9 + z[0]), "wealth": np.exp(10 + z[0] + z[1])})


def test_there_is_one_of_each_kind():
    assert sorted(name.partition("/")[0] for name in RECIPES) == ["attacks", "engines", "masks", "measures"]


def test_mask(recipe, table):
    release = lv.mask(lv.read(table, **ROLES), recipe("masks/proportional_noise")())
    ratio = release.frame()["income"].to_numpy() / table["income"].to_numpy()
    assert len(np.unique(ratio)) == 400


def test_attack(recipe, table):
    score = lv.risk(lv.read(table, **ROLES), table, [recipe("attacks/single_column")()])[0]
    assert score.value == pytest.approx(1.0)
    assert score.chance == pytest.approx(3 / 400)


def test_measure(recipe, table):
    data = lv.read(table, **ROLES)
    measure = recipe("measures/middle_half")()
    assert lv.utility(data, table, [measure])[0].value == 0
    assert lv.utility(data, lv.mask(data, "additive_noise(variance=4.0)"), [measure])[0].value > 0.1


def test_engine(recipe, table, tmp_path):
    with pa.OSFile(str(tmp_path / "people.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    engine = recipe("engines/ipc")()
    read = engine.read(tmp_path / "people.arrow", lv.Roles(confidential=["income"]), lv.SubGroups(columns=["region"]))
    assert engine.names(tmp_path / "people.arrow") == ["region", "income", "wealth"]
    assert read.rows == 400
