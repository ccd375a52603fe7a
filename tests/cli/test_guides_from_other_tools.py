"""The Python code of the guides for users of other tools, run from the first block to the last."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDES = sorted((ROOT / "docs" / "guides").glob("from-*.md"))


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.stem)
def test_the_code_of_the_guide_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subprocess.run([sys.executable, str(ROOT / "examples" / "make_people.py")], check=True, cwd=tmp_path)
    lines = (tmp_path / "people.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "people.csv").write_text("".join(lines[:401]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) > 2
    exec("\n".join(blocks), {})
    assert (tmp_path / "report.html").stat().st_size > 10_000
