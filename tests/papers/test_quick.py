"""`larvatus reproduce --quick`, paper by paper: everything ends, every printed figure has a verdict, every claim evidence.

With as many seeds as a figure needs for a band: more of them make figures more precise, and no other code runs.
"""

from __future__ import annotations

import json

import pytest

from larvatus.cli.main import main
from larvatus.papers.framework.catalogue import papers
from larvatus.papers.framework.model import FEWEST_SEEDS
from larvatus.papers.framework.published_figures import published_figures
from larvatus.papers.reverse_mapping_001.open_issues_experiments import QUICK_MOST

PAPERS = ("000", "001", "001-6", "002", "003", "004")


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


@pytest.mark.parametrize("number", PAPERS)
def test_a_paper_in_a_hurry(number, quick, real_files):
    paper = next(p for p in papers() if p.number == number)
    found, page = quick(number)
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
    if number == "001-6":
        assert f"n = 25, {QUICK_MOST}" in page
