"""Verdicts on releases in the language of the page. The report states them in English."""

from __future__ import annotations

import re

from larvatus.comparison.selection_rule import passes_rule
from larvatus.desk.wording import Wording
from larvatus.reporting.board.cards import MAY, MUST_NOT, PROPOSED, RISK_UNKNOWN, RULES_CHOICE, UNSAFE
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.board.unmasked_success import no_mask_passes

VERDICTS = {MAY: "may", RISK_UNKNOWN: "unknown", MUST_NOT: "must_not", UNSAFE: "unsafe", PROPOSED: "proposed",
            RULES_CHOICE: "choice"}
_BROKEN = re.compile(r"breaks\s(\S+)\slimits?:\s(.*)")


def verdict_text(said: str, say: Wording) -> str:
    """A verdict or a badge of a card, such as `breaks 2 limits: not shown to be safe`."""
    if " · " in said:
        return " · ".join(verdict_text(part, say) for part in said.split(" · "))
    broken = _BROKEN.fullmatch(said)
    if broken is not None:
        return say.plural("verdicts.breaks", int(broken[1].replace(",", "")), verdict=verdict_text(broken[2], say))
    return say(f"verdicts.{VERDICTS[said]}") if said in VERDICTS else said


def decision_text(subject: Subject, say: Wording) -> str:
    """What the comparison comes to, in one sentence."""
    if all(h.risk is None for h in subject.heads):
        return say("verdicts.no_attack")
    best = subject.rules_choice
    passing = [h for h in subject.heads if h.risk is not None and passes_rule(h, subject.limits)]
    if best is not None:
        return say.plural("verdicts.chosen", len(passing), release=best.name, all=len(subject.heads))
    return say("verdicts.none_unmasked" if no_mask_passes(subject) else "verdicts.none")
