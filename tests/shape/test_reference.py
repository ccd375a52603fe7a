"""The reference pages say what the methods say of themselves; `make docs` writes them again."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_reference_pages_are_up_to_date():
    wanted = runpy.run_path(str(DOCS / "build_reference.py"))["pages"]()
    found = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md")}
    assert sorted(found) == sorted(wanted), "pages are missing or left over; run make docs"
    stale = [name for name in wanted if found[name] != wanted[name]]
    assert not stale, "run make docs"
