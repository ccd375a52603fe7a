"""The pages of the site: all are listed, links inside the repository lead somewhere, and checks notice what is wrong."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "docs" / "site"


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if (file := getattr(sys.modules[name], "__file__", None)) and Path(file).parent == SCRIPTS:
            del sys.modules[name]


def test_every_page_and_every_public_name_is_listed(tmp_path):
    from api_pages import write_api_pages
    from navigation import navigation
    from staging import stage_pages

    stage_pages(tmp_path)
    listed = navigation(tmp_path, write_api_pages(tmp_path / "api"))
    assert {"Home": "index.md"} in listed
    (tmp_path / "guides" / "forgotten.md").write_text("# Forgotten\n")
    with pytest.raises(LookupError, match=r"guides/forgotten\.md"):
        navigation(tmp_path, write_api_pages(tmp_path / "api"))


def test_links_between_pages_follow_them_to_the_site():
    from staging import DOCS, ROOT, links_inside

    guide = DOCS / "guides" / "first-release.md"
    assert links_inside("[a](advice.md#x) [b](../../CONTRIBUTING.md) [c](../../README.md)", guide) == (
        "[a](advice.md#x) [b](../add-a-method.md) [c](../index.md)")
    assert links_inside("[`bootstrap.py`](../../bootstrap.py), [study](../../examples/study.toml)", guide) == (
        "`bootstrap.py`, study (`examples/study.toml`)")
    assert links_inside("[d](docs/guides/advice.md) [e](https://example.org/)", ROOT / "CONTRIBUTING.md") == (
        "[d](guides/advice.md) [e](https://example.org/)")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.md leads nowhere"):
        links_inside("[f](nowhere.md)", guide)


def test_the_check_of_the_built_site_notices_broken_links_and_external_files(tmp_path):
    from checks import problems_of

    (tmp_path / "one.html").write_text('<h2 id="here"></h2><a href="two.html#there">x</a><a href="#here">y</a>')
    (tmp_path / "two.html").write_text('<script src="https://example.org/a.js"></script><img src="gone.png"><a href="/x">z</a>')
    problems = "\n".join(problems_of(tmp_path))
    for part in ("two.html#there, and the page has no such part", "loads https://example.org/a.js",
                 "gone.png, which does not exist", "/x, which depends on where"):
        assert part in problems
    assert len(problems.splitlines()) == 4


@pytest.mark.slow
def test_the_site_is_built_without_external_files_or_broken_links():
    if shutil.which("zensical", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("zensical is not installed: pip install '.[site]'")
    from build import main

    assert main() == 0
