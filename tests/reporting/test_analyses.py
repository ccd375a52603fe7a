"""The section on named analyses: sentences that follow from the rows, lanes where the numbers say, nothing in public."""

from __future__ import annotations

import re

import pytest

import larvatus as lv
from larvatus.comparison.headline import headlines
from larvatus.data.score import Rows, Score
from larvatus.reporting.figures.estimate_intervals import interval_lane
from larvatus.reporting.page.blocks import Figure, Fold, ReportTable, Section
from larvatus.reporting.sections.analyses import analyses_section
from sample import SECRET, people

LABEL = "y ~ x"


def row(quantity: str, released: float | None, sign: str | None = "", significance: str | None = "", **more: object) -> dict:
    there = released is not None
    return {
        "analysis": LABEL, "quantity": quantity, "original": 10.0, "original_low": 8.0, "original_high": 12.0,
        "released": released, "released_low": released - 2 if there else None, "released_high": released + 2 if there else None,
        "corrected": None, "corrected_low": None, "corrected_high": None, "overlap": 0.5 if there else None,
        "corrected_overlap": None, "loss": 0.5, "sign": sign, "significance": significance, "level": 0.05, "said": "", **more,
    }


def section(comparison, *tables: list[dict], name: str = LABEL) -> Section:
    """A section made of these rows, one list per release."""
    made = comparison(candidates=len(tables))
    for candidate, rows in zip(made.candidates, tables, strict=True):
        score = Score("analyses", "loss", 0.5, by_variable=Rows.of([{"variable": name, "loss": 0.5}]),
                      details={"estimates": Rows.of(rows)})
        object.__setattr__(candidate, "scores", lv.Scores([*candidate.scores, score]))
    found = analyses_section(made.candidates, headlines(made.candidates))
    assert found is not None
    return found


def figure(found: Section) -> Figure:
    return next(b for part in found.blocks if isinstance(part, Section) for b in part.blocks if isinstance(b, Figure))


def test_no_analysis_no_section(comparison):
    made = comparison()
    assert analyses_section(made.candidates, headlines(made.candidates)) is None
    assert "Named analyses" not in made.html()


def test_the_sentence_counts_signs_and_significance(comparison):
    rows = [row("a", -9.0, "changed", "lost"), row("b", 9.0, "", "gained"), row("c", 9.0), row("d", None)]
    said = figure(section(comparison, rows)).sentence
    assert "1 changed sign (a), 2 changed significance (a (lost), b (gained))" in said.lower()
    assert "at the 5\N{NO-BREAK SPACE}% level" in said
    assert "and 1 cannot be estimated (4\N{NO-BREAK SPACE}coefficients compared); the mean overlap is 0.500" in said


def test_nothing_changed_is_said(comparison):
    said = figure(section(comparison, [row("a", 9.0)], [row("a", 9.0, "changed")])).sentence
    assert "In “noise 0”, none changed sign, and none changed significance" in said
    assert "In “noise 1”, 1 changed sign (a)" in said


def test_many_releases_name_the_worst(comparison):
    tables = [[row("a", 9.0, "changed" if i == 4 else "")] for i in range(9)]
    said = figure(section(comparison, *tables)).sentence
    assert re.search(r"in \d of \d releases", said)


def test_what_the_correction_does_is_said(comparison):
    better = {"corrected": 10.0, "corrected_low": 8.0, "corrected_high": 12.0, "corrected_overlap": 0.9}
    drawn = figure(section(comparison, [row("a", 9.0, **better)]))
    assert "the mean overlap is 0.500 (after correction for the published noise: 0.900)" in drawn.sentence
    assert "corrected for the noise" in drawn.svg
    assert "corrected for the noise" not in figure(section(comparison, [row("a", 9.0)])).svg


def test_lanes_are_in_half_widths_of_the_original():
    lane = interval_lane("a", [row("a", 14.0), None])
    assert lane is not None
    assert lane.zero == pytest.approx(-5.0)
    assert lane.released == ((2.0, 1.0, 3.0), None)
    assert lane.corrected == (None, None)
    assert not lane.beyond
    assert interval_lane("a", [row("a", 90.0)]).beyond
    assert interval_lane("a", [{**row("a", 9.0), "original_low": 12.0}]) is None
    assert interval_lane("a", [{**row("a", 9.0), "original": None}]) is None


def test_rows_without_an_original_still_stand_in_the_table(comparison):
    lost = {"original": None, "original_low": None, "original_high": None, "overlap": None, "loss": None}
    found = section(comparison, [row("a", 9.0, **lost) | {"said": "original: the outcome does not vary"}])
    part = found.blocks[1]
    assert isinstance(part, Section)
    table = next(b.blocks[0] if isinstance(b, Fold) else b for b in part.blocks if isinstance(b, ReportTable | Fold))
    assert "original: the outcome does not vary" in table.rows[0]


def test_hostile_names_are_escaped(comparison):
    name = "<script>alert(1)</script>"
    rows = [row("<b>x</b>", 9.0) | {"analysis": name}]
    found = figure(section(comparison, rows, name=name))
    assert "<script>" not in found.svg
    assert "<b>" not in found.svg


def test_from_a_release_to_both_editions():
    frame = people(300)
    data = lv.read(frame, confidential=["income", "wealth"], non_confidential=["age", "job"])
    release = lv.mask(data, "additive_noise", secret=SECRET, name="noise")
    scoring = lv.Scoring(analyses=["income ~ wealth + age", {"table": "job"}])
    found = lv.compare(data, [release], ["nearest_record"], ["moments"], scoring=scoring)
    page = found.html()
    assert "Named analyses" in page
    assert "income ~ wealth + age: confidence intervals" in page
    score = found.candidates[0].scores.analyses
    public = found.html("public")
    for r in score.details["estimates"]:
        assert f"{r['original']:.4g}" not in public
    assert ": confidence intervals" not in public
    levels = {r["level"] for r in found.tidy() if r["score"] == "analyses"}
    assert {"overall", "variable", "estimate, original", "estimate, released", "estimate, corrected", "overlap"} <= levels
    plain = found.plain()["releases"][0]["scores"][-1]
    assert plain["method"] == "analyses"
    assert len(plain["details"]["estimates"]) == len(score.details["estimates"])
