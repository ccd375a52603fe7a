"""The first paragraph: what the figures show by one stated rule, and what the rule ignores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from larvatus.comparison.headline import AT_MOST_ABOVE, AT_MOST_TIMES, Headline, excess
from larvatus.comparison.limits_by_release import JudgedLimits
from larvatus.comparison.release_sentences import capitalised, plain_name
from larvatus.core.number_format import count, finite_number, loss, plural, quote, share, times
from larvatus.data.score import Row

NEAR = (
    f"near its baseline (at most {AT_MOST_TIMES:.0f} times its success by chance or from the non-confidential columns alone, "
    f"and at most {100 * AT_MOST_ABOVE:.0f} percentage points above it)"
)
ENDING = "This rule uses whole-file figures of the attacks and measures that were run. It does not replace a decision."


def verdict(heads: Sequence[Headline], measures: int, limits: JudgedLimits | None = None) -> str:
    """The result of the rule: the least loss among releases that meet the limits or, without limits, stay near baseline."""
    scored = [h for h in heads if h.risk is not None]
    if not scored:
        kept = f" {_counted(heads, limits)}" if limits else ""
        fit = [h for h in heads if _fit(h, limits)] if limits else []
        return f"No attack was run, so the disclosure risk is unknown.{kept} {_least_loss(fit or heads, measures)}"
    if len(heads) == 1:
        return _said(_alone(heads[0], limits), "The strongest attack", scored[0], measures, limits)
    chosen = preferred_release(heads, limits)
    if chosen is None:
        closest = min(scored, key=lambda h: (len(limits.broken(h.name)) if limits else 0, _beyond(h)))
        found = f"None of the {count(len(heads))} releases {_rule(limits, True)}."
        lead = f"{quote(closest.name)} comes closest. Its strongest attack"
        if limits:
            lead = f"{quote(closest.name)} comes closest: it {limits.in_words(closest.name)}. Its strongest attack"
        return _said(found, lead, closest, measures, limits)
    best = "has the least loss" if chosen.loss is not None else "has the lowest risk"
    lead = f"Among these, {quote(chosen.name)} {best}. Its strongest attack"
    if sum(_fit(h, limits) for h in heads) == 1:
        lead = f"It is {quote(chosen.name)}. Its strongest attack"
    return _said(_counted(heads, limits), lead, chosen, measures, limits)


def preferred_release(heads: Sequence[Headline], limits: JudgedLimits | None = None) -> Headline | None:
    """The least loss among releases that meet the limits or, without limits, keep every attack near its baseline."""
    fit = [h for h in heads if h.risk is not None and _fit(h, limits)]
    return min(fit, key=lambda h: (h.loss if h.loss is not None else 0.0, _beyond(h)), default=None)


def _fit(head: Headline, limits: JudgedLimits | None) -> bool:
    """Limits on an attack replace the baseline rule; limits on losses only are added to it."""
    if limits is None:
        return _near(head)
    return limits.meets(head.name) and (limits.of_attacks or _near(head))


def _rule(limits: JudgedLimits | None, one: bool) -> str:
    """The rule as a predicate, for one release or for several."""
    meets, keeps = ("meets", "keeps") if one else ("meet", "keep")
    if limits is None:
        return f"{keeps} every attack {NEAR}"
    return f"{meets} every limit" if limits.of_attacks else f"{meets} every limit and {keeps} every attack {NEAR}"


def _counted(heads: Sequence[Headline], limits: JudgedLimits | None) -> str:
    fit = sum(_fit(h, limits) for h in heads)
    of = f"{count(len(heads))} release{'' if len(heads) == 1 else 's'}"
    return f"{count(fit)} of {of} {_rule(limits, fit == 1)}."


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
    lost = f"{capitalised(_lost(head, measures))}." if head.loss is not None else ""
    far = f"That is not {NEAR}." if limits is not None and limits.of_attacks and not _near(head) else ""
    parts = [found, f"{lead}, {_risk(head)}.", far, _upper_end(head), _worst_sub_group(head), lost, ENDING]
    return " ".join(p for p in parts if p)


def _least_loss(heads: Sequence[Headline], measures: int) -> str:
    known = [h for h in heads if h.loss is not None]
    if not known:
        return "No measure has a value for every release either."
    low = min(known, key=lambda h: h.loss or 0.0)
    if len(heads) == 1:
        return f"{capitalised(_lost(low, measures))}."
    return f"{quote(low.name)} has the least loss ({_lost(low, measures)})."


def _lost(head: Headline, measures: int) -> str:
    of = "loss" if measures == 1 else f"mean relative loss over {plural(measures, 'measure')}"
    return f"{of}: {loss(head.loss)}"


def _risk(head: Headline) -> str:
    if head.attack is None or head.risk is None:
        return "no attack was run"
    meaning = f" ({head.attack.meaning})" if head.attack.meaning else ""
    said = f"{plain_name(head.attack.method)}{meaning}, reaches {share(head.risk)}"
    if head.base is None:
        return f"{said}; it has no baseline"
    if share(head.risk) == share(head.base):
        return f"{said}, equal to its baseline"
    if head.base > 0 and head.risk > head.base:
        return f"{said}, {times(head.risk, head.base)} its baseline of {share(head.base)}"
    return f"{said}; its baseline is {share(head.base)}"


def _upper_end(head: Headline) -> str:
    """A warning if the figure is near the baseline but its interval is not."""
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
    chance = f"; chance gives {share(worst.get('chance'))}" if finite_number(worst.get("chance")) is not None else ""
    return f"In the worst sub-group ({worst.get('sub_group')}) this attack reaches {share(worst['value'])}{chance}."
