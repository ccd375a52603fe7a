"""On paper: the board's part on four sheets, the appendix apart, nothing cut over two sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reporting.browser import PROGRAM, Browser
from reporting.shapes import shaped, with_every_method

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed, so that nothing can be printed")

MOST_SHEETS = 4
SMALLEST_TYPE = 5.0  # points
WIDE, HIGH = 695, 945  # pixels inside the margins of the shorter of the usual sheets
SHOWN = "[...document.querySelectorAll(%r)].filter(e => e.checkVisibility({contentVisibilityAuto: true}))"


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    out = {}
    for name, shape in {"few": (3, 6, 3), "six": (6, 20, 5), "groups": (4, 300, 40), "many": (60, 300, 40)}.items():
        out[name] = folder / f"{name}.html"
        out[name].write_text(shaped(*shape).html(chosen="noise 2"), encoding="utf-8")
    out["every method"] = folder / "every-method.html"
    out["every method"].write_text(with_every_method(6).html(), encoding="utf-8")
    out["public"] = folder / "public.html"
    out["public"].write_text(shaped(1, 3, 2).html("public"), encoding="utf-8")
    return out


@pytest.fixture
def paper(tab) -> Iterator[Browser]:
    """As print shows it, on a sheet's width."""
    yield tab
    tab.media()


def printed(tab: Browser, file: Path, appendix: bool = True) -> Browser:
    """The page as it goes to the printer: the appendix, opened by its button, or the board's part."""
    tab.media(kind="print")
    tab.open(file, WIDE, HIGH)
    if appendix:
        tab.run("document.body.classList.add('print-appendix')")
        tab.run("document.querySelectorAll('.chapter').forEach(c => { c.open = true; })")
    tab.run("dispatchEvent(new Event('beforeprint'))")
    return tab


@pytest.mark.parametrize("name", ["few", "six", "groups", "every method"])
def test_the_boards_part_fits_on_four_sheets(tab, files, name, tmp_path):
    tab.media()
    tab.open(files[name])
    tab.pdf(tmp_path / "report.pdf")
    sheets = len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "report.pdf").read_bytes()))
    assert 1 < sheets <= MOST_SHEETS


@pytest.mark.parametrize("name", ["few", "groups", "many"])
def test_no_figure_is_cut_and_signing_is_on_one_sheet(paper, files, name):
    tab = printed(paper, files[name], appendix=False)
    whole = "figure:not(.code), .signing, .card"
    assert tab.run(f"{SHOWN % whole}.length") > 5
    assert tab.run(f"{SHOWN % '.appendix'}.length") == 0
    assert tab.run(f"{SHOWN % whole}.filter(e => getComputedStyle(e).breakInside !== 'avoid').length") == 0
    assert tab.run(f"Math.max(...{SHOWN % whole}.map(e => e.getBoundingClientRect().height))") < HIGH
    assert tab.run("document.documentElement.scrollWidth") <= WIDE


TYPE_SIZES = """[...document.querySelectorAll('.story svg, .overview svg')].filter(s => s.checkVisibility()).map(s =>
  Math.min(...[...s.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize)))
  * s.getScreenCTM().a * 0.75)"""
OVERLAPS = """[...document.querySelectorAll('.story svg')].filter(s => s.checkVisibility()).map(svg => {
  const b = [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect());
  return b.flatMap((p, i) => b.slice(i + 1).filter(q => p.left + 1 < q.right && q.left + 1 < p.right && p.top + 2 < q.bottom
  && q.top + 2 < p.bottom)).length; })"""


@pytest.mark.parametrize("name", ["few", "six", "groups", "every method"])
def test_the_text_of_charts_can_be_read_on_paper(paper, files, name):
    tab = printed(paper, files[name], appendix=False)
    sizes = tab.run(TYPE_SIZES)
    assert len(sizes) > 3
    assert min(sizes) > SMALLEST_TYPE, sizes
    assert set(tab.run(OVERLAPS)) == {0}


def test_print_holds_the_page_of_the_chosen_release_and_no_other(paper, files):
    tab = printed(paper, files["few"])
    assert tab.run(f"{SHOWN % 'details.page h4'}.map(e => e.textContent)") == ["3. noise 2"]
    assert tab.run(f"{SHOWN % '#release-3 table'}.length") > 0
    assert tab.run(f"{SHOWN % 'p.paper'}.map(e => e.textContent)") == ["The HTML file has 2\u00a0pages on the other releases."]


def test_long_tables_keep_their_worst_rows_and_say_where_the_rest_is(paper, files):
    tab = printed(paper, files["groups"])
    rows = tab.run(f"{SHOWN % 'details.worst table'}.map(t => [...t.tBodies[0].rows].filter(r => r.checkVisibility()).length)")
    assert max(rows) == 5
    said = tab.run(f"{SHOWN % '.only-worst'}.map(e => e.textContent)")
    assert "The first 5 of 300 rows; the full table is in the HTML file." in said


def test_other_folds_are_a_line(paper, files):
    tab = printed(paper, files["few"])
    closed = "details:not(.whole, .worst, .chapter, .more)"
    assert tab.run(f"document.querySelectorAll('{closed}').length") > 3
    assert tab.run(f"[...document.querySelectorAll('{closed}')].filter(d => d.open).length") == 0
    after = f"getComputedStyle(document.querySelector('{closed} > summary'), '::after').content"
    assert tab.run(after) == '" (in the HTML file)"'


def test_what_a_reader_opened_is_printed(paper, files):
    tab = printed(paper, files["few"])
    fold = "document.querySelector('#release-1').closest('details')"
    assert not tab.run(f"{fold}.checkVisibility()")
    tab.run(f"{fold}.open = true")
    assert tab.run("document.querySelector('#release-1').checkVisibility()")


def test_folds_are_as_before_after_printing(paper, files):
    tab = printed(paper, files["few"])
    assert tab.run("document.querySelectorAll('details[open]:not(.chapter)').length") > 0
    tab.run("dispatchEvent(new Event('afterprint'))")
    assert tab.run("document.querySelectorAll('details[open]:not(.chapter)').length") == 0


def test_code_for_users_is_printed_whole(paper, files):
    tab = printed(paper, files["public"])
    assert tab.run(f"{SHOWN % 'figure.code'}.length") == 2
