"""What an intruder finds from the unmasked columns alone, if that is already more than the limits or the rule allow."""

from __future__ import annotations

from larvatus.comparison.attack_limits import limit_on_value
from larvatus.comparison.excess_risk import baseline
from larvatus.comparison.headline import Headline
from larvatus.comparison.selection_rule import attacks_in_rule
from larvatus.reporting.board.figures_in_words import unmasked_success_text
from larvatus.reporting.board.subject import Subject


def success_without_mask(head: Headline, subject: Subject) -> str:
    """The attack that finds most from the unmasked columns alone, in words; empty if all of them stay within their limits."""
    found = [(s.identifies, baseline(s) or 0.0, said) for s in attacks_in_rule(subject.candidate(head))
             if (said := unmasked_success_text(s, limit_on_value(s, subject.limits, head.name), subject.out_of))]
    return max(found, default=(False, 0.0, ""))[2]


def no_mask_passes(subject: Subject) -> str:
    """What the unmasked columns alone give in the release that the report is about, if they break a limit in every release."""
    attacked = [h for h in subject.heads if h.risk is not None]
    if not attacked or not all(success_without_mask(h, subject) for h in attacked):
        return ""
    return success_without_mask(subject.favourite, subject)
