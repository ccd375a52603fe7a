"""Captions of figures, written from their numbers by fixed rules."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import count, loss, plural, quote, share
from larvatus.reporting.page.chart_rows import FEW, Lane


def risk_sentence(lanes: Sequence[Lane], heads: Sequence[Headline], what: str) -> str:
    """The worst sub-group, and in how many the whole interval lies above the baselines."""
    worst = max(lanes, key=lambda lane: lane.worst)
    place, mark = max(((i, m) for i, m in enumerate(worst.marks) if m), key=lambda pair: pair[1].value)
    under = f" in {quote(heads[place].name)}" if len(heads) > 1 else ""
    of = f" ({plural(worst.records, 'record')})" if worst.records else ""
    chance = f"; chance gives {share(mark.chance)}" if mark.chance is not None else ""
    if mark.s_alone is not None and mark.s_alone != mark.chance:
        chance += f", S alone {share(mark.s_alone)}"
    return f"Risk is highest for {worst.name}{of}{under}: {share(mark.value)}{chance}. {_above(lanes, heads, what)}".strip()


def _above(lanes: Sequence[Lane], heads: Sequence[Headline], kind: str) -> str:
    """In how many sub-groups or variables the attack beats its baselines, by release."""
    if not any(m.chance is not None or m.s_alone is not None for lane in lanes for m in lane.marks if m):
        return ""
    counted = [
        (sum(m.above_chance for m in there), len(there), h.name)
        for p, h in enumerate(heads) if (there := [m for lane in lanes if (m := lane.marks[p])])
    ]
    ends = any(m.low is not None for lane in lanes for m in lane.marks if m)
    what = "whole interval" if ends else "risk"
    whose = f"{what} lies" if ends else "risk is"
    if len(counted) == 1:
        return f"The {what} lies above the baselines in {count(counted[0][0])} of {plural(counted[0][1], kind)}."
    if len(counted) <= FEW:
        listed = ", ".join(f"{count(k)} of {count(n)} in {quote(name)}" for k, n, name in counted)
        if not any(k for k, _, _ in counted):
            return f"In no release does the {what} of a {kind} lie above the baselines."
        return f"{kind.capitalize()}s whose {whose} above the baselines: {listed}."
    clear = sum(k == 0 for k, _, _ in counted)
    if clear == 0:
        return f"In every release at least one {what} lies above the baselines."
    return f"In {count(clear)} of {count(len(counted))} releases no {what} lies above the baselines."


def loss_sentence(lanes: Sequence[Lane], heads: Sequence[Headline], what: str) -> str:
    """The largest loss and the median loss."""
    worst = max(lanes, key=lambda lane: lane.worst)
    place, mark = max(((i, m) for i, m in enumerate(worst.marks) if m), key=lambda pair: pair[1].value)
    under = f" in {quote(heads[place].name)}" if len(heads) > 1 else ""
    usual = median(m.value for lane in lanes for m in lane.marks if m)
    over = f"{what}s and releases" if len(heads) > 1 else f"{what}s"
    return f"Loss is largest for {worst.name}{under}: {loss(mark.value)}. The median over {over} is {loss(usual)}."
