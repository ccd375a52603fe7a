"""Verdicts on releases in the language of the page. The report states them in English."""

from __future__ import annotations

from typing import NamedTuple

from larvatus.comparison.headline import Headline
from larvatus.comparison.selection_rule import passes_rule
from larvatus.desk.wording import Wording
from larvatus.reporting.board.cards import (
    MAY,
    MUST_NOT,
    PROPOSED,
    RISK_UNKNOWN,
    RULES_CHOICE,
    UNSAFE,
    badges_of,
    verdict_and_limits,
)
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.board.unmasked_success import no_mask_passes

VERDICT_KEYS = {MAY: "may", RISK_UNKNOWN: "unknown", MUST_NOT: "must_not", UNSAFE: "unsafe", PROPOSED: "proposed",
                RULES_CHOICE: "choice"}


class VerdictText(NamedTuple):
    """The verdict on a release and its badge; the badge is empty for most."""

    said: str
    badge: str


def verdict_texts(subject: Subject, say: Wording) -> dict[int, VerdictText]:
    """The verdict on each release, by its number."""
    return {h.number: VerdictText(_verdict(h, subject, say), _badge(h, subject, say)) for h in subject.heads}


def _verdict(head: Headline, subject: Subject, say: Wording) -> str:
    broken, verdict = verdict_and_limits(head, subject)
    said = say(f"verdicts.{VERDICT_KEYS[verdict]}")
    return say.plural("verdicts.breaks", broken, verdict=said) if broken else said


def _badge(head: Headline, subject: Subject, say: Wording) -> str:
    return " · ".join(say(f"verdicts.{VERDICT_KEYS[badge]}") for badge in badges_of(head, subject))


def decision_text(subject: Subject, say: Wording) -> str:
    """What the comparison comes to, in one sentence."""
    if all(h.risk is None for h in subject.heads):
        return say("verdicts.no_attack")
    best = subject.rules_choice
    passing = [h for h in subject.heads if h.risk is not None and passes_rule(h, subject.limits)]
    if best is not None:
        return say.plural("verdicts.chosen", len(passing), release=best.name, all=len(subject.heads))
    return say("verdicts.none_unmasked" if no_mask_passes(subject) else "verdicts.none")
