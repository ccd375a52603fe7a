"""The page: self-contained, escaped, in order, and readable without a mouse, a screen or a script."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

EDITIONS = [("internal", None), ("public", "noise 0")]
NASTY = '<script>alert("x")</script> & \'quoted\' "name"'


@pytest.mark.parametrize(("edition", "release"), EDITIONS)
def test_nothing_is_fetched(comparison, parsed, edition, release):
    html = comparison().html(edition, release)
    assert not re.search(r"https?:|url\(|@import|=\s*[\"']?//|\bsrc=", html)
    page = parsed(html)
    assert not page.named("link", "img", "iframe", "object", "base", "form")
    assert all("src" not in attrs for attrs in page.named("script"))
    assert all(str(attrs["href"]).startswith("#") for attrs in page.named("a"))
    assert "default-src 'none'" in html


@pytest.mark.parametrize(("edition", "release"), EDITIONS)
def test_headings_go_down_one_step_at_a_time(comparison, parsed, edition, release):
    levels = [int(tag[1]) for tag, _ in parsed(comparison().html(edition, release)).tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize(("edition", "release"), EDITIONS)
def test_tables_and_figures_name_themselves(comparison, parsed, edition, release):
    page = parsed(comparison().html(edition, release))
    assert page.named("table")
    assert all(attrs.get("scope") in ("col", "row") for attrs in page.named("th"))
    assert len(page.named("caption")) == len(page.named("table"))
    ids = [str(attrs["id"]) for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for drawing in page.named("svg"):
        assert drawing["role"] == "img"
        assert {drawing["aria-labelledby"], drawing["aria-describedby"]} <= set(ids)
    regions = [attrs for attrs in page.named("div") if attrs.get("role") == "group"]
    assert regions
    assert all(attrs["tabindex"] == "0" and attrs["aria-labelledby"] in ids for attrs in regions)
    assert page.named("html")[0]["lang"]


def test_links_inside_the_page_lead_somewhere(comparison, parsed):
    page = parsed(comparison().html())
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    assert all(str(attrs["href"])[1:] in ids for attrs in page.named("a"))


@pytest.mark.parametrize("many", [1, 3, 9])
def test_names_are_text_and_never_markup(comparison, parsed, many):
    html = comparison(many, names={0: NASTY}).html()
    page = parsed(html)
    assert "<script>alert" not in html
    assert len(page.named("script")) == 1
    assert NASTY in page.text


def test_nasty_columns_groups_notes_and_settings_are_escaped(comparison):
    from dataclasses import replace

    from larvatus.data.notes import Note
    from larvatus.data.score import Rows, Score, Scores

    made = comparison(2)
    groups = Rows.of({"sub_group": f"{NASTY}{g}", "records": 20, "value": 0.1 * g} for g in (1, 2, 3))
    risk = Score(NASTY, "risk", 0.1, NASTY, chance=0.01, interval=(0.1, 0.2), by_group=groups)
    score = Score(NASTY, "loss", 0.1, NASTY, {NASTY: NASTY}, by_group=groups,
                  by_variable=Rows.of([{"variable": NASTY, "loss": 0.2}]), details={NASTY: Rows.of([{NASTY: NASTY}])})
    candidate = replace(made.candidates[0], scores=Scores([risk, score]), notes=(Note(NASTY, step=NASTY, public=True),),
                        steps=({"method": NASTY, NASTY: NASTY},), sentences=(NASTY,), publishable=({NASTY: NASTY},))
    about = replace(made.about, confidential=(NASTY,), purpose=NASTY, sub_groups=(NASTY,))
    nasty = replace(made, candidates=(candidate,), about=about)
    for edition in ("internal", "public"):
        html = nasty.html(edition)
        assert "<script>alert" not in html
        assert html.count("<script") == 1
        assert "&lt;script&gt;alert" in html
