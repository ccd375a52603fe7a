"""Releases checked against the stated limits: which are met, which are broken, and by which figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from larvatus.comparison.key_figures import AT_LEAST, KEY_LIMITS, KEY_RISK
from larvatus.comparison.release_sentences import plain_name
from larvatus.comparison.risk_text import is_correlation
from larvatus.comparison.score_figures import figure_of_limit
from larvatus.core.discovery import file_names
from larvatus.core.number_format import EXACT, NONE, SPACE, count, minus, plural
from larvatus.data.score import Row, Rows

if TYPE_CHECKING:
    from larvatus.comparison.subset import ComparisonLike

MOST_NAMED = 4
LIMIT_ON_MEAN_LOSS = "mean_loss"  # the limit on the mean of the relative losses
ONLY_UPPER_END = "meets the limit; the upper end of its interval does not"  # a reason


def broken_in_words(row: Row) -> str:
    """One limit with its figure, in words."""
    name, value, most = plain_name(str(row["score"])), row["value"], row["limit"]
    if not isinstance(value, float) or not isinstance(most, float):
        return f"{name}: {row['reason']}"
    reason = f" ({row['reason']})" if row.get("reason") else ""
    least = "at least " if figure_of_limit(row) in AT_LEAST else ""
    return f"{name}: {row['figure']} {limit_figure(row, value)}, limit {least}{limit_figure(row, most)}{reason}"


@dataclass(frozen=True, slots=True)
class JudgedLimits:
    """The limits of every release, one row each; `of_attacks` is true if an attack has a limit, other than key risk."""

    rows: Mapping[str, Rows]
    of_attacks: bool

    def broken(self, name: str) -> Sequence[Row]:
        return [r for r in self.rows[name] if r["met"] is not True]

    def meets(self, name: str) -> bool:
        return not self.broken(name)

    def in_words(self, name: str) -> str:
        """Whether a release meets the limits, as the end of a sentence that starts with its name."""
        broken, of = self.broken(name), len(self.rows[name])
        if not broken:
            return f"meets the only limit{_kept(self.rows[name])}" if of == 1 else f"meets all {count(of)} limits"
        named = "; ".join(broken_in_words(r) for r in broken[:MOST_NAMED])
        more = f"; and {count(len(broken) - MOST_NAMED)} more" if len(broken) > MOST_NAMED else ""
        return f"breaks {count(len(broken))} of {plural(of, 'limit')} ({named}{more})"


def _kept(rows: Rows) -> str:
    return f" ({broken_in_words(rows[0])})"


def judge_limits(comparison: ComparisonLike) -> JudgedLimits | None:
    """Check the releases of a comparison against its limits; None if no limit is set."""
    rows = comparison.limit_rows()
    if not rows:
        return None
    attacks = {s.method for c in comparison.candidates for s in c.of_kind("risk")} - {KEY_RISK}
    limited = {r["score"] for own in rows.values() for r in own}
    return JudgedLimits(rows, bool(limited & {*attacks, "every_attack"}))


def clearly_broken(row: Row) -> bool:
    """Whether the estimate itself is beyond a limit: not only the upper end of its interval, and not for want of a figure."""
    return row["met"] is not True and row["value"] is not None and ONLY_UPPER_END not in str(row["reason"])


def of_attack(name: object) -> bool:
    """Whether a score is an attack; its figures are then shares."""
    return name == "every_attack" or name in file_names("larvatus.attacks")


def limit_figure(row: Row, value: object) -> str:
    """A figure of an attack in per cent or percentage points, with enough digits to compare it with its limit.

    Losses, counts of key risk, and the figures of attacks whose value is a correlation, are plain numbers.
    """
    if not isinstance(value, float):
        return NONE
    figure = figure_of_limit(row)
    if figure == "times_chance":
        return f"{value:.4g}{SPACE}times"
    if figure in KEY_LIMITS or not of_attack(row["score"]) or is_correlation(row["score"]):
        return _digits(value)
    said = _digits(100 * value)
    unit = f"percentage point{'' if said == '1' else 's'}" if figure in ("above_chance", "above_baseline") else "%"
    return f"{said}{SPACE}{unit}"


def _digits(value: float) -> str:
    return "0" if abs(value) < EXACT else minus(f"{value:.4g}")
