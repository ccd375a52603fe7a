"""The first paragraph: what the figures say by one stated rule, and what that rule leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from larvatus.data.score import Row
from larvatus.reporting.headline import AT_MOST_ABOVE, AT_MOST_TIMES, Headline, excess
from larvatus.reporting.numbers import count, loss, number, plural, quoted, share, times, words

NEAR = (
    f"near its baseline (at most {AT_MOST_TIMES:.0f} times, and at most {100 * AT_MOST_ABOVE:.0f} percentage points above, "
    "what chance or the non-confidential columns alone give)"
)
ENDING = "This rule weighs whole-file figures of the attacks and measures that were run; it does not decide for you."


def verdict(heads: Sequence[Headline], measures: int) -> str:
    """By the rule: the least loss among releases that keep every attack near its baseline."""
    scored = [h for h in heads if h.risk is not None]
    if not scored:
        return "No attack was run, so nothing can be said about disclosure risk. " + _least_loss(heads, measures)
    if len(heads) == 1:
        keeps = "keeps" if _near(scored[0]) else "does not keep"
        return _said(f"{quoted(scored[0].name)} {keeps} every attack {NEAR}.", "The strongest attack", scored[0], measures)
    near = [h for h in scored if _near(h)]
    chosen = preferred(heads)
    if chosen is None:
        closest = min(scored, key=_beyond)
        found = f"None of the {count(len(heads))} releases keeps every attack {NEAR}."
        return _said(found, f"{quoted(closest.name)} comes closest; its strongest attack", closest, measures)
    found = f"{count(len(near))} of {count(len(heads))} releases {'keeps' if len(near) == 1 else 'keep'} every attack {NEAR}."
    best = "has the least loss" if chosen.loss is not None else "has the lowest risk"
    if len(near) == 1:
        return _said(found, f"It is {quoted(chosen.name)}; its strongest attack", chosen, measures)
    return _said(found, f"Among these, {quoted(chosen.name)} {best}; its strongest attack", chosen, measures)


def preferred(heads: Sequence[Headline]) -> Headline | None:
    """The least loss among releases that keep every attack near its baseline, if any does."""
    near = [h for h in heads if h.risk is not None and _near(h)]
    return min(near, key=lambda h: (h.loss if h.loss is not None else 0.0, _beyond(h)), default=None)


def _beyond(head: Headline) -> float:
    return excess(head.attack) if head.attack else float("inf")


def _near(head: Headline) -> bool:
    return _beyond(head) <= 1


def _said(found: str, lead: str, head: Headline, measures: int) -> str:
    lost = f"It costs {_lost(head, measures)}." if head.loss is not None else ""
    parts = [found, f"{lead}, {_risk(head)}.", _upper_end(head), _worst_sub_group(head), lost, ENDING]
    return " ".join(p for p in parts if p)


def _least_loss(heads: Sequence[Headline], measures: int) -> str:
    known = [h for h in heads if h.loss is not None]
    if not known:
        return "No loss is known for every release either."
    low = min(known, key=lambda h: h.loss or 0.0)
    return f"{quoted(low.name)} has {'' if len(heads) == 1 else 'the least '}loss: {_lost(low, measures)}."


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
    high = number(head.attack.interval[1])
    if high is None or excess(replace(head.attack, value=high)) <= 1:
        return ""
    return f"The upper end of its interval, {share(high)}, is no longer near the baseline."


def _worst_sub_group(head: Headline) -> str:
    rows: list[Row] = [r for r in head.attack.by_group if number(r.get("value")) is not None] if head.attack else []
    if len(rows) < 2:
        return ""
    worst = max(rows, key=lambda r: number(r["value"]) or 0.0)
    chance = f", by chance {share(worst.get('chance'))}" if number(worst.get("chance")) is not None else ""
    return f"In its worst sub-group ({worst.get('sub_group')}) the attack reaches {share(worst['value'])}{chance}."
