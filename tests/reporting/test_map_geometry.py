"""The map that readers can change begins as the drawing of the page; for other axes it uses the places of the page."""

from __future__ import annotations

import json

import pytest

from larvatus.comparison.limits import limits_of
from larvatus.reporting.charts.risk_map import PHONE, SCREEN
from larvatus.reporting.charts.scales import LinearScale
from reporting.browser import PROGRAM
from reporting.conftest import built

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed, so that no page can be opened")

CHOOSE = "(s => { s.value = %r; s.dispatchEvent(new Event('change')); })(document.querySelectorAll('.controls select')[%d])"
NEAR = 0.06  # the drawing has one decimal
SEEN = """(svg => { const n = (e, ...a) => a.map(k => Number(e.getAttribute(k)));
  const of = (s, f) => [...svg.querySelectorAll(s)].map(f).sort((a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
  return JSON.stringify({
    circles: of('circle.point', e => n(e, 'cx', 'cy', 'r')), squares: of('rect.point', e => n(e, 'x', 'y', 'width')),
    limits: of('rect.forbidden, line.limit', e => n(e, 'x', 'y', 'width', 'height', 'y1', 'y2')),
    grid: of('line.grid, line.leader', e => n(e, 'x1', 'y1', 'x2', 'y2')),
    frontier: of('path.frontier', e => e.getAttribute('d').match(/[0-9.]+/g).map(Number)),
    texts: of('text', e => [[...e.querySelectorAll('tspan')].map(t => t.textContent).join('|') || e.textContent,
      e.getAttribute('text-anchor'), ...n(e, 'x', 'y')]) }); })(document.querySelector('%s'))"""
NAMES = {0: "sufficiency-based, d = 0.5", 1: "数据洗牌之后加入噪声", 2: "a_name_without_a_space_that_is_longer_than_any_line",
         4: "шум"}


def flat(found: object) -> tuple[list[object], list[float]]:
    """Everything but numbers, with their number, and all numbers."""
    if isinstance(found, int | float):
        return ["number"], [float(found)]
    if isinstance(found, dict | list):
        parts = [flat(v) for v in (found.values() if isinstance(found, dict) else found)]
        return [t for texts, _ in parts for t in texts], [n for _, numbers in parts for n in numbers]
    return [found], []


@pytest.mark.parametrize("many", [3, 5, 30])
@pytest.mark.parametrize(("width", "drawing"), [(1400, ".static .at-wide svg"), (390, ".static .at-narrow svg")])
def test_the_script_draws_what_the_page_draws(tab, tmp_path, many, width, drawing):
    from dataclasses import replace

    page = tmp_path / "page.html"
    made = replace(built(many, names=NAMES), limits=limits_of({"nearest_record": 0.05}))
    page.write_text(made.html(), encoding="utf-8")
    tab.open(page, width)
    drawn, live = (flat(json.loads(tab.run(SEEN % where))) for where in (drawing, ".live svg"))
    assert drawn[0] == live[0]
    assert drawn[1] == pytest.approx(live[1], abs=NEAR)
    assert len(drawn[1]) > 20


@pytest.mark.parametrize(("width", "frame"), [(1400, SCREEN), (390, PHONE)])
def test_other_axes_are_drawn_from_the_places_of_the_page(tab, tmp_path, width, frame):
    page = tmp_path / "page.html"
    made = built(5)
    page.write_text(made.html(), encoding="utf-8")
    tab.open(page, width)
    tab.run(CHOOSE % ("loss: moments", 1))
    seen = json.loads(tab.run(SEEN % ".live svg"))
    scale = LinearScale.up_to(0.05, False, steps=5)
    middles = sorted([x + wide / 2 for x, _, wide in seen["squares"]] + [x for x, _, _ in seen["circles"]])
    assert middles == pytest.approx([frame.x(scale.at(0.01 * i)) for i in range(1, 6)], abs=NEAR)
    ticks = [(frame.x(part), said) for part, said in scale.ticks()]
    below = sorted((x, said) for said, anchor, x, y in seen["texts"] if anchor == "middle" and y == frame.bottom + 19)
    assert [said for _, said in below] == [said for _, said in ticks][: len(below)]
    assert [x for x, _ in below] == pytest.approx([x for x, _ in ticks][: len(below)], abs=NEAR)
    assert len(below) > 2
    names = {text for text, anchor, *_ in seen["texts"]}
    assert {c.name for c in made.candidates} <= names | {str(i) for i in range(6)}
