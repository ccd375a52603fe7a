"""From figures over seeds to verdicts: bands, exactness, tolerance, and what cannot be reproduced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from larvatus.core.errors import DiscoveryError
from larvatus.papers.framework import published_figures as figures
from larvatus.papers.framework.catalogue import papers, select_tables
from larvatus.papers.framework.model import FEWEST_SEEDS, Claim, Experiment, Paper, PublishedTable
from larvatus.papers.framework.verdicts import MeasuredFigure, check_table, figures_by_name, judge_claim
from larvatus.papers.framework.wording import table_cells

ROWS = ["X", "ADD", "IMP", "MIC", "SWP"]
PRINTED = [0.742, 0.738, 0.710, 0.682, 0.568]


def paper(table: PublishedTable, seeds: int | None = None) -> Paper:
    return Paper("001", "a paper", (Experiment("e", lambda s, w: {}, seeds=seeds),), (table,))


def verdicts(table: PublishedTable, values: list[list[float]], seeds: int | None = None) -> list[str]:
    """Of 001's Table 4, with values[k] what seed k measures in its five rows."""
    found = figures_by_name([{f"4/correlation/{r}": v for r, v in zip(ROWS, row, strict=True)} for row in values])
    return [r.verdict for r in check_table(paper(table, seeds), table, found).rows]


def test_figures_are_read_with_the_digits_that_are_printed():
    first = figures.published_figures("001", "3")[0]
    assert (first.name, first.text, first.digits, first.half) == ("3/correlation/ADD", "0.860", 3, 0.0005)
    assert figures.published_figures("000", "5")[0].digits == 0


def test_a_symmetric_table_is_read_once_but_both_where_cells_differ():
    names = {p.name: p.value for p in figures.published_figures("004", "2a", symmetric=True)}
    assert names["2a/x2/x3"] == 0.122
    assert names["2a/x3/x2"] == 0.175
    assert "2a/x1/x1" not in names
    assert "2a/x2/x1" not in names
    assert names["2a/pairs of x4/x4"] == 100
    assert len(figures.published_figures("004", "1", symmetric=True)) == 6


@pytest.mark.parametrize("one", [p for p in papers() if p.number in ("000", "001", "004")], ids=lambda p: p.number)
def test_every_table_has_figures_and_every_name_an_experiment(one):
    names = {e.name for e in one.experiments}
    for table in one.tables:
        assert table.experiment in names
        assert figures.published_figures(one.number, table.number)
        printed = [p.name for p in figures.published_figures(one.number, table.number)]
        for said in (*table.exact, *table.within, *table.cannot):
            assert any(p.startswith(f"{table.number}/{said}") for p in printed), (table.number, said)
    assert {e for c in one.claims for e in c.experiments} <= names


def test_exact_means_every_seed_to_the_last_digit():
    exact = PublishedTable("4", "e", exact=("",))
    assert verdicts(exact, [PRINTED, [v + 0.0004 for v in PRINTED]]) == ["exact"] * 5
    assert verdicts(exact, [PRINTED, [v + 0.0006 for v in PRINTED]]) == ["outside"] * 5


def test_the_band_of_many_seeds_is_from_the_first_to_the_99th_percentile():
    spread = np.linspace(-1, 1, 201)
    found = MeasuredFigure.of(spread.tolist())
    assert (found.low, found.high) == pytest.approx((-0.9898, 0.9898), abs=1e-12)  # ranks 2.02 and 199.98 of 201
    assert found.by_chance == pytest.approx(0.02, abs=1e-12)
    inside, outside = [p + spread * 0.1 for p in PRINTED], [p + 0.0996 + spread * 0.1 for p in PRINTED]
    assert verdicts(PublishedTable("4", "e"), np.transpose(inside).tolist()) == ["in band"] * 5
    assert verdicts(PublishedTable("4", "e"), np.transpose(outside).tolist()) == ["outside"] * 5


@pytest.mark.parametrize("n", [10, 50, 98, 99, 300])
def test_one_more_draw_lies_outside_the_band_as_often_as_is_said(n):
    uniform = np.arange(1, n + 1) / (n + 1)  # what the sorted draws of a uniform law are on average
    found = MeasuredFigure.of(uniform.tolist())
    assert found.low + 1 - found.high == pytest.approx(found.by_chance, rel=1e-9)
    assert MeasuredFigure.of([3.0] * n).by_chance == 0


@pytest.mark.parametrize("values", [[0.0] * 9 + [1.0], [0.0, 0.0, 5.0] * 20, [1.0] * 11 + [0.2]])
def test_a_band_holds_only_what_is_possible(values):
    found = MeasuredFigure.of(values)
    assert min(values) <= found.low <= found.mean <= found.high <= max(values)


@pytest.mark.parametrize("off", [0.0, 0.1])
def test_few_seeds_call_no_random_figure_anything(off):
    values = [v + off for v in PRINTED]
    assert verdicts(PublishedTable("4", "e"), [values] * 9) == ["too few seeds"] * 5
    assert verdicts(PublishedTable("4", "e"), [values] * 10) == ["outside" if off else "exact"] * 5
    assert verdicts(PublishedTable("4", "e", exact=("",)), [values] * 2) == ["outside" if off else "exact"] * 5


