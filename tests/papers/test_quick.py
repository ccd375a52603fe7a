"""`larvatus reproduce --quick`, paper by paper: everything ends, every printed figure has a verdict, every claim evidence.

With as many seeds as a figure needs for a band: more of them make figures more precise, and no other code runs. Two papers take
longer than all others. `make test` measures Table 1 of 000 for three of its ten techniques, and the study of reverse mapping
with 25 records; `make check` runs both papers as the command does.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from larvatus.cli.main import main
from larvatus.papers.framework.catalogue import papers
from larvatus.papers.framework.model import FEWEST_SEEDS, Paper, Where
from larvatus.papers.framework.published_figures import published_figures
from larvatus.papers.reverse_mapping_001 import open_issues_experiments
from larvatus.papers.reverse_mapping_001.open_issues_experiments import QUICK_MOST
from larvatus.papers.shuffling_000 import table_1

PAPERS = ("000", "001", "001-6", "002", "003", "004")
LONG = ("000", "001-6")
THREE = ("noise", "linear model (6)", "shuffling")  # one keeps nothing, one the moments, one ranks; risk is minimal or not


@pytest.fixture
def quick(tmp_path, monkeypatch, capsys, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)

    def run(number: str) -> tuple[dict, str]:
        options = ["--quick", "--seeds", str(FEWEST_SEEDS), "--jobs", "1", "--cache-dir", "kept", "-o", "out.html", "--json"]
        assert main(["reproduce", number, *options]) == 0
        return json.loads(capsys.readouterr().out), (tmp_path / "out.html").read_text(encoding="utf-8")

    return run


def test_these_are_all_papers():
    assert tuple(p.number for p in papers()) == PAPERS


@pytest.mark.parametrize("number", [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in PAPERS])
def test_a_paper_in_a_hurry(number, quick, real_files):
    page = check(next(p for p in papers() if p.number == number), *quick(number))
    if number == "001-6":
        assert f"n = 25, {QUICK_MOST}" in page


def check(paper: Paper, found: dict, page: str) -> str:
    number = paper.number
    assert [t["table"] for t in found["tables"]] == [f"{number}/{t.number}" for t in paper.tables]
    for table, shown in zip(paper.tables, found["tables"], strict=True):
        rows = shown["rows"]
        assert len(rows) == len(published_figures(number, table.number, table.symmetric))
        for row in rows:
            name = f"{row['column']}/{row['row']}"
            if any(name.startswith(e) for e in table.exact):
                assert row["verdict"] == "exact", (shown["table"], name)
            if row["verdict"] == "cannot be reproduced":
                assert row["because"]
            else:
                assert row["measured"] is not None
    assert [c["says"] for c in found["claims"]] == [c.says for c in paper.claims]
    assert all(c["evidence"] and c["verdict"] != "not measured" for c in found["claims"])
    assert page.index("Claims and slips") < page.index(f"Paper {number}")
    return page


def test_all_of_000_but_its_first_table(quick, real_files, monkeypatch):
    whole = next(p for p in papers() if p.number == "000")
    assert [t.number for t in whole.tables if "techniques" in t.experiments] == ["1"]
    others = [e for e in whole.experiments if e.name != "techniques"]
    shorter = replace(whole, experiments=tuple(others), tables=tuple(t for t in whole.tables if t.number != "1"))
    for module in ("catalogue", "runner"):
        monkeypatch.setattr(f"larvatus.papers.framework.{module}.papers", lambda: (shorter,))
    check(shorter, *quick("000"))


def test_three_techniques_have_the_printed_row_in_table_1_of_000(monkeypatch):
    printed = {f.name: f.value for f in published_figures("000", "1", False)}
    monkeypatch.setattr(table_1, "TECHNIQUES", {name: table_1.TECHNIQUES[name] for name in THREE})
    found = table_1.techniques(0, Where(quick=True))
    assert found == {name: value for name, value in printed.items() if name.endswith(THREE)}
    assert len(found) == 6 * len(THREE)


def test_the_study_of_reverse_mapping_with_few_records(quick, monkeypatch):
    monkeypatch.setattr(open_issues_experiments, "QUICK_MOST", 25)
    page = check(next(p for p in papers() if p.number == "001-6"), *quick("001-6"))
    assert "n = 25" in page
    assert f"n = 25, {QUICK_MOST}" not in page
