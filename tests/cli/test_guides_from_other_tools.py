"""The code of the guides for users of other tools, run from the first block to the last as `make site` does."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDES = sorted((ROOT / "docs" / "guides").glob("from-*.md"))


@pytest.mark.parametrize("page", [
    pytest.param(page, id=page.stem, marks=() if page.stem == "from-sdcmicro" else pytest.mark.slow) for page in GUIDES
])
def test_the_code_of_the_guide_runs(page: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    from page_code import blocks_of, run_page

    assert sum(block.runs for block in blocks_of(page)) > 2
    assert run_page(page) == ""


def test_a_page_whose_code_fails_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    from page_code import run_page

    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n<!-- fails: 3 -->\n```bash\nexit 3\n```\n\n```python\nassert x == 1\n```\n")
    assert run_page(page) == ""
    page.write_text("```python\nx = 1\n```\n\n<!-- not run: no -->\n```bash\nexit 3\n```\n\n```python\nassert x == 2\n```\n")
    assert "AssertionError" in run_page(page)
    page.write_text('```toml\n[[release]]\nname = "a"\nsteps = ["no_such_mask"]\n```\n')
    assert "no_such_mask" in run_page(page)
