"""Limits: what is judged, what counts as broken, and what is refused when a study is read."""

from __future__ import annotations

import math

import pytest

import larvatus as lv
from larvatus.comparison.combined_scores import combinations_of
from larvatus.comparison.limits import TIERS, limits_of
from larvatus.core.errors import StudyError
from larvatus.core.number_format import SPACE
from larvatus.data.score import Rows, Score
from sample import ROLES, SECRET, people

GROUPS = Rows.of([{"sub_group": "a", "value": 0.02, "high": 0.03}, {"sub_group": "b", "value": 0.5, "high": 0.6}])
NEAREST = Score("nearest_record", "risk", 0.05, chance=0.01, s_alone=0.03, interval=(0.04, 0.06), by_group=GROUPS)
SHOWN = Score("uniqueness", "risk", 0.9, chance=0.0, decides=False)
MOMENTS, CORRELATION = Score("moments", "loss", 0.2), Score("correlation", "loss", 0.04)
SCORES = (NEAREST, SHOWN, MOMENTS, CORRELATION)
GOOD: dict = {"roles": {"confidential": ["x"]}, "release": [{"name": "n", "steps": ["additive_noise"]}]}


@pytest.mark.parametrize(("limit", "judged"), [
    ({"above_chance": 0.1}, 0.05), ({"above_baseline": 0.1}, 0.03), ({"times_chance": 9}, 6.0), (0.1, 0.06),
    ({"worst_group": 1}, 0.6), ({"above_chance": 0.1, "interval": "value"}, 0.04),
    ({"worst_group": 1, "interval": "value"}, 0.5), ({"at_most": 0.1, "interval": "value"}, 0.05),
])
def test_the_figure_that_is_judged(limit, judged):
    found = limits_of({"nearest_record": limit}).judge(SCORES)
    assert found.meets_limits
    assert math.isclose(found.rows[0]["value"], judged, rel_tol=1e-12)


def test_a_limit_is_kept_at_the_limit_and_broken_above_it():
    assert limits_of({"correlation": 0.04}).judge(SCORES)
    found = limits_of({"correlation": 0.0399, "moments": 0.1}).judge(SCORES)
    assert not found
    assert [r["score"] for r in found.broken] == ["correlation", "moments"]
    assert math.isclose(found.violation, 0.0001 + 0.1, rel_tol=1e-9)
    assert "correlations: value 0.04, limit 0.0399" in found.in_words()


def test_the_mean_loss_can_be_limited():
    mean = (MOMENTS.relative_loss + CORRELATION.relative_loss) / 2
    found = limits_of({"mean_loss": mean}).judge(SCORES)
    assert found
    assert math.isclose(found.rows[0]["value"], mean, rel_tol=1e-12)
    broken = limits_of({"mean_loss": 0.99 * mean}).judge(SCORES)
    assert "mean loss: value" in broken.in_words()
    assert limits_of({"mean_loss": 0.1}).judge((NEAREST,)).rows[0]["reason"] == "no measure was run"
    assert limits_of({"mean_loss": 0.1}).plain() == {"mean_loss": 0.1}
    with pytest.raises(StudyError, match="mean_loss"):
        limits_of({"mean_loss": -1})


def test_the_upper_end_is_judged_unless_the_value_is_asked_for():
    assert not limits_of({"nearest_record": {"above_chance": 0.045}}).judge(SCORES)
    assert limits_of({"interval": "value", "nearest_record": {"above_chance": 0.045}}).judge(SCORES)


def test_an_interval_wider_than_the_limit_is_told_apart_from_a_value_above_it():
    wide = limits_of({"nearest_record": {"above_chance": 0.045}}).judge(SCORES)
    assert wide.rows[0]["figure"] == "above chance (upper end of the interval)"
    assert wide.rows[0]["reason"] == (f"the estimate, 4{SPACE}percentage points, meets the limit; the upper end of its "
                                      "interval does not, because there are few records")
    assert list(wide.rows[0]) == ["score", "figure", "value", "limit", "met", "reason"]
    for limit in ({"above_chance": 0.03}, {"above_chance": 0.06}, {"above_chance": 0.03, "interval": "value"}):
        assert [r["reason"] for r in limits_of({"nearest_record": limit}).judge(SCORES).rows] == [""]
    assert "meets the limit; the upper end" in limits_of({"nearest_record": {"worst_group": 0.55}}).judge(SCORES).in_words()


