"""The pages of the site: all are listed, links inside the repository lead somewhere, and checks notice what is wrong."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "docs" / "site"


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
        "`bootstrap.py`, [study](../examples/study.toml)")
    assert links_inside("[d](docs/guides/advice.md) [e](https://example.org/)", ROOT / "CONTRIBUTING.md") == (
        "[d](guides/advice.md) [e](https://example.org/)")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.md leads nowhere"):
        links_inside("[f](nowhere.md)", guide)


def test_the_check_of_the_built_site_notices_broken_links_and_external_files(tmp_path):
    from checks import problems_of

    (tmp_path / "one.html").write_text('<h2 id="here"></h2><a href="two.html#there">x</a><a href="#here">y</a>')
    (tmp_path / "two.html").write_text('<script src="https://example.org/a.js"></script><img src="gone.png"><a href="/x">z</a>')
    (tmp_path / "look.css").write_text("@import '//example.org/b.css'; p { src: url(https://example.org/c.woff), url(d.woff) }")
    problems = "\n".join(problems_of(tmp_path))
    for part in ("look.css: loads //example.org/b.css", "look.css: loads https://example.org/c.woff",
                 "two.html#there, and the page has no such part", "loads https://example.org/a.js",
                 "gone.png, which does not exist", "/x, which depends on where"):
        assert part in problems
    assert len(problems.splitlines()) == 6


@pytest.mark.slow
def test_the_site_is_built_without_external_files_or_broken_links():
    if shutil.which("zensical", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("zensical is not installed: pip install '.[site]'")
    from build import main

    assert main(["--without-code"]) == 0  # `make site` also runs the code of all pages, which takes minutes


def test_what_blocks_print_and_draw_is_kept_and_shown_below_them(tmp_path, monkeypatch):
    import page_code
    import staging

    page, made = tmp_path / "page.md", tmp_path / "made"
    for module in (page_code, staging):
        monkeypatch.setattr(module, "made_folder", lambda page: made)
    page.write_text("<!-- prints: 2 -->\n```python\nfor i in range(3):\n    print(i)\n```\n\n"
                    "<!-- picture: A line -->\n```python\nclass Line:\n    def _repr_svg_(self):\n"
                    "        return '<svg/>'\n\nLine()\n```\n")
    assert page_code.run_page(page) == ""
    shown = staging.with_results(page, tmp_path / "site" / "page")
    assert "```\n\n```text\n0\n1\n…\n```\n" in shown
    assert shown.endswith("```\n\n![A line](page/8.svg)\n")
    assert (tmp_path / "site" / "page" / "8.svg").read_text() == "<svg/>"


def test_long_sentences_of_output_are_broken_and_rows_of_tables_are_not():
    from staging import WIDTH, sentence_wrapped

    sentence, row = "word " * 40 + "end", "noise   " * 40
    broken = sentence_wrapped(sentence)
    assert len(broken) > 1
    assert max(map(len, broken)) <= WIDTH
    assert " ".join(part.strip() for part in broken) == sentence
    assert sentence_wrapped(row) == [row]
    assert sentence_wrapped("") == [""]


def test_the_site_is_built_with_what_its_home_page_installs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from bootstrap import EXTRAS

    installed = re.search(r"pip install 'larvatus\[([\w,]+)\]'", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    assert EXTRAS["site"] == {*installed[1].split(","), "site"}


def test_blocks_that_run_need_no_file_of_the_repository():
    from page_code import blocks_of
    from run_pages import pages_with_code

    needed = re.compile(r"\b(?:benchmarks|tests)/|^make ", re.M)
    found = [f"{page.name}: line {b.line}" for page in pages_with_code() if page.suffix == ".md"
             for b in blocks_of(page) if b.runs and b.word in ("", "sh", "bash") and needed.search(b.body)]
    assert not found, "a page runs in a folder of its own: <!-- not run: REASON -->"


def test_formulas_and_commands_may_wrap_and_other_code_does_not(tmp_path):
    from staging import stage_pages

    stage_pages(tmp_path)
    page = (tmp_path / "reference" / "data_shuffling.md").read_text()
    assert "## Formula\n\n```{ .text .formula }\nu_i" in page
    assert "```python\nrelease" in page
    assert ".formula" not in (tmp_path / "architecture.md").read_text()
    guide, source = ((folder / "guides" / "first-release.md").read_text() for folder in (tmp_path, ROOT / "docs"))
    assert "```\nlarvatus run study.toml" in source
    assert "```bash\nlarvatus run study.toml" in guide


def test_a_notebook_becomes_a_page_with_its_text_code_and_results(tmp_path):
    pytest.importorskip("marimo")
    from notebook_page import page_of

    notebook = tmp_path / "small.py"
    notebook.write_text(
        "import marimo\n\napp = marimo.App()\n\n\n@app.cell(hide_code=True)\ndef _():\n    import marimo as mo\n\n"
        '    mo.md("# Small")\n    return (mo,)\n\n\n@app.cell\ndef _(b):\n    b + 1\n\n\n@app.cell\ndef _():\n    b = 41\n'
        "    return (b,)\n")
    page = page_of(notebook, tmp_path / "small.md")
    assert page.startswith("# Small\n\n```python\nb + 1\n```\n\n```text\n42\n```\n\n```python\nb = 41\n```\n\n")
    assert "import marimo as mo" not in page
    assert page.rstrip().endswith("`marimo edit small.py`.*")


def test_a_dated_page_names_a_file_of_the_repository():
    from dates import with_dates

    assert re.fullmatch(r"last (\d{4}-\d\d-\d\d|not known)", with_dates("last <!-- dated: docs/papers.md -->"))
    with pytest.raises(FileNotFoundError, match=r"nothing\.json is not a file"):
        with_dates("<!-- dated: benchmarks/nothing.json -->")


def test_a_page_is_run_again_if_it_or_the_code_changes(tmp_path, monkeypatch):
    import ran_before

    monkeypatch.setattr(ran_before, "MADE", tmp_path)
    page = ran_before.ROOT / "docs" / "index.md"
    assert not ran_before.ran_before(page)
    ran_before.remember(page)
    assert ran_before.ran_before(page)
    monkeypatch.setattr(ran_before, "code_digest", lambda: b"other code")
    assert not ran_before.ran_before(page)


def test_pages_named_in_docstrings_become_links(tmp_path):
    from doc_links import link_named_pages

    for name, text in {"api/risk.html": '<p>see docs/guides/a.md. <a href="docs/guides/a.md">no</a></p>',
                       "guides/b.html": "<p>docs/guides/a.md</p>", "guides/a.md": "# How far\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    link_named_pages(tmp_path, tmp_path)
    assert (tmp_path / "api" / "risk.html").read_text() == (
        '<p>see <a href="../guides/a.html">How far</a>. <a href="docs/guides/a.md">no</a></p>')
    assert (tmp_path / "guides" / "b.html").read_text() == "<p>docs/guides/a.md</p>"


def test_readers_are_told_how_to_have_what_a_page_takes_for_granted(tmp_path):
    """Every word that a page names is known; what its text does not explain is shown above its first block, and can be run."""
    from page_code import blocks_of
    from preparations import EXPLAINED, FRAMES, NAMES, SCRIPT, files, instructions

    known = {*EXPLAINED, *files(), *NAMES, *FRAMES}
    words = {word for page in (ROOT / "docs").rglob("*.md") for block in blocks_of(page) for word in block.prepared}
    assert words <= known, words - known
    said = instructions(["people", "study", "data", "released"], "../page_files.py")
    assert "python page_files.py released`" in said
    assert 'data = lv.read("people.csv"' in said
    assert instructions(["people", "study"], "") == ""
    done = subprocess.run([sys.executable, str(SCRIPT), "census", "totals", "german"], cwd=tmp_path, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {"census.csv", "survey.csv"}
    assert subprocess.run([sys.executable, str(SCRIPT), "nothing"], cwd=tmp_path, capture_output=True).returncode == 2
