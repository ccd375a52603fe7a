"""The first paragraph: what the figures show by one stated rule, and what the rule ignores."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.headline import Headline, excess
from larvatus.comparison.limits_by_release import JudgedLimits
from larvatus.comparison.release_sentences import at_baseline, capitalise, join_words, plain_name
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

NEAR = "near its baseline"
_DEFINED = (
    "(Baseline: success by chance or from the non-confidential columns alone. Near it: at most "
    f"{AT_MOST_TIMES:g} times as high and at most {100 * MOST_ABOVE:.0f} percentage points higher; "
    f"{100 * LEAST_ABOVE:.0f} point higher is always allowed. At most {share(DEFAULT.at_most)} of the records may be found, "
    f"and {share(DEFAULT.certain)} with certainty.)"
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
        kept = f" {_counted(heads, limits, uncounted)}" if limits else ""
        fit = [h for h in heads if passes_rule(h, limits)] if limits else []
        return f"No attack was run, so the disclosure risk is unknown.{kept} {_least_loss(fit or heads, measures)}"
    if len(heads) == 1:
        return _said(_alone(heads[0], limits, uncounted), "The strongest attack", scored[0], measures, limits, uncounted)
    chosen = preferred_release(heads, limits)
    if chosen is None:
        closest = closest_release(heads, limits) or scored[0]
        found = f"None of the {count(len(heads))} releases {_rule(limits, True, uncounted)}."
        lead = f"{quote(closest.name)} comes closest. Its strongest attack"
        if limits:
            lead = f"{quote(closest.name)} comes closest: it {limits.in_words(closest.name)}. Its strongest attack"
        return _said(found, lead, closest, measures, limits, uncounted)
    best = "has the least loss" if chosen.loss is not None else "has the lowest risk"
    lead = f"Among these, {quote(chosen.name)} {best}. Its strongest attack"
    if sum(passes_rule(h, limits) for h in heads) == 1:
        lead = f"It is {quote(chosen.name)}. Its strongest attack"
    return _said(_counted(heads, limits, uncounted), lead, chosen, measures, limits, uncounted)


def every_attack_near(uncounted: Sequence[str]) -> str:
    """The baseline rule after the verb "keeps", with the attacks it does not count."""
    but = f" except {join_words([plain_name(a) for a in uncounted])}" if uncounted else ""
    return f"every attack{but} {NEAR}"


def _rule(limits: JudgedLimits | None, one: bool, uncounted: Sequence[str]) -> str:
    """The rule as a predicate, for one release or for several."""
    meets, keeps = ("meets", "keeps") if one else ("meet", "keep")
    if limits is None:
        return f"{keeps} {every_attack_near(uncounted)}"
    also = "" if limits.of_attacks else f" and {keeps} {every_attack_near(uncounted)}"
    return f"{meets} every limit{also}"


def _counted(heads: Sequence[Headline], limits: JudgedLimits | None, uncounted: Sequence[str]) -> str:
    fit = sum(passes_rule(h, limits) for h in heads)
    of = f"{count(len(heads))} release{'' if len(heads) == 1 else 's'}"
    return f"{count(fit)} of {of} {_rule(limits, fit == 1, uncounted)}."


def _alone(head: Headline, limits: JudgedLimits | None, uncounted: Sequence[str]) -> str:
    keeps = "keeps" if near_baseline(head) else "does not keep"
    if limits is None:
        return f"{quote(head.name)} {keeps} {every_attack_near(uncounted)}."
    near = "" if limits.of_attacks else f" It {keeps} {every_attack_near(uncounted)}."
    return f"{quote(head.name)} {limits.in_words(head.name)}.{near}"


def _said(
    found: str, lead: str, head: Headline, measures: int, limits: JudgedLimits | None, uncounted: Sequence[str]
) -> str:
    lost = f"{capitalise(_lost(head, measures))}." if head.loss is not None else ""
    by_limit = limits is not None and limits.of_attacks
    far = f"That is not {NEAR}." if by_limit and not near_baseline(head) else ""
    names = capitalise(join_words([plain_name(a) for a in uncounted])) if by_limit and uncounted else ""
    aside = f"{names} {'is' if len(uncounted) == 1 else 'are'} not counted here." if names else ""
    first, later = (_DEFINED, "") if NEAR in found else ("", _DEFINED if far else "")
    parts = [
        found, first, f"{lead}, {_risk(head)}.", aside, far, later, _upper_end(head), _worst_sub_group(head), lost, ENDING,
    ]
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
    said = f"{plain_name(head.attack.method)}{meaning}, reaches {share(head.risk)}"
    if head.base is None:
        return f"{said}; it has no baseline"
    if share(head.risk) == share(head.base):
        return f"{said}, equal to its baseline"
    if head.risk > head.base and at_baseline(head.attack):
        return f"{said}; its baseline is {share(head.base)}, which lies within the interval of the attack"
    if head.base > 0 and head.risk > head.base:
        return f"{said}, {times(head.risk, head.base)} its baseline of {share(head.base)}"
    return f"{said}; its baseline is {share(head.base)}"


def _upper_end(head: Headline) -> str:
    """A warning if the figure is near the baseline but the upper end of its interval is not."""
    if head.attack is None or head.attack.interval is None or excess(head.attack) > 1 or interval_near_baseline(head):
        return ""
    return (f"The figure is near its baseline, but the upper end of its interval, {share(head.attack.interval[1])}, is more "
            f"than {100 * INTERVAL_ABOVE:.0f} points above it.")


def _worst_sub_group(head: Headline) -> str:
    rows: list[Row] = [r for r in head.attack.by_group if finite_number(r.get("value")) is not None] if head.attack else []
    if len(rows) < 2:
        return ""
    worst = max(rows, key=lambda r: finite_number(r["value"]) or 0.0)
    chance = f"; chance gives {share(worst.get('chance'))}" if finite_number(worst.get("chance")) is not None else ""
    return f"In the worst sub-group ({worst.get('sub_group')}) this attack reaches {share(worst['value'])}{chance}."
