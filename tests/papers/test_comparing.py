"""Figures compared seed by seed: what is told, what cannot be, and what claims say of their seeds."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.papers import paper_002
from larvatus.papers.comparing import difference, never_smaller
from larvatus.papers.frame import Claim, Experiment, Paper
from larvatus.papers.verdicts import Measured, judged, measured

WIDE = np.array([0.0, 40.0] * 10)  # differs by seed far more than any figure does from another


def summary(values) -> Measured:
    return Measured.of([float(v) for v in values])


def test_figures_of_the_same_seeds_are_compared_in_pairs():
    step = np.tile([0.5, 1.5], 10)
    found = difference(summary(WIDE + step), summary(WIDE))
    assert (found.mean, found.larger, found.smaller, found.seeds) == (pytest.approx(1), 20, 0, 20)
    assert found.error == pytest.approx(np.std(step, ddof=1) / np.sqrt(20), rel=1e-12)
    assert (found.sign, found.beyond(0.5), found.beyond(1.0), found.beyond(2.0)) == (1, 1, 0, -1)
    assert difference(summary(WIDE), summary(WIDE + step)).sign == -1


@pytest.mark.parametrize(("step", "n"), [
    (np.array([1.0, -0.9] * 10), 20), (np.zeros(20), 20), (np.ones(20), 9), (np.ones(20), 1),
])
def test_what_chance_or_few_seeds_leave_open_cannot_be_told(step, n):
    assert difference(summary((WIDE + step)[:n]), summary(WIDE[:n])).sign == 0


def test_only_seeds_that_gave_both_count():
    found = measured([{"a": 1.0, "b": 0.0}, {"a": 9.0}, {"b": 7.0}, {"a": 3.0, "b": 1.0}])
    assert difference(found["a"], found["b"]).seeds == 2
    assert difference(found["a"], found["b"]).mean == 1.5


@pytest.mark.parametrize(("steps", "verdict", "said"), [
    ([1, 2], "holds", "2 of 2 are so; cannot tell in 0"), ([1, 0], "holds in part", "1 of 2 are so; cannot tell in 1"),
    ([0, 0], "cannot tell", "0 of 2 are so; cannot tell in 2"),
    ([2, 1, -0.5], "holds in part", "The other way round: pair 2 (-0.50"),
    ([2, 1, -3], "does not hold", "40 of 60 comparisons agree and 20 are the other way round"),
    ([1, -0.5, -0.5], "does not hold", ""),
])
def test_many_pairs_make_one_verdict(steps, verdict, said):
    found = never_smaller([(f"pair {i}", summary(WIDE + s), summary(WIDE)) for i, s in enumerate(steps)], "are so", 1.0)
    assert found[0] == verdict
    assert said in found[1]


@pytest.mark.parametrize(("more", "n", "verdict"), [
    (2, 20, "does not hold"), (-2, 20, "holds"), (0, 20, "cannot tell"), (2, 3, "cannot tell"),
])
def test_the_largest_risk_is_told_from_differences_by_seed(more, n, verdict):
    found, evidence = paper_002._largest({"released/0": summary(WIDE[:n]), "released/99": summary((WIDE + more)[:n])})
    assert found == verdict
    assert f"of {n} seeds" in evidence


@pytest.mark.parametrize(("used", "said"), [
    (("a",), "so (over 30 seeds)"), (("a", "b"), "so (over 1 to 30 seeds, by experiment)"), (("b",), "so (over 1 seed)"),
    (("c",), "so (nothing is random)"), ((), "so"),
])
def test_a_claim_says_how_many_seeds_it_rests_on(used, said):
    paper = Paper("x", "", (*(Experiment(n, lambda s, w: {}) for n in "ab"), Experiment("c", lambda s, w: {}, seeds=1)), ())
    claim = Claim("it is", lambda f: ("holds", "so"), used)
    assert judged(paper, claim, {}, "", {"a": 30, "b": 1, "c": 1}).evidence == said


def test_notes_say_with_which_spread_data_are_drawn():
    two, three = paper_002.PAPER.tables[1:]
    assert "3.24 and 22.45" in two.note
    assert "the 42 links of DATA2" in three.note
