"""The rule that selects a release: the least loss among those that meet the limits or, without limits, stay near baseline.

`comparison.tiers` and decision 24 state when an attack is near its baseline. A release passes if every counted attack is, or if
it meets every limit. Limits on attacks replace the baseline rule; limits on losses only are added to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from larvatus.comparison.absolute_limits import absolute_breaches
from larvatus.comparison.excess_risk import allowed_above, baseline, baseline_ratio
from larvatus.comparison.headline import Headline, attack_near_baseline, headlines
from larvatus.comparison.limits_by_release import JudgedLimits, judge_limits
from larvatus.comparison.tiers import INTERVAL_ABOVE
from larvatus.core.number_format import EXACT, finite_number
from larvatus.data.score import Row, Rows, Score

if TYPE_CHECKING:
    from larvatus.comparison.comparison import Candidate, Comparison


def preferred_release(heads: Sequence[Headline], limits: JudgedLimits | None = None) -> Headline | None:
    """The attacked release with the least loss among those that pass the rule; None if none passes."""
    passing = [h for h in heads if h.risk is not None and passes_rule(h, limits)]
    return min(passing, key=lambda h: (h.loss if h.loss is not None else 0.0, _excess_of(h), ratio_of(h)), default=None)


def closest_release(heads: Sequence[Headline], limits: JudgedLimits | None = None) -> Headline | None:
    """The attacked release with the fewest broken limits, then the least excess risk, then the least loss."""
    return min((h for h in heads if h.risk is not None), key=lambda h: closeness(h, limits), default=None)


def closeness(head: Headline, limits: JudgedLimits | None) -> tuple[int, float, float]:
    """Sort key of releases that do not pass: broken limits, excess risk, loss."""
    lost = head.loss if head.loss is not None else float("inf")
    return len(limits.broken(head.name)) if limits else 0, _excess_of(head), lost


def _excess_of(head: Headline) -> float:
    return head.excess if head.excess is not None else float("inf")


def passes_rule(head: Headline, limits: JudgedLimits | None) -> bool:
    """Whether a release meets the limits and, unless an attack has a limit, keeps every attack near its baseline."""
    if limits is None:
        return near_baseline(head)
    return limits.meets(head.name) and (limits.of_attacks or near_baseline(head))


def near_baseline(head: Headline) -> bool:
    """Whether every counted attack is near its baseline."""
    if head.attack is None or head.near is None:
        return head.attack is not None and attack_near_baseline(head.attack)
    return head.near


def interval_near_baseline(head: Headline) -> bool:
    """Whether the upper end of the interval of the strongest attack, if it has one, is near its baseline, too."""
    high = finite_number(head.attack.interval[1]) if head.attack is not None and head.attack.interval else None
    return high is None or high - (head.base or 0.0) <= INTERVAL_ABOVE


def ratio_of(head: Headline) -> float:
    """How far an attack is above its baseline, relative to what the rule allows, at most; infinite if no attack was run."""
    if head.ratio is not None:
        return head.ratio
    return baseline_ratio(head.attack) if head.attack else float("inf")


def selected_release(comparison: Comparison) -> tuple[str | None, bool]:
    """The release that the report's rule selects and true; if none passes, the one that comes closest and false."""
    heads, limits = headlines(comparison.candidates), judge_limits(comparison)
    found = preferred_release(heads, limits)
    if found is not None:
        return found.name, True
    closest = closest_release(heads, limits)
    return (closest.name if closest is not None else None), False


def rule_rows(candidate: Candidate) -> Rows:
    """One row per attack that the rule counts: its value, its baseline, what the rule allows, and whether it is met."""
    return Rows.of(_rule_row(s) for s in attacks_in_rule(candidate))


def _rule_row(score: Score) -> Row:
    base, high = baseline(score) or 0.0, finite_number(score.interval[1]) if score.interval else None
    wide = f"the interval ends more than {100 * INTERVAL_ABOVE:.0f} percentage points above the baseline"
    reasons = [wide] if high is not None and high - base > INTERVAL_ABOVE + EXACT else []
    met = attack_near_baseline(score)
    why = "" if met else "; ".join([*reasons, *absolute_breaches(score)])
    return {"attack": score.method, "value": score.value, "baseline": base, "at most": base + allowed_above(base),
            "met": met, "reason": why}


def attacks_in_rule(candidate: Candidate) -> list[Score]:
    """The attacks on a release that decide between releases; all attacks if none of them does."""
    risks = candidate.of_kind("risk")
    return [s for s in risks if s.decides] or list(risks)


def attacks_outside_rule(candidates: Iterable[Candidate]) -> tuple[str, ...]:
    """The attacks that were run but do not decide: every useful release allows some of them."""
    weighed = [c for c in candidates if any(s.decides for s in c.of_kind("risk"))]
    return tuple(dict.fromkeys(s.method for c in weighed for s in c.of_kind("risk") if not s.decides))
