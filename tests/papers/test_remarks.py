"""Sentences by rule: what lies outside, whether by chance, and why."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

from larvatus.papers import paper_002, paper_003, remarks
from larvatus.papers.figures import Published
from larvatus.papers.paper_003_measured import CORRELATIONS, MASKS, SHAPES
from larvatus.papers.verdicts import Measured, Row

SEEDS = 20


def row(column: str, name: str, printed: str, mean: float, verdict: str, spread: float = 0.0) -> Row:
    values = mean + spread * np.tile([-1.0, 1.0], SEEDS // 2)
    return Row(Published("t", column, name, printed), Measured.of([float(v) for v in values]), verdict)


ROWS = [
    row("DATA1 links", "a", "3", 2.0, "in band", 1.0), row("DATA2 links", "a", "9", 4.0, "outside", 1.0),
    row("DATA2 links", "b", "1", 4.0, "outside", 2.0), row("DATA1 probability", "a", "0.5", 0.5, "exact"),
]


def test_how_many_are_outside_how_far_and_whether_by_chance():
    said = remarks.outside(ROWS, {})
    assert said.startswith("2 figures outside, 1 of them printed lower than measured; furthest DATA2 links · a, printed 4.9 ")
    assert "Neither rounding in print nor chance, which puts about 0.3 of 3 outside, accounts for that." in said
    many = [ROWS[0]] * 7
    assert f"{poisson.sf(1, 10 * 2 / 21):.0%} of the time" in remarks.outside([*ROWS, *many], {})
    assert remarks.outside(ROWS[:1], {}) == ""
    assert remarks.outside(ROWS[:2], {}).startswith("1 figure outside, DATA2 links · a, printed")


@pytest.mark.parametrize(("seen", "expected"), [(0, 0.3), (1, 0.14), (3, 6.8), (12, 1.1)])
def test_chance_is_that_of_poisson(seen, expected):
    assert remarks.at_least(seen, expected) == pytest.approx(poisson.sf(seen - 1, expected), abs=1e-12)


def test_figures_that_never_differ_in_print_are_not_left_to_chance():
    same = Row(Published("t", "c", "r", "0.5"), Measured.of([0.5, 0.5 + 1e-15] * 10), "exact")
    assert same.by_chance == 0
    assert same.measured.by_chance == 0
    assert ROWS[0].by_chance == pytest.approx(2 / 21)


def test_counts_of_kinds_and_the_furthest_of_a_column():
    assert remarks.by_kind(ROWS, ["links", "probability"]) == (
        "In band: 1 of 3 links (1 of the others printed lower than measured; DATA2), 1 of 1 probability.")
    assert remarks.furthest(ROWS, "DATA2 links", "They") == "They differ from the printed ones by 5.0000 at most."


def test_one_draw_that_two_tables_show():
    low, high = [float(v) for v in np.linspace(0.9, 1.0, SEEDS)], [float(v) for v in np.linspace(0.1, 0.2, SEEDS)]
    found = {"6/shuffled/r": Measured.of(low), "7/shuffled/r": Measured.of(high)}
    off = Row(Published("6", "shuffled", "r", "0.80"), found["6/shuffled/r"], "outside")
    fine = Row(Published("6", "original", "r", "0.5"), Measured.of([0.5] * SEEDS), "exact")
    said = remarks.one_draw([off, fine], found, "shuffled", ("6", "7"))
    assert "All else in row r is as printed" in said
    assert "correlation 1.00); 0 of 20 seeds give a figure as low" in said
    reached = Row(Published("6", "shuffled", "r", "0.91"), found["6/shuffled/r"], "outside")
    assert "3 of 20 seeds" in remarks.one_draw([reached], found, "shuffled", ("6", "7"))
    assert remarks.one_draw([off, Row(fine.published, fine.measured, "outside")], found, "shuffled", ("6", "7")) == ""
    unlike = found | {"7/shuffled/r": Measured.of(high[::-1])}
    assert remarks.one_draw([off], unlike, "shuffled", ("6", "7")) == ""


def test_a_wider_prior_is_given_as_the_reason_only_where_it_mends():
    printed = [Published("3", "DATA2 probability", r, "0.02") for r in ("a", "b")]
    above = Measured.of([0.03 + 0.001 * k for k in range(SEEDS)])
    rows = [Row(p, above, "outside") for p in printed]
    around = Measured.of([0.01 + 0.001 * k for k in range(SEEDS)])
    mended = paper_002._wider(rows, {f"wider {p.name}": around for p in printed})
    assert "2 of the 2 figures outside are in band" in mended
    assert "chosen afterwards because it fits" in mended
    assert "fit a wider prior than the one the text states" in mended
    assert "A wider prior does not account for them" in paper_002._wider(rows, {f"wider {p.name}": above for p in printed})
    assert "Why" not in paper_002._wider([Row(printed[0], around, "in band")], {})


def test_maskings_that_change_places_are_named_with_the_reason():
    jitter = np.tile([0.99, 1.01], SEEDS // 2)
    value = {"Incor. Simul.": 500.0, "Micro": 400.0, "Micro + Noise": 1.0, "Swap": 50.0}
    found = {
        f"eight/U_p (Model II)/{s}, {c}/{m}": Measured.of([float(v) for v in value[m] * jitter * (
            0.001 if m == "Swap" and c.startswith("none") else 100 if (m, c) == ("Micro + Noise", "high negative") else 1)])
        for s in SHAPES.values() for c in CORRELATIONS for m in MASKS
    }
    never = Measured.of([0.0] * SEEDS)
    rows = [Row(Published("3.1", "U_p (Model II)", f"skewed, {c}", "1"), never, "outside") for c in ("none", "high negative")]
    said = paper_003._places(rows, found)
    assert "Swap is ahead of Micro + Noise where the correlation is none: U_p (Model II), skewed (0.05 against 1)." in said
    assert "where the correlation is high negative: U_p (Model II), skewed (50 against 100)." in said
    assert "has none to spoil where there is no correlation: N·U_p (Model II) of Swap is 50 against 0.05" in said
    assert "points of one sum lie far apart" in said
    assert said.count("Likely because") == 2
    assert paper_003._places([Row(rows[0].published, never, "in band")], found) == ""


def test_steps_the_other_way_round_are_shown_with_their_figures():
    step = Row(Published("figure 1", "U_s", "Age > Age+Race10", "1"), Measured.of([0.0] * SEEDS), "outside")
    found = {"3/U_s/Age": Measured.of([2.0] * SEEDS), "3/U_s/Age+Race10": Measured.of([1.5] * SEEDS)}
    said = remarks.steps([step], found, "003", "3")
    assert "U_s, Age to Age+Race10 (printed 2.29 to 7.96, measured 2 to 1.5). 0 of 1 are printed within 5%" in said
    assert remarks.steps([Row(step.published, step.measured, "in band")], found, "003", "3") == ""
