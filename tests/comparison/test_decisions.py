"""The frontier on chosen axes, releases against limits, combined figures and sentences of a comparison."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from larvatus.comparison.combined_scores import combinations_of
from larvatus.comparison.comparison import About, Candidate, Comparison, NotMade
from larvatus.comparison.limits import limits_of
from larvatus.core.errors import StudyError
from larvatus.core.number_format import SPACE
from larvatus.data.notes import Note
from larvatus.data.score import Rows, Score, Scores
from larvatus.pipeline.candidates.cache import candidate_of, plain_of

ABOUT = About(100, ("x",), (), (), None, (("all", 100),), ("x",))


def candidate(name: str, risk: float, moments: float, correlation: float = 0.0) -> Candidate:
    scores = Scores([
        Score("nearest_record", "risk", risk, "share of records found", chance=0.01, interval=(risk * 0.9, risk * 1.1)),
        Score("moments", "loss", moments), Score("correlation", "loss", correlation),
    ])
    return Candidate(name, ({"method": "m"},), ("s",), (), (Note("n", "warning", "m"),), 100, scores)


def compared(*candidates: Candidate, **more: object) -> Comparison:
    return Comparison(candidates, ABOUT, **more)


def test_the_frontier_is_what_no_other_beats():
    draw = np.random.default_rng(3).integers(0, 6, (40, 3)) / 10
    found = compared(*(candidate(f"c{i}", *map(float, v)) for i, v in enumerate(draw)))
    axes = ("nearest_record", "moments", "correlation")
    expected = {
        f"c{i}" for i in range(40)
        if not any((draw[j] <= draw[i]).all() and (draw[j] < draw[i]).any() for j in range(40))
    }
    rows = found.frontier(*axes)
    assert {r["release"] for r in rows} == expected
    assert 1 < len(expected) < 40
    firsts = rows.column("nearest_record")
    assert all(a <= b for a, b in itertools.pairwise(firsts))


def test_axes_by_figure_and_by_combination():
    both = combinations_of({"worst": {"worst": ["moments", "correlation"]}})
    found = compared(candidate("a", 0.3, 0.1, 0.5), candidate("b", 0.2, 0.4, 0.1), candidate("c", 0.4, 0.6, 0.6), combine=both)
    rows = found.frontier("nearest_record.above_chance", "worst")
    assert [(r["release"], r["worst"]) for r in rows] == [("b", 0.4)]
    assert math.isclose(rows[0]["nearest_record.above_chance"], 0.19, rel_tol=1e-12)
    assert [r["release"] for r in found.frontier()] == ["b"]
    assert [r["release"] for r in found.frontier("moments", "correlation")] == ["a", "b"]
    parts = [(r["of"], r["value"]) for r in found.tidy() if r["score"] == "worst" and r["release"] == "a"]
    assert parts == [("", 0.5), ("moments", 0.1), ("correlation", 0.5)]


@pytest.mark.parametrize(("axes", "said"), [
    (("nearest_recrod",), "did you mean 'nearest_record'"), (("moments.uper",), "did you mean 'upper'"),
    (("excess_risk.upper",), "has no figure 'upper'"),
    (("moments",), "only 'moments' is given, and a frontier needs at least two"),
    (("moments", "moments"), "a frontier needs at least two"),
])
def test_axes_that_are_not_there(axes, said):
    with pytest.raises(StudyError, match=said):
        compared(candidate("a", 0.3, 0.1)).frontier(*axes)


def test_the_frontier_compares_attacks_above_their_own_baselines():
    """A rank correlation of 0.6 by S alone is less risk than a linkage rate of 0.3 by chance 0.01."""
    linked = candidate("linked", 0.3, 0.2)
    ranks = replace(linked, name="ranks", scores=Scores([
        Score("rank_disclosure", "risk", 0.62, "", chance=0.0, s_alone=0.6, interval=(0.61, 0.63), unit="correlation"),
        *linked.scores[1:],
    ]))
    found = compared(linked, ranks)
    rows = found.frontier()
    assert [r["release"] for r in rows] == ["ranks"]
    assert math.isclose(rows[0]["excess_risk"], 0.02, rel_tol=1e-9)
    assert [r["release"] for r in found.explain() if r["about"] == "together" and r["release"]] == ["ranks"]
    assert found.frontier("risk", "loss") == rows, "the name of earlier versions"


def test_one_release_is_not_releases():
    one, two = candidate("a", 0.3, 0.1), candidate("b", 0.3, 0.1)
    assert repr(compared(one)).startswith("Comparison of 1 release\n")
    assert repr(compared(one, two)).startswith("Comparison of 2 releases\n")


def test_a_release_without_a_figure_is_not_on_the_frontier():
    gone = replace(candidate("gone", 0.0, 0.0), scores=Scores(candidate("gone", 0.0, 0.0).scores[:1]))
    assert [r["release"] for r in compared(gone, candidate("a", 0.3, 0.1)).frontier("nearest_record", "moments")] == ["a"]


def test_which_releases_meet_the_limits():
    lost = NotMade("gone", (), "it keeps ranks")
    found = compared(
        candidate("a", 0.01, 0.2), candidate("b", 0.3, 0.1), not_made=(lost,),
        limits=limits_of({"nearest_record": {"above_chance": 0.01}}),
    )
    assert [(r["release"], r["meets"]) for r in found.meets()] == [("a", True), ("b", False), ("gone", False)]
    which = found.meets()[1]["which"]
    assert which == (f"nearest-record linkage: above chance (upper end of the interval) 32{SPACE}percentage points, "
                     f"limit 1{SPACE}percentage point")
    assert [r["meets"] for r in found.meets({"moments": 0.1})] == [False, True, False]
    plain = found.plain()["limits"]
    assert [r["meets"] for r in plain["releases"]] == [True, False]


def test_every_sentence_has_its_figure():
    both = combinations_of({"mean": {"moments": 1, "correlation": 1}})
    found = compared(
        candidate("a", 0.01, 0.0, 0.01), candidate("b", 0.3, 0.1, 0.3), combine=both, limits=limits_of({"moments": 0.05}),
        not_made=(NotMade("gone", (), "it keeps ranks."),),
    )
    rows = found.explain()
    said = {(r["release"], r["score"]): r["sentence"] for r in rows if not r["sentence"].startswith(("No other", "Breaks"))}
    assert said["", "limits"] == "1 of 2\xa0releases meets every limit; “a” has the least loss of these (0.005)."
    assert "reaches 30" in said["b", "nearest_record"]
    assert "30 times its baseline" in said["b", "nearest_record"]
    assert said["a", "nearest_record"].startswith("No attack beats its baseline.")
    assert said["a", "moments"] == "Means and standard deviations: unchanged."
    assert said["b", "correlation"].startswith("Correlations: changed, loss 0.3")
    assert "largest for correlation" in said["b", "mean"]
    assert said["a", "limits"] == "Meets every limit."
    assert said["gone", ""] == "It was not made: it keeps ranks."
    values = {(c.name, s.method): s.value for c in found.candidates for s in c.scores}
    for r in rows:
        if (r["release"], r["score"]) in values:
            assert r["figure"] == values[r["release"], r["score"]]
    page = found.html()
    assert all(text in page for text in (">Limits</h3>", "it keeps ranks.", "Combined scores and their parts"))
    assert ">Limits</h3>" not in compared(candidate("a", 0.1, 0.1)).html()
    assert any(r["sentence"] == "Breaks a limit: means and standard deviations: value 0.1, limit 0.05." for r in rows)


def test_a_candidate_comes_back_to_the_bit():
    score = Score(
        "s", "risk", 0.1 + 0.2, "m", {"a": [1, 2.5]}, math.nan, None, (-math.inf, 1 / 3),
        by_group=Rows.of([{"g": True, "v": 1}]),
        details={"d": Rows.of([{"x": 1e-300, "y": None, "z": "ä"}])}, by_record=np.ones(3), notes=("n",),
        sampled=True,
    )
    before = replace(candidate("a", 0.1, 0.2), scores=Scores([score]), rules=Rows.of([{"rule": "r", "n": 3}]))
    after = candidate_of(json.loads(json.dumps(plain_of(before))))
    assert repr(after) == repr(before)
    assert after.scores[0].by_record is None
    assert replace(after, scores=Scores()) == replace(before, scores=Scores())


def test_releases_that_are_alike_do_not_beat_each_other():
    found = compared(candidate("a", 0.2, 0.1), candidate("b", 0.2, 0.1), candidate("c", 0.2, 0.2))
    assert [r["release"] for r in found.frontier("nearest_record", "moments")] == ["a", "b"]


def test_rounding_puts_nothing_on_the_frontier():
    found = compared(candidate("good", 0.02, 6e-17, 0.1), candidate("worse", 0.2, 6e-18, 0.2))
    assert [r["release"] for r in found.frontier("nearest_record", "moments", "correlation")] == ["good"]


@pytest.mark.parametrize("limits", [None, {}])
def test_no_release_meets_limits_that_nobody_stated(limits):
    with pytest.raises(StudyError, match="none are set"):
        compared(candidate("a", 0.5, 0.1)).meets(limits)