def test_what_did_not_run_has_broken_its_limit():
    found = limits_of({"propensity": 5}).judge(SCORES)
    assert (found.meets_limits, found.rows[0]["reason"], found.violation) == (False, "it did not run", math.inf)
    found = limits_of({"propensity": 5}).judge(SCORES, not_run={"propensity": "no room"})
    assert found.rows[0]["reason"] == "no room"
    assert not limits_of("public").judge((MOMENTS,))
    assert not limits_of({"moments": 1}).judge((Score("moments", "loss", math.nan),))
    nothing_beside = Score("nearest_record", "risk", 0.0)
    assert not limits_of({"nearest_record": {"above_chance": 1}}).judge((nothing_beside,))
    named = limits_of("secure").judge((NEAREST,), not_run={"rank_window": "it cannot"})
    assert [r["score"] for r in named.broken] == ["rank_window"]


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_limits_every_attack_that_decides(tier):
    limits = limits_of(tier)
    at, above = (Score("rank_window", "risk", 0.1 + TIERS[tier].above_baseline + more, chance=0.1) for more in (0.0, 1e-6))
    assert limits.judge((at, SHOWN))
    assert not limits.judge((above, SHOWN))
    own = limits_of({"tier": tier, "rank_window": 0.9})
    assert own.judge((above,))
    assert len(own.judge((above,)).rows) == 1


def test_a_tier_and_a_rule_for_every_attack_hold_both():
    score = Score("rank_window", "risk", 0.13, chance=0.1)
    for stated, kept, rows in (
        ({"above_chance": 0.5}, False, 2), ({"above_baseline": 0.5}, False, 1), ({"above_baseline": 0.02}, False, 1),
        ({"above_chance": 0.5, "interval": "value"}, False, 2), (0.5, False, 2),
        ({"above_baseline": 0.5, "interval": "value"}, False, 2),
    ):
        found = limits_of({"tier": "public", "every_attack": stated}).judge((score, SHOWN))
        assert (found.meets_limits, len(found.rows)) == (kept, rows), stated
    stricter = limits_of({"tier": "secure", "every_attack": {"above_baseline": 0.02}}).judge((score,))
    assert [(r["limit"], r["met"]) for r in stricter.rows] == [(0.02, False)]
    both = limits_of({"tier": "secure", "every_attack": {"times_chance": 2}}).judge((score,))
    assert [(r["figure"], r["met"]) for r in both.rows] == [("above baseline", True), ("times chance", True)]


def test_tiers_are_ordered():
    assert list(TIERS) == ["public", "scientific", "secure"]
    assert sorted(TIERS.values()) == list(TIERS.values())
    for figures in zip(*TIERS.values(), strict=True):
        assert sorted(figures) == list(figures)


def _found(value: float, certain: float = 0.0, low: float = 0.0) -> Score:
    groups = Rows.of([{"sub_group": "a", "value": 1.0, "low": low, "high": 1.0}])
    return Score("nearest_record", "risk", value, chance=0.0, s_alone=value, by_group=groups, identifies=True, certain=certain)


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_limits_what_s_alone_gives_too(tier):
    limits, most = limits_of(tier), TIERS[tier]
    assert limits.judge((_found(most.at_most, most.certain, most.worst_group),))
    for more, figure in (
        (_found(most.at_most + 1e-6), "value"), (_found(0.0, most.certain + 1e-6), "found with certainty"),
        (_found(0.0, 0.0, most.worst_group + 1e-6), "worst sub-group"),
    ):
        assert [r["figure"] for r in limits.judge((more,)).broken] == [figure]
    learnt = Score("value_disclosure", "risk", 0.9, chance=0.0, s_alone=0.9)
    assert limits.judge((learnt,))


def test_a_limit_may_be_on_records_found_with_certainty():
    limits = limits_of({"nearest_record": {"certain": 0.1}})
    assert limits.judge((_found(0.5, 0.1),))
    assert not limits.judge((_found(0.5, 0.11),))
    assert limits.judge((NEAREST,)).rows[0]["reason"] == "the score has no such figure"


