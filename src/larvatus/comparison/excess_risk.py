"""Excess risk: how far the strongest attack on a release is above its baseline.

The baseline b of an attack is the better of chance and S alone. Its excess is value - b, or 0 if the interval
reaches down to b. The strongest attack is the one with the largest excess. Whether an attack passes the default rule is another
question: `baseline_ratio` answers it.
"""

from __future__ import annotations

from collections.abc import Iterable

from larvatus.comparison.tiers import AT_MOST_TIMES, LEAST_ABOVE, MOST_ABOVE
from larvatus.core.number_format import EXACT, finite_number
from larvatus.data.score import Score


def baseline(score: Score) -> float | None:
    """The better of chance and S alone: the success of an intruder without the masked columns."""
    known = [v for v in (finite_number(score.chance), finite_number(score.s_alone)) if v is not None]
    return max(known, default=None)


def baseline_ratio(score: Score) -> float:
    """(value - b) / (what the default rule allows above b): at most 1 if the attack is near its baseline b."""
    value, base = finite_number(score.value), baseline(score) or 0.0
    if value is None:
        return float("-inf")
    return (value - base) / allowed_above(base)


def allowed_above(base: float) -> float:
    """What the default rule allows an attack above its baseline."""
    return min(max((AT_MOST_TIMES - 1) * base, LEAST_ABOVE), MOST_ABOVE)


def at_baseline(score: Score) -> bool:
    """Whether the attack does not beat its baseline: its interval reaches down to chance or S alone."""
    value = finite_number(score.value)
    if value is None:
        return False
    low = finite_number(score.interval[0]) if score.interval else None
    return (value if low is None else min(low, value)) <= (baseline(score) or 0.0) + EXACT


def attack_excess(score: Score) -> float:
    """What the map shows of an attack: value - b, or 0 if the attack does not beat its baseline b."""
    value = finite_number(score.value)
    return 0.0 if value is None or at_baseline(score) else value - (baseline(score) or 0.0)


def attacks_above_baseline(scores: Iterable[Score]) -> list[Score]:
    """The attacks that beat their baseline, strongest first: the largest value - b."""
    beyond = (s for s in scores if s.kind == "risk" and finite_number(s.value) is not None and not at_baseline(s))
    return sorted(beyond, key=attack_excess, reverse=True)


def excess_risk(scores: Iterable[Score]) -> float | None:
    """The value of the strongest attack on a release minus its baseline; 0 if none beats its baseline, None if none was run.

    Attacks that do not decide between releases count only if no other was run.
    """
    attacks = [s for s in scores if s.kind == "risk" and finite_number(s.value) is not None]
    if not attacks:
        return None
    return max(map(attack_excess, [s for s in attacks if s.decides] or attacks))
