"""Claims say what the paper says, quote the place, and are judged on what the sentence is about."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.papers.bayesian_intruder_002 import paper as paper_002
from larvatus.papers.easy_masking_004 import attacks as attacks_004
from larvatus.papers.easy_masking_004 import claims as claims_004
from larvatus.papers.framework.catalogue import papers
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.published_figures import column, rows
from larvatus.papers.framework.verdicts import MeasuredFigure, figures_by_name
from larvatus.papers.global_utility_003 import claims as claims_003
from larvatus.papers.global_utility_003.experiments import FLEXIBLE
from larvatus.papers.global_utility_003.figures import UTILITY_MEASURES
from larvatus.papers.reverse_mapping_001 import open_issues
from larvatus.papers.reverse_mapping_001 import paper as paper_001
from larvatus.papers.shuffling_000 import paper as paper_000

SEEDS = 100


def share(n: int) -> MeasuredFigure:
    return MeasuredFigure.of([1.0] * n + [0.0] * (SEEDS - n))


def near(mean: float, spread: float = 0.001) -> MeasuredFigure:
    return MeasuredFigure.of([float(v) for v in mean + spread * np.tile([-1.0, 1.0], SEEDS // 2)])


@pytest.mark.parametrize("paper", papers(), ids=lambda p: p.number)
def test_every_claim_quotes_its_section(paper):
    assert all(c.place.startswith("§") and c.place[1].isdigit() for c in paper.claims)


def test_the_equality_intruder_is_one_of_those_who_attack_a_swap():
    found = {"swap/nearest": near(0.887), "swap/probabilistic": near(0.968)}
    verdict, evidence = claims_004._swap(found | {"swap/equality": near(0.997)})
    assert verdict == "holds"
    assert "rare ones weighing more: 0.997" in str(evidence)
    assert claims_004._swap(found | {"swap/equality": near(0.96)})[0] == "holds in part"


def test_what_the_paper_does_not_say_is_no_claim():
    assert not [c.says for c in paper_002.PAPER.claims if "guard against" in c.says]
    assert not [c.says for c in claims_003.CLAIMS_003 if "enough terms" in c.says]
    assert not [c.says for c in paper_001.PAPER.claims if "Four records" in c.says]


@pytest.mark.parametrize(("symmetric", "skewed", "verdict"), [
    (0, 0, "holds"), (25, 0, "holds in part"), (95, 97, "does not hold"),
])
def test_micro_and_noise_against_swapping_is_judged_by_model_two_only(symmetric, skewed, verdict):
    found = {f"flexible {t}/{m}/{n}": near(10) for t in "12" for m in FLEXIBLE for n in ("Swap", "Micro + Noise")}
    found |= {f"swap ahead {t}/{m}": share(100) for t in "12" for m in FLEXIBLE}
    found |= {"swap ahead 1/Model II": share(symmetric), "swap ahead 2/Model II": share(skewed)}
    assert claims_003._reversed(found)[0] == verdict


def test_negligible_distortion_is_judged_by_the_printed_table():
    measured = {f"3/{m}/{r}": near(100.0 + (5 if "Inc20" in r else 0)) for m in UTILITY_MEASURES for r in rows("003", "3")}
    verdict, evidence = claims_003._income(measured)
    assert verdict == "holds"
    assert "U_c (G = 2500): printed in Table 3 1.1%, on the stand-in (100 seeds) 4.8%" in evidence.lines
    assert claims_003._income({})[0] == "holds"


def printed_differently(monkeypatch, paper, changed: dict[tuple[str, str, str], float]) -> None:
    """Let single cells of printed tables, by table, column and row, have other values."""
    def other(number, table, name):
        return [changed.get((table, name, row), v) for row, v in zip(rows(number, table), column(number, table, name),
                                                                     strict=True)]

    monkeypatch.setattr(paper, "column", other)


SURVEY_SENTENCES = ("All measures but clustering", "Every measure but U_m", "U_p orders the school")


@pytest.mark.parametrize("says", SURVEY_SENTENCES)
def test_sentences_about_the_surveys_are_judged_by_the_printed_tables(says):
    """A stand-in in which every step has the wrong order does not refute them, and is shown."""
    claim = next(c for c in claims_003.CLAIMS_003 if c.says.startswith(says))
    assert "Table" in claim.place
    found = {f"3/{m}/{r}": near(-float(i)) for m in UTILITY_MEASURES for i, r in enumerate(rows("003", "3"))}
    found |= {f"{t}/{m}/{step}": share(0) for t in ("figure 1", "4 order") for m in (*UTILITY_MEASURES, "U_c (G = 400)")
              for step in rows("003", t)}
    verdict, evidence = claim.judge(found)
    assert verdict == claim.judge({})[0] == "holds"
    assert "100 seeds" in str(evidence)
    assert "not measured" in str(claim.judge({})[1])


@pytest.mark.parametrize(("says", "changed", "verdict"), [
    (SURVEY_SENTENCES[0], {("3", "U_p", "Age+Race10+Mar10"): 1.0}, "holds in part"),
    (SURVEY_SENTENCES[1], {("3", "U_m", "Age+Mar10"): 0.4}, "holds in part"),
    (SURVEY_SENTENCES[2], {("4", "U_p", "30%,30%"): 300.0}, "holds in part"),
    (SURVEY_SENTENCES[2], {("4", "U_m", "10%,20%"): 0.144, ("4", "U_m", "30%,20%"): 0.1444}, "holds in part"),
])
def test_other_printed_figures_would_change_the_verdict(says, changed, verdict, monkeypatch):
    printed_differently(monkeypatch, claims_003, changed)
    claim = next(c for c in claims_003.CLAIMS_003 if c.says.startswith(says))
    assert claim.judge({})[0] == verdict


def test_pearson_correlations_of_shuffled_data_are_judged_by_table_six(monkeypatch):
    """Over the file they are close; in a sub-group .529 becomes .734, by the paper's own table."""
    verdict, said = paper_000._close({})
    assert verdict == "holds in part"
    assert "in sub-group 1 0 0: 0.205" in said
    drawn = {f"shuffled, {what}": near(0.5) for what in ("mean change", "largest change", "largest change in a sub-group")}
    assert paper_000._close(drawn)[0] == verdict
    assert "at most 0.500" in paper_000._close(drawn)[1]
    printed_differently(monkeypatch, paper_000, {("6", "shuffled", r): v for r, v in zip(
        rows("000", "6"), column("000", "6", "original"), strict=True)})
    assert paper_000._close({})[0] == "holds"


