"""Sentences by rule: what lies outside, whether by chance, and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import poisson, t

from larvatus.papers.bayesian_intruder_002 import paper as paper_002
from larvatus.papers.framework import remarks
from larvatus.papers.framework.published_figures import PublishedFigure
from larvatus.papers.framework.verdicts import MeasuredFigure, VerdictRow
from larvatus.papers.global_utility_003 import paper as paper_003
from larvatus.papers.global_utility_003.experiments import CORRELATIONS, PAPER_SHAPES, UTILITY_MASKS

SEEDS = 20


def row(column: str, name: str, printed: str, mean: float, verdict: str, spread: float = 0.0) -> VerdictRow:
    values = mean + spread * np.tile([-1.0, 1.0], SEEDS // 2)
    return VerdictRow(PublishedFigure("t", column, name, printed), MeasuredFigure.of([float(v) for v in values]), verdict)


ROWS = [
    row("DATA1 links", "a", "3", 2.0, "in band", 1.0), row("DATA2 links", "a", "9", 4.0, "outside", 1.0),
    row("DATA2 links", "b", "1", 4.0, "outside", 2.0), row("DATA1 probability", "a", "0.5", 0.5, "exact"),
]


def test_how_many_are_outside_how_far_and_whether_by_chance():
    said = remarks.outside(ROWS, {})
    assert said.startswith(
        "2 figures are outside, 1 of them printed lower than measured. The furthest is DATA2 links · a, printed 4.9 ")
    assert "chance would put at most 0.3 of 3 outside. Neither chance nor rounding in print explains 2." in said
    many = [row("DATA1 links", f"more {k}", "3", 2.0, "in band", 1.0) for k in range(7)]
    assert f"2 or more at most {poisson.sf(1, 10 * 2 / 21):.0%} of the time." in remarks.outside([*ROWS, *many], {})
    assert remarks.outside(ROWS[:1], {}) == ""
    assert remarks.outside(ROWS[:2], {}).startswith("1 figure is outside: DATA2 links · a, printed")


def test_columns_that_are_the_same_count_once():
    same = [VerdictRow(PublishedFigure("t", c, "a", "9"), ROWS[1].measured, "outside") for c in ("one", "other", "third")]
    said = remarks.outside([*ROWS, *same], {})
    assert said.startswith("5 figures are outside")
    assert "put at most 0.3 of 3 different figures outside. Neither chance nor rounding in print explains 2." in said
    unlike = VerdictRow(PublishedFigure("t", "fourth", "a", "8"), ROWS[1].measured, "outside")
    assert ("at most 0.4 of 4 different figures outside. Neither chance nor rounding in print explains 3."
            in remarks.by_chance([*ROWS, *same, unlike]))


def test_what_no_band_decides_is_not_left_to_chance():
    held = replace(ROWS[1], banded=False)
    assert held.by_chance == 0 < ROWS[1].by_chance
    assert remarks.by_chance([ROWS[0], held]) == ""
    assert remarks.outside([ROWS[0], held], {}).endswith("standard deviations over seeds above the mean.")


@pytest.mark.parametrize("n", [10, 200])
def test_how_rare_the_furthest_is_comes_from_student_s_law(n):
    values = [float(v) for v in np.tile([-1.0, 1.0], n // 2)]
    out = VerdictRow(PublishedFigure("t", "c", "a", "6"), MeasuredFigure.of(values), "outside")
    other = VerdictRow(PublishedFigure("t", "c", "b", "0"), MeasuredFigure.of([v / 2 for v in values]), "in band")
    far = (6 - 0.5) / np.std(values, ddof=1) / np.sqrt(1 + 1 / n)
    often = 2 * 2 * t.sf(far, n - 1)
    share = f"at most {often:.2%}" if n == 10 else "less than 0.01%"
    assert remarks._that_far([out, other], out) == (
        f"By Student's t distribution, one of them lies that far out {share} of the time.")
    assert (often < 0.0001) == (n == 200)
    near = replace(out, published=PublishedFigure("t", "c", "a", "2"))
    assert remarks._that_far([near, other], near) == ""


@pytest.mark.parametrize(("seen", "expected"), [(0, 0.3), (1, 0.14), (3, 6.8), (12, 1.1)])
def test_chance_is_that_of_poisson(seen, expected):
    assert remarks.at_least(seen, expected) == pytest.approx(poisson.sf(seen - 1, expected), abs=1e-12)


def test_figures_that_never_differ_in_print_are_not_left_to_chance():
    same = VerdictRow(PublishedFigure("t", "c", "r", "0.5"), MeasuredFigure.of([0.5, 0.5 + 1e-15] * 10), "exact")
    assert same.by_chance == 0
    assert same.measured.by_chance == 0
    assert ROWS[0].by_chance == pytest.approx(2 / 21)


def test_counts_of_kinds_and_the_furthest_of_a_column():
    assert remarks.by_kind(ROWS, ["links", "probability"]) == (
        "In band: 1 of 3 links (1 of the others printed lower than measured; DATA2), 1 of 1 probability.")
    assert remarks.furthest(ROWS, "DATA2 links", "They") == "They differ from the printed ones by at most 5.0000."


def test_one_draw_that_two_tables_show():
    """The printed .943 and .948 of row 1 1 1 lie below both, and the two go together."""
    low, high = [float(v) for v in np.linspace(0.95, 1.0, SEEDS)], [float(v) for v in np.linspace(0.955, 1.0, SEEDS)]
    found = {"6/shuffled/1 1 1": MeasuredFigure.of(low), "7/shuffled/1 1 1": MeasuredFigure.of(high)}
    off = VerdictRow(PublishedFigure("6", "shuffled", "1 1 1", "0.943"), found["6/shuffled/1 1 1"], "outside")
    fine = VerdictRow(PublishedFigure("6", "original", "1 1 1", "0.5"), MeasuredFigure.of([0.5] * SEEDS), "exact")

    def said(rows, seen=found):
        return remarks.one_draw(rows, seen, "000", "shuffled", ("6", "7"))

    assert "Every other figure of row 1 1 1 that is compared with the paper is exact or in band" in said([off, fine])
    assert ("standard deviations below the mean. Over seeds the two figures have correlation 1.00. 0 of 20 seeds"
            in said([off, fine]))
    reached = replace(off, published=replace(off.published, text="0.956"))
    assert "3 of 20 seeds" in said([reached])
    assert said([off, replace(fine, verdict="outside")]) == ""
    assert said([off], found | {"7/shuffled/1 1 1": MeasuredFigure.of(high[::-1])}) == "", "they do not go together"
    around = MeasuredFigure.of([v - 0.02 for v in high])
    assert said([off], found | {"7/shuffled/1 1 1": around}) == "", "the other figure is not off"
    under = MeasuredFigure.of([v - 0.1 for v in high])
    assert said([off], found | {"7/shuffled/1 1 1": under}) == "", "the other figure is off on the other side"


def test_a_wider_prior_is_given_as_the_reason_only_where_it_mends():
    printed = [PublishedFigure("3", "DATA2 probability", r, "0.02") for r in ("a", "b")]
    above = MeasuredFigure.of([0.03 + 0.001 * k for k in range(SEEDS)])
    rows = [VerdictRow(p, above, "outside") for p in printed]
    around = MeasuredFigure.of([0.01 + 0.001 * k for k in range(SEEDS)])
    mended = paper_002._wider(rows, {f"wider {p.name}": around for p in printed})
    assert "2 of the 2 figures outside are in band" in mended
    assert "chosen afterwards because it fits" in mended
    assert "fit a wider prior better than the one the text states (2 against 0 of 2)" in mended
    assert "A wider prior does not explain them" in paper_002._wider(rows, {f"wider {p.name}": above for p in printed})
    assert "Possible reason" not in paper_002._wider([VerdictRow(printed[0], around, "in band")], {})
    few = MeasuredFigure.of([0.01 + 0.005 * k for k in range(9)])
    assert "Possible reason" not in paper_002._wider(rows, {f"wider {p.name}": few for p in printed}), "too few seeds to say so"
    links = VerdictRow(PublishedFigure("3", "DATA2 links", "a", "0.02"), above, "outside")
    other = {f"wider {p.name}": above for p in printed} | {"wider 3/DATA2 links/a": around}
    assert "A wider prior does not explain them" in paper_002._wider([*rows, links], other), "links are no probabilities"


def test_maskings_that_change_places_are_named_with_the_reason():
    jitter = np.tile([0.99, 1.01], SEEDS // 2)
    value = {"Incor. Simul.": 500.0, "Micro": 400.0, "Micro + Noise": 1.0, "Swap": 50.0}
    found = {
        f"eight/U_p (Model II)/{s}, {c}/{m}": MeasuredFigure.of([float(v) for v in value[m] * jitter * (
            0.001 if m == "Swap" and c.startswith("none") else 100 if (m, c) == ("Micro + Noise", "high negative") else 1)])
        for s in PAPER_SHAPES.values() for c in CORRELATIONS for m in UTILITY_MASKS
    }
    never = MeasuredFigure.of([0.0] * SEEDS)
    rows = [VerdictRow(PublishedFigure("3.1", "U_p (Model II)", f"skewed, {c}", "1"), never, "outside")
            for c in ("none", "high negative")]
    said = paper_003._places(rows, found)
    assert "Swap is ahead of Micro + Noise if the correlation is none: U_p (Model II), skewed (0.05 against 1)." in said
    assert "if the correlation is high negative: U_p (Model II), skewed (50 against 100)." in said
    assert ("without correlation there is none to damage. N·U_p (Model II) of Swap under correlation high positive and under "
            "correlation none is 50 against 0.05") in said
    assert "points with the same sum lie far apart" in said
    assert said.count("Likely reason") == 2
    assert paper_003._places([VerdictRow(rows[0].published, never, "in band")], found) == ""


def test_steps_the_other_way_round_are_shown_with_their_figures():
    step = VerdictRow(PublishedFigure("figure 1", "U_s", "Age > Age+Race10", "1"), MeasuredFigure.of([0.0] * SEEDS), "outside")
    found = {"3/U_s/Age": MeasuredFigure.of([2.0] * SEEDS), "3/U_s/Age+Race10": MeasuredFigure.of([1.5] * SEEDS)}
    said = remarks.describe_steps([step], found, "003", "3")
    assert ("U_s, Age to Age+Race10 (printed 2.29 to 7.96, measured 2 to 1.5). In 0 of 1 the two printed figures are within 5%"
            in said)
    assert remarks.describe_steps([VerdictRow(step.published, step.measured, "in band")], found, "003", "3") == ""