def test_orders_of_few_seeds_are_no_verdict_either():
    table = PublishedTable("figure 1", "e")
    paper_3 = Paper("003", "a paper", (Experiment("e", lambda s, w: {}),), (table,))
    printed = {p.name: p.value for p in figures.published_figures("003", "figure 1")}
    for turned in (printed, {k: 1 - v for k, v in printed.items()}):
        few, many = (check_table(paper_3, table, figures_by_name([turned] * n)) for n in (9, 10))
        assert {r.verdict for r in few.rows} == {"too few seeds"}
        assert {r.verdict for r in many.rows} == {"exact" if turned is printed else "outside"}


def test_no_figure_is_capped_below_what_a_verdict_needs():
    for one in papers():
        for table in one.tables:
            for experiment in (one.experiment(e) for e in table.experiments):
                assert experiment.seeds in (None, 1) or experiment.seeds >= FEWEST_SEEDS, (one.number, table.number)


def test_a_row_says_how_many_seeds_gave_its_figure_and_shows_no_band_of_few():
    table = PublishedTable("4", "e")
    seen = [{"4/correlation/X": 0.7 + k / 100} | ({"4/correlation/ADD": 0.7 + k / 100} if k < 12 else {}) | (
        {"4/correlation/IMP": 0.7 + k / 100} if k < 3 else {}) for k in range(20)]
    x, add, imp = (table_cells(r) for r in check_table(paper(table), table, figures_by_name(seen)).rows[:3])
    assert x[3] == "[0.7000, 0.8900]"
    assert add[3] == "[0.7000, 0.8100] in 12 of 20 seeds"
    assert imp[2:] == ("0.7100", "– in 3 of 20 seeds", "too few seeds")


def test_where_nothing_is_random_one_seed_is_enough():
    far = [v + 0.1 for v in PRINTED]
    assert verdicts(PublishedTable("4", "e"), [far], seeds=1) == ["outside"] * 5
    assert verdicts(PublishedTable("4", "e"), [far] * 10) == ["outside"] * 5


def test_a_tolerance_and_a_reason_are_for_the_rows_they_name():
    table = PublishedTable("4", "e", within={"correlation/X": 0.01}, cannot={"correlation/SWP": "it is so"})
    near = [v + 0.009 for v in PRINTED]
    assert verdicts(table, [near], seeds=1) == ["in band", "outside", "outside", "outside", "cannot be reproduced"]


def test_chance_is_reckoned_with_only_where_a_band_decides_and_once_for_the_same_figure():
    table = PublishedTable("4", "e", exact=("correlation/X",), within={"correlation/ADD": 0.1})
    seen = [{f"4/correlation/{r}": v + k / 1000 for r, v in zip(ROWS, PRINTED, strict=True)} for k in range(-6, 6)]
    found = check_table(paper(table), table, figures_by_name(seen))
    assert [r.banded for r in found.rows] == [False, False, True, True, True]
    assert [r.by_chance > 0 for r in found.rows] == [False, False, True, True, True]
    plain = check_table(paper(PublishedTable("4", "e")), PublishedTable("4", "e"), figures_by_name(seen))
    assert plain.in_words() == "5 in band (expected outside by chance: at most 0.8 of 5)"
    again = [replace(r, published=replace(r.published, column="other")) for r in plain.rows]
    twice = replace(plain, rows=(*plain.rows, *again))
    assert twice.in_words() == "10 in band (expected outside by chance: at most 0.8 of 5)"


def test_what_is_missing_is_said_of_every_row_and_claim():
    table = PublishedTable("4", "e")
    lacking = check_table(paper(table), table, {}, "the file is not there")
    assert {r.because for r in lacking.rows} == {"the file is not there"}
    assert lacking.in_words() == "5 cannot be reproduced"
    claim = judge_claim(paper(table), Claim("so", lambda f: ("holds", ""), place="§1"), {}, "the file is not there")
    assert (claim.verdict, str(claim.evidence)) == ("not measured", "the file is not there")


def test_tables_are_chosen_by_name():
    (one, tables), = select_tables(["004/6", "004/1"])
    assert (one.number, [t.number for t in tables]) == ("004", ["1", "6a", "6b", "6c"])
    with pytest.raises(DiscoveryError, match="no paper '00x'"):
        select_tables(["00x"])
    with pytest.raises(DiscoveryError, match="no table '000/77'"):
        select_tables(["000/77"])


@pytest.mark.parametrize(("any_of", "missing", "said"), [
    (False, {"a": "no file"}, "no file"), (True, {"a": "no file"}, ""), (True, {"a": "no file", "b": "no"}, "no file"),
    (False, {"c": "no"}, ""),
])
def test_a_claim_lacks_what_it_needs(any_of, missing, said):
    assert Claim("so", lambda f: ("holds", ""), ("a", "b"), any_of, place="§1").lacks(missing) == said