def test_combined_scores_are_limited_and_shown_with_their_parts():
    both = combinations_of({"mean": {"moments": 3, "correlation": 1}, "worst": {"worst": ["moments", "correlation"]}})
    assert math.isclose(both[0].of(SCORES).value, 0.75 * 0.2 + 0.25 * 0.04, rel_tol=1e-12)
    assert both[1].of(SCORES).value == 0.2
    parts = both[0].of(SCORES).details["parts"]
    assert [(r["part"], r["weight"]) for r in parts] == [("moments", 0.75), ("correlation", 0.25)]
    assert math.isclose(sum(r["share"] for r in parts), both[0].of(SCORES).value, rel_tol=1e-12)
    assert limits_of({"mean": 0.17, "worst": 0.2}, both).judge(SCORES, both)
    assert not limits_of({"mean": 0.15}, both).judge(SCORES, both)
    absent = limits_of({"mean": 1}, both).judge((MOMENTS,), both)
    assert absent.rows[0]["reason"] == "its part correlation did not run"
    risks = combinations_of({"r": {"worst": ["nearest_record", "uniqueness"]}})[0].of(SCORES)
    assert (risks.kind, risks.interval) == ("risk", (0.9, 0.9))


@pytest.mark.parametrize(("raw", "said"), [
    ({"limits": {"nearest_recrod": 0.1}}, "limits.nearest_recrod: no score of that name; did you mean 'nearest_record'?"),
    ({"limits": {"nearest_record": {"above_chnce": 1}}},
     "limits.nearest_record.above_chnce: no such figure; did you mean 'above_chance'"),
    ({"limits": {"nearest_record": {}}}, "limits.nearest_record: a limit needs a number"),
    ({"limits": {"nearest_record": -0.1}}, "limits.nearest_record.at_most: must be at least 0"),
    ({"limits": {"moments": {"above_chance": 1}}}, "limits.moments.above_chance: only attacks have that figure."),
    ({"limits": {"tier": "open"}}, "limits.tier: input should be 'public', 'scientific' or 'secure'"),
    ({"limits": 3}, "limits: needs a table, [limits], got int."),
    ({"combine": {"u": {"momnts": 1}}}, "combine.u: no score 'momnts'; did you mean 'moments'?"),
    ({"combine": {"u": {"moments": 0}}}, "combine.u.weights.moments: must be above 0, got 0."),
    ({"combine": {"u": {"moments": 1, "nearest_record": 1}}}, "combine.u: mixes attacks and measures, and"),
    ({"combine": {"moments": {"moments": 1}}}, "combine.moments: an attack or a measure already has that name."),
    ({"combine": {"u": {"worst": ["moments"], "moments": 1}}}, "combine.u: give scores with weights, or only worst"),
    ({"combine": {"u": {"weights": {"moments": 1}}}}, "combine.u: list the scores directly"),
    ({"limits": {"nearest_record": {"tier": 1}}}, "limits.nearest_record.tier: no such figure; put it directly in [limits]"),
    ({"goal": {"limit": {"moments": 1}}}, "goal.limit: no such setting; did you mean 'limits'?"),
    ({"goal": {"objective": {"moments": -1}}},
     "goal.objective: must be a measure, a list of measures, or measures with weights"),
    ({"attack": ["moments"]}, "attack 1: no attack 'moments'; it is a measure, which belongs in [[measure]]."),
    ({"measure": ["nearest_record"]}, "measure 1: no measure 'nearest_record'; it is an attack, which belongs in [["),
    ({"attack": ["additive_noise"]}, "attack 1: no attack 'additive_noise'; it is a mask, which belongs in the steps"),
    ({"utility": ["moments"]}, "utility: must be a table, [utility], got list. Measures belong in [[measure]]."),
    ({"risk": ["nearest_record"]}, "risk: a study has no such part; attacks belong in [[attack]]."),
    ({"release": [{"name": "n", "steps": [{"method": "additive_noise", "range": {"variance": [1, 2]}}]}]},
     "release 'n': range belongs in [[search]]. In [[release]] use grid"),
    ({"release": [{"name": "n", "steps": [{"method": "additive_noise", "grid": [1]}]}]},
     "release 'n': grid must give settings"),
    ({"release": [{"name": "n", "steps": ["additive_noise"], "grid": {"variance": [1]}}]},
     "release 'n': grid belongs in a step"),
    ({"search": [{"name": "s", "steps": [{"method": "additive_noise", "grid": {"variance": [1]}}]}]},
     "search 's': grid belongs in [[release]]"),
    ({"search": [{"name": "s", "steps": [{"method": "additive_noise", "variance": 1, "range": {"variance": [1, 2]}}]}]},
     "search 's': variance is given twice"),
    ({"combine": 5}, "combine: needs tables such as [combine.NAME], got int."),
    ({"release": [{"name": "n", "steps": ["additive_noise"], "reverse_mapped": 2}]}, "release 'n': reverse_mapped must be"),
])
def test_problems_of_a_study(raw, said):
    with pytest.raises(StudyError) as caught:
        lv.Study.of({**GOOD, **raw})
    assert caught.value.problems[0].startswith(said), caught.value.problems
    assert len(caught.value.problems) == 1


