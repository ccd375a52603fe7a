"""A search that was stopped goes on from what was drawn, two at a time are the same, and its study can be run and checked."""

from __future__ import annotations

import json
import operator
from pathlib import Path

import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import WriteError
from larvatus.pipeline import search_study
from larvatus.pipeline.candidates.parallel import CandidateRunner
from larvatus.searching.goal import Goal
from sample import SECRET, people

STUDY = """
source = "people.csv"
purpose = "a test"
[roles]
confidential = ["income", "wealth"]
[sub_groups]
columns = ["region"]
[goal]
objective = "for_users"
trials = 6
finalists = 1
secrets = 3
[combine.for_users]
correlation = 2
moments = 1
[limits]
nearest_record = { above_baseline = 0.15 }
moments = 5
[[search]]
name = "noise"
steps = [{ method = "additive_noise", range.variance = [0.01, 4, "log"] }]
[[attack]]
method = "nearest_record"
[[measure]]
method = "correlation"
[[measure]]
method = "moments"
[[domain]]
column = "region"
[[analysis]]
mean = ["income"]
[labels]
income = "Yearly income"
"""
SPACE = {"name": "noise", "steps": [{"method": "additive_noise", "range": {"variance": [0.01, 4, "log"]}}]}


@pytest.fixture
def study(tmp_path) -> lv.Study:
    people(150, missing=False).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return lv.Study.read(tmp_path / "study.toml")


@pytest.fixture
def drawn(monkeypatch) -> list[tuple[str, bytes]]:
    """Every draw that is masked and scored from here on."""
    made: list[tuple[str, bytes]] = []
    real = lv.pipeline.candidates.search_candidates.risk

    def counted(data, release, *args, **kwargs):
        made.append((release.name, release.data.rows))
        return real(data, release, *args, **kwargs)

    monkeypatch.setattr("larvatus.pipeline.candidates.search_candidates.risk", counted)
    return made


def stopped_at(place: int, stage: str = "searching"):
    def progress(doing: str, done: int, total: int) -> None:
        if doing.startswith(stage) and done >= place:
            raise SystemExit

    return progress


def files_in(folder: Path) -> dict[str, bytes]:
    there = [p for p in sorted(folder.rglob("*")) if p.is_file() and ".larvatus-cache" not in p.parts]
    out = {str(p.relative_to(folder)): p.read_bytes() for p in there}
    return {n: v for n, v in out.items() if n != "report.html"}  # which tells the time


def test_a_search_that_was_stopped_does_not_redo_what_was_done(study, drawn, tmp_path):
    whole = search_study(study, tmp_path / "whole", secret=SECRET)
    every = list(drawn)
    assert len(every) == 6 + 3
    drawn.clear()
    with pytest.raises(SystemExit):
        search_study(study, tmp_path / "out", secret=SECRET, progress=stopped_at(4))
    assert len(drawn) == 4
    assert files_in(tmp_path / "out") == {}
    with pytest.raises(SystemExit):
        search_study(study, tmp_path / "out", secret=SECRET, progress=stopped_at(2, "confirming"))
    assert len(drawn) == 6 + 2
    again = search_study(study, tmp_path / "out", secret=SECRET)
    assert drawn == every
    assert (again.tried, again.confirmed()) == (whole.tried, whole.confirmed())
    assert files_in(tmp_path / "out") == files_in(tmp_path / "whole")


