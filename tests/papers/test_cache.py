"""What a kept result depends on, and what is shown of a run that was cut short."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from larvatus.papers.framework import cache as keeping
from larvatus.papers.framework import runner
from larvatus.papers.framework.cache import SHARED, ResultCache
from larvatus.papers.framework.catalogue import papers
from larvatus.papers.framework.model import NOT_YET, Experiment, Paper, Where
from larvatus.papers.framework.reproduction import reproduce_tables

MODULES = sorted({sys.modules[getattr(e.run, "func", e.run).__module__] for p in papers() for e in p.experiments},
                 key=lambda m: m.__name__)


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__.rpartition(".")[2])
def test_modules_of_experiments_import_nothing_of_papers_that_a_mark_leaves_out(module):
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    used = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and str(n.module).startswith("larvatus.papers")}
    shared = {name.removesuffix(".py") for name in SHARED} | {"model"}
    assert used <= {f"larvatus.papers.framework.{name}" for name in shared}


def test_a_mark_changes_with_the_own_module_the_package_and_the_hurry_alone(tmp_path, monkeypatch):
    code = "def run(seed, where):\n    return {'a': 1.0}\n"
    names = ("paper_of_mine", "paper_of_another")
    made = []
    for name in names:
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in names:
        made.append((Paper(name, "", (), ()), Experiment("e", __import__(name).run)))
    before = ResultCache.at(None, Where(), made).marks
    (tmp_path / f"{names[0]}.py").write_text(code + "# changed\n", encoding="utf-8")
    after = ResultCache.at(None, Where(), made).marks
    assert {k for k in before if before[k] != after[k]} == {(names[0], "e")}
    assert set(ResultCache.at(None, Where(quick=True), made).marks.values()).isdisjoint(after.values())
    monkeypatch.setattr(keeping, "_package", lambda: b"another")
    assert set(ResultCache.at(None, Where(), made).marks.values()).isdisjoint(after.values())


def test_stored_only_runs_nothing_and_says_what_is_not_there(tmp_path, monkeypatch):
    done = reproduce_tables(["001/text"], 1, Where(), tmp_path, 1)
    monkeypatch.setattr(runner, "run_task", lambda *_: pytest.fail("something was run"))
    kept = reproduce_tables(["001"], 5, Where(), tmp_path, 1, stored_only=True)
    assert [t for t in kept.tables if t.table.number == "text"] == list(done.tables)
    assert {str(c.evidence) for c in kept.claims if c.verdict == "not measured"} == {NOT_YET}
    other = reproduce_tables(["004/9"], 5, Where(), tmp_path, 1, stored_only=True).tables[0]
    assert {(r.verdict, r.because) for r in other.rows} == {("not run", NOT_YET)}


def nothing(seed: int, where: Where) -> dict[str, float]:
    return {}


def test_experiments_go_forward_in_proportion(monkeypatch):
    ran = []
    monkeypatch.setattr(runner, "run_task", lambda task, where: ran.append((task.experiment, task.seed)) or {"a": 1.0})
    paper = Paper("x", "", (Experiment("long", nothing, seeds=2), Experiment("short", nothing)), ())
    runner.run_experiments([(paper, e) for e in paper.experiments], 4, Where(), None, 1)
    assert ran == [("long", 0), ("short", 0), ("short", 1), ("long", 1), ("short", 2), ("short", 3)]
