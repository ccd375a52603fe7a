"""The bill of materials lists what pyproject.toml names and what that needs, with a licence each."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_bill_lists_every_requirement_with_its_licence(tmp_path):
    command = [str(ROOT / "bill_of_materials.py"), "--extra", "duckdb", "-o", str(tmp_path / "sbom.json")]
    done = subprocess.run([sys.executable, *command],
                          capture_output=True, text=True, timeout=60, check=True)
    found = json.loads((tmp_path / "sbom.json").read_text(encoding="utf-8"))
    components = {c["name"]: c for c in found["components"]}
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [re.split(r"[<>=\[]", line)[0] for line in (*stated["dependencies"], *stated["optional-dependencies"]["duckdb"])]
    assert set(needed) <= set(components)
    assert {"llvmlite", "markupsafe"} <= set(components), "needed by what is needed"
    assert all(c["licenses"][0]["license"]["name"] for c in components.values())
    own = next(d for d in found["dependencies"] if d["ref"].startswith("pkg:pypi/larvatus@"))
    assert len(own["dependsOn"]) == len(needed)
    assert all(name in done.stdout for name in needed)
