"""Figures compared seed by seed: what is told, what cannot be, and what claims say of their seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from larvatus.papers.bayesian_intruder_002 import paper as paper_002
from larvatus.papers.bayesian_intruder_002.experiments import KNOWN_COUNTS
from larvatus.papers.framework.catalogue import papers
from larvatus.papers.framework.model import Claim, Experiment, Paper
from larvatus.papers.framework.seed_comparison import (
    beyond,
    each_seed,
    mostly,
    never_smaller,
    of_seeds,
    paired_difference,
    sign_of_difference,
    verdict_of,
)
from larvatus.papers.framework.verdicts import JudgedClaim, MeasuredFigure, figures_by_name, judge_claim

WIDE = np.array([0.0, 40.0] * 10)  # differs by seed far more than any figure does from another


def summary(values) -> MeasuredFigure:
    return MeasuredFigure.of([float(v) for v in values])


def test_figures_of_the_same_seeds_are_compared_in_pairs():
    step = np.tile([0.5, 1.5], 10)
    found = paired_difference(summary(WIDE + step), summary(WIDE))
    assert (found.mean, found.larger, found.smaller, found.seeds) == (pytest.approx(1), 20, 0, 20)
    assert found.error == pytest.approx(np.std(step, ddof=1) / np.sqrt(20), rel=1e-12)
    assert (found.sign, found.beyond(0.5), found.beyond(1.0), found.beyond(2.0)) == (1, 1, 0, -1)
    assert paired_difference(summary(WIDE), summary(WIDE + step)).sign == -1


@pytest.mark.parametrize(("step", "n"), [
    (np.array([1.0, -0.9] * 10), 20), (np.zeros(20), 20), (np.ones(20), 9), (np.ones(20), 1),
])
def test_what_chance_or_few_seeds_leave_open_cannot_be_told(step, n):
    assert paired_difference(summary((WIDE + step)[:n]), summary(WIDE[:n])).sign == 0


def test_only_seeds_that_gave_both_count():
    found = figures_by_name([{"a": 1.0, "b": 0.0}, {"a": 9.0}, {"b": 7.0}, {"a": 3.0, "b": 1.0}])
    assert paired_difference(found["a"], found["b"]).seeds == 2
    assert paired_difference(found["a"], found["b"]).mean == 1.5


@pytest.mark.parametrize(("steps", "verdict", "said"), [
    ([1, 2], "holds", "2 of 2 are so. Seed by seed"), ([1, 0], "cannot tell", "1 of 2 are so. 1 cannot be decided"),
    ([0, 0], "cannot tell", "0 of 2 are so. 2 cannot be decided"),
    ([2, 1, -0.5], "holds in part", "Reversed: pair 2 (-0.50"),
    ([2, 1, -3], "holds in part", "40 of 60 comparisons agree and 20 are reversed"),
    ([1, -0.5, -0.5], "holds in part", ""), ([1, 0, -0.5], "holds in part", ""), ([0, 0, -0.5], "cannot tell", ""),
    ([0, -3, -3], "does not hold", ""),
])
def test_many_pairs_make_one_verdict(steps, verdict, said):
    found = never_smaller([(f"pair {i}", summary(WIDE + s), summary(WIDE)) for i, s in enumerate(steps)], "are so")
    assert found[0] == verdict
    assert said in found[1]


@pytest.mark.parametrize(("more", "n", "verdict"), [
    (2, 20, "does not hold"), (-2, 20, "holds"), (0, 20, "holds"), (1, 20, "cannot tell"), (2, 3, "cannot tell"),
])
def test_the_largest_risk_compares_intruders_who_know_the_same_records(more, n, verdict):
    known = {f"released/{k}": summary((WIDE + 10 * k)[:n]) for k in KNOWN_COUNTS}
    unknown = {f"vague/{k}": summary((WIDE + 10 * k + more)[:n]) for k in KNOWN_COUNTS}
    found, evidence = paper_002._largest(known | unknown)
    assert found == verdict
    assert f"of {n} seeds" in str(evidence)


@pytest.mark.parametrize(("used", "said"), [
    (("a",), "so. Over 30 seeds."),
    (("a", "b"), "so. Over 1 to 30 seeds, depending on the experiment: fewer than 10, too few for a verdict."),
    (("b",), "so. Over 1 seed: fewer than 10, too few for a verdict."), (("c",), "so. Nothing is random."), ((), "so."),
])
def test_a_claim_says_how_many_seeds_it_rests_on(used, said):
    assert _judged(Claim("it is", lambda f: ("holds", "so"), used, place="§1")).evidence.lines == (said,)


def _judged(claim: Claim) -> JudgedClaim:
    paper = Paper("x", "", (*(Experiment(n, lambda s, w: {}) for n in "ab"), Experiment("c", lambda s, w: {}, seeds=1)), ())
    return judge_claim(paper, claim, {}, "", {"a": 30, "b": 1, "c": 1})


@pytest.mark.parametrize(("used", "more", "verdict"), [
    (("a",), {}, "holds"), (("a", "c"), {}, "holds"), (("c",), {}, "holds"), ((), {}, "holds"), (("b",), {}, "cannot tell"),
    (("a", "b"), {}, "cannot tell"), (("a", "b"), {"any_of": True}, "holds"), (("b",), {"any_of": True}, "cannot tell"),
    (("b",), {"identity": True}, "holds"),
])
def test_nothing_but_identities_is_told_of_few_seeds(used, more, verdict):
    assert _judged(Claim("it is", lambda f: ("holds", "so"), used, place="§1", **more)).verdict == verdict


@pytest.mark.parametrize("paper", papers(), ids=lambda p: p.number)
def test_only_claims_of_something_exact_are_told_of_a_single_seed(paper):
    told = {c.says for c in paper.claims if c.identity}
    assert told == IDENTITIES.get(paper.number, set()), "an identity is what any seed could refute"


IDENTITIES = {
    "000": {"Perturbed data keep every product moment correlation exactly, in every sub-group."},
    "001-6": {"Marginals are those of the original after reverse mapping."},
    "004": {"With 12 variables and a number of subdomains, some of 30 or fewer records, only the original data preserve means "
            "and covariances on the small subdomains."},
}
SHARES = {name: np.array([1.0] * n + [0.0] * (100 - n)) for name, n in (
    ("all", 100), ("nearly", 99), ("most", 95), ("some", 75), ("half", 50), ("none", 0))}


@pytest.mark.parametrize(("often", "seldom", "verdict"), [
    (["all", "nearly"], ["none"], "holds"), (["all", "most"], [], "holds in part"), (["all", "half"], [], "holds in part"),
    (["none"], ["all"], "does not hold"), (["all"], ["half"], "holds in part"), (["some"], [], "holds in part"),
    (["half"], [], "cannot tell"),
])
def test_shares_of_seeds_make_a_verdict(often, seldom, verdict):
    assert mostly([summary(SHARES[n]) for n in often], [summary(SHARES[n]) for n in seldom]) == verdict
    assert mostly([summary(SHARES[n][:9]) for n in often], [summary(SHARES[n][:9]) for n in seldom]) == "cannot tell"


@pytest.mark.parametrize("n", [10, 50, 75, 77, 200])
@pytest.mark.parametrize("limit", [0.05, 0.5, 0.95])
def test_a_share_is_told_from_a_limit_as_wilson_s_interval_says(n, limit):
    for k in (0, n // 20, n // 2, n - 1, n):
        low, high = proportion_confint(k, n, alpha=2 * norm.sf(2.0), method="wilson")
        sign = 1 if low > limit else -1 if high < limit else 0
        assert of_seeds(summary([1.0] * k + [0.0] * (n - k)), limit) == sign, (k, n, limit)


@pytest.mark.parametrize(("fully", "at_all", "verdict"), [
    ([1, 1], None, "holds"), ([-1, -1], None, "does not hold"), ([1, -1], None, "holds in part"),
    ([-1, 0, 0], None, "cannot tell"), ([1, 0, 0], None, "cannot tell"), ([1, 1, 0], None, "holds in part"),
    ([-1, -1, 0], None, "does not hold"), ([1, 1, 0, 0], None, "cannot tell"), ([1, 1, 1, -1], None, "holds in part"),
    ([1, 0], None, "cannot tell"), ([1, 0, -1], None, "holds in part"), ([0], None, "cannot tell"), ([], None, "cannot tell"),
    ([-1], [1], "holds in part"), ([-1], [0], "cannot tell"), ([-1], [-1], "does not hold"), ([0], [1], "cannot tell"),
])
def test_one_rule_for_all_signs(fully, at_all, verdict):
    assert verdict_of(fully, at_all) == verdict


def test_limits_and_other_draws():
    figure = summary(np.tile([0.9, 1.1], 10))
    assert [beyond(figure, limit) for limit in (0.9, 1.0, 1.01, 1.1)] == [1, 0, 0, -1]
    assert sign_of_difference(figure, summary(np.tile([0.8, 1.0], 6))) == 1
    assert sign_of_difference(summary(np.tile([0.8, 1.0], 6)), figure) == -1
    assert sign_of_difference(figure, summary(np.tile([0.95, 1.0], 6))) == 0
    assert sign_of_difference(figure, summary([9.0] * 9)) == 0, "too few seeds of one of them"
    made = each_seed(lambda a, b: a / b, figure, summary([2.0] * 12))
    assert (made.seeds, made.low, made.high, made.mean) == (12, 0.45, 0.55, pytest.approx(0.5))


def test_notes_say_with_which_spread_data_are_drawn():
    assert "3.24 and 22.45" in paper_002.PAPER.tables[1].note
