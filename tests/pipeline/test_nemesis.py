"""The attacks that know a mask best run on its releases, whatever else is asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.data.contracts import Attack
from larvatus.data.method_parsing import all_of
from larvatus.pipeline.attack_release import attacks_under_tier, nemesis_of
from sample import SECRET

PAIRS = lv.masks.RankSwap(window=0.4, pairs=True)


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    rng = np.random.default_rng(1)
    return lv.read(pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd")), confidential=list("abcd"))


def test_the_nemesis_of_every_step_is_named_once():
    steps = [lv.masks.Microaggregation(), lv.masks.RankSwap(), lv.masks.ReverseMap()]
    named = nemesis_of(steps)
    assert len(named) == len(set(named))
    assert {n for s in steps for n in s.nemesis} == set(named)


def test_it_runs_by_default(data):
    scores = lv.risk(data, lv.mask(data, PAIRS, "reverse_map", secret=SECRET))
    run = {s.method for s in scores}
    assert set(nemesis_of([PAIRS, lv.masks.ReverseMap()])) <= run


def test_a_weak_setting_does_not_replace_it_under_a_tier():
    weak = [lv.attacks.RankWindow(window=0.001), lv.attacks.SwapChain(targets=1)]
    run = attacks_under_tier(weak, [PAIRS])
    assert run[:2] == tuple(weak)
    assert lv.attacks.RankWindow() in run
    assert lv.attacks.SwapChain() in run
    assert {a.name() for a in run} == {a.name() for a in all_of(Attack, None)}


@pytest.mark.parametrize("named", [
    pytest.param(["uniqueness"], marks=pytest.mark.slow), [lv.attacks.SwapChain(targets=1), "uniqueness"],
])
def test_a_tier_stops_a_pairwise_swap_whatever_the_study_names(data, named):
    releases = [lv.mask(data, m, secret=SECRET) for m in (PAIRS, PAIRS.model_copy(update={"pairs": False}))]
    scoring = lv.Scoring(attacks=named, measures=["moments"], limits="secure")
    for release, pairs in zip(releases, (True, False), strict=True):
        scores = lv.compare(data, [release], scoring=scoring).candidates[0].scores
        found = [s for s in scores if s.method == "swap_chain" and "targets" not in s.settings]
        assert [s.value for s in found] == ([pytest.approx(1.0)] if pairs else [])  # without pairs there are no chains
    assert not lv.check(data, releases[0], scoring=scoring).meets_limits


def test_a_search_under_a_tier_runs_it_too(data):
    space = [{"method": "rank_swap", "pairs": True, "range": {"window": [0.3, 0.5]}}]
    found = lv.search(
        data, space, "secure", "moments", secret=SECRET, goal=lv.Goal(trials=2, finalists=1, secrets=1),
        scoring=lv.Scoring(attacks=["uniqueness"]), execution=lv.Execution(jobs=1),
    )
    assert found.release is None, "the tier is broken by swap_chain, which the study does not name"
