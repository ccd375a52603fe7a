"""Search: the least loss under a limit, confirmed with fresh secrets; a lucky draw is not chosen."""

from __future__ import annotations

import json
import math
import sys
from types import SimpleNamespace

import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.comparison.combined_scores import combinations_of
from larvatus.core.errors import LarvatusError, MaskError, StudyError
from larvatus.data.score import Score, Scores
from larvatus.data.verbs import sample_records
from larvatus.searching.goal import Goal, judge_of, measures_for, objective_loss, objective_problems
from larvatus.searching.result import Finalist, FreshDraw, Trial
from larvatus.searching.search import ScoredDraw, search_releases
from larvatus.searching.space import space_of
from sample import SECRET, people

NOISE = {"name": "noise", "steps": [{"method": "additive_noise", "range": {"variance": [0.01, 4, "log"]}}]}
LIMIT = {"nearest_record": {"above_baseline": 0.12}}


class Faked:
    """A runner without data: loss and risk are functions of the variance and of the secret."""

    def __init__(self, risk, loss=lambda v: v) -> None:
        self.risk, self.loss, self.calls = risk, loss, []

    heavier = 1.0

    def score(self, draws, left):
        for draw in draws:
            try:
                yield ScoredDraw(self.one(draw))
            except MaskError as error:
                yield ScoredDraw(problem=str(error))

    def one(self, draw):
        value, secret = draw.steps[0].variance, draw.key(SECRET)
        self.calls.append((value, secret, draw.whole))
        risk = Score("nearest_record", "risk", self.risk(value, secret, draw.whole), chance=0.0)
        return Scores([risk, Score("moments", "loss", self.loss(value))])

    def release(self, draw):
        self.calls.append((draw.steps[0].variance, draw.key(SECRET), draw.whole))
        return draw.name


def ran(runner, space=NOISE, limits=None, progress=lambda *_: None, **goal):
    given = Goal(**{"trials": 30, "finalists": 2, "secrets": 4, **goal})
    judge = judge_of(limits or {"nearest_record": 0.5})
    return search_releases(space_of(space), judge, "moments", given, SECRET, runner, progress)


def test_the_least_loss_under_the_limit_is_found():
    found = ran(Faked(lambda v, *_: 1 / (1 + v)))
    assert found.chosen is not None
    best = found.chosen.candidate.steps[0].variance
    assert 1 <= best < 1.3
    assert found.release == found.chosen.candidate.name
    assert len(found.tried) == 30
    assert all(t.violation == pytest.approx(max(0, 1 / (1 + t.loss) - 0.5)) for t in found.tried)


def test_the_same_secret_gives_the_same_search_and_another_another():
    tried = [ran(Faked(lambda v, *_: 1 / (1 + v)), trials=12).tried for _ in range(2)]
    assert tried[0] == tried[1]


def test_a_lucky_draw_is_not_chosen():
    """Below 2 the limit holds on the exploring secret only."""
    def lucky(v, secret, whole):
        return 0.9 if whole and v < 2 else 0.4

    found = ran(Faked(lucky))
    assert found.chosen is not None
    assert found.chosen.candidate.steps[0].variance >= 2
    assert any(not f.meets_limits and f.candidate.steps[0].variance < 2 for f in found.finalists)
    assert {len(f.draws) for f in found.finalists
            if not f.meets_limits} == {1}, "given up at the first secret that breaks the limit"
    assert min(t.loss for t in found.tried if t.violation <= 0) < 2


def test_a_stated_share_of_the_secrets_is_enough():
    broken: dict[float, bytes] = {}

    def one_in_four(v, secret, whole):
        return 0.9 if whole and broken.setdefault(v, secret) == secret else 0.4

    assert ran(Faked(one_in_four)).chosen is None
    broken.clear()
    found = ran(Faked(one_in_four), share=0.75)
    assert found.chosen is not None
    assert sum(d.violation <= 0 for d in found.chosen.draws) == 3


def test_the_secrets_that_confirm_are_fresh_and_the_release_is_drawn_with_one_that_keeps_the_limit():
    runner = Faked(lambda v, *_: 0.1)
    found = ran(runner, finalists=1, secrets=3)
    exploring = {s for _, s, whole in runner.calls if not whole}
    fresh = [s for _, s, whole in runner.calls if whole]
    assert len(exploring) == 1
    assert len(set(fresh)) == 3
    assert not exploring & set(fresh)
    assert SECRET not in {*exploring, *fresh}
    assert fresh[-1] == fresh[0]
    assert found.chosen is not None


