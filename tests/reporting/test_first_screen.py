"""The first screen alone names the right release and what speaks against it, whatever the study."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files

import pytest

from larvatus.comparison.limits import limits_of
from larvatus.comparison.limits_by_release import judge_limits
from larvatus.comparison.release_sentences import plain_name, plain_title
from larvatus.comparison.selection_rule import rule_rows, selected_release
from larvatus.data.notes import Note
from larvatus.data.score import Rows, Score, Scores
from larvatus.reporting.board.cards import card_of
from larvatus.reporting.board.figures_in_words import relative_text, success_text
from larvatus.reporting.board.map_block import map_block, risk_map
from larvatus.reporting.board.objections import MOST_BROKEN
from larvatus.reporting.board.subject import MOST_CARDS, subject_of
from larvatus.reporting.charts.risk_map import SCREEN, draw_risk_map
from larvatus.reporting.page.glossary import TERMS
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
    several = len(made.candidates) > 1
    assert f"“{name}”" in title or (several and not passes), "the title names the release"
    assert bool(re.search("No release may go out|must not be|not shown", title)) == (not passes)
    assert set(re.findall("“(.*?)”", title + caption_of(made))) <= {name}, "title and caption name the same release"
    if len(made.candidates) > 1:
        assert ("The rule chooses no release" in text) == (not passes)
    head = next(r for r in made.headline() if r["release"] == name)
    card = next(c for c in re.split(r"(?=<article)", made.html()) if f'</span> {name}</a>' in c)
    shown = first_screen(f"<header>{card.split('</article>')[0]}")
    strongest = next(s for s in candidate.scores if s.method == head["strongest attack"])
    assert plain_title(strongest.method) in shown
    assert " ".join(success_text(strongest, subject_of(made).out_of).split()) in shown
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
    beyond = [str(r["attack"]) for r in rule_rows(candidate) if r["met"] is not True]
    if not passes and not broken:
        assert any(plain_name(m) in against for m in beyond) or "unmasked columns alone" in against, beyond
    assert (f"“{name}”, which comes closest" in text) == (several and not passes)
    alone = any("singled_out" in s.details for c in made.candidates for s in c.scores)
    assert bool(re.search("single out (40 in 100|400 in 1,000) records", text)) == alone


def caption_of(made) -> str:
    """The sentence of the map."""
    return getattr(map_block(subject_of(made)), "sentence", "")


def with_detail(made, **details):
    first = made.candidates[0]
    score = Score("uniqueness", "risk", 0.01, chance=0.01, identifies=True, details=details)
    return replace(made, candidates=(replace(first, scores=Scores([*first.scores, score])), *made.candidates[1:]))


def test_what_s_alone_reveals_is_a_warning(comparison):
    rows = Rows.of([{"column": "all", "singled_out": 0.4}, {"column": "age", "singled_out": 0.4}])
    text = first_screen(with_detail(comparison(2), singled_out=rows).html())
    assert "Warning The unmasked columns alone let an intruder single out 400 in 1,000 records (age). No mask helps" in text


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
    assert "In “noise 0”, no confidential value is masked in this sub-group: area=1 (50 records)." in text


def test_broken_limits_stand_on_the_card(comparison):
    made = replace(comparison(2), limits=limits_of({"nearest_record": 0.3, "moments": 0.015}))
    text = first_screen(made.html())
    assert "noise 0 breaks 1 limit" in text
    assert "Nearest-record linkage: up to 440 in 1,000, limit 300 in 1,000; the estimate" not in text
    assert "Nearest-record linkage: up to 440 in 1,000, limit 300 in 1,000" in text
    assert "Means and standard deviations: loss 0.02, limit 0.015" in text


def test_all_broken_limits_of_the_first_release_are_named(comparison):
    made = comparison(2)
    names = ("moments", "correlation", "nearest_record", "rank_correlation", "marginal", "table")
    more = [Score(m, "loss", 0.4, "change", worst_value=1.0) for m in names[3:]]
    scored = replace(made, candidates=tuple(replace(c, scores=Scores([*c.scores, *more])) for c in made.candidates))
    text = first_screen(replace(scored, limits=limits_of(dict.fromkeys(names, 0.001) | {"nearest_record": 0.01})).html())
    card = text.split("noise 1 breaks 6 limits")[1].split(" noise 0 ")[0]
    assert all(plain_name(m) in card or f"{plain_title(m)}:" in card for m in names), card
    assert "it breaks 6 limits, on" in text


def test_what_s_alone_finds_beyond_the_limit_speaks_against_a_release(comparison):
    made = comparison(1)
    found = Score("nearest_record", "risk", 1.0, chance=0.01, s_alone=1.0, identifies=True, interval=(0.99, 1.0))
    text = first_screen(replace(made, candidates=(replace(made.candidates[0], scores=Scores([found])),)).html())
    assert "“noise 0” must not be released" in text
    without = "ll records are found from the unmasked columns alone (the limit is 20 in 100)."
    assert f"What speaks against “noise 0”: a{without}" in text
    assert f"Warning A{without} No mask can pass" in text
    assert "release fewer or coarser columns, and group, round or leave out the weight." in text


def test_what_s_alone_finds_comes_before_a_stronger_attack():
    text = first_screen(found_by_unmasked_columns().html())
    assert "No release may go out: the unmasked columns alone reveal too much" in text
    assert "The rule chooses no release: the unmasked columns alone reveal too much." in text
    against = text.split("speaks against")[1]
    assert "all records are found from the unmasked columns alone (the limit is 200 in 1,000)." in against
    assert "Warning The unmasked columns alone let an intruder single out all records (weight). No mask can pass:" in text
    assert text.count("all records are found from the unmasked columns alone") == 1, "once, outside the chart"
    cards = text.split(" must not be released ")[1:]
    assert text.count("Strongest attack on the masked columns") == 3, "the others add to what these reveal"
    assert len(cards) == 3
    assert all(c.startswith("Uniqueness: all records, the rule allows 200 in 1,000") for c in cards), "named first"


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
    folded = "more releases: verdict, strongest attack and losses</summary>" in comparison(many).html()
    assert folded == (many - MOST_CARDS > 12), "a long table does not push the stories away"


def scored(made, *scores):
    """The same releases with these lists of scores; losses stay."""
    with_losses = ([*own, *c.of_kind("loss")] for c, own in zip(made.candidates, scores, strict=True))
    changed = (replace(c, scores=Scores(own)) for c, own in zip(made.candidates, with_losses, strict=True))
    return replace(made, candidates=tuple(changed))


def attack(method, value, chance, width=0.001, **fields):
    return Score(method, "risk", value, chance=chance, interval=(value - width, value + width), **fields)


@pytest.mark.parametrize("seed", range(20))
def test_no_release_is_drawn_lower_than_its_worst_counted_attack(seed):
    made = generated_study(seed)
    subject = subject_of(made)
    height = {p.name: p.y for p in risk_map(subject).points}
    for head, candidate in zip(subject.heads, made.candidates, strict=True):
        beating = [s.value - s.chance for s in candidate.of_kind("risk") if s.interval[0] > s.chance]
        assert height[head.name] == pytest.approx(max(beating, default=0.0))
        assert not beating or head.attack.value - head.attack.chance == pytest.approx(max(beating))


def test_the_strongest_attack_is_the_highest_one_although_another_breaks_the_rule_further(comparison):
    far = attack("interval_disclosure", 0.24, 0.02)  # 22 points above, 22 times what is allowed
    high = attack("value_disclosure", 0.9, 0.1)  # 80 points above, 16 times what is allowed
    made = scored(comparison(1), [far, high])
    assert [r["strongest attack"] for r in made.headline()] == ["value_disclosure"]
    assert risk_map(subject_of(made)).points[0].y == pytest.approx(0.8)


def test_a_release_fails_although_its_strongest_attack_meets_the_rule(comparison):
    made = scored(comparison(1), [attack("value_disclosure", 0.44, 0.4), attack("exact_match", 0.03, 0.001, identifies=True)])
    assert selected_release(made) == ("noise 0", False)
    assert made.headline()[0]["strongest attack"] == "value_disclosure"
    text = first_screen(made.html())
    assert "What speaks against “noise 0”: exact matching: 30 in 1,000, the rule allows 11 in 1,000" in text
    whole = TAG.sub("", made.html()).replace("\xa0", " ")
    assert "On “noise 0” exact matching breaks a limit: 30 in 1,000, the rule allows 11 in 1,000." in whole


def test_a_release_is_named_among_failing_ones_only_if_it_breaks_the_fewest_limits(comparison):
    strong, weak = attack("value_disclosure", 0.9, 0.1), attack("value_disclosure", 0.15, 0.1)
    limits = limits_of({"value_disclosure": 0.12, "uniqueness": 0.1})
    unique = [attack("uniqueness", v, 0.01, identifies=True) for v in (0.5, 0.05)]
    tied = replace(scored(comparison(2), [strong, unique[0]], [weak, unique[0]]), limits=limits)
    fewer = replace(scored(comparison(2), [strong, unique[0]], [weak, unique[1]]), limits=limits)
    assert "“" not in first_screen(tied.html()).split(" Decision ")[0]
    assert "The rule chooses no release: none meets every limit. “noise 1” breaks the fewest limits (1)." in first_screen(
        fewer.html())
    assert "fewest" not in first_screen(tied.html())
    assert not any("“" in caption_of(made) for made in (tied, fewer))


def test_the_chart_says_that_the_unmasked_columns_alone_find_too_many():
    drawn = risk_map(subject_of(found_by_unmasked_columns()))
    assert drawn.y_name.startswith("strongest attack on the masked columns: ")
    assert drawn.sentence.startswith("The height shows only what the masked columns add.")


def test_risk_bars_of_all_cards_have_one_scale(comparison):
    made = scored(comparison(2), [attack("value_disclosure", 0.2, 0.1)], [attack("value_disclosure", 0.8, 0.1)])
    subject = subject_of(made)
    parts = {h.name: card_of(h, subject).attack_bar.part for h in subject.on_cards}
    assert parts["noise 1"] == pytest.approx(4 * parts["noise 0"])


def test_warnings_speak_against_the_choice_and_what_the_rule_does_not_count_has_its_figures(comparison):
    made = scored(comparison(1), [attack("value_disclosure", 0.1, 0.1),
                                  attack("attribute_inference", 0.29, 0.09, decides=False)])
    note = Note("the smallest and the largest value of every column are released unchanged", "warning", "data_shuffling")
    made = replace(made, candidates=(replace(made.candidates[0], notes=(note,)),))
    text = first_screen(made.html())
    against = text.split("speaks against")[1].split(". ")[0]
    assert "the smallest and the largest value of every column are released unchanged" in against
    assert "The rule does not count attribute inference: every useful release allows some of it." in text
    assert "In “noise 0”, attribute inference: 29 in 100 values predicted, 9 in 100 by guessing." in text


def test_a_release_that_fails_by_its_interval_alone_is_not_shown_to_be_safe(comparison):
    clear, wide = attack("value_disclosure", 0.9, 0.1), attack("value_disclosure", 0.13, 0.1, width=0.1)
    text = first_screen(scored(comparison(2), [clear], [wide]).html())
    assert "noise 0 must not be released" in text
    assert "noise 1 not shown to be safe" in text
    assert "(the difference may be luck)" in text


def test_limits_broken_by_intervals_alone_are_counted(comparison):
    scores = [attack("value_disclosure", 0.9, 0.1), attack("exact_match", 0.05, 0.01, width=0.2, identifies=True)]
    made = replace(scored(comparison(1), scores), limits=limits_of({"value_disclosure": {"at_most": 0.2, "above_baseline": 0.1},
                                                                    "exact_match": 0.1}))
    against = first_screen(made.html()).split("speaks against")[1]
    assert "it breaks 3 limits in 2 attacks, on" in against
    assert "For 1 of the 3 limits, only the upper end of the interval is too high." in against


def test_the_default_rule_is_stated(comparison):
    rule = "may find 1.5 times what guessing finds, or 1 point more if that is higher, but at most 5 points more than guessing"
    assert rule in first_screen(comparison(2).html())


def test_releases_that_fail_are_counted_and_a_tie_is_explained(comparison):
    low, high = attack("value_disclosure", 0.1, 0.1), attack("value_disclosure", 0.11, 0.1)
    made = scored(comparison(3), [low], [high], [attack("value_disclosure", 0.9, 0.1)])
    lost = made.candidates[0].of_kind("loss")
    same = (replace(c, scores=Scores([*c.of_kind("risk"), *lost])) for c in made.candidates)
    text = first_screen(replace(made, candidates=tuple(same)).html())
    assert "“noise 1” loses as little, but attacks on it come further. 1 of 3 must not go out." in text


def test_few_attacks_and_what_the_mean_covers_are_stated(comparison):
    text = first_screen(scored(comparison(1), [attack("value_disclosure", 0.1, 0.1)]).html())
    assert "Only 1 attack was run; other risks are unknown." in text
    assert "Only 2 measures were run; other losses are unknown." in text
    assert "only 1 attack and 2 measures checked it" in text.split("speaks against")[1]
    assert "The mean is over 2 measures." in text


def test_a_limit_that_the_unmasked_columns_break_does_not_shade_the_map(comparison):
    found = attack("nearest_record", 0.36, 0.01, s_alone=0.33, identifies=True)
    limits = limits_of({"nearest_record": {"at_most": 0.1, "above_baseline": 0.01}})
    drawn = risk_map(subject_of(replace(scored(comparison(1), [found]), limits=limits)))
    assert drawn.limits == pytest.approx((0.01, 0.01))


def test_the_legend_of_the_bars_comes_before_the_cards(comparison):
    html = comparison(2).html()
    assert html.index("A full bar is 100\u00a0%") < html.index("<article")


@pytest.mark.parametrize(("value", "full"), [(0.01, 0.05), (0.15, 0.2), (0.33, 1.0), (0.9, 1.0)])
def test_a_full_risk_bar_stands_for_a_round_figure_that_is_stated(comparison, value, full):
    made = scored(comparison(1), [attack("value_disclosure", value, 0.01)])
    subject = subject_of(made)
    assert card_of(subject.favourite, subject).attack_bar.part == pytest.approx(value / full)
    text = first_screen(made.html())
    assert ("A full bar is 100 %." if full == 1 else f"A full risk bar is {100 * full:.0f} %; a full loss bar") in text


def test_the_limit_of_the_strongest_attack_comes_first_on_a_card(comparison):
    far = attack("interval_disclosure", 0.24, 0.02)  # 22 points above, 22 times what is allowed
    high = attack("value_disclosure", 0.9, 0.1)  # 80 points above, 16 times what is allowed
    made = scored(comparison(1), [far, high])
    for study in (made, replace(made, limits=limits_of({"interval_disclosure": 0.03, "value_disclosure": 0.2}))):
        subject = subject_of(study)
        assert card_of(subject.favourite, subject).broken[0].startswith("Value disclosure: ")


def test_a_limit_on_an_attack_comes_before_a_limit_on_a_measure(comparison):
    made = scored(comparison(1), [attack("value_disclosure", 0.9, 0.1), attack("exact_match", 0.4, 0.01, identifies=True)])
    limits = limits_of({"exact_match": 0.05, "moments": 0.0001})  # 8 times and 100 times its limit
    subject = subject_of(replace(made, limits=limits))
    said = [b.replace("\u00a0", " ") for b in card_of(subject.favourite, subject).broken]
    assert said == ["Exact matching: up to 40 in 100, limit 5 in 100", "Means and standard deviations: loss 0.01, limit 0.0001"]


def test_a_release_that_must_not_go_out_is_no_best_trade_off(comparison):
    made = scored(comparison(2), [attack("value_disclosure", 0.9, 0.1)], [attack("value_disclosure", 0.1, 0.1)])
    points = {p.name: (p.best, p.passes) for p in risk_map(subject_of(made)).points}
    assert points == {"noise 0": (False, False), "noise 1": (True, True)}, "although “noise 0” loses less"


def test_every_state_of_a_property_has_a_mark_of_its_own():
    style = files("larvatus.reporting.page").joinpath("templates/board.css").read_text(encoding="utf-8")
    marks = dict(re.findall(r'\.chips \.(\w+)::before \{ content: "(.) "', style))
    assert set(marks) == {"good", "mixed", "bad", "open"}, "“Exact means” without a mark would be read as exact means"
    assert len(set(marks.values())) == 4
    said = dict(TERMS)["Kept exact"]
    assert all(mark in said for mark in marks.values())


def test_figures_have_no_zeros_at_their_end(comparison):
    made = scored(comparison(1), [attack("value_disclosure", 0.6, 0.02)])
    assert "60 % of the differences between values predicted, 2 % by guessing" in first_screen(made.html())


def test_what_nobody_guesses_is_none(comparison):
    text = first_screen(scored(comparison(1), [attack("aggregate_disclosure", 0.5, 0.0)]).html())
    assert "50 in 100 totals disclosed, none by guessing" in text


def test_further_broken_limits_are_counted_in_words(comparison):
    strong = [attack("value_disclosure", 0.9, 0.1), attack("exact_match", 0.9, 0.1, identifies=True)]
    made = scored(comparison(2), strong, strong)
    limited = replace(made, limits=limits_of({"value_disclosure": 0.2, "exact_match": 0.2}))
    for study, what in ((made, "attack"), (limited, "limit")):
        subject = subject_of(study)
        other = next(h for h in subject.heads if h.number != subject.favourite.number)
        assert card_of(other, subject).broken[0].replace("\u00a0", " ").endswith(f"; and 1 more {what}")


def test_the_whole_map_is_shaded_if_the_unmasked_columns_alone_find_too_many():
    made = found_by_unmasked_columns()
    drawn = risk_map(subject_of(made))
    svg = draw_risk_map(drawn)
    words = " ".join(re.findall("<tspan[^>]*>([^<]*)", svg.split('class="reason"')[1].split("</text>")[0]))
    assert words == ("All records are found from the unmasked columns alone (the limit is 200\u00a0in\u00a01,000): "
                     "no point may be released.")
    shaded = re.search('<rect x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)" class="forbidden"', svg)
    sides = (SCREEN.left, SCREEN.top, SCREEN.right - SCREEN.left, SCREEN.bottom - SCREEN.top)
    assert [float(v) for v in shaded.groups()] == list(sides)
    assert "line.limit" not in svg
    assert "beyond the limit" not in svg
    assert not risk_map(subject_of(replace(made, candidates=tuple(
        replace(c, scores=Scores([s for s in c.scores if s.s_alone is None])) for c in made.candidates)))).closed


def test_best_trade_offs_are_drawn_and_named_only_if_a_release_may_go_out(comparison):
    low, high = attack("value_disclosure", 0.1, 0.1), attack("value_disclosure", 0.9, 0.1)
    some, none = (risk_map(subject_of(scored(comparison(2), [high], [own]))) for own in (low, high))
    assert "Filled: best trade-offs." in some.sentence
    assert 'class="frontier"' not in draw_risk_map(some), "a line joins two points"
    assert "No point may be released: all are squares." in none.sentence
    assert 'class="frontier"' not in draw_risk_map(none)


def test_the_map_says_that_differences_that_may_be_luck_are_drawn_at_0(comparison):
    wide, clear = attack("value_disclosure", 0.11, 0.1, width=0.02), attack("value_disclosure", 0.11, 0.1)
    said = [risk_map(subject_of(scored(comparison(2), [clear], [own]))).sentence for own in (wide, clear)]
    assert ["Differences that may be luck are drawn at 0." in s for s in said] == [True, False]


def test_the_weight_is_to_be_changed_only_if_it_singles_out_records(comparison):
    rows = Rows.of([{"column": "all", "singled_out": 0.4}, {"column": "age", "singled_out": 0.4}])
    text = first_screen(with_detail(comparison(2), singled_out=rows).html())
    assert "No mask helps against that: release fewer or coarser columns." in text


def test_the_largest_loss_says_if_the_mean_leaves_it_out(comparison):
    made = comparison(2)
    aside = Score("scatter", "loss", 0.9, "change", worst_value=1.0, decides=False)
    made = replace(made, candidates=tuple(replace(c, scores=Scores([*c.scores, aside])) for c in made.candidates))
    assert "Scatter plots 90 % (not in the mean)" in first_screen(made.html())


def test_a_name_with_a_hyphen_stays_on_one_line_of_the_title(comparison):
    made = comparison(1)
    html = replace(made, candidates=(replace(made.candidates[0], name="data-shuffled"),)).html()
    assert '<span class="whole">“data-shuffled”</span>' in html.split("</h1>")[0]


COUNTED = re.compile(r"\d in (100|1,000|10,000)\b")


@pytest.mark.parametrize("seed", range(20))
def test_records_are_counted_out_of_one_number(seed):
    """Only figures that would look like each other are counted out of a larger one."""
    made = generated_study(seed)
    out_of = f"{subject_of(made).out_of or 100:,}"
    used = COUNTED.findall(first_screen(made.html()).replace("\u00a0", " "))
    assert used or subject_of(made).out_of is None
    assert all(len(u) >= len(out_of) for u in used), (out_of, used)


def test_releases_with_rare_and_frequent_success_are_compared_out_of_one_number(comparison):
    made = scored(comparison(2), [attack("exact_match", 0.007, 0.005, identifies=True)],
                  [attack("exact_match", 0.6, 0.05, identifies=True)])
    text = first_screen(made.html())
    assert "7 in 1,000 records found, 5 in 1,000 by guessing" in text
    assert "600 in 1,000 records found, 50 in 1,000 by guessing" in text


def by_area(method, figures, records=400):
    rows = [{"sub_group": f"area={i}", "records": records, "value": v, "chance": 0.01, "s_alone": 0.01,
             "low": max(v - 0.03, 0.0), "high": v + 0.03} for i, v in enumerate(figures)]
    return replace(attack(method, 0.012, 0.01, identifies=True), by_group=Rows.of(rows))


def test_a_sub_group_far_above_its_baseline_speaks_against_the_choice(comparison):
    made = scored(comparison(1), [by_area("exact_match", [0.01, 0.15, 0.01]), by_area("nearest_record", [0.01, 0.01, 0.09])])
    text = first_screen(made.html())
    against = text.split("speaks against")[1].split(". ")[0]
    assert "may be released" in text
    assert ("in the sub-group area=1 (400 records), exact matching reaches 150 in 1,000 records found, 10 in 1,000 by guessing"
            in against)
    assert "area=2" not in against


def test_a_sub_group_that_may_be_high_by_chance_is_not_named(comparison):
    """The interval of one sub-group is above what is allowed; over 40 sub-groups, such an interval is no surprise."""
    few, many = [0.06, 0.01], [0.06] + 39 * [0.01]
    said = [first_screen(scored(comparison(1), [by_area("exact_match", v)]).html()) for v in (few, many)]
    assert ["in the sub-group area=0" in s.split("speaks against")[1] for s in said] == [True, False]


@pytest.mark.parametrize(("method", "high", "low"), [("rank_disclosure", 0.3, 0.12), ("value_disclosure", 0.15, 0.04)])
def test_figures_without_an_interval_are_judged_by_the_size_of_the_sub_group(comparison, method, high, low):
    """With 400 records and three sub-groups, z = 2.1: the lower end of a correlation of .12 is .01."""
    said = []
    for value in (high, low):
        score = by_area(method, [0.01, value, 0.01])
        rows = Rows.of({k: v for k, v in r.items() if k not in ("low", "high")} for r in score.by_group)
        text = first_screen(scored(comparison(1), [replace(score, by_group=rows)]).html())
        said.append("in the sub-group area=1" in text.split("speaks against")[1])
    assert said == [True, False]


def test_an_absolute_limit_is_explained_by_what_breaks_it(comparison):
    made = scored(comparison(1), [attack("exact_match", 0.004, 0.004, identifies=True)])
    giant = Rows.of([{"records": "all", "sub_group": None, "count": 0, "share": 0.0, "beyond": 0},
                     {"records": "a value far from all others", "sub_group": "the largest value of tax", "count": 1,
                      "share": 0.001, "beyond": 1}])
    score = replace(made.candidates[0].scores[0], details={"unchanged_records": giant})
    text = first_screen(scored(made, [score]).html())
    assert "Exact matching: the largest value of tax can be read from the release" in text
    assert "whatever the baseline" not in text


def test_a_warning_names_the_releases_that_it_is_about(comparison):
    giant = Rows.of([{"records": "a value far from all others", "sub_group": "the largest value of tax", "count": 1,
                      "share": 0.001, "beyond": 1}])
    text = first_screen(with_detail(comparison(3), unchanged_records=giant).html())
    assert "Warning In “noise 0”, a value far from all others can be read from the release" in text


def test_keys_without_names_are_not_listed(comparison):
    key = Score("key_risk", "risk", 0.4, chance=0.01, identifies=True)
    text = first_screen(scored(comparison(1), [key]).html())
    assert "The keys identify 40.0 % of the records." in text.replace("\u00a0", " ")
    assert "()" not in text


def test_what_the_unmasked_columns_reveal_is_not_said_of_a_baseline():
    text = first_screen(found_by_unmasked_columns().html())
    assert "133 in 1,000 records found, 6 in 1,000 without the masked columns" in text
    assert "by guessing from" not in text
    assert len(re.findall("from the unmasked columns alone", text)) == 1


def test_the_worst_breach_comes_first_with_its_figure(comparison):
    """A limit of the strongest attack that is just broken comes after one that is far beyond."""
    made = scored(comparison(1), [attack("value_disclosure", 0.42, 0.1), attack("exact_match", 0.3, 0.05, identifies=True)])
    text = first_screen(replace(made, limits=limits_of({"value_disclosure": 0.4, "exact_match": 0.02})).html())
    against = text.split("speaks against")[1].split(". ")[0]
    assert "on exact matching (up to 30 in 100, limit 2 in 100) and value disclosure" in against


def test_a_release_that_is_not_shown_to_be_safe_is_not_said_to_be_unsafe(comparison):
    good, wide = attack("value_disclosure", 0.1, 0.1), attack("value_disclosure", 0.12, 0.1, width=0.2)
    bad = attack("value_disclosure", 0.9, 0.1)
    said = [first_screen(scored(comparison(2), [good], [other]).html()) for other in (wide, bad)]
    assert "not shown to be safe" in said[0]
    assert ["1 of 2 does not pass." in s for s in said] == [True, False]
    assert ["1 of 2 must not go out." in s for s in said] == [False, True]


GIANT = Rows.of([{"records": "all", "sub_group": None, "count": 0, "share": 0.0, "beyond": 0},
                 {"records": "a value far from all others", "sub_group": "the largest value of tax", "count": 1,
                  "share": 0.001, "beyond": 1}])


def articles(html):
    """The text of every card, by the name of its release."""
    cards = [first_screen(f"<header>{part.split('</article>')[0]}") for part in html.split("<article")[1:]]
    return {re.search(r"noise \d+", card)[0]: card for card in cards}


def test_a_rejected_card_leads_with_its_reason_and_says_if_the_strongest_attack_is_not_it(comparison):
    good, strong = attack("value_disclosure", 0.1, 0.1), attack("value_disclosure", 0.44, 0.4)
    other = attack("exact_match", 0.03, 0.001, identifies=True)
    seen = articles(scored(comparison(3), [good], [strong, other], [attack("value_disclosure", 0.9, 0.1)]).html())
    assert "Strongest attack (breaks no limit)Value disclosure" in seen["noise 1"].replace("\u00a0", " ")
    assert "must not be released Exact matching: 30 in 1,000, the rule allows 11 in 1,000 Strongest attack" in seen["noise 1"]
    assert "must not be released Value disclosure: 90 %, the rule allows 15 % Strongest attack" in seen["noise 2"]
    assert ["breaks" in seen[f"noise {i}"] for i in range(3)] == [False, True, False]


def test_what_is_found_as_often_without_the_masked_columns_is_said_so():
    same = attack("nearest_record", 0.99, 0.01, s_alone=0.99, identifies=True)
    less = replace(same, s_alone=0.4)
    assert [success_text(s, 100).replace("\u00a0", " ") for s in (same, less)] == [
        "99 in 100 records found, as many already found without the masked columns",
        "99 in 100 records found, 40 in 100 without the masked columns"]


def test_the_dashed_line_joins_the_filled_points_and_no_others(comparison):
    """Also if a release that loses more is as safe: it lies beside the line, not on it."""
    values = (0.14, 0.1, 0.1)  # noise 0 loses least; noise 2 loses more than noise 1, at the same height
    made = scored(comparison(3), *([attack("value_disclosure", v, 0.1)] for v in values))
    lost = [Scores([*c.of_kind("risk"), Score("moments", "loss", 0.1 * (i + 1), worst_value=1.0)])
            for i, c in enumerate(made.candidates)]
    drawn = risk_map(subject_of(replace(made, candidates=tuple(
        replace(c, scores=own) for c, own in zip(made.candidates, lost, strict=True)))))
    assert [p.best for p in drawn.points] == [True, True, False]
    assert "Filled: the best trade-offs, joined by the dashed line." in drawn.sentence
    path = re.search('<path d="M([^"]*)" class="frontier"', draw_risk_map(drawn))[1]
    corners = [tuple(map(float, corner.split())) for corner in path.split("L")]
    at = [(SCREEN.x(drawn.across.at(p.x)), SCREEN.y(drawn.upward.at(p.y))) for p in drawn.points]
    assert corners[0] == pytest.approx(at[1], abs=0.06)
    assert corners[-1] == pytest.approx(at[0], abs=0.06)
    assert max(x for x, _ in corners) < at[2][0]


def test_a_warning_says_first_whether_it_concerns_the_chosen_release(comparison):
    good, bad = attack("value_disclosure", 0.1, 0.1), attack("value_disclosure", 0.9, 0.1)
    shown = attack("uniqueness", 0.01, 0.01, identifies=True, details={"unchanged_records": GIANT})
    aside = replace(shown, decides=False)
    others = first_screen(scored(comparison(3), [shown], [good], [bad]).html())
    assert "Warning This does not concern “noise 1”: in “noise 0”, a value far from all others" in others
    both = first_screen(scored(comparison(3), [shown], [good, aside], [bad]).html())
    assert "Warning This concerns “noise 1”, too: in “noise 1” and “noise 0”, a value far from all others" in both
    own = first_screen(scored(comparison(2), [bad], [good, aside]).html())
    assert "Warning In “noise 1”, a value far from all others" in own
    none = first_screen(scored(comparison(2), [bad, aside], [attack("value_disclosure", 0.5, 0.1)]).html())
    assert "“noise 1”, which comes closest" in none
    assert "Warning In “noise 0”, a value far from all others" in none, "no release is chosen"


def test_verdicts_are_told_apart_where_they_stand_together(comparison):
    bad, wide = attack("value_disclosure", 0.9, 0.1), attack("value_disclosure", 0.12, 0.1, width=0.2)
    said = [first_screen(scored(comparison(2), [bad], [other]).html()) for other in (wide, bad)]
    told = "“Must not be released”: clearly beyond a limit. “Not shown to be safe”: perhaps beyond one"
    assert [told in s for s in said] == [True, False]


def test_an_extreme_that_is_released_unchanged_is_only_a_remark_unless_it_is_far_from_all_others(comparison):
    """No such thing is said if no attack looked for values far from all others."""
    note = Note("the smallest value of every column is released unchanged", "warning", "data_shuffling",
                code="extremes")
    good, said = attack("value_disclosure", 0.1, 0.1), []
    for details in ({"unchanged_records": GIANT[:1]}, {"unchanged_records": GIANT}, {}):
        found = attack("uniqueness", 0.01, 0.01, identifies=True, decides=False, details=details)
        made = scored(comparison(1), [good, found])
        made = replace(made, candidates=(replace(made.candidates[0], notes=(note,)),))
        said.append(first_screen(made.html()).split("speaks against")[1].split(" On the bars")[0])
    remark = "released unchanged (only a remark: none is far from all others)"
    assert [remark in s for s in said] == [True, False, False]
    assert all("released unchanged" in s for s in said)


def test_the_closest_release_says_by_which_figures_it_is_closest(comparison):
    far, near = attack("value_disclosure", 0.9, 0.1), attack("value_disclosure", 0.6, 0.1)
    unique = [attack("uniqueness", v, 0.01, identifies=True) for v in (0.5, 0.05)]
    limits = limits_of({"value_disclosure": 0.12, "uniqueness": 0.1})

    def closest(made):
        return re.search(r"comes closest( \(.*?\))?:", first_screen(made.html()))[1]

    assert closest(scored(comparison(2), [far], [near])) == " (least risk above its baseline)"
    assert closest(scored(comparison(2), [far], [far])) == " (least loss)"
    tied = [far, unique[0]], [near, unique[0]]
    assert closest(replace(scored(comparison(2), *tied), limits=limits)) == " (least risk above its baseline)"
    fewer = [far, unique[1]], [near, unique[0]]
    assert closest(replace(scored(comparison(2), *fewer), limits=limits)) == " (fewest broken limits)"
    third = [[far, unique[1]], [near, unique[1]], [near, unique[0]]]
    assert closest(replace(scored(comparison(3), *third), limits=limits)) == (
        " (fewest broken limits, then least risk above its baseline)")
