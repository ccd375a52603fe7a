"""A card for each release: the verdict in one line, why it fails, the strongest attack, the losses, and what is exact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from larvatus.comparison.attack_limits import breaks_limit, broken_limits, limit_on_value
from larvatus.comparison.comparison import Candidate
from larvatus.comparison.excess_risk import baseline
from larvatus.comparison.headline import Headline, clearly_beyond
from larvatus.comparison.limits_by_release import clearly_broken
from larvatus.comparison.release_sentences import capitalise, nearly_unchanged, plain_name, plain_title
from larvatus.comparison.selection_rule import attacks_in_rule, passes_rule
from larvatus.core.number_format import EXACT, SPACE, count, finite_number, list_names, plural
from larvatus.data.score import Score
from larvatus.reporting.board.broken_limits import BrokenLimit, limits_not_met
from larvatus.reporting.board.figures_in_words import (
    mean_loss_text,
    no_loss_text,
    relative_text,
    success_text,
    value_texts,
    worst_loss,
)
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.board.unmasked_success import no_mask_passes
from larvatus.reporting.page.blocks import Bar, Card, Chip
from larvatus.reporting.page.chart_rows import anchor

MAY, RISK_UNKNOWN = "may be released", "risk unknown: no attack was run"
MUST_NOT, UNSAFE = "must not be released", "not shown to be safe"
PROPOSED, RULES_CHOICE = "proposed", "the rule’s choice"
_EXACTNESS = (("means", ("moments",)), ("correlations", ("correlation", "rank_correlation")),
              ("distributions", ("marginal", "distributions", "ecdf_max")))
_WITH_FIGURES, _FEW_CARDS = (2, 4), 3  # broken limits with figures on a card that names all; the second for few cards
_STRONGEST, _ON_MASKED, _WITHIN = "Strongest attack", " on the masked columns", f" (breaks{SPACE}no{SPACE}limit)"
_VERDICTS = ("“Must not be released”: clearly beyond a limit. “Not shown to be safe”: perhaps beyond one, the figures cannot "
             "tell. Neither passes.")
_ENDS = (0.05, 0.2, 1.0)  # what a full risk bar may stand for
_LEFT_OUT = f" (not{SPACE}in{SPACE}the{SPACE}mean)"
_Tone = Literal["good", "bad", "open"]


def card_verdict(head: Headline, subject: Subject) -> tuple[str, _Tone]:
    """The verdict on a release in one line, and whether it is good."""
    broken, said = verdict_and_limits(head, subject)
    tones: Mapping[str, _Tone] = {MAY: "good", RISK_UNKNOWN: "open"}
    return f"breaks {plural(broken, 'limit')}: {said}" if broken else said, tones.get(said, "bad")


def verdict_and_limits(head: Headline, subject: Subject) -> tuple[int, str]:
    """The number of limits that a release breaks, and the verdict: one of the four constants."""
    broken, unsafe = broken_limits(head, subject.limits), MUST_NOT if _clearly_unsafe(head, subject) else UNSAFE
    if broken:
        return broken, unsafe
    if head.risk is None:
        return 0, RISK_UNKNOWN
    return 0, MAY if passes_rule(head, subject.limits) else unsafe


def _clearly_unsafe(head: Headline, subject: Subject) -> bool:
    """Whether a limit is broken by an estimate, not only by the upper end of an interval."""
    limits = subject.limits
    if limits is not None and any(map(clearly_broken, limits.broken(head.name))):
        return True
    ruled = limits is None or not limits.of_attacks
    return ruled and any(map(clearly_beyond, attacks_in_rule(subject.candidate(head))))


def card_of(head: Headline, subject: Subject, in_full: bool = False) -> Card:
    """The card of a release. Broken limits beyond the first are named for the favourite or `in_full`, else counted."""
    candidate, many = subject.candidate(head), len(subject.measures)
    verdict, tone = card_verdict(head, subject)
    success = success_text(head.attack, subject.out_of) if head.attack and head.risk is not None else ""
    attack = capitalise(plain_name(head.attack.method)) if head.attack and head.risk is not None else "No attack was run"
    lost = mean_loss_text(head.loss, many)
    broken, named = limits_not_met(head, subject), in_full or head.number == subject.favourite.number
    shown = _WITH_FIGURES[len(subject.on_cards) <= _FEW_CARDS] if named else 1
    return Card(
        head.number, head.name, f"#{anchor(head)}", badge_of(head, subject), verdict, tone, attack,
        success, _attack_bar(head, subject), lost, _loss_bar(head, lost), worst_in_words(head, subject),
        tuple(_chip(says, methods, candidate) for says, methods in _EXACTNESS),
        *_broken_in_words(broken, shown, named, "limit" if broken_limits(head, subject.limits) else "attack"),
        attack_name=_attack_name(head, subject, bool(broken)), pairing=subject.pairing_of(head),
    )


def _attack_name(head: Headline, subject: Subject, fails: bool) -> str:
    """The label of the strongest attack; on a release that fails for another reason, it says so."""
    on_masked = _ON_MASKED if no_mask_passes(subject) else ""
    harmless = fails and head.attack is not None and not breaks_limit(head.attack, subject.limits, head.name)
    return f"{_STRONGEST}{on_masked}{_WITHIN if harmless else ''}"


def worst_in_words(head: Headline, subject: Subject) -> str:
    """The largest single loss, and whether the mean leaves it out."""
    candidate = subject.candidate(head)
    worst = worst_loss(candidate)
    if worst is None:
        return no_loss_text(candidate)
    left_out = worst.method not in subject.measures and len(subject.measures) > 1
    return f"{plain_title(worst.method)} {relative_text(worst)}{_LEFT_OUT if left_out else ''}"


def _broken_in_words(broken: list[BrokenLimit], shown: int, named: bool, what: str) -> tuple[tuple[str, ...], str]:
    """The first broken limits with their figures; the names of the others, or only their number."""
    first, others = [b.sentence for b in broken[:shown]], broken[shown:]
    if not named and others:
        more = f"and {plural(len(others), f'more {what}')}".replace(" ", SPACE)
        return (*first[:-1], f"{first[-1]}; {more}"), ""
    listed = {b.name for b in broken[:shown]}
    names = [name for name in dict.fromkeys(b.name for b in others) if name not in listed]
    return tuple(first), f"Also: {list_names(names, len(names))}." if names else ""


def badge_of(head: Headline, subject: Subject) -> str:
    """Whether a release is proposed, or what the rule chooses, in one line."""
    return " · ".join(badges_of(head, subject))


def badges_of(head: Headline, subject: Subject) -> list[str]:
    """Whether a release is proposed, and whether it is what the rule chooses."""
    said = [PROPOSED] if head.name == subject.chosen else []
    if len(subject.heads) > 1 and subject.rules_choice is not None and subject.rules_choice.number == head.number:
        said.append(RULES_CHOICE)
    return said


def _attack_bar(head: Headline, subject: Subject) -> Bar | None:
    """The strongest attack, on the same axis for all cards."""
    score = head.attack
    if score is None or head.risk is None:
        return None
    base, most = baseline(score), limit_on_value(score, subject.limits, head.name)
    top = full_risk_bar(subject)
    beyond = breaks_limit(score, subject.limits, head.name)
    reached, limit = value_texts(score, most, subject.out_of)
    said = f"Bar: {reached}; limit {limit}" if most is not None else f"Bar: {reached}; no limit"
    return Bar(_part(head.risk, top), said, "risk", None if base is None else _part(base, top),
               None if most is None else _part(most, top), beyond)


def full_risk_bar(subject: Subject) -> float:
    """What a full risk bar stands for: 1, or less if every value, baseline and limit on the cards is small."""
    largest = max((v for h in subject.on_cards if h.attack is not None
                   for v in (h.risk, h.base, limit_on_value(h.attack, subject.limits, h.name)) if v is not None), default=1.0)
    return next((end for end in _ENDS if largest <= end), _ENDS[-1])


def cards_key(subject: Subject) -> tuple[str, ...]:
    """What a full bar is, how verdicts differ, what the numbers are, and where the releases without a card are."""
    full, shown = full_risk_bar(subject), len(subject.on_cards)
    ranks = any(h.attack is not None and h.attack.unit == "correlation" for h in subject.on_cards)
    either = f", or a rank correlation of {full:g}" if ranks else ""
    risk = f"{100 * full:.0f}{SPACE}%{either}"
    said = f"A full bar is {risk}" if full == 1 else f"A full risk bar is {risk}; a full loss bar is 100{SPACE}%"
    out = [f"Red: a limit is broken. {said}."]
    if {MUST_NOT, UNSAFE} <= {verdict_and_limits(h, subject)[1] for h in subject.heads}:
        out.append(_VERDICTS)
    if len(subject.heads) > 1:
        out.append("The number of a release is its place in the study, not a rank.")
    if shown < len(subject.heads):
        out.append(f"{shown} of {count(len(subject.heads))} releases have a card; the others are in the table below.")
    return tuple(out)


def _part(value: float, top: float) -> float:
    return min(max(value / top, 0.0), 1.0)


def _loss_bar(head: Headline, said: str) -> Bar | None:
    if head.loss is None:
        return None
    return Bar(_part(head.loss, 1.0), f"Bar: {said}; 100 % means that everything is lost", "loss")


def _chip(says: str, methods: tuple[str, ...], candidate: Candidate) -> Chip:
    """The first of the measures that were run, in words."""
    score = next((s for m in methods for s in candidate.scores if _has_value(s, m)), None)
    if score is None:
        return Chip(says, "not measured", "open")
    if abs(score.value) < EXACT:
        return Chip(says, "exact", "good")
    return Chip(says, "nearly exact", "mixed") if nearly_unchanged(score) else Chip(says, "changed", "bad")


def _has_value(score: Score, method: str) -> bool:
    return score.method == method and score.kind == "loss" and finite_number(score.value) is not None
