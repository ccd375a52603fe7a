"""Papers 002 and 003 and the study of reverse mapping: every printed figure has a measured one, and the quick ones land."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus import datasets
from larvatus.papers.bayesian_intruder_002 import experiments as paper_002_measured
from larvatus.papers.bayesian_intruder_002 import paper as paper_002
from larvatus.papers.framework import published_figures as figures
from larvatus.papers.framework.catalogue import select_tables
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.verdicts import check_table, figures_by_name, judge_claim
from larvatus.papers.global_utility_003 import experiments as paper_003_measured
from larvatus.papers.global_utility_003 import figures as paper_003_figures
from larvatus.papers.global_utility_003 import paper as paper_003
from larvatus.papers.global_utility_003 import surveys as paper_003_surveys
from larvatus.papers.reverse_mapping_001 import open_issues as reverse_mapping
from larvatus.papers.reverse_mapping_001 import open_issues_experiments as reverse_mapping_measured
from larvatus.papers.reverse_mapping_001.open_issues_report import blocks

QUICK = Where(quick=True)
FALSE_ALARM = 1e-6  # of every limit on a random figure below


@pytest.mark.parametrize("one", [paper_002.PAPER, paper_003.PAPER], ids=lambda p: p.number)
def test_every_table_has_figures_and_every_name_an_experiment(one):
    names = {e.name for e in one.experiments}
    for table in one.tables:
        printed = [p.name for p in figures.published_figures(one.number, table.number)]
        assert printed
        assert table.experiment in names
        for said in (*table.exact, *table.within, *table.cannot):
            assert any(p.startswith(f"{table.number}/{said}") for p in printed), (table.number, said)
    assert {e for c in one.claims for e in c.experiments} <= names


def test_dashes_are_no_figures():
    printed = figures.published_figures("002", "2")
    assert len([p for p in printed if " links/" in p.name]) == 18
    assert len([p for p in printed if " probability/" in p.name]) == 16


def test_published_records_lie_where_the_mask_puts_them():
    found = figures_by_name([paper_002_measured.records(seed, QUICK) for seed in range(40)])
    rows = check_table(paper_002.PAPER, paper_002.PAPER.tables[0], found).rows
    assert len(rows) == 40
    for row in rows:  # beyond 7 standard deviations of 40 draws: rarer than FALSE_ALARM in all rows
        sd = np.std(list(row.measured.by_seed.values()), ddof=1)
        assert abs(row.published.value - row.measured.mean) < 7 * sd


def test_the_36_scenarios_give_every_count_and_their_claims_are_judged():
    found = figures_by_name([paper_002_measured.paper_scenarios(0, QUICK)])
    for table in ("2", "3"):
        counts = [p for p in figures.published_figures("002", table) if " links/" in p.name]
        assert {p.name for p in counts} <= set(found)
    least = "minimum bias, minimum noise"
    assert found[f"likelihood 3/DATA2/{least}"].mean > found[f"3/DATA2 links/{least}"].mean + 10
    claims = [c for c in paper_002.PAPER.claims if c.experiments == ("scenarios",)]
    assert len(claims) == 5
    assert all(judge_claim(paper_002.PAPER, c, found).evidence for c in claims)


def test_the_square_of_one_column_is_the_other():
    slip = next(c for c in paper_003.PAPER.claims if "Table 4" in c.says)
    assert slip.judge({})[1].startswith("In 9 of 10 rows")


def test_steps_come_from_the_names_of_releases():
    assert [s["columns"][0] for s in paper_003_surveys.head_steps("Age+Race10+Mar30+Tax+Inc20")] == [
        "age", "race", "marital", "property_tax", "income"]
    assert paper_003_surveys.head_steps("Age+Mar30")[1]["rate"] == 0.3
    assert [s["columns"][0] for s in paper_003_surveys.school_steps("0%,20%")] == ["locale", "teachers", "lunch", "migrant"]


def test_exact_moments_hide_from_model_one_alone():
    data = paper_003_measured._data("skewed", "high positive", 1)
    release = paper_003_measured.make_releases(data, {"r": paper_003_measured.UTILITY_MASKS["Incor. Simul."]}, 1)["r"]
    found = paper_003_measured._measures(data, release) | paper_003_measured._clusters(data, release, 1000)
    assert found["U_p (Model I)"] < 1e-9
    assert found["U_p (Model II)"] > 100
    assert set(found) == set(figures.rows("003", "2"))


def test_values_apart_are_in_blocks_of_their_own():
    assert paper_003_figures.blocks_of_near_values([5.0, 0.0, 0.2, 10.0, 10.1]) == [1, 0, 0, 2, 2]
    assert [f.title.partition(":")[0] for f in paper_003_figures.utility_figures(QUICK)] == ["Figure 1", "Figure 2"]


def test_reverse_mapping_is_studied_for_masks_that_change_ranks_and_refused_for_the_others():
    refused = reverse_mapping_measured.refusals()
    assert {"rounding", "top_coding", "sampling", "recoding", "post_randomisation"} <= set(refused)
    assert all(any(w in why for w in ("reverse_map", "needs categorical", "no step masks it")) for why in refused.values())
    data = reverse_mapping_measured.open_issue_data(60, "skewed", 0)
    found = reverse_mapping_measured._both(data, "additive_noise", 60, "60/skewed/additive_noise", 0)
    head = "60/skewed/additive_noise/"
    assert found[head + "marginal/Z"] == 0 < found[head + "marginal/Y"]
    assert found[head + "rank"] == pytest.approx(0, abs=1e-12)
    same = reverse_mapping_measured._both(data, "rank_swap", 60, "60/skewed/rank_swap", 0)
    assert {v for k, v in same.items() if k.count("/") == 3} == {0.0}
    summed = figures_by_name([found | same])
    own = {m: reverse_mapping.increments(summed, m) for m in reverse_mapping_measured.STUDY_SCORES}
    figure, table = blocks(reverse_mapping_measured.STUDY_SCORES, own, refused)
    assert len(table.rows) == 2 + len(refused)
    assert "additive_noise" in figure.svg
    assert select_tables(["001-6"]) == [(reverse_mapping.PAPER, ())]


def test_heavy_tails_have_the_correlation_asked_for():
    table = datasets.heavy_tails(200_000, 1, shape="skewed", correlation=0.75)
    x = np.column_stack([table["x1"].to_numpy(), table["x2"].to_numpy()])
    assert np.corrcoef(x.T)[0, 1] == pytest.approx(0.75, abs=0.02)
    signs = np.sign(datasets.heavy_tails(50_000, 2)["x1"].to_numpy() * datasets.heavy_tails(50_000, 2)["x2"].to_numpy())
    assert signs.mean() == pytest.approx(2 / np.pi * np.arcsin(0.75), abs=4.9 / np.sqrt(50_000))  # FALSE_ALARM
    turned = datasets.heavy_tails(10, 3, mirrored=True)["x2"].to_numpy()
    assert np.array_equal(turned, -datasets.heavy_tails(10, 3)["x2"].to_numpy())


def test_surveys_have_the_published_shape():
    heads = datasets.household_heads(seed=1)
    tax = heads["property_tax"].to_numpy()
    assert heads.num_rows == 51_016
    assert [len(set(heads[n].to_pylist())) for n in ("race", "marital")] == [4, 7]
    assert tax[tax > 0].std(ddof=1) == pytest.approx(2900, rel=0.001)
    assert 0 < (tax == 0).mean() < 1
    table = datasets.schools(seed=1)
    assert table.num_rows == 16_405
    assert [len(set(table[n].to_pylist())) for n in ("state", "locale")] == [9, 8]


@pytest.mark.parametrize("shape", datasets.shapes.__globals__["SHAPES"])
def test_shapes(shape):
    x = datasets.shapes(5000, 1, shape)["x1"].to_numpy()
    assert (x == 0).mean() == pytest.approx({"zero-inflated": 0.401, "discrete": 0.106}.get(shape, 0), abs=0.035)
    assert (len(np.unique(x)) < 100) == (shape == "discrete")


def test_both_statistics_of_joint_distributions_are_read_from_one_score():
    from larvatus.datasets import schools
    from larvatus.papers.framework.shortcuts import make_releases, measure_once
    from larvatus.papers.global_utility_003.surveys import _measured, school_steps
    from larvatus.pipeline import read

    table, steps = schools(300, 1), school_steps("10%,20%")
    names = table.column_names
    found = _measured(table, steps, (5, 10), 1, 500)
    data = read(table, confidential=names, engine="memory")
    release = make_releases(data, {"r": list(steps)}, 1)["r"]
    for name, method in (("U_m", "ecdf_max"), ("U_s", "ecdf_mean")):
        score = measure_once(data, release, {"method": method, "columns": names})
        assert found[name] == score.value
        assert [r["value"] for r in score.by_group] == [score.value]
