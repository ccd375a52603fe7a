"""Claims of the papers: what refutes an identity, what cannot be told, and how many cells chance alone would tell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from larvatus.papers.bayesian_intruder_002 import paper as paper_002
from larvatus.papers.bayesian_intruder_002.experiments import _LEVELS, DATA, KNOWN_COUNTS
from larvatus.papers.easy_masking_004 import paper as paper_004
from larvatus.papers.framework.model import FEWEST_SEEDS
from larvatus.papers.framework.published_figures import rows
from larvatus.papers.framework.seed_comparison import BySeed
from larvatus.papers.framework.verdicts import MeasuredFigure, check_table, figures_by_name
from larvatus.papers.reverse_mapping_001 import open_issues as reverse_mapping
from larvatus.papers.shuffling_000 import paper as paper_000

SEEDS = 200
FALSE_ALARM = 1e-6
JITTER = np.tile([-1.0, 1.0], SEEDS // 2)


def summary(mean: float, spread: float = 0.0, seeds: int = SEEDS) -> MeasuredFigure:
    return MeasuredFigure.of([float(v) for v in mean + spread * JITTER[:seeds]])


def one_off(value: float, off: float) -> MeasuredFigure:
    return MeasuredFigure.of([value] * (SEEDS - 1) + [off])


def test_one_seed_of_many_refutes_an_identity():
    exact = {"3/furthest of linear models": summary(1e-15), "6/furthest of linear models": summary(1e-15)}
    assert paper_000._exactly(exact)[0] == "holds"
    found, said = paper_000._exactly(exact | {"6/furthest of linear models": one_off(1e-15, 0.1)})
    assert (found, said[-7:]) == ("does not hold", "1.0e-01")
    left = {"25/normal/noise/marginal/Z": summary(0.0), "25/normal/noise/marginal": summary(-0.1)}
    assert reverse_mapping._marginals(left)[0] == "holds"
    assert reverse_mapping._marginals(left | {"25/normal/noise/marginal/Z": one_off(0.0, 0.1)})[0] == "does not hold"


def test_d_in_every_sub_group_is_refuted_by_one_seed():
    file = {f"d over the file/{n}": summary(0.6, 0.01) for n in paper_000.MONEY}
    inside = {"d within, least": summary(0.5), "d within, most": summary(0.5)}
    assert paper_000._similar(file | inside)[0] == "holds"
    assert paper_000._similar(file | inside | {"d within, least": one_off(0.5, 0.4)})[0] == "does not hold"


@pytest.mark.parametrize(("converged", "ran", "verdict"), [
    (20, 20, "does not hold"), (FEWEST_SEEDS, 20, "does not hold"), (FEWEST_SEEDS - 1, 20, "cannot tell"),
    (1, 20, "cannot tell"),
    (0, 20, "holds in part"), (0, 3, "cannot tell"),
])
def test_chains_are_to_converge_in_enough_seeds(converged, ran, verdict):
    found = {"released/0": summary(60, 1, ran), f"vague/{KNOWN_COUNTS[0]}": summary(60, 1, ran)}
    if converged:
        found |= {f"vague/{k}": summary(60, 1, converged) for k in KNOWN_COUNTS[1:]}
    assert paper_002._between(found)[0] == verdict


@pytest.mark.parametrize(("close", "far", "verdict"), [
    (16, 0, "holds"), (0, 1, "cannot tell"), (15, 1, "holds in part"), (8, 0, "cannot tell"), (0, 16, "does not hold"),
    (3, 5, "does not hold"), (3, 4, "cannot tell"),
])
def test_little_protection_is_judged_of_what_is_told(close, far, verdict):
    cells = [(d, f"{b} bias, {n} noise") for d in DATA for b in _LEVELS for n in _LEVELS]
    found = {f"strongest {t}/{d}/{r}": summary(5.0) for t in "23" for d, r in cells}
    found |= {f"3/{d} links/{r}": summary(0.0) for d, r in cells}
    counted = [c for c in cells if c[1] != "minimum bias, minimum noise"]
    for i, (d, r) in enumerate(counted):
        gap = summary(0.0, 0.1) if i < close else summary(5.0, 0.1) if i < close + far else summary(2.0, 3.0)
        found[f"2/{d} links/{r}"] = gap
    assert paper_002._little(found)[0] == verdict


def cells(mean: dict[int, float], count: int, seeds: int, rng: np.random.Generator) -> dict[str, BySeed]:
    """Z over Y of every measure, for so many masks, the same at all sizes but for draws and what is added at one of them."""
    return {
        f"{n}/{shape}/mask {k}/{what}": BySeed(dict(enumerate((rng.standard_normal(seeds) + mean.get(n, 0.0)).tolist())))
        for n in (25, 1000) for shape in reverse_mapping.SHAPES for k in range(count)
        for what in ("linked", "value", "rank", "marginal", "correlation", "rank correlation", "joint")
    }


def test_where_nothing_differs_many_cells_tell_nothing_more_often_than_is_said():
    runs, rng = 20, np.random.default_rng(1)
    at_limit = dict.fromkeys((25, 1000), reverse_mapping.NOTABLE)
    rules = {"size": reverse_mapping._size, "shape": reverse_mapping._shape, "risk": reverse_mapping._risk,
             "relations": reverse_mapping._relations}
    told = dict.fromkeys(rules, 0)
    for _ in range(runs):
        found = cells(at_limit, 10, 25, rng)
        for name, rule in rules.items():
            told[name] += rule(found)[0] != "cannot tell"
    limit = binom.isf(FALSE_ALARM, runs, 2 * reverse_mapping.RARE)  # twice: pairs of one cell with three others are related
    assert all(n <= limit for n in told.values()), told


def test_what_differs_in_many_cells_is_told():
    rng = np.random.default_rng(2)
    found = cells({25: -3.0, 1000: 3.0}, 5, 25, rng)
    assert reverse_mapping._size(found)[0] == "holds"
    assert reverse_mapping._risk(found)[0] == "holds in part"
    assert reverse_mapping._risk(cells({25: 3.0, 1000: 3.0}, 5, 25, rng))[0] == "holds"
    assert reverse_mapping._relations(cells({25: 3.0, 1000: 3.0}, 5, 25, rng))[0] == "does not hold"
    assert reverse_mapping._relations(cells({25: -3.0, 1000: 3.0}, 5, 25, rng))[0] == "holds in part"


def test_relations_lose_nothing_and_risk_is_no_higher_only_where_every_cell_is_told_to_be_below():
    rng = np.random.default_rng(3)
    below = cells({25: -9.0, 1000: -9.0}, 5, 25, rng)
    assert (reverse_mapping._relations(below)[0], reverse_mapping._risk(below)[0]) == ("holds", "does not hold")
    unclear = below | {k: v for k, v in cells({}, 1, 25, rng).items() if k.startswith("25/normal/mask 0/")}
    assert (reverse_mapping._relations(unclear)[0], reverse_mapping._risk(unclear)[0]) == ("cannot tell", "cannot tell")
    few = cells({25: -9.0, 1000: -9.0}, 5, FEWEST_SEEDS - 1, rng)
    for rule in (reverse_mapping._relations, reverse_mapping._risk, reverse_mapping._shape):
        assert rule(few)[0] == "cannot tell"


def test_cells_of_few_seeds_are_not_counted_among_those_that_do_not_differ():
    rng = np.random.default_rng(4)
    found = cells({}, 5, 25, rng)
    found |= {k: BySeed({s: v.by_seed[s] for s in range(3)}) for k, v in found.items() if k.startswith("1000/")}
    assert f" of {3 * 4 * 5}, beyond" in reverse_mapping._shape(found)[1].said


def test_rates_that_are_measured_are_outside_and_say_what_other_ways_give():
    table = next(t for t in paper_004.PAPER.tables if t.number == "11")
    value = {"11/rate": (1.0, 0.65, 0.27), "within 3": (1.0, 0.95, 0.6), "clusters": (1.0, 0.3, 0.09),
             "50 clusters": (0.5, 0.3, 0.06)}
    seen = [{f"{kind}/{row}": v + 0.03 * float(sign) * (v != 1.0) for kind, three in value.items()
             for row, v in zip(rows("004", "11"), three, strict=True)} for sign in JITTER]
    found = check_table(paper_004.PAPER, table, figures_by_name(seen))
    assert [r.verdict for r in found.rows] == ["exact", "outside", "outside"]
    assert "Base 50, printed 1.00, by other methods: among three nearest 0.950" in found.remark
    assert found.remark.count("In band by: none of them.") == 1
    assert "In band by: 50 clusters, two records sharing the credit." in found.remark
