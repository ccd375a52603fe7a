"""Numbers as text, labels that do not meet, and sentences that follow from the numbers."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import pytest

from larvatus.comparison.excess_risk import baseline_ratio, excess_risk
from larvatus.comparison.headline import Headline, headlines, on_frontier, unbeaten
from larvatus.comparison.selection_rule import attacks_in_rule, attacks_outside_rule
from larvatus.core.number_format import SPACE, interval_text, loss, share
from larvatus.data.score import Score
from larvatus.reporting.figures.label_placement import Box, place_labels
from larvatus.reporting.figures.svg import AxisScale, shorten, text_width, tick_text
from larvatus.reporting.sections.verdict import verdict

SP = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(("value", "said"), [
    (0.0724, f"7.2{SP}%"), (0.0048, f"0.48{SP}%"), (0.0, f"0{SP}%"), (1.0, f"100{SP}%"), (0.99999, f"over{SP}99.9{SP}%"),
    (1e-9, f"below{SP}0.001{SP}%"), (0.00004, f"0.0040{SP}%"), (None, "–"), (math.nan, "–"),
])
def test_shares(value, said):
    assert share(value) == said


@pytest.mark.parametrize(("value", "said"), [
    (0.0601, "0.060"), (0.0, "0"), (1e-15, "0"), (2e-5, f"below{SP}0.001"), (12345.6, "12,346"), (None, "–"),
])
def test_losses(value, said):
    assert loss(value) == said


def test_interval_says_the_sign_once():
    assert interval_text(0.066, 0.08) == f"6.6 to 8.0{SP}%"
    assert interval_text(None, 0.08) == "–"


@pytest.mark.parametrize("high", [1e-6, 0.03, 0.191, 1.0, 7.0, 99.0, 12345.0])
def test_axes_end_at_round_numbers_above_the_data(high):
    scale = AxisScale.to(high, 0, 100)
    ticks = scale.ticks()
    assert high <= scale.high <= 2 * high + 1e-12
    assert 2 <= len(ticks) <= 11
    assert len({tick_text(t, ticks[1], False) for t in ticks}) == len(ticks)


@pytest.mark.parametrize("n", [4, 60])
def test_labels_never_meet(n):
    draw = random.Random(n)
    points = [(draw.uniform(60, 580), draw.uniform(40, 400)) for _ in range(n)]
    labels = place_labels(points, [(f"a longer name {i}", str(i)) for i in range(n)], Box(50, 30, 600, 410))
    boxes = []
    for label in (found for found in labels if found):
        width = text_width(label.said)
        left = label.x - {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
        boxes.append(Box(left, label.y - 11, left + width, label.y + 3))
    assert len(boxes) > n / 2
    assert not any(a.meets(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    assert not any(box.left < x < box.right and box.top < y < box.bottom for box in boxes for x, y in points)


def test_shortened_keeps_both_ends():
    short = shorten("the beginning and the end", 100)
    assert short.startswith("the")
    assert short.endswith("end")
    assert text_width(short) <= 100


def head(i: int, risk: float, lost: float | None, base: float = 0.01, high: float | None = None) -> Headline:
    score = Score("link", "risk", risk, "share found", chance=base, interval=(risk, high or risk))
    return Headline(i, f"release {i}", score, lost, excess_risk([score]))


def test_unbeaten_are_those_no_other_beats():
    heads = [head(1, 0.5, 0.1), head(2, 0.4, 0.2), head(3, 0.45, 0.3), head(4, 0.1, 0.9), head(5, 0.1, 1.0)]
    assert [h.number for h in unbeaten(heads)] == [4, 2, 1]
    assert on_frontier(heads) == unbeaten(heads), "one attack with one baseline"


def test_an_attack_is_judged_beside_its_own_baseline():
    linkage = Score("link", "risk", 0.13, chance=0.006)
    guess = Score("guess", "risk", 0.45, chance=0.25, s_alone=0.3)
    assert baseline_ratio(linkage) > baseline_ratio(guess) > 1
    assert baseline_ratio(Score("coin", "risk", 1.0, chance=0.5)) > 1
    assert baseline_ratio(Score("none", "risk", 0.015, chance=0.01)) <= 1
    assert baseline_ratio(Score("none", "risk", 0.0, chance=0.0)) <= 1


def test_verdict_names_the_least_loss_among_those_near_their_baseline():
    said = verdict([head(1, 0.5, 0.1), head(2, 0.015, 0.3), head(3, 0.012, 0.4)], 2)
    assert said.replace(SPACE, " ").startswith("On 2 of 3 releases no attack does much better than its baseline. The baseline")
    assert "“release 2” has the least loss" in said


def test_verdict_says_which_attacks_the_rule_does_not_count():
    aside = ("aggregate_disclosure", "attribute_inference")
    several = verdict([head(1, 0.5, 0.1), head(2, 0.015, 0.3)], 2, uncounted=aside)
    assert several.replace(SPACE, " ").startswith("On 1 of 2 releases no attack does much better than its baseline. ")
    assert " category. (Aggregate disclosure and attribute inference are not counted.) It is “release 2”." in several
    alone = verdict([head(1, 0.015, 0.1)], 1, uncounted=aside[:1])
    assert alone.startswith("On “release 1” no attack does much better than its baseline. ")
    assert "(Aggregate disclosure is not counted.)" in alone


def test_attacks_that_do_not_decide_are_counted_only_if_there_is_no_other():
    def candidate(*scores: Score) -> SimpleNamespace:
        return SimpleNamespace(of_kind=lambda kind: scores)

    link, guess = Score("link", "risk", 0.1), Score("guess", "risk", 0.9, decides=False)
    assert attacks_in_rule(candidate(link, guess)) == [link]
    assert attacks_outside_rule([candidate(link, guess)]) == ("guess",)
    assert attacks_in_rule(candidate(guess)) == [guess]
    assert attacks_outside_rule([candidate(guess)]) == ()


def test_verdict_does_not_praise_what_does_not_pass():
    said = verdict([head(1, 0.5, 0.1), head(2, 0.3, 0.3)], 1)
    assert said.replace(SPACE, " ").startswith("On each of the 2 releases at least one attack does much better than its base")
    assert "None may go out. The strongest attack on “release 2”" in said
    assert "30 times its baseline" in said


def test_verdict_warns_where_only_the_interval_fails():
    assert "the upper end of its interval" in verdict([head(1, 0.015, 0.1, high=0.2)], 1)
    assert "the upper end of its interval" not in verdict([head(1, 0.015, 0.1, high=0.1)], 1)


def test_verdict_without_attacks_says_nothing_about_risk():
    said = verdict([Headline(1, "a", None, 0.2), Headline(2, "b", None, 0.1)], 1)
    assert "the disclosure risk is unknown" in said
    assert "“b” has the least loss" in said


def test_the_strongest_attack_and_common_measures_make_the_headline(comparison):
    heads = headlines(comparison(3).candidates)
    assert [h.number for h in heads] == [1, 2, 3]
    assert [round(h.loss, 3) for h in heads] == [0.01, 0.02, 0.03]
    assert [h.attack.method for h in heads] == ["nearest_record"] * 3
