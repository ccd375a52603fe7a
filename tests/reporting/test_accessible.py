"""Readable for everybody: contrast in light, dark and print, landmarks, names, focus; and axe-core where it is at hand."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from reporting.browser import PROGRAM
from reporting.conftest import built
from reporting.pictured import pictured
from reporting.shapes import shaped

CSS = files("larvatus.reporting.page").joinpath("templates/report.css").read_text(encoding="utf-8")
AXE = os.environ.get("LARVATUS_AXE", "")
if not AXE and (package := find_spec("axe_core_python")) is not None and package.origin:
    AXE = str(Path(package.origin).with_name("axe.min.js"))
TEXT, GRAPHIC = 4.5, 3.0
DEEPEST = 0.5


def schemes() -> dict[str, dict[str, str]]:
    blocks = [dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{3,8})\b", b)) for b in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)]
    light, dark, printed = blocks
    return {"light": light, "dark": {**light, **dark}, "print": {**light, **printed}}


def rgb(colour: str) -> tuple[float, ...]:
    digits = colour[1:] if len(colour) > 5 else "".join(2 * c for c in colour[1:])
    return tuple(int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))


def luminance(colour: tuple[float, ...]) -> float:
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_and_white():
    assert contrast(rgb("#000"), rgb("#ffffff")) == pytest.approx(21)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_colours_can_be_told_from_the_ground(scheme):
    found = {name: rgb(colour) for name, colour in schemes()[scheme].items()}
    for name in ("ink", "soft", "warn"):
        assert contrast(found[name], found["paper"]) >= TEXT, name
    assert contrast(found["warn"], found["warn-paper"]) >= TEXT
    assert contrast(found["ink"], found["warn-paper"]) >= TEXT
    for name in ("risk", "loss", "base", "focus"):
        assert contrast(found[name], found["paper"]) >= GRAPHIC, name
    for tone in ("risk", "loss"):
        deepest = tuple(DEEPEST * c + (1 - DEEPEST) * p for c, p in zip(found[tone], found["paper"], strict=True))
        assert contrast(found["ink"], deepest) >= TEXT, f"text on the deepest {tone}"


@cache
def page_text(kind: str) -> str:
    """One page of each kind, built once for all tests."""
    made = pictured(built(60 if kind == "many" else 1, 300 if kind == "many" else 3))
    return made.html("public" if kind == "public" else "internal")


@pytest.fixture(params=["few", "many", "public"])
def page(request, parsed):
    return parsed(page_text(request.param))


def test_landmarks_are_there_once_and_named(page):
    for tag in ("main", "header", "footer", "nav"):
        assert len(page.named(tag)) == 1, tag
    assert page.named("nav")[0]["aria-label"]
    assert page.named("a")[0]["href"] == "#content"


def test_what_takes_the_focus_is_named_and_in_the_order_of_the_page(page):
    assert {a.get("tabindex", "0") for _, a in page.tags} <= {"0", "-1"}
    ids = {a["id"] for _, a in page.tags if "id" in a}
    for _, attrs in page.tags:
        if attrs.get("tabindex") == "0":
            assert attrs.get("aria-describedby" if attrs.get("class") == "term" else "aria-labelledby") in ids


def test_every_drawing_has_words_beside_it(page):
    titles, descriptions = page.named("title"), page.named("desc")
    assert len(descriptions) == len(page.named("svg"))
    assert len(titles) > len(descriptions), "one of the page, one of each drawing"
    assert len(page.named("figcaption")) == len(page.named("figure"))


def test_every_table_has_heads_and_a_caption(page):
    assert len(page.named("caption")) == len(page.named("table")) == len(page.named("thead"))
    assert all(a.get("scope") in ("col", "row") for a in page.named("th"))


# Selectors of elements that pass are not needed; to make them takes most of the checker's time.
BRIEF = "resultTypes: ['violations'], selectors: false"
ONLY = {"light": "", "dark": "runOnly: {type: 'rule', values: ['color-contrast']}"}  # dark colours are all that differs


# Releases, sub-groups and columns. The checker's time grows with the square of a page's elements, so `make test` has one page
# of each kind of size; together they have every kind of element of the large page, which `make check` adds.
SHAPES = {"few": (3, 6, 3), "many releases": (13, 1, 2), "many columns": (1, 16, 13)}
LARGE = (14, 20, 16)


@cache
def shaped_text(shape: tuple[int, int, int], edition: str) -> str:
    made = shaped(*shape)
    return made.html(edition, made.candidates[0].name if edition == "public" else None)


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_the_checked_pages_have_every_kind_of_element_of_a_large_one(edition, parsed):
    def kinds(shape: tuple[int, int, int]) -> set[tuple[str, str | None, tuple[str, ...]]]:
        return {(tag, attrs.get("class"), tuple(sorted(attrs))) for tag, attrs in parsed(shaped_text(shape, edition)).tags}

    assert kinds(LARGE) <= set().union(*(kinds(shape) for shape in SHAPES.values()))


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed, so that no page can be checked in it")
@pytest.mark.skipif(not AXE, reason="no axe.min.js: install axe-core-python, or name one in LARVATUS_AXE")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("edition", ["internal", "public"])
@pytest.mark.parametrize("shape", [
    *(pytest.param(shape, id=name) for name, shape in SHAPES.items()), pytest.param(LARGE, id="large", marks=pytest.mark.slow),
])
def test_axe_finds_nothing(tab, edition, scheme, shape, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(shaped_text(shape, edition), encoding="utf-8")
    tab.media(scheme)
    tab.open(file)
    tab.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    tab.run("new Promise(done => setTimeout(done, 200))")
    tab.run(Path(AXE).read_text(encoding="utf-8") + ";0")
    violations = "r => JSON.stringify(r.violations.map(v => [v.id, v.nodes[0].html]))"
    found = json.loads(tab.run(f"axe.run({{{BRIEF}, {ONLY[scheme]}}}).then({violations})"))
    assert found == []