def test_what_is_judged_on_our_draws_says_whether_print_agrees(monkeypatch):
    """Simulations of 002 and 003: five of 24 printed steps to more noise find more links; one row of 14 prefers no swap."""
    cells = {f"{t}/{d} links/{b} bias, {n} noise": near(10.0) for t in "23" for d in paper_002.DATA
             for b in paper_002._LEVELS for n in paper_002._LEVELS}
    assert paper_002._noise(cells)[1].endswith("In print 17 agree, 5 are reversed and 2 are equal.")
    best = {f"best {t}/{r}/Swap": share(100) for t in "12" for r in rows("003", "1")}
    assert "The printed figures agree in 13 of 14 rows" in claims_003._swapping(best)[1]
    two = {f"best {t}/U_p (Model II)/Micro + Noise": share(81) for t in "12"}
    assert claims_003._model_two(two)[1].startswith("The printed figures agree. ")


def test_ninety_nine_seeds_of_a_hundred_are_enough():
    found = {f"best {t}/U_p (Model I)/Incor. Simul.": share(100) for t in "12"}
    found |= {f"worst {t}/U_p (Model II)/Incor. Simul.": share(n) for t, n in (("1", 100), ("2", 99))}
    assert claims_003._model_one(found)[0] == "holds"
    assert claims_003._model_one(found | {"worst 2/U_p (Model II)/Incor. Simul.": share(80)})[0] == "holds in part"


