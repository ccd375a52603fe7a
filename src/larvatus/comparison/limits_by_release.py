"""Releases held against the limits that were stated: which are kept, which are broken, and by what figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from larvatus.comparison.score_figures import limited_figure
from larvatus.core.discovery import file_names
from larvatus.core.number_format import EXACT, NONE, SPACE, count, minus, plural, words
from larvatus.data.score import Row, Rows

if TYPE_CHECKING:
    from larvatus.comparison.subset import ComparisonLike

MOST_NAMED = 4


def broken_in_words(row: Row) -> str:
    """One broken limit."""
    judged, most = row["judged"], row["limit"]
    if not isinstance(judged, float) or not isinstance(most, float):
        return f"{words(str(row['score']))}: {row['why']}"
    why = f" ({row['why']})" if row.get("why") else ""
    return f"{words(str(row['score']))}: {row['figure']} {limit_figure(row, judged)}, limit {limit_figure(row, most)}{why}"


@dataclass(frozen=True, slots=True)
class JudgedLimits:
    """Every limit of every release on a row; `of_attacks` where an attack is among what is limited."""

    rows: Mapping[str, Rows]
    of_attacks: bool

    def broken(self, name: str) -> Sequence[Row]:
        return [r for r in self.rows[name] if r["kept"] is not True]

    def kept(self, name: str) -> bool:
        return not self.broken(name)

    def in_words(self, name: str) -> str:
        """Whether a release keeps the limits, as a sentence after its name."""
        broken, of = self.broken(name), len(self.rows[name])
        if not broken:
            return f"keeps the one limit that is stated{_kept(self.rows[name])}" if of == 1 else f"keeps all {count(of)} limits"
        named = "; ".join(broken_in_words(r) for r in broken[:MOST_NAMED])
        more = f"; and {count(len(broken) - MOST_NAMED)} more" if len(broken) > MOST_NAMED else ""
        return f"breaks {count(len(broken))} of {plural(of, 'limit')} ({named}{more})"


def _kept(rows: Rows) -> str:
    return f" ({broken_in_words(rows[0])})"


def judge_limits(comparison: ComparisonLike) -> JudgedLimits | None:
    """The releases of a comparison against its limits; nothing where none are stated."""
    rows = comparison.held_to_limits()
    if not rows:
        return None
    attacks = {s.method for c in comparison.candidates for s in c.of_kind("risk")}
    limited = {r["score"] for own in rows.values() for r in own}
    return JudgedLimits(rows, bool(limited & {*attacks, "every_attack"}))




def of_attack(name: object) -> bool:
    """Whether a score is an attack, whose figures are shares."""
    return name == "every_attack" or name in file_names("larvatus.attacks")


def limit_figure(row: Row, value: object) -> str:
    """A figure of an attack in per cent or percentage points, fine enough to be told from its limit; a loss as it is."""
    if not isinstance(value, float):
        return NONE
    figure = limited_figure(row)
    if figure == "times_chance":
        return f"{value:.4g}{SPACE}times"
    if not of_attack(row["score"]):
        return _digits(value)
    said = _digits(100 * value)
    unit = f"percentage point{'' if said == '1' else 's'}" if figure in ("above_chance", "above_baseline") else "%"
    return f"{said}{SPACE}{unit}"


def _digits(value: float) -> str:
    return "0" if abs(value) < EXACT else minus(f"{value:.4g}")
