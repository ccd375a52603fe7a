"""A short part of the fuzzing, and every input that once was a fault: only a LarvatusError may come out, and in time."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

sys.path.append(str(Path(__file__).resolve().parent))

from campaign import AIM, BEGIN, CORPUS, END, PAGE, decoded, figures, with_figures
from targets import TARGETS, handle

KEPT = sorted(CORPUS.glob("*/*.json"))
FEW = settings(max_examples=15, database=None, deadline=None, derandomize="LARVATUS_NEW_EXAMPLES" not in os.environ,
               suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("path", KEPT, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_inputs_that_once_were_faults_are_handled(path):
    handle(TARGETS[path.parent.name.replace("_", " ")], decoded(json.loads(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("kind", TARGETS)
def test_damaged_input_is_refused_with_an_own_error(kind):
    def use(value: object) -> None:
        handle(TARGETS[kind], value)

    FEW(given(TARGETS[kind].inputs)(use))()


def test_the_page_holds_the_report_of_one_run_over_all_kinds():
    report = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in report.splitlines() if line.startswith("| ")][1:]
    assert [row[0] for row in rows] == list(TARGETS)
    cases = [int(row[1].replace(",", "")) for row in rows]
    assert f"{sum(cases):,} cases of {len(rows)} kinds" in report
    assert f"the smallest number is {min(cases):,}" in report
    assert f"{sum(n >= AIM for n in cases)} of {len(rows)} kinds reached it" in report
    assert len([line for line in report.splitlines() if line.startswith("* ")]) == sum(int(row[4]) for row in rows)


def test_a_report_replaces_the_earlier_one():
    fault = {"KeyError at x.py:1": Path("a.json")}
    found = {"CSV": (Counter(ok=3, refused=5), {}), "frames": (Counter(refused=1, fault=1), fault)}
    report = figures(["--seed", "7"], {"CSV": [7, 9]}, 61.0, found)
    assert "| CSV | 8 | 3 | 5 | 0 | 7, 9 |" in report
    assert "* frames: KeyError at x.py:1, input `a.json`" in report
    page = with_figures(f"before {BEGIN}old{END}after", report)
    assert page == f"before {BEGIN}{report}{END}after"