def test_a_finished_search_is_read_again_and_gone_on_with(study, drawn, tmp_path):
    search_study(study, tmp_path / "out", secret=SECRET)
    before = files_in(tmp_path / "out")
    drawn.clear()
    search_study(study, tmp_path / "out", secret=SECRET)
    assert drawn == []
    assert files_in(tmp_path / "out") == before
    more = study.model_copy(update={"goal": Goal(**{**study.goal.model_dump(), "trials": 8})})
    found = search_study(more, tmp_path / "out", secret=SECRET)
    assert len(found.tried) == 8
    assert 2 <= len(drawn) < 8 + 3
    with pytest.raises(WriteError, match="exists already"):
        search_study(study, tmp_path / "out", secret=SECRET[::-1])
    with pytest.raises(WriteError, match=r"only with the secret it started with"):
        search_study(study, tmp_path / "out")
    (tmp_path / "out" / "tried.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(WriteError, match="was changed after the search wrote it"):
        search_study(more, tmp_path / "out", secret=SECRET)


def test_without_a_secret_the_exploration_is_kept_and_fresh_draws_are_not(study, drawn, tmp_path, monkeypatch):
    monkeypatch.setattr("larvatus.core.randomness.secrets.token_bytes", lambda n: SECRET[::-1][:n])  # as fresh, but known
    with pytest.raises(SystemExit):
        search_study(study, tmp_path / "out", progress=stopped_at(2, "confirming"))
    kept = [p for p in (tmp_path / "out" / ".larvatus-cache").iterdir() if p.is_dir()]
    assert (len(drawn), len(kept)) == (6 + 2, 6)
    assert SECRET not in b"".join(p.read_bytes() for p in kept[0].rglob("*") if p.is_file())


def test_two_at_a_time_give_the_same_search():
    data = lv.read(people(150, missing=False), confidential=["income", "wealth"], sub_groups=["region"])
    goal = Goal(trials=4, finalists=1, secrets=2)
    limits = {"nearest_record": {"above_baseline": 0.3}}
    one, two = (
        lv.search(data, SPACE, limits, "correlation", goal=goal, secret=SECRET, execution=lv.Execution(jobs=n)) for n in (1, 2)
    )
    assert one.tried == two.tried
    assert one.confirmed() == two.confirmed()
    assert one.release.frame().equals(two.release.frame())



def test_work_goes_on_without_the_other_process():
    two: CandidateRunner[int, int] = CandidateRunner(lambda job, progress: 10 * job, operator.mul, 10, 2, True)
    assert list(two.results([1, 2], 4)) == [10, 20]
    assert two.worker is not None
    two.worker.stop()
    assert list(two.results([3, 4], 2)) == [30, 40]
    assert two.worker is None
    assert list(two.results([5, 6], 2)) == [50, 60]
    assert two.worker is None
    two.close()


def test_the_study_that_a_search_writes_can_be_run_and_checked(study, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    (tmp_path / "key").write_bytes(SECRET)
    (tmp_path / "key").chmod(0o600)
    assert main(["search", "study.toml", "-o", "out", "--format", "csv", "--secret-file", "key"]) == 0
    again = lv.Study.read(tmp_path / "out" / "study.toml")
    for part in ("limits", "goal", "combine", "analysis", "domain", "labels", "attack", "measure", "purpose", "roles"):
        assert getattr(again, part) == getattr(study, part), part
    assert again.limits
    assert main(["run", "out/study.toml", "-o", "again", "--format", "csv"]) == 0
    released, = (tmp_path / "again" / "releases").glob("noise*[0-9].csv")
    pairing, = (tmp_path / "again" / "internal" / "pairings").iterdir()
    code = main(["check", "people.csv", str(released), "--study", "out/study.toml", "--pairing", str(pairing)])
    assert code in (0, 4)
    assert "nearest_record" in capsys.readouterr().out
    told = json.loads((tmp_path / "out" / "internal" / "chosen.internal.json").read_text(encoding="utf-8"))
    assert told["selection"]["limits"] == study.limits.plain()
    assert told["selection"]["objective"] == "for_users"
    assert told["selection"]["combine"] == {"for_users": {"correlation": 2.0, "moments": 1.0}}
    assert told["selection"]["goal"]["secrets"] == 3
    assert told["limits"]["met"] is True
    assert {v["score"] for v in told["limits"]["verdicts"]} == {"nearest_record", "moments"}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Limits for “" in page
    assert "for_users" in page
    assert "chosen among 6 candidates" in page
    assert "Yearly income" in page


@pytest.mark.parametrize("jobs", [1, 2, None])
@pytest.mark.parametrize("pieces", [0, 1, 2, 3, 8])
def test_results_come_in_order_whatever_does_them(jobs, pieces):
    runner = CandidateRunner(lambda job, progress: 10 * job, operator.mul, 10, jobs, True)
    assert list(runner.results(range(pieces))) == [10 * i for i in range(pieces)]
    assert runner.work.estimate.pieces_done == pieces
    runner.close()


def test_nothing_is_done_before_it_is_asked_for_by_one_process():
    done: list[int] = []
    runner = CandidateRunner(lambda job, progress: done.append(job) or job, operator.mul, 10, 1, True)
    made = runner.results([1, 2, 3])
    assert (next(made), done) == (1, [1])
    assert (next(made), done) == (2, [1, 2])
    made.close()
    assert done == [1, 2]
    runner.close()
