"""The first screen alone names the right release and what speaks against it, whatever the study."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from larvatus.comparison.limits import limits_of
from larvatus.comparison.limits_by_release import judge_limits
from larvatus.comparison.release_sentences import plain_name, plain_title
from larvatus.comparison.selection_rule import selected_release
from larvatus.data.score import Rows, Score, Scores
from larvatus.reporting.board.decision import MOST_BROKEN
from larvatus.reporting.board.figures_in_words import relative_text, success_text
from larvatus.reporting.board.subject import MOST_CARDS
from reporting.generated_studies import generated_study
from reporting.shapes import found_by_unmasked_columns

TAG = re.compile(r"<style.*?</style>|<[^>]+>", re.DOTALL)


def first_screen(html: str) -> str:
    """The text of the title and the first screen, without the drawings and what follows."""
    from html import unescape

    head = html.split("<header>")[1].split('<section class="part story"')[0]
    head = re.sub(r"<figure.*?</figure>", " ", head, flags=re.DOTALL)
    return " ".join(unescape(TAG.sub("", head.replace("</li>", " </li>").replace("</p>", " </p>"))).split())


@pytest.mark.parametrize("seed", range(20))
def test_the_first_screen_names_choice_attack_loss_and_broken_limits(seed):
    made = generated_study(seed)
    text = first_screen(made.html())
    name, passes = selected_release(made)
    candidate = next(c for c in made.candidates if c.name == name)
    title = text.split(" Decision ")[0]
    assert f"“{name}”" in title, "the title names the release"
    assert ("No release" in title or "breaks" in title or "not shown" in title) == (not passes)
    if len(made.candidates) > 1:
        assert ("The rule chooses no release" in text) == (not passes)
    head = next(r for r in made.headline() if r["release"] == name)
    card = next(c for c in re.split(r"(?=<article)", made.html()) if f'</span> {name}</a>' in c)
    shown = first_screen(f"<header>{card.split('</article>')[0]}")
    strongest = next(s for s in candidate.scores if s.method == head["strongest attack"])
    assert plain_title(strongest.method) in shown
    assert " ".join(success_text(strongest).split()) in shown
    losses = [s for s in candidate.of_kind("loss") if s.value >= 1e-9]
    worst = max(losses, key=lambda s: s.relative_loss, default=None)
    assert (plain_title(worst.method) if worst else "nothing is lost") in shown
    limits = judge_limits(made)
    against = text.split("speaks against")[1].split(". ")[0]
    if worst and worst.relative_loss >= 0.1:
        assert f"its largest loss is {relative_text(worst)}, for {plain_name(worst.method)}".replace("\xa0", " ") in against
    also = shown.partition("Also: ")[2]
    broken = limits.broken(str(name)) if limits else ()
    for row in broken:
        assert f"{plain_title(str(row['score']))}:" in shown or plain_name(str(row["score"])) in also, row
        assert plain_name(str(row["score"])) in against or len(broken) > MOST_BROKEN, row
    alone = any("singled_out" in s.details for c in made.candidates for s in c.scores)
    assert ("single out 40.0" in text) == alone


def with_detail(made, **details):
    first = made.candidates[0]
    score = Score("uniqueness", "risk", 0.01, chance=0.01, identifies=True, details=details)
    return replace(made, candidates=(replace(first, scores=Scores([*first.scores, score])), *made.candidates[1:]))


def test_what_s_alone_reveals_is_a_warning(comparison):
    rows = Rows.of([{"column": "all", "singled_out": 0.4}, {"column": "age", "singled_out": 0.4}])
    text = first_screen(with_detail(comparison(2), singled_out=rows).html())
    assert "Warning The unmasked columns alone let an intruder single out 40.0" in text
    assert "of records (age). No mask helps against that" in text


def test_the_weight_is_named(comparison):
    assert "The weight (weight) is released unchanged" in first_screen(comparison(2).html())


def test_key_variables_are_named(comparison):
    made = comparison(1)
    key = Score("key_risk", "risk", 0.04, settings={"keys": ["age", "region"]}, chance=0.01, identifies=True)
    scored = replace(made, candidates=(replace(made.candidates[0], scores=Scores([*made.candidates[0].scores, key])),))
    assert "Matching by key variables (age, region): 40 in 1,000 records found, 10 in 1,000 by guessing." in first_screen(
        scored.html())


def test_sub_groups_that_are_not_masked_are_a_warning(comparison):
    rows = Rows.of([
        {"records": "all", "sub_group": None, "count": 50, "share": 0.01, "beyond": 0},
        {"records": "whole sub-group", "sub_group": "area=1", "count": 50, "share": 0.01, "beyond": 50},
    ])
    text = first_screen(with_detail(comparison(2), unchanged_records=rows).html())
    assert "Warning In “noise 0”, 50 records are released with all confidential values unchanged" in text
    assert "No confidential value is masked in this sub-group: area=1 (50 records)." in text


def test_broken_limits_stand_on_the_card(comparison):
    made = replace(comparison(2), limits=limits_of({"nearest_record": 0.3, "moments": 0.015}))
    text = first_screen(made.html())
    assert "noise 0 breaks 1 limit" in text
    assert "Nearest-record linkage: up to 44 %, limit 30 %; the estimate" not in text
    assert "Nearest-record linkage: up to 44 %, limit 30 %" in text
    assert "Means and standard deviations: loss 0.02, limit 0.015" in text


def test_all_broken_limits_of_the_first_release_are_named(comparison):
    made = comparison(2)
    names = ("moments", "correlation", "nearest_record", "rank_correlation", "marginal", "table")
    more = [Score(m, "loss", 0.4, "change", worst_value=1.0) for m in names[3:]]
    scored = replace(made, candidates=tuple(replace(c, scores=Scores([*c.scores, *more])) for c in made.candidates))
    text = first_screen(replace(scored, limits=limits_of(dict.fromkeys(names, 0.001))).html())
    card = text.split("noise 1 breaks 6 limits")[1].split(" noise 0 ")[0]
    assert all(plain_name(m) in card or f"{plain_title(m)}:" in card for m in names), card
    assert "it breaks 6 limits, on" in text


def test_what_s_alone_finds_beyond_the_limit_speaks_against_a_release(comparison):
    made = comparison(1)
    found = Score("nearest_record", "risk", 1.0, chance=0.01, s_alone=1.0, identifies=True, interval=(0.99, 1.0))
    text = first_screen(replace(made, candidates=(replace(made.candidates[0], scores=Scores([found])),)).html())
    assert "“noise 0” is not shown to be safe" in text
    assert "What speaks against “noise 0”: all records found from the unmasked columns alone." in text
    assert "Warning All records found from the unmasked columns alone. No mask helps against that" in text


def test_what_s_alone_finds_comes_before_a_stronger_attack():
    text = first_screen(found_by_unmasked_columns().html())
    assert "No release passes the rule; “noise 2” comes closest" in text
    assert "What speaks against “noise 2”: all records found from the unmasked columns alone." in text
    assert "Warning The unmasked columns alone let an intruder single out 100 % of records (weight)." in text


def test_a_publication_warning_and_an_approval_stand_there(comparison):
    text = first_screen(comparison(2).html(warned=["It is published although."], approved={"noise 1": "A. Board"}))
    assert "Warning It is published although." in text
    assert "“noise 1” was approved by A. Board." in text


@pytest.mark.parametrize("many", [1, 6, 7, 40])
def test_up_to_six_releases_have_a_card_and_the_others_a_row(comparison, parsed, many):
    page = parsed(comparison(many).html())
    assert len(page.named("article")) == min(many, MOST_CARDS)
    text = first_screen(comparison(many).html())
    assert all(f"noise {i}" in text for i in range(many))
    assert ("more releases" in text) == (many > MOST_CARDS + 1)
