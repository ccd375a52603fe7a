"""The page of a reproduction: a summary, the claims, what lies outside and why, then the papers."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import pytest

from larvatus.papers.framework.model import Claim, Evidence, Experiment, Paper, PublishedTable, Where
from larvatus.papers.framework.page import count_claims, markdown, page, stand_in_note, summary_of
from larvatus.papers.framework.reproduction import Reproduction
from larvatus.papers.framework.verdicts import check_table, figures_by_name, judge_claim
from larvatus.papers.framework.wording import over_seeds
from larvatus.reporting.page.blocks import Report
from larvatus.reporting.page.html import render

ROWS = ["X", "ADD", "IMP", "MIC", "SWP"]
VALUES = {"X": 0.742, "ADD": 0.738, "IMP": 0.71, "MIC": 0.5, "SWP": 0.4}
SEEDS = 20
TABLE = PublishedTable("4", "e", exact=("correlation/X",), cannot={"correlation/SWP": "its draws are lost"})
PAPER = Paper("001", "a paper", (Experiment("e", lambda s, w: {}, seeds=SEEDS),), (TABLE,), claims=(
    Claim("All is well.", lambda f: ("holds", Evidence("By row", ("row", "mean"), (("X", "0.742"), ("<b>", "1")))), ("e",),
          place="§1, Table 4"),
    Claim("All is ill.", lambda f: ("does not hold", "It is not"), ("e",), place="§2"),
))


@pytest.fixture(scope="module")
def found() -> Reproduction:
    values = [{f"4/correlation/{r}": v + (k % 5 - 2) * 0.001 * (r != "X") for r, v in VALUES.items()} for k in range(SEEDS)]
    seen = figures_by_name(values)
    table = check_table(PAPER, TABLE, seen, asked=200)
    claims = tuple(judge_claim(PAPER, c, seen, "", {"e": SEEDS}) for c in PAPER.claims)
    return Reproduction((PAPER,), (table,), claims, 200, False)


def test_the_summary_counts_every_verdict_of_every_paper(found):
    columns, rows = summary_of(found)
    assert columns == ("paper", "figures", "exact", "in band", "outside", "cannot be reproduced")
    assert rows == [("001", "5", "1", "2", "1", "1")]
    two = Reproduction((PAPER, PAPER), found.tables, found.claims, 1, False)
    assert summary_of(two)[1][-1][0] == "all"


def test_a_cap_on_seeds_is_said(found):
    assert over_seeds(found.tables[0]) == "20 seeds (maximum: each run takes long)"
    why = replace(PAPER, experiments=(replace(PAPER.experiments[0], most="the paper's number"),))
    seen = figures_by_name([{"4/correlation/X": 0.742}] * SEEDS)
    assert over_seeds(check_table(why, TABLE, seen, asked=200)) == "20 seeds (maximum: the paper's number)"
    assert over_seeds(check_table(PAPER, TABLE, figures_by_name([{"4/correlation/X": 0.742}]), asked=1)) == "1 seed"


def test_figures_of_stand_ins_that_were_fitted_are_counted(found):
    assert stand_in_note(found) == ""
    table = replace(found.tables[0], table=replace(TABLE, fitted=True))
    both = replace(found, tables=(found.tables[0], table))
    assert stand_in_note(both).startswith(
        "3 of the 6 figures exact or in band come from stand-ins fitted to figures of the same tables")
    assert stand_in_note(both) in markdown(both)
    opening = render(page(both, Where())).partition("</nav>")[0]
    assert "come from stand-ins fitted to figures of the same tables (001/4)" in opening


def test_several_claims_are_in_the_plural(found):
    assert count_claims(found.claims * 2) == "4 claims: 2 do not hold, 2 hold."


def test_summary_claims_and_reasons_come_before_the_papers(found):
    text = render(page(found, Where()))
    opening, _, body = text.partition("</nav>")
    assert "Verdicts on published figures" in opening
    order = ["Claims and slips", "All is well.", "Figures outside", "its draws are lost",
             "1 figure is outside: correlation · MIC", "Paper 001: a paper"]
    assert sorted(order, key=body.index) == order
    assert 'href="#s3">001</a>' in text
    assert "2 claims: 1 does not hold, 1 holds." in text


def test_evidence_is_a_small_table_and_escaped(found):
    text = render(page(found, Where()))
    assert '<th scope="row">X</th><td>0.742</td>' in text
    assert escape("<b>") in text
    assert "<b></th>" not in text
    assert found.claims[0].evidence.lines == ("By row. Over 20 seeds.", "X: mean 0.742", "<b>: mean 1")


def test_the_docs_hold_summary_claims_and_rows(found):
    text = markdown(found)
    assert "| 001 | 5 | 1 | 2 | 1 | 1 |" in text
    assert "By row. Over 20 seeds.<br>X: mean 0.742" in text
    assert "| 001 §1, Table 4 | All is well. | holds |" in text
    assert count_claims(found.claims) in text
    assert "1 figure is outside" in text


def test_other_reports_are_as_they_were():
    plain = render(Report("t", "public", (), (), "end"))
    assert ".findings" not in plain
    assert ".findings" in render(Report("t", "public", (), (), "end", ("findings.css",)))