def test_progress_tells_the_best_so_far_and_the_time_left():
    said: list[tuple[str, int]] = []
    ran(Faked(lambda v, *_: 1 / (1 + v)), trials=12, progress=lambda doing, done, total: said.append((doing, done)))
    assert said[0] == ("searching", 0)
    assert [done for doing, done in said if doing.startswith("searching")] == sorted(done for d, done in said if d[0] == "s")
    assert any(doing.startswith("searching, least loss under the limits 4, ") and doing.endswith(" left") for doing, _ in said)
    confirming = [doing for doing, _ in said if doing.startswith("confirming: noise variance=") and "secret 3, " in doing]
    assert any(doing.endswith(" left") for doing in confirming)


def test_among_equal_losses_the_least_risk_is_chosen():
    found = ran(Faked(lambda v, *_: 0.4 / (1 + v), loss=lambda v: v * 1e-15))
    assert found.chosen is not None
    assert found.chosen.candidate.steps[0].variance == 4


def test_nothing_keeps_the_limit():
    found = ran(Faked(lambda *_: 0.9), trials=8)
    assert (found.chosen, found.release, found.finalists) == (None, None, ())
    assert "no candidate met the limits" in found.notes[0]


def test_an_interruption_gives_the_best_so_far_confirmed():
    class Interrupted(Faked):
        asked = 0

        def one(self, draw):
            self.asked += 1
            if self.asked == 8:
                raise KeyboardInterrupt
            return Faked.one(self, draw)

    found = ran(Interrupted(lambda v, *_: 1 / (1 + v)))
    assert len(found.tried) == 7
    assert "interrupted after 7 of 30" in found.notes[0]
    assert found.interrupted
    assert found.chosen is not None
    assert found.chosen.candidate.violation == 0


def test_a_second_interruption_leaves_the_best_unconfirmed():
    class Interrupted(Faked):
        def one(self, draw):
            if draw.whole or len(self.calls) == 7:
                self.calls.append((0, b"", False))
                raise KeyboardInterrupt
            return Faked.one(self, draw)

    found = ran(Interrupted(lambda v, *_: 1 / (1 + v)))
    assert found.chosen is None
    assert found.interrupted
    assert found.outcome == "interrupted before a candidate was confirmed"
    assert found.finalists == ()
    assert found.best is not None
    assert found.best.violation == 0


def test_candidates_that_fail_are_listed_and_do_not_end_the_search():
    def picky(v, *_):
        if v < 1:
            raise MaskError("too little")
        return 0.1

    found = ran(Faked(picky))
    assert {t.problem for t in found.tried} == {"", "too little"}
    assert found.chosen is not None
    with pytest.raises(StudyError, match="no candidate could be made"):
        ran(Faked(lambda *_: (_ for _ in ()).throw(MaskError("never"))), trials=4)


def test_fixed_steps_choices_and_whole_numbers():
    spaces = space_of([
        "data_shuffling", {"steps": [{"method": "microaggregation", "range": {"k": [2, 9]}}, "reverse_map"]},
        {"name": "n", "steps": {"method": "additive_noise", "choice": {"noise": ["normal", "laplace"]}}},
        {"name": "d", "steps": {"method": "sufficiency_based", "range": {"similarity": [0, 1]}}},
    ])
    assert [s.name for s in spaces] == ["data_shuffling", "microaggregation + reverse_map", "n", "d"]
    assert spaces[0].axes == ()
    assert spaces[1].axes[0].whole
    assert spaces[1].at({"0.k": 5})[0].k == 5
    assert spaces[2].at({"0.noise": 1})[0].noise == "laplace"
    axis = spaces[3].axes[0]
    assert (axis.whole, axis.low) == (False, 0)
    assert 0.99 < axis.high < 1


