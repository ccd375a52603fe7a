"""The first paragraph: what the figures say by one stated rule, and what that rule leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from larvatus.comparison.headline import AT_MOST_ABOVE, AT_MOST_TIMES, Headline, excess
from larvatus.comparison.limits_by_release import JudgedLimits
from larvatus.core.number_format import count, finite_number, loss, plural, quote, share, times, words
from larvatus.data.score import Row

NEAR = (
    f"near its baseline (at most {AT_MOST_TIMES:.0f} times, and at most {100 * AT_MOST_ABOVE:.0f} percentage points above, "
    "what chance or the non-confidential columns alone give)"
)
ENDING = "This rule weighs whole-file figures of the attacks and measures that were run; it does not decide for you."


def verdict(heads: Sequence[Headline], measures: int, limits: JudgedLimits | None = None) -> str:
    """By the rule: the least loss among releases that keep the limits, or every attack near its baseline where none are."""
    scored = [h for h in heads if h.risk is not None]
    if not scored:
        kept = f" {_counted(heads, limits)}" if limits else ""
        fit = [h for h in heads if _fit(h, limits)] if limits else []
        return f"No attack was run, so nothing can be said about disclosure risk.{kept} {_least_loss(fit or heads, measures)}"
    if len(heads) == 1:
        return _said(_alone(heads[0], limits), "The strongest attack", scored[0], measures, limits)
    chosen = preferred_release(heads, limits)
    if chosen is None:
        closest = min(scored, key=lambda h: (len(limits.broken(h.name)) if limits else 0, _beyond(h)))
        found = f"None of the {count(len(heads))} releases keeps {_rule(limits)}."
        lead = f"{quote(closest.name)} comes closest; its strongest attack"
        if limits:
            lead = f"{quote(closest.name)} breaks the fewest and {limits.in_words(closest.name)}; its strongest attack"
        return _said(found, lead, closest, measures, limits)
    best = "has the least loss" if chosen.loss is not None else "has the lowest risk"
    lead = f"Among these, {quote(chosen.name)} {best}; its strongest attack"
    if sum(_fit(h, limits) for h in heads) == 1:
        lead = f"It is {quote(chosen.name)}; its strongest attack"
    return _said(_counted(heads, limits), lead, chosen, measures, limits)


def preferred_release(heads: Sequence[Headline], limits: JudgedLimits | None = None) -> Headline | None:
    """The least loss among releases that keep the limits, or every attack near its baseline where none are; if any does."""
    fit = [h for h in heads if h.risk is not None and _fit(h, limits)]
    return min(fit, key=lambda h: (h.loss if h.loss is not None else 0.0, _beyond(h)), default=None)


def _fit(head: Headline, limits: JudgedLimits | None) -> bool:
    """Limits that speak of an attack stand in place of the baselines; limits to losses alone come on top of them."""
    if limits is None:
        return _near(head)
    return limits.kept(head.name) and (limits.of_attacks or _near(head))


def _rule(limits: JudgedLimits | None) -> str:
    if limits is None:
        return f"every attack {NEAR}"
    return "every stated limit" if limits.of_attacks else f"every stated limit and every attack {NEAR}"


def _counted(heads: Sequence[Headline], limits: JudgedLimits | None) -> str:
    fit = sum(_fit(h, limits) for h in heads)
    of = f"{count(len(heads))} release{'' if len(heads) == 1 else 's'}"
    return f"{count(fit)} of {of} {'keeps' if fit == 1 else 'keep'} {_rule(limits)}."


def _alone(head: Headline, limits: JudgedLimits | None) -> str:
    keeps = "keeps" if _near(head) else "does not keep"
    if limits is None:
        return f"{quote(head.name)} {keeps} every attack {NEAR}."
    near = "" if limits.of_attacks else f" It {keeps} every attack {NEAR}."
    return f"{quote(head.name)} {limits.in_words(head.name)}.{near}"


def _beyond(head: Headline) -> float:
    return excess(head.attack) if head.attack else float("inf")


def _near(head: Headline) -> bool:
    return _beyond(head) <= 1


def _said(found: str, lead: str, head: Headline, measures: int, limits: JudgedLimits | None) -> str:
    lost = f"It costs {_lost(head, measures)}." if head.loss is not None else ""
    far = f"That is not {NEAR}." if limits is not None and limits.of_attacks and not _near(head) else ""
    parts = [found, f"{lead}, {_risk(head)}.", far, _upper_end(head), _worst_sub_group(head), lost, ENDING]
    return " ".join(p for p in parts if p)


def _least_loss(heads: Sequence[Headline], measures: int) -> str:
    known = [h for h in heads if h.loss is not None]
    if not known:
        return "No loss is known for every release either."
    low = min(known, key=lambda h: h.loss or 0.0)
    return f"{quote(low.name)} has {'' if len(heads) == 1 else 'the least '}loss: {_lost(low, measures)}."


def _lost(head: Headline, measures: int) -> str:
    over = "" if measures == 1 else f" on average over {plural(measures, 'measure')}"
    of = "" if measures == 1 else ", as a share of what could be lost"
    return f"a loss of {loss(head.loss)}{over}{of}"


def _risk(head: Headline) -> str:
    if head.attack is None or head.risk is None:
        return "no attack was run"
    meaning = f" ({head.attack.meaning})" if head.attack.meaning else ""
    said = f"{words(head.attack.method)}{meaning}, reaches {share(head.risk)}"
    if head.base is None:
        return f"{said}; it has no baseline to be held against"
    if share(head.risk) == share(head.base):
        return f"{said}, as much as without the release"
    ratio = f", {times(head.risk, head.base)} as much" if head.base > 0 and head.risk > head.base else ""
    return f"{said}, against {share(head.base)} without the release{ratio}"


def _upper_end(head: Headline) -> str:
    """A warning where the figure passes but its interval does not."""
    if head.attack is None or head.attack.interval is None or not _near(head):
        return ""
    high = finite_number(head.attack.interval[1])
    if high is None or excess(replace(head.attack, value=high)) <= 1:
        return ""
    return f"The upper end of its interval, {share(high)}, is no longer near the baseline."


def _worst_sub_group(head: Headline) -> str:
    rows: list[Row] = [r for r in head.attack.by_group if finite_number(r.get("value")) is not None] if head.attack else []
    if len(rows) < 2:
        return ""
    worst = max(rows, key=lambda r: finite_number(r["value"]) or 0.0)
    chance = f", by chance {share(worst.get('chance'))}" if finite_number(worst.get("chance")) is not None else ""
    return f"In its worst sub-group ({worst.get('sub_group')}) the attack reaches {share(worst['value'])}{chance}."