def test_limits_and_combinations_come_back_from_toml():
    import tomllib

    study = lv.Study.of({
        **GOOD, "combine": {"u": {"moments": 0.5, "propensity": 0.5}, "w": {"worst": ["moments", "correlation"]}},
        "limits": {"tier": "public", "interval": "value", "nearest_record": {"above_chance": 0.01}, "u": 0.05,
                   "every_attack": {"times_chance": 2.0}},
    })
    assert lv.Study.of(tomllib.loads(study.toml())) == study
    assert study.limits.scores["u"].at_most == 0.05


def test_a_goal_states_limits_in_the_same_words():
    stated = {"tier": "secure", "nearest_record": {"times_chance": 2}, "u": 0.1, "every_attack": {"worst_group": 0.5}}
    more = {"combine": {"u": {"moments": 1}}}
    in_goal, above = lv.Study.of({**GOOD, **more, "goal": {"limits": stated}}), lv.Study.of({**GOOD, **more, "limits": stated})
    assert in_goal == above
    assert in_goal.limits.plain() == stated
    for raw, said in (
        ({"goal": {"limits": stated}, "limits": {"moments": 1}},
         "limits: given in both [limits] and [goal]. Keep only [limits]"),
        ({"goal": {"limits": {"nearest_recor": 1}}}, "limits.nearest_recor: no score of that name; did you mean"),
        ({"goal": {"objective": "momnts"}}, "goal.objective: no measure 'momnts'; did you mean 'moments'?"),
        ({"goal": {"objective": ["u", "nearest_record"]}},
         "goal.objective: 'nearest_record' is a risk, and"),
    ):
        with pytest.raises(StudyError) as caught:
            lv.Study.of({**GOOD, **more, **raw})
        assert [p.startswith(said) for p in caught.value.problems] == [True], caught.value.problems


def test_a_grid_beside_the_setting_itself_is_refused():
    step = {"method": "additive_noise", "variance": 9, "grid": {"variance": [0.1, 0.5]}}
    with pytest.raises(StudyError, match=r"release 'n': variance and grid.variance are both given for one step"):
        lv.Study.of({**GOOD, "release": [{"name": "n", "steps": [step]}]})


def test_both_with_and_without_reverse_mapping():
    step = {"method": "additive_noise", "grid": {"variance": [0.1, 0.5]}}
    study = lv.Study.of({**GOOD, "release": [{"name": "n", "steps": [step], "reverse_mapped": "both"}]})
    assert [(r.name, [s.name() for s in r.steps]) for r in study.release] == [
        ("n variance=0.1", ["additive_noise"]), ("n variance=0.1, reverse-mapped", ["additive_noise", "reverse_map"]),
        ("n variance=0.5", ["additive_noise"]), ("n variance=0.5, reverse-mapped", ["additive_noise", "reverse_map"]),
    ]
    only = lv.Study.of({**GOOD, "release": [{"name": "n", "steps": ["additive_noise"], "reverse_mapped": True}]})
    assert [r.name for r in only.release] == ["n, reverse-mapped"]


def test_a_tier_is_checked_with_every_attack_whatever_the_study_names():
    data = lv.read(people(200), **ROLES)
    release = lv.mask(data, "additive_noise(variance=0.0001)", secret=SECRET)
    assert not lv.check(data, release, "public", scoring=lv.Scoring(attacks=["interval_match"], measures=[])).meets_limits