@pytest.mark.parametrize(("space", "said"), [
    ([], "nothing to try"), ([{"steps": []}], "no steps"), (["additive_nose"], "did you mean"),
    ([{"steps": [{"method": "additive_noise", "range": {"variance": [2, 1]}}]}], "low < high"),
    ([{"steps": [{"method": "additive_noise", "range": {"variance": [0, 1, "log"]}}]}], "low > 0"),
    ([{"steps": [{"method": "additive_noise", "range": {"variance": [-1, 1]}}]}], "must be above 0"),
    ([{"steps": [{"method": "additive_noise", "range": {"varance": [0.1, 1]}}]}], "did you mean 'variance'"),
    ([{"steps": [{"method": "additive_noise", "choice": {"noise": []}}]}], "list of values"),
    ([{"steps": [{"method": "additive_noise", "range": 3}]}], "range must give settings"),
    ([{"steps": ["additive_noise"], "stesp": 1}], "there is no setting"),
    (["data_shuffling", "data_shuffling"], "two entries are named"),
])
def test_spaces_that_cannot_be_read(space, said):
    with pytest.raises(StudyError, match=said):
        space_of(space)


def test_limits_are_in_the_words_of_a_study():
    score = Score("nearest_record", "risk", 0.1, chance=0.02, s_alone=0.05, interval=(0.08, 0.13))
    for given, beyond in (
        (0.1, 0.03), ({"above_chance": 0.1}, 0.01), ({"above_baseline": 0.05}, 0.03), ({"at_most": 0.2}, 0),
        ({"times_chance": 6}, 0.5), ({"at_most": 0.08, "interval": "value"}, 0.02),
    ):
        assert judge_of({"nearest_record": given}).violation([score]) == pytest.approx(beyond)
    assert judge_of({"rank_window": 1.0}).violation([score]) == math.inf
    assert judge_of("secure").violation([score]) == 0
    own = SimpleNamespace(violation=lambda scores: 0.0)
    assert judge_of(own) is own
    of_one = [{"nearest_record": limit} for limit in ("x", {"below": 1}, -1, True)]
    for given in (None, {}, {"nearest_recor": 1}, *of_one):
        with pytest.raises(StudyError, match="limits"):
            judge_of(given)


def test_a_limited_attack_must_be_run(data):
    with pytest.raises(StudyError, match="'nearest_record' has a limit, but is not among the attacks"):
        lv.search(data, NOISE, LIMIT, "moments", scoring=lv.Scoring(attacks=["rank_window"]))


def test_objectives():
    scores = [Score("moments", "loss", 1.0), Score("correlation", "loss", 3.0), Score("nearest_record", "risk", 9.0)]
    assert objective_loss(scores, None) == 2
    assert objective_loss(scores, "moments") == 1
    assert objective_loss(scores, {"moments": 3, "correlation": 1}) == 1.5
    assert objective_loss(scores, lambda found: len(found)) == 3
    assert math.isnan(objective_loss(scores, "table"))
    used, analysed = measures_for({"moments": 1, "correlation": 0}, ["table", "correlation"])
    assert ([m.name() for m in used], analysed) == (["correlation", "moments"], False)


def test_a_combination_is_an_objective():
    scores = [Score("moments", "loss", 1.0), Score("correlation", "loss", 3.0)]
    combine = combinations_of({"worst_loss": {"worst": ["moments", "correlation"]}, "found": {"worst": ["nearest_record"]}})
    assert objective_loss(scores, "worst_loss", combine) == 3
    assert objective_loss(scores, {"worst_loss": 1, "moments": 1}, combine) == 2
    judge = judge_of({"nearest_record": 1, "marginal": 1}, combine)
    used, _ = measures_for("worst_loss", None, judge, combine)
    assert [m.name() for m in used] == ["moments", "correlation", "marginal"]
    for wrong, said in (("momnts", "did you mean 'moments'"), ("found", "is a risk"), ("nearest_record", "is a risk"),
                        ({"moments": 0}, "sum to zero"), ([], "names no measure")):
        assert said in objective_problems(wrong, combine)[0]
    assert objective_problems(["worst_loss", "analyses"], combine) == []


def test_the_spread_over_secrets_is_told():
    tried = Trial("a", (), 0.1, 0.0)
    draws = tuple(FreshDraw(x, 0.0, 0.0, Scores([Score("nearest_record", "risk", x / 10)])) for x in (1.0, 2.0, 6.0))
    row = Finalist(tried, draws, 3, 1.0).row()
    assert (row["loss"], row["least_loss"], row["most_loss"]) == (3, 1, 6)
    assert (row["nearest_record_least"], row["nearest_record_most"]) == (0.1, 0.6)
    assert Finalist(tried, draws[:2], 3, 1.0).meets_limits is False


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    return lv.read(people(300, missing=False), confidential=["income", "wealth"], sub_groups=["region"])