def test_losses_and_risks_of_an_illustration_are_judged_by_its_tables():
    found = {f"{t}/correlation/{r}": MeasuredFigure.of([v]) for t in ("3", "4")
             for r, v in zip(rows("001", t), column("001", t, "correlation"), strict=True)}
    found |= {f"own 3/correlation/{m}": near(0.5) for m in paper_001.METHODS}
    found |= {f"{what}/{m}": share(25) for what in ("worst loss", "least risk") for m in paper_001.METHODS}
    verdict, evidence = paper_001._swapping(found)
    assert (verdict, "SWP 0.174" in str(evidence), "SWP 25%" in str(evidence)) == ("holds", True, True)
    assert paper_001._imputation(found)[0] == "holds"
    assert paper_001._swapping(found | {"4/correlation/ADD": near(0.1)})[0] == "does not hold"


def test_some_observations_keep_their_rank():
    claim = next(c for c in paper_001.PAPER.claims if "7, 10, 11, 22" in c.says)
    verdict, evidence = claim.judge({})
    assert verdict == "holds"
    assert "3, 7, 10, 11, 16, 22" in evidence


def test_one_reversed_step_among_many_makes_the_claim_hold_in_part():
    cells = {f"{t}/{d} links/{b} bias, {n} noise": near(10.0 - 3 * i) for t in "23" for d in paper_002.DATA
             for b in paper_002._LEVELS for i, n in enumerate(paper_002._LEVELS)}
    assert paper_002._noise(cells)[0] == "holds"
    verdict, said = paper_002._noise(cells | {"3/DATA1 links/minimum bias, minimum noise": near(2.0)})
    assert verdict == "holds in part"
    assert said.startswith("23 of 24 steps to more noise find fewer links.")


@pytest.mark.parametrize(("moved", "left", "verdict"), [
    (1.4, 0.0, "holds in part"), (1.4, 3.0, "cannot tell"), (0.0, 0.0, "cannot tell"),
])
def test_twelve_variables_on_disjoint_and_on_overlapping_subdomains(moved, left, verdict):
    found = {f"moments/{n}": near(1e-15, 0.0) for n in (30, 14)} | {f"moved/{n}": near(moved, 0.0) for n in (30, 14)}
    first, *_, last = attacks_004.CLASSIFICATIONS
    found |= {f"free/{m}": near({first: 540.0, last: left}.get(m, 270.0), 0.0) for m in attacks_004.CLASSIFICATIONS}
    assert claims_004._forced(found)[0] == verdict


def test_constraints_on_overlapping_subdomains_leave_what_counting_says():
    rng = np.random.default_rng(1)
    z = rng.standard_normal((12, 3))
    orders = [rng.permutation(12) for _ in range(2)]
    assert attacks_004.free_dimensions(z, orders[:1], 6) == 36 - 2 * (3 + 6)
    assert attacks_004.free_dimensions(z, orders, 6) == 36 - 4 * (3 + 6) + (3 + 6), "means and moments of the file count once"


def test_a_rotation_of_each_subdomain_keeps_its_moments(monkeypatch):
    monkeypatch.setattr(attacks_004, "CLASSIFICATIONS", (1,))
    found = figures_by_name([attacks_004.rebuild_subdomains(0, Where(quick=True))])
    assert max(found[f"moments/{n}"].mean for n in attacks_004.SUBDOMAINS) < attacks_004.SAME_VALUE
    assert min(found[f"moved/{n}"].mean for n in attacks_004.SUBDOMAINS) > claims_004._MOVED


def test_chance_in_simulated_data_is_one_record_in_each_sub_group():
    groups = rows("000", "2")
    exact = {f"2/d = 0/{g}": near(1, 0.0) for g in groups}
    assert paper_000._by_chance(exact | {f"2/shuffled/{g}": near(1.02, 0.1) for g in groups})[0] == "holds"
    assert paper_000._by_chance(exact | {f"2/shuffled/{g}": near(1.5, 0.1) for g in groups})[0] == "holds in part"


def test_a_refusal_of_larvatus_does_not_refute_that_reverse_mapping_can_follow_a_mask(monkeypatch):
    claim = next(c for c in open_issues.PAPER.claims if c.says.startswith("Any masking mechanism"))
    verdict, evidence = claim.judge({})
    assert verdict == "holds"
    assert all(name in str(evidence) for name in ("rounding", "top_coding", "recoding", "sampling"))
    assert "post_randomisation" not in str(evidence)
    monkeypatch.setattr(open_issues, "followed_if_allowed", lambda name: name != "rounding")
    assert claim.judge({})[0] == "holds in part"
