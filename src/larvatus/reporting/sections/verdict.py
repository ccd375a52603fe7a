"""The rule in full: what the figures show by one stated rule, and what the rule ignores."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.excess_risk import at_baseline, baseline_ratio
from larvatus.comparison.headline import Headline, attack_near_baseline
from larvatus.comparison.limits_by_release import JudgedLimits
from larvatus.comparison.release_sentences import capitalise, join_words, plain_name
from larvatus.comparison.risk_text import risk_text
from larvatus.comparison.selection_rule import (
    closest_release,
    interval_near_baseline,
    near_baseline,
    passes_rule,
    preferred_release,
)
from larvatus.comparison.tiers import AT_MOST_TIMES, DEFAULT, INTERVAL_ABOVE, LEAST_ABOVE, MOST_ABOVE
from larvatus.core.number_format import count, finite_number, loss, plural, quote, share, times
from larvatus.data.score import Row

MUCH_BETTER = "much better than its baseline"
_DEFINED = (
    "The baseline is success by chance or from the non-confidential columns alone. An attack does much better if its success "
    f"is more than {AT_MOST_TIMES:g} times the baseline or more than {100 * MOST_ABOVE:.0f} percentage points above it; "
    f"{100 * LEAST_ABOVE:.0f} point above it is always allowed. It also counts as much better if its interval ends more than "
    f"{100 * INTERVAL_ABOVE:.0f} points above the baseline, or if it finds more than {share(DEFAULT.at_most)} of the records, "
    f"more than {share(DEFAULT.certain)} with certainty, or more than {share(DEFAULT.worst_group)} of a sub-group (lower end "
    "of its interval). So does an attack that counts records identified by the unmasked columns with a value nearly unchanged, "
    f"or a released category of which more than {share(DEFAULT.worst_group)} have the same rare original category."
)
ENDING = "This rule covers only the attacks and measures that were run. It does not replace a decision."


def verdict(
    heads: Sequence[Headline], measures: int, limits: JudgedLimits | None = None, uncounted: Sequence[str] = (),
    warned: Sequence[str] = (),
) -> str:
    """The result of the selection rule in words; `uncounted` lists the attacks that were run but that the rule ignores.

    `warned` are sentences to put first: what the unmasked columns alone reveal, and what is not masked.
    """
    return " ".join((*warned, _verdict(heads, measures, limits, uncounted)))


def _verdict(heads: Sequence[Headline], measures: int, limits: JudgedLimits | None, uncounted: Sequence[str]) -> str:
    scored = [h for h in heads if h.risk is not None]
    if not scored:
        kept = f" {_counted(heads, limits)}" if limits else ""
        fit = [h for h in heads if passes_rule(h, limits)] if limits else []
        return f"No attack was run, so the disclosure risk is unknown.{kept} {_least_loss(fit or heads, measures)}"
    if len(heads) == 1:
        return _said(_alone(heads[0], limits), "The strongest attack", scored[0], measures, limits, uncounted)
    chosen = preferred_release(heads, limits)
    if chosen is None:
        closest = closest_release(heads, limits) or scored[0]
        lead = f"None may go out. The strongest attack on {quote(closest.name)}"
        if limits:
            lead = f"None may go out. {quote(closest.name)} {limits.in_words(closest.name)}. Its strongest attack"
        return _said(_counted(heads, limits), lead, closest, measures, limits, uncounted)
    best = "has the least loss" if chosen.loss is not None else "has the lowest risk"
    lead = f"Among these, {quote(chosen.name)} {best}. Its strongest attack"
    if sum(passes_rule(h, limits) for h in heads) == 1:
        lead = f"It is {quote(chosen.name)}. Its strongest attack"
    return _said(_counted(heads, limits), lead, chosen, measures, limits, uncounted)


def attacks_in_words(near: bool, where: str = "") -> str:
    """Whether an attack does much better than its baseline, as a clause; `where` is the release, such as " on it"."""
    return f"{'no' if near else 'at least one'} attack{where} does {MUCH_BETTER}"


def not_counted_sentence(uncounted: Sequence[str]) -> str:
    """The attacks that the rule ignores, in brackets; empty if there are none."""
    if not uncounted:
        return ""
    names = capitalise(join_words([plain_name(a) for a in uncounted]))
    return f"({names} {'is' if len(uncounted) == 1 else 'are'} not counted.)"


def _counted(heads: Sequence[Headline], limits: JudgedLimits | None) -> str:
    """How many releases pass the rule."""
    fit, of = sum(passes_rule(h, limits) for h in heads), plural(len(heads), "release")
    if limits is None:
        none = f"On each of the {of} {attacks_in_words(False)}."
        return f"On {count(fit)} of {of} {attacks_in_words(True)}." if fit else none
    some = f"{count(fit)} of {of} {'meets' if fit < 2 else 'meet'}" if fit or len(heads) == 1 else f"None of the {of} meets"
    both = f"both conditions: every limit is met, and {attacks_in_words(True)}"
    return f"{some} {'every limit' if limits.of_attacks else both}."


def _alone(head: Headline, limits: JudgedLimits | None) -> str:
    near = near_baseline(head)
    if limits is None:
        return f"On {quote(head.name)} {attacks_in_words(near)}."
    also = "" if limits.of_attacks else f" {capitalise(attacks_in_words(near, ' on it'))}."
    return f"{quote(head.name)} {limits.in_words(head.name)}.{also}"


def _said(
    found: str, lead: str, head: Headline, measures: int, limits: JudgedLimits | None, uncounted: Sequence[str]
) -> str:
    lost = f"{capitalise(_lost(head, measures))}." if head.loss is not None else ""
    by_limit = limits is not None and limits.of_attacks
    far = f"That counts as {MUCH_BETTER}." if by_limit and head.attack and not attack_near_baseline(head.attack) else ""
    aside = not_counted_sentence(uncounted)
    first, later = ((_DEFINED, aside), ()) if MUCH_BETTER in found else ((), (aside, far, _DEFINED if far else ""))
    parts = [found, *first, f"{lead}, {_risk(head)}.", *later, _upper_end(head), _worst_sub_group(head), lost, ENDING]
    return " ".join(p for p in parts if p)


def _least_loss(heads: Sequence[Headline], measures: int) -> str:
    known = [h for h in heads if h.loss is not None]
    if not known:
        return "No measure has a value for every release either."
    low = min(known, key=lambda h: h.loss or 0.0)
    if len(heads) == 1:
        return f"{capitalise(_lost(low, measures))}."
    return f"{quote(low.name)} has the least loss ({_lost(low, measures)})."


def _lost(head: Headline, measures: int) -> str:
    of = "loss" if measures == 1 else f"mean relative loss over {plural(measures, 'measure')}"
    return f"{of}: {loss(head.loss)}"


def _risk(head: Headline) -> str:
    if head.attack is None or head.risk is None:
        return "no attack was run"
    meaning = f" ({head.attack.meaning.partition(' (')[0]})" if head.attack.meaning else ""
    said = f"{plain_name(head.attack.method)}{meaning}, reaches {risk_text(head.attack, head.risk)}"
    if head.base is None:
        return f"{said}; it has no baseline"
    base = risk_text(head.attack, head.base)
    if risk_text(head.attack, head.risk) == base:
        return f"{said}, equal to its baseline"
    if head.risk > head.base and at_baseline(head.attack):
        return f"{said}; its baseline is {base}, which lies within the interval of the attack"
    if head.base > 0 and head.risk > head.base:
        return f"{said}, {times(head.risk, head.base)} its baseline of {base}"
    return f"{said}; its baseline is {base}"


def _upper_end(head: Headline) -> str:
    """A warning if the figure is near the baseline but the upper end of its interval is not."""
    if head.attack is None or head.attack.interval is None or baseline_ratio(head.attack) > 1 or interval_near_baseline(head):
        return ""
    high = risk_text(head.attack, head.attack.interval[1])
    return (f"The figure is near its baseline, but the upper end of its interval, {high}, is more "
            f"than {100 * INTERVAL_ABOVE:.0f} points above it.")


def _worst_sub_group(head: Headline) -> str:
    rows: list[Row] = [r for r in head.attack.by_group if finite_number(r.get("value")) is not None] if head.attack else []
    if len(rows) < 2:
        return ""
    worst = max(rows, key=lambda r: finite_number(r["value"]) or 0.0)
    known = finite_number(worst.get("chance")) is not None
    chance = f"; chance gives {risk_text(head.attack, worst.get('chance'))}" if known else ""
    reached = risk_text(head.attack, worst["value"])
    return f"In the worst sub-group ({worst.get('sub_group')}) this attack reaches {reached}{chance}."