def test_on_data_with_a_sample_to_explore_on(data):
    assert sample_records(data, 0, SECRET) is data
    part = sample_records(data, 200, SECRET)
    assert 140 < part.rows < 260
    goal = Goal(trials=6, finalists=1, secrets=2, sample=200)
    found = lv.search(data, [NOISE, "data_shuffling"], LIMIT, "correlation", goal=goal, secret=SECRET)
    assert isinstance(found.release, lv.Release)
    assert found.release.data.rows == 300
    assert f"explored on {part.rows} of 300" in found.notes[-1]
    assert repr(found).startswith(f"Search of 6 candidates; chosen: {found.chosen.candidate.name}\n")
    assert f"<b>Chosen: {found.chosen.candidate.name}</b> of 6 candidates" in found._repr_html_()
    assert [n.text for n in found.release.notes if n.step == "search"] == list(found.notes)
    assert "chosen among 6 candidates" in found.notes[0]
    assert not any(n.public for n in found.release.notes if n.step == "search")
    assert [s.method for s in found.chosen.draws[0].scores] == ["nearest_record", "correlation"]


def test_named_analyses_are_an_objective(data):
    goal, asked, limits = Goal(trials=3, finalists=1, secrets=1), {"mean": ["income"]}, {"nearest_record": 1.0, "analyses": 2.0}
    found = lv.search(data, NOISE, limits, "analyses", goal=goal, secret=SECRET, scoring=lv.Scoring(analyses=[asked]))
    assert found.chosen is not None
    assert [s.method for s in found.chosen.draws[0].scores] == ["nearest_record", "analyses"]
    with pytest.raises(StudyError, match="'analyses' is named, but no analysis is given") as caught:
        lv.search(data, NOISE, limits, "analyses", goal=goal, secret=SECRET)
    assert [p.split(":")[0] for p in caught.value.problems] == ["objective", "limits"]


def test_without_optuna_it_says_what_to_install(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(LarvatusError, match=r"larvatus\[search\]"):
        lv.search(data, NOISE, LIMIT, "correlation", goal=Goal(trials=2), secret=SECRET)


STUDY = """
source = "people.csv"
[roles]
confidential = ["income", "wealth"]
[sub_groups]
columns = ["region"]
[goal]
objective = { correlation = 1.0, moments = 1.0 }
limits = { nearest_record = { above_baseline = LIMIT } }
trials = 6
finalists = 1
secrets = 2
[[search]]
name = "noise"
steps = [{ method = "additive_noise", range.variance = [0.01, 4, "log"] }]
[[attack]]
method = "nearest_record"
[[measure]]
method = "correlation"
[[measure]]
method = "moments"
"""


def test_the_command_writes_what_was_tried_and_the_chosen_release(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    people(200, missing=False).to_csv("people.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY.replace("LIMIT", "0.15"), encoding="utf-8")
    study = lv.Study.read("study.toml")
    assert lv.Study.of(study.plain(), tmp_path).plain() == study.plain()
    assert main(["search", "study.toml", "-o", "out", "--format", "csv", "--approved-by", "A. Keeper"]) == 0
    assert "Chosen: noise variance=" in capsys.readouterr().out
    made, = (tmp_path / "out" / "releases").glob("*.manifest.json")
    assert main(["verify", str(made), str(made).replace(".manifest.json", ".csv")]) == 0
    inside, = (tmp_path / "out" / "internal").glob("*.internal.json")
    told = json.loads(inside.read_text(encoding="utf-8"))
    assert told["selection"]["candidates_tried"] == 6
    assert told["approved"]["by"] == "A. Keeper"
    assert "selection" not in json.loads(made.read_text(encoding="utf-8"))
    assert len((tmp_path / "out" / "tried.csv").read_text(encoding="utf-8").splitlines()) == 7
    again = lv.Study.read(tmp_path / "out" / "study.toml")
    assert [r.name for r in again.release] == [told["name"]]
    assert again.source_path().resolve() == (tmp_path / "people.csv").resolve()
    assert main(["search", "study.toml", "-o", "out"]) == 2
    (tmp_path / "study.toml").write_text(STUDY.replace("LIMIT", "0"), encoding="utf-8")
    capsys.readouterr()
    assert main(["search", "study.toml", "-o", "none", "--trials", "3", "-q"]) == 1
    assert "no candidate meets the limits" in capsys.readouterr().err
    assert sorted(p.name for p in (tmp_path / "none").iterdir()) == [".larvatus-cache", "confirmed.csv", "tried.csv"]
