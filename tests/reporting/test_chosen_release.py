"""The chosen release's section holds what the comparison itself says: its sentences, and whether limits are kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from larvatus.comparison.limits import limits_of
from larvatus.reporting.editions.compose import compose_report
from larvatus.reporting.page.blocks import Listing, Paragraph, ReportTable, Section
from larvatus.reporting.sections.chosen_release import NO_LIMITS


def chosen(made, name: str | None) -> Section:
    return next(s for s in compose_report(made, "internal", None, name).appendix if s.title == "The chosen release")


def sentences(section: Section) -> list[tuple[str, ...]]:
    return next(b.rows for b in section.blocks if isinstance(b, ReportTable) and b.caption == "Its scores in words")


def test_every_sentence_on_the_chosen_release_stands_there(comparison):
    made = comparison(3)
    rows = sentences(chosen(made, "noise 1"))
    own = [(str(r["about"]).capitalize(), r["sentence"]) for r in made.explain() if r["release"] == "noise 1"]
    assert sorted(rows) == sorted(pair for pair in own if pair[0] in ("Risk", "Loss", "Limits"))
    assert {about for about, _ in rows} == {"Risk", "Loss"}
    assert Paragraph(NO_LIMITS) in chosen(made, "noise 1").blocks


@pytest.mark.parametrize(("most", "said"), [(0.9, "meets the only limit"), (0.001, "breaks 1 of 1")])
def test_limits_come_before_the_sentences(comparison, most, said):
    made = replace(comparison(3), limits=limits_of({"nearest_record": most}))
    blocks = chosen(made, "noise 1").blocks
    listed = next(b for b in blocks if isinstance(b, Listing))
    assert said in listed.items[0]
    captions = [b.caption for b in blocks if isinstance(b, ReportTable)]
    assert captions.index("Its scores in words") == len(captions) - 1
    assert {about for about, _ in sentences(chosen(made, "noise 1"))} == {"Risk", "Loss"}, "said once"
    assert Paragraph(NO_LIMITS) not in blocks


def test_where_none_is_chosen_all_are_spoken_of_together(comparison):
    blocks = chosen(comparison(3), None).blocks
    told = next(b for b in blocks if isinstance(b, Listing))
    assert any("noise 2" in item and "is on the frontier: no other release has" in item for item in told.items)


def test_one_release_of_several_is_told_of_alone(comparison):
    report = compose_report(comparison(3), "internal", "noise 1", "noise 1")
    section = next(s for s in report.appendix if s.title == "The chosen release")
    assert sentences(section)
