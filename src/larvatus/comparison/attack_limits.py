"""How far an attack may come: the strictest limit on its value, stated by the study or, without limits, by the default rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from larvatus.comparison.excess_risk import allowed_above, baseline
from larvatus.comparison.headline import attack_near_baseline
from larvatus.comparison.limits_by_release import JudgedLimits
from larvatus.comparison.score_figures import figure_of_limit
from larvatus.comparison.tiers import DEFAULT
from larvatus.data.score import Row, Score

if TYPE_CHECKING:
    from larvatus.comparison.headline import Headline


def limit_on_value(score: Score, limits: JudgedLimits | None, release: str) -> float | None:
    """The largest value that the limits allow the attack; None if nothing limits its value."""
    base = baseline(score) or 0.0
    if limits is None or not limits.of_attacks:
        default = base + allowed_above(base)
        return min(default, DEFAULT.at_most) if score.identifies else default
    found = [v for row in _rows_on(score, limits.rows[release]) if (v := _as_value(row, score)) is not None]
    return min(found, default=None)


def limit_above_baseline(score: Score, limits: JudgedLimits | None, release: str) -> float | None:
    """What the limits allow the attack above its baseline; limits that the baseline alone breaks are left out."""
    base = baseline(score) or 0.0
    if limits is None or not limits.of_attacks:
        return allowed_above(base)
    values = [_as_value(row, score) for row in _rows_on(score, limits.rows[release])]
    return min((v - base for v in values if v is not None and v >= base), default=None)


def breaks_limit(score: Score, limits: JudgedLimits | None, release: str) -> bool:
    """Whether the attack breaks a limit of the study or, if no attack has a limit, the default rule."""
    if limits is None or not limits.of_attacks:
        return not attack_near_baseline(score)
    return any(row["met"] is not True for row in _rows_on(score, limits.rows[release]))


def broken_limits(head: Headline, limits: JudgedLimits | None) -> int:
    """The number of limits that a release breaks; 0 if there are no limits."""
    return len(limits.broken(head.name)) if limits else 0


def _rows_on(score: Score, rows: Iterable[Row]) -> list[Row]:
    return [r for r in rows if r["score"] == score.method]


def _as_value(row: Row, score: Score) -> float | None:
    """A limit on the value, or on its distance from a baseline, as a limit on the value."""
    most = row["limit"]
    if not isinstance(most, float):
        return None
    figure = figure_of_limit(row)
    if figure == "at_most":
        return most
    if figure == "above_baseline":
        return (baseline(score) or 0.0) + most
    if figure == "above_chance" and score.chance is not None:
        return score.chance + most
    if figure == "times_chance" and score.chance is not None:
        return score.chance * most
    return None
