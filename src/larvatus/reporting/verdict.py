"""The first paragraph: what the figures say by one stated rule, and what that rule leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.data.score import Row
from larvatus.reporting.headline import Headline
from larvatus.reporting.numbers import count, loss, number, plural, share, times, words

AT_MOST = 2.0
BASE = "what chance or the non-confidential columns alone give"


def verdict(heads: Sequence[Headline], measures: int) -> str:
    """By the rule: the least loss among releases whose strongest attack is at most twice its baseline."""
    scored = [h for h in heads if h.risk is not None]
    if not scored:
        return "No attack was run, so nothing can be said about disclosure risk. " + _least_loss(heads, measures)
    beside = [h for h in scored if h.base is not None]
    if not beside:
        return f"No attack has a baseline to be held against. {_lowest(scored, measures)}"
    if len(heads) == 1:
        return _one(beside[0], measures)
    within = [h for h in beside if _within(h, h.risk)]
    if not within:
        found = f"None of the {count(len(heads))} releases keeps its strongest attack within twice {BASE}."
        return f"{found} {_lowest(beside, measures)}"
    chosen = min(within, key=lambda h: (h.loss if h.loss is not None else 0.0, h.risk or 0.0))
    keeps = "keeps its" if len(within) == 1 else "keep their"
    found = f"{count(len(within))} of {count(len(heads))} releases {keeps} strongest attack"
    best = f"has the least loss ({_lost(chosen, measures)})" if chosen.loss is not None else "has the lowest risk"
    return f"{found} within twice {BASE}. Among these, “{chosen.name}” {best}: {_risk(chosen)}. {_limits(chosen)}"


def _within(head: Headline, risk: float | None) -> bool:
    return risk is not None and head.base is not None and risk <= AT_MOST * head.base


def _one(head: Headline, measures: int) -> str:
    side = "within" if _within(head, head.risk) else "more than"
    lost = f" It costs {_lost(head, measures)}." if head.loss is not None else ""
    return f"The strongest attack on “{head.name}” reaches {side} twice {BASE}: {_risk(head)}.{lost} {_limits(head)}"


def _lowest(heads: Sequence[Headline], measures: int) -> str:
    low = min(heads, key=lambda h: (h.risk or 0.0, h.loss or 0.0))
    lost = f" It costs {_lost(low, measures)}." if low.loss is not None else ""
    return f"The lowest risk is that of “{low.name}”: {_risk(low)}.{lost} {_limits(low)}"


def _least_loss(heads: Sequence[Headline], measures: int) -> str:
    known = [h for h in heads if h.loss is not None]
    if not known:
        return "No loss is known for every release either."
    low = min(known, key=lambda h: h.loss or 0.0)
    return f"“{low.name}” has {'' if len(heads) == 1 else 'the least '}loss: {_lost(low, measures)}."


def _lost(head: Headline, measures: int) -> str:
    over = "" if measures == 1 else f" on average over {plural(measures, 'measure')}"
    return f"a loss of {loss(head.loss)}{over}"


def _risk(head: Headline) -> str:
    if head.attack is None or head.risk is None:
        return "no attack was run"
    meaning = f" ({head.attack.meaning})" if head.attack.meaning else ""
    said = f"{words(head.attack.method)}{meaning} reaches {share(head.risk)}"
    if head.base is None:
        return said
    ratio = f", {times(head.risk, head.base)} as much" if head.base > 0 and head.risk > head.base else ""
    return f"{said}, against {share(head.base)}{ratio}"


def _limits(head: Headline) -> str:
    said = [_upper_end(head), _worst_sub_group(head)]
    said.append("This rule weighs whole-file figures of the attacks and measures that were run; it does not decide for you.")
    return " ".join(s for s in said if s)


def _upper_end(head: Headline) -> str:
    if head.attack is None or head.attack.interval is None or not _within(head, head.risk):
        return ""
    high = number(head.attack.interval[1])
    if high is None or _within(head, high):
        return ""
    return f"The upper end of its interval, {share(high)}, is above twice the baseline."


def _worst_sub_group(head: Headline) -> str:
    rows: list[Row] = [r for r in head.attack.by_group if number(r.get("value")) is not None] if head.attack else []
    if len(rows) < 2:
        return ""
    worst = max(rows, key=lambda r: number(r["value"]) or 0.0)
    chance = f", by chance {share(worst.get('chance'))}" if number(worst.get("chance")) is not None else ""
    return f"In its worst sub-group ({worst.get('sub_group')}) the attack reaches {share(worst['value'])}{chance}."
