"""A sub-package in a room of methods is no method: nothing that people see changes when one is added."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import larvatus
from larvatus.cli.main import main
from larvatus.core.discovery import discover, file_names, load, own_names

ROOMS = ("masks", "attacks", "measures", "engines")
REFERENCE = Path(larvatus.__file__).parents[2] / "docs" / "build_reference.py"


def seen(capsys) -> list[object]:
    """What people see of the methods: the list, a description, the help of a command, the reference pages."""
    out: list[object] = []
    for arguments in (["list", "--json"], ["describe", "additive_noise", "--json"], ["mask", "--help"]):
        assert main(arguments) == 0
        text = capsys.readouterr().out
        out.append(json.loads(text) if "--json" in arguments else text)
    spec = importlib.util.spec_from_file_location("build_reference", REFERENCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [*out, module.pages(), *(file_names(f"larvatus.{room}") for room in ROOMS)]


@pytest.mark.parametrize("room", ROOMS)
def test_an_empty_sub_package_changes_nothing(room, tmp_path, capsys, monkeypatch):
    before = seen(capsys)
    package = importlib.import_module(f"larvatus.{room}")
    (tmp_path / "shared_things").mkdir()
    (tmp_path / "shared_things" / "__init__.py").write_text("")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    discover.cache_clear()
    load.cache_clear()
    own_names.cache_clear()
    assert importlib.util.find_spec(f"larvatus.{room}.shared_things") is not None
    assert seen(capsys) == before
