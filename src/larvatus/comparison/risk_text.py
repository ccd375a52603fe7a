"""Values of an attack as text: shares in per cent, correlations as plain numbers."""

from __future__ import annotations

from collections.abc import Iterable

from larvatus.core.number_format import NONE, Cell, finite_number, interval_text, minus, share, shares
from larvatus.data.score import Score

CORRELATION_ATTACKS = ("rank_disclosure",)  # the attacks whose Score.unit is "correlation", for tables without scores


def is_correlation(method: object) -> bool:
    """Whether the value of an attack is a correlation, by the name of the attack."""
    return str(method).partition(" (")[0] in CORRELATION_ATTACKS


def risk_text(score: Score | None, value: Cell) -> str:
    """A value of an attack or one of its baselines: "68.3 %", or "0.68" if the unit is a correlation."""
    number = finite_number(value)
    if score is None or score.unit != "correlation" or number is None:
        return share(value)
    return minus(f"{number:.2f}")


def risk_interval_text(score: Score | None, low: Cell, high: Cell) -> str:
    """Both ends of an interval of an attack."""
    if score is None or score.unit != "correlation":
        return interval_text(low, high)
    ends = [risk_text(score, low), risk_text(score, high)]
    return NONE if NONE in ends else " to ".join(ends)


def risk_range_text(score: Score | None, values: Iterable[Cell]) -> str:
    """One value if all look the same, else the lowest and the highest."""
    if score is None or score.unit != "correlation":
        return shares(values)
    known = sorted(v for v in map(finite_number, values) if v is not None)
    ends = list(dict.fromkeys(risk_text(score, v) for v in (known[:1] + known[-1:])))
    return " to ".join(ends) if ends else NONE
