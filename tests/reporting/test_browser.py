"""The page in a real browser: hover, other axes, the frontier, a click, the keyboard, narrow windows, print and dark."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from larvatus.data.score import Scores
from reporting.browser import PROGRAM
from reporting.conftest import built
from reporting.pictured import pictured
from reporting.shapes import broken_limits, shaped

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed, so that no page can be opened")

MARK = 'document.querySelector(".live a[data-number=\'2\']")'
HINT = 'document.querySelector(".hint")'
CHOOSE = "(s => { s.value = %r; s.dispatchEvent(new Event('change')); })(document.querySelectorAll('.controls select')[%d])"
PLACE = f"{MARK}.querySelector('.point').getAttribute('x')"
OVERLAPS = """(svg => { const b = [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect());
  return b.flatMap((p, i) => b.slice(i + 1).filter(q => p.left + 1 < q.right && q.left + 1 < p.right && p.top + 2 < q.bottom
  && q.top + 2 < p.bottom)).length; })"""


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {"few": built(3), "many": shaped(60, 300, 40), "long": broken_limits(), "forty": built(40, 4), "public": None}
    out = {name: folder / f"{name}.html" for name in made}
    for name in ("few", "many", "long", "forty"):
        out[name].write_text(made[name].html(), encoding="utf-8")
    drawn = pictured(built(1))
    first = drawn.candidates[0]
    more = (replace(first.of_kind("loss")[0], method=m) for m in ("table", "cluster", "ecdf_max", "ecdf_mean"))
    many = Scores([*first.scores, *more])
    wide = replace(drawn, candidates=(replace(first, scores=many),))
    out["public"].write_text(wide.html("public"), encoding="utf-8")
    return out


def test_hover_shows_name_and_figures(tab, files):
    tab.open(files["few"])
    tab.run(CHOOSE % ("risk: nearest_record", 0))
    assert tab.run(f"{HINT}.hidden")
    tab.point_at(f"{MARK}.querySelector('.point')")
    said = tab.run(f"{HINT}.innerText")
    assert "2. noise 1" in said
    assert "nearest-record linkage: 20\u00a0%" in said
    assert "baseline: 0.6\u00a0%" in said
    assert "mean loss over 2 measures: 2\u00a0%" in said
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    assert tab.run(f"{HINT}.hidden")


def test_axes_can_be_chosen_among_all_scores(tab, files):
    tab.open(files["few"])
    options = tab.run("[...document.querySelectorAll('.controls select')[1].options].map(o => o.value)")
    assert options == ["excess risk", "risk: nearest_record", "mean loss", "loss: moments", "loss: correlation"]
    before = tab.run(PLACE)
    tab.run(CHOOSE % ("risk: nearest_record", 1))
    tab.run(CHOOSE % ("risk: nearest_record", 0))
    assert tab.run(PLACE) != before
    assert "nearest-record linkage →" in tab.run("document.querySelector('.live svg').textContent")
    said = tab.run("document.querySelector('.live .quiet').textContent")
    assert said == "Best on these axes (filled): “noise 2”."


def test_a_point_of_the_frontier_at_no_risk_has_its_name(tab, tmp_path):
    drawn = {"noise": (0.83, 0.275), "model, d = 0.5": (0.25, 0.227), "model, d = 0": (0, 0.236), "model, d = 0.1": (0.02, 0.3)}
    made = [built(1, risk=risk, loss=loss, names={0: name}) for name, (risk, loss) in drawn.items()]
    page = tmp_path / "map.html"
    page.write_text(replace(made[0], candidates=tuple(m.candidates[0] for m in made)).html(), encoding="utf-8")
    tab.open(page)
    assert set(tab.run("[...document.querySelectorAll('.live .label.name')].map(t => t.textContent)")) >= {"model, d = 0"}


def test_the_frontier_of_other_axes_is_drawn_and_the_others_are_hollow(tab, files):
    tab.open(files["many"])
    tab.run(CHOOSE % ("loss: moments", 1))
    tab.run(CHOOSE % ("risk: nearest_record", 0))
    assert tab.run("document.querySelectorAll('.live .frontier').length") == 1
    hollow = "[...document.querySelectorAll('.live a')].filter(a => a.querySelector('.beaten'))"
    dim = tab.run(f"{hollow}.map(a => Number(a.dataset.number))")
    data = json.loads(tab.run("document.querySelector('.map').dataset.points"))
    axes = {a["key"]: a["values"] for a in data["axes"]}
    points = list(zip(axes["loss: moments"], axes["risk: nearest_record"], strict=True))
    assert len(points) == tab.run("document.querySelectorAll('.live a').length") == 60
    beaten = {i + 1 for i, (x, y) in enumerate(points) if any((a <= x and b < y) or (a < x and b <= y) for a, b in points)}
    assert beaten <= set(dim)
    assert len({points[i] for i in range(60) if i + 1 not in dim}) == len({points[i] for i in range(60) if i + 1 not in beaten})


def test_only_releases_that_may_go_out_are_best_trade_offs(tab, files):
    tab.open(files["many"])
    filled = "[...document.querySelectorAll('.live a')].filter(a => !a.querySelector('.beaten')).map(a => a.dataset.number)"
    assert tab.run(filled) == ["60"]
    assert tab.run("document.querySelector('.live .quiet').textContent") == "Best trade-offs (filled): “noise 59”."


def test_a_click_opens_the_page_of_the_release(tab, files):
    tab.open(files["few"])
    page = "document.querySelector('#release-2').closest('details')"
    assert not tab.run(f"{page}.open")
    tab.point_at(f"{MARK}.querySelector('.point')", click=True)
    assert tab.run("new Promise(done => setTimeout(() => done(location.hash), 300))") == "#release-2"
    assert tab.run(f"{page}.open")
    assert tab.run("document.activeElement.id") == "release-2"


def test_a_link_opens_every_fold_around_the_page_it_leads_to(tab, files):
    tab.open(files["many"])
    folds = "[...document.querySelectorAll('details')].filter(d => d.contains(document.querySelector('#release-30')))"
    assert tab.run(f"{folds}.map(d => d.open)") == [False, False, False]
    tab.run("document.querySelector('.rest details').open = true")
    link = "[...document.querySelectorAll('.rest table a[href=\\'#release-30\\']')][0]"
    tab.point_at(link, click=True)
    assert tab.run("new Promise(done => setTimeout(() => done(location.hash), 300))") == "#release-30"
    assert tab.run(f"{folds}.map(d => d.open)") == [True, True, True]
    assert tab.run("document.activeElement.id") == "release-30"


def test_a_fold_opens_from_the_keyboard(tab, files):
    tab.open(files["few"])
    tab.run("document.querySelector('main details.chapter > summary').focus()")
    tab.press("Enter", 13)
    assert tab.run("new Promise(done => setTimeout(() => done(document.activeElement.parentElement.open), 100))")


def test_the_map_works_without_a_mouse(tab, files):
    tab.open(files["few"])
    tab.run("document.querySelector('.live a[tabindex=\"0\"]').focus()")
    assert "1. noise 0" in tab.run(f"{HINT}.innerText")
    tab.press("ArrowRight", 39)
    assert "2. noise 1" in tab.run(f"{HINT}.innerText")
    assert tab.run("document.querySelectorAll('.live a[tabindex=\"0\"]').length") == 1
    tab.press("Escape", 27)
    assert tab.run(f"{HINT}.hidden")
    tab.press("Enter", 13)
    assert tab.run("new Promise(done => setTimeout(() => done(location.hash), 300))") == "#release-2"


FOCUS = """(e => { const r = e.getBoundingClientRect(), all = [...document.querySelectorAll('*')];
  return [all.indexOf(e), e.tagName.toLowerCase() + (e.closest('.cards') ? ' card' : e.closest('.live svg') ? ' point' :
    e.closest('.rest') ? ' row' : e.closest('nav') ? ' contents' : ''), r.bottom > 0 && r.top < innerHeight,
    e.matches(':focus-visible')]; })(document.activeElement)"""


def test_the_tab_key_walks_through_contents_cards_map_and_table(tab, files):
    tab.open(files["forty"], 1400)
    tab.run("document.documentElement.style.scrollBehavior = 'auto'")
    tab.run("document.querySelector('.decision details').open = true")
    seen = []
    for _ in range(60):
        tab.press("Tab", 9)
        seen.append(tab.run(FOCUS))
    places, kinds = [s[0] for s in seen], [s[1] for s in seen]
    assert places == sorted(set(places)), "every stop once, in the order of the page"
    first = [kinds.index(kind) for kind in ("a contents", "a card", "a point", "select", "input row", "a row")]
    assert first == sorted(first)
    assert kinds.count("a point") == 1, "the arrow keys move between points"
    assert [s for s in seen if not (s[2] and s[3])] == [], "what has the focus can be seen"


def test_print_has_the_drawing_and_no_controls(tab, files):
    tab.open(files["few"])
    shown = "getComputedStyle(document.querySelector('.map %s')).display"
    assert [tab.run(shown % c) for c in (".static", ".live")] == ["none", "block"]
    tab.media(kind="print")
    found = [tab.run(shown % c) for c in (".static", ".live")]
    tab.media()
    assert found == ["block", "none"]


def test_without_scripts_the_drawing_stands(tab, files):
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(files["few"])
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert tab.run("document.querySelectorAll('.map .static .at-wide svg .point').length") == 3
    assert tab.run("getComputedStyle(document.querySelector('.map .static')).display") == "block"
    assert tab.run("document.querySelectorAll('.live').length") == 0


def test_long_tables_can_be_searched(tab, files):
    tab.open(files["many"])
    box = "[...document.querySelectorAll('.table')].find(t => t.querySelectorAll('tbody tr').length >= 300)"
    tab.run(f"(t => {{ t.closest('details').open = true; const i = t.querySelector('input'); i.value = 'region=299,'; "
            f"i.dispatchEvent(new Event('input')); }})({box})")
    assert tab.run(f"{box}.querySelectorAll('tbody tr:not([hidden])').length") == 1
    assert tab.run(f"{box}.querySelector('output').textContent") == "1 of 300"


def test_every_releases_figure_can_be_found(tab, files):
    tab.open(files["many"])
    name = "Nearest-record linkage: risk by sub-group"
    box = f"[...document.querySelectorAll('.search')].find(b => b.dataset.caption.startsWith('{name}'))"
    assert tab.run(f"{box}.querySelectorAll('tr').length") == 0, "not made before it is asked for"
    tab.run(f"{box}.closest('details').open = true; new Promise(done => setTimeout(done, 200))")
    assert tab.run(f"{box}.querySelector('output').textContent") == "the 100 largest of 18,000"
    tab.run(f"(i => {{ i.value = 'region=299, 60.'; i.dispatchEvent(new Event('input')); }})({box}.querySelector('input'))")
    cells = tab.run(f"[...{box}.querySelector('tbody tr').children].map(c => c.textContent)")
    made = shaped(60, 300, 40).candidates[59]
    assert tab.run(f"{box}.querySelector('output').textContent") == "1 found"
    assert cells[:2] == ["region=299, sex=1", "60. noise 59"]
    rows = next(s.by_group for s in made.scores if s.method == "nearest_record")
    figure = next(r["value"] for r in rows if "=299," in r["sub_group"])
    assert cells[2] == f"{100 * round(figure, 4):.2f}\u00a0%"


def test_every_point_of_the_map_has_its_name_or_number(tab, files):
    for name, width in product(("few", "long", "forty"), (390, 1400)):
        tab.open(files[name], width)
        data = json.loads(tab.run("document.querySelector('.map').dataset.points"))
        labels = tab.run("[...document.querySelectorAll('.live .label.name')].map(t => t.textContent)")
        texts = ",".join(labels).replace(" ", "")
        ranges = re.findall(r"(?<![^,])(\d+)(?:–(\d+))?(?![^,])", texts)
        found = {str(n) for a, b in ranges for n in range(int(a), int(b or a) + 1)}
        hidden = sum(int(more) for more in re.findall(r"(\d+)more", texts))
        missing = [p["number"] for p in data["points"]
                   if p["name"].replace(" ", "") not in texts and str(p["number"]) not in found]
        assert len(missing) <= hidden, (name, width, missing)


@pytest.mark.parametrize("name", ["few", "many", "long", "forty", "public"])
@pytest.mark.parametrize("width", [390, 768, 1400])
def test_nothing_is_wider_than_the_window_and_no_label_covers_another(tab, files, name, width):
    tab.open(files[name], width)
    board = ".live svg, .story svg"
    drawn = f"[...document.querySelectorAll('{board}')].filter(s => s.checkVisibility())"
    assert tab.run(f"{drawn}.map({OVERLAPS}).filter(n => n).length") == 0
    assert tab.run(f"{drawn}.filter(s => s.textContent.includes('…')).length") == 0, "no name is cut"
    tab.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert not tab.run("[...document.querySelectorAll('svg')].filter(s => !s.querySelector('circle,path,rect,line')).length")


PARTS = """['.choices', '.overview', '.decision > .alerts'].map(s => (r => [r.left, r.top, r.bottom])(
  document.querySelector(s).getBoundingClientRect()))"""


@pytest.mark.parametrize("many", [1, 2, 3, 4, 5, 6])
def test_what_else_to_know_fills_the_shorter_column(tab, tmp_path, many):
    page = tmp_path / "page.html"
    page.write_text(shaped(many, 6, 3).html(), encoding="utf-8")
    tab.open(page, 1400, 900)
    cards, overview, notes = tab.run(PARTS)
    above = overview if many in (3, 5, 6) else cards
    assert notes[0] == above[0]
    assert 0 <= notes[1] - above[2] < 40, "directly below, without a hole"
    assert notes[1] < 850, "on the first screen"
    tab.open(page, 390, 844)
    tops = [top for _, top, _ in tab.run(PARTS)]
    assert tops == sorted(tops), "on a phone below cards and map"


def test_terms_explain_themselves_on_focus_and_on_hover(tab, files):
    tab.open(files["few"])
    said = "document.querySelector('.telltale')"
    assert tab.run(f"{said}.hidden")
    tab.run("document.querySelector('.term').focus()")
    assert "least mean loss" in tab.run(f"{said}.innerText")
    tab.press("Escape", 27)
    assert tab.run(f"{said}.hidden")
    tab.point_at("[...document.querySelectorAll('.term')].find(t => t.textContent === 'Nearest-record linkage')")
    assert "nearest to each person" in tab.run(f"{said}.innerText")


def test_the_appendix_can_be_searched(tab, files):
    tab.open(files["few"])
    field = "document.querySelector('.appendix-tools input')"
    tab.run(f"(i => {{ i.value = 'name in a study'; i.dispatchEvent(new Event('input')); }})({field})")
    shown = "[...document.querySelectorAll('.chapter')].filter(c => !c.hidden)"
    found = tab.run(f"{shown}.map(c => [c.open, c.querySelector('h3').textContent])")
    assert found == [[True, "Names and meaning of attacks and measures"]]
