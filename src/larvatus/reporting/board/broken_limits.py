"""The limits that a release breaks, with figures: for cards, objections and findings."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from larvatus.comparison.attack_limits import limit_on_value
from larvatus.comparison.headline import Headline
from larvatus.comparison.key_figures import KEY_LIMITS
from larvatus.comparison.limits_by_release import limit_figure, of_attack
from larvatus.comparison.plain_names import plain_words
from larvatus.comparison.release_sentences import as_title, plain_name
from larvatus.comparison.risk_text import is_correlation
from larvatus.comparison.score_figures import LIMITED, UPPER_END, figure_of_limit
from larvatus.comparison.selection_rule import passes_rule, rule_rows
from larvatus.core.number_format import EXACT, finite_number
from larvatus.data.score import Row, Score
from larvatus.reporting.board.figures_in_words import unmasked_success_text, value_texts
from larvatus.reporting.board.subject import Subject


class BrokenLimit(NamedTuple):
    """What breaks a limit, or the rule, and by how much."""

    method: str
    figure: str

    @property
    def name(self) -> str:
        return plain_name(self.method)

    @property
    def sentence(self) -> str:
        return f"{as_title(self.name)}: {self.figure}"


def limits_not_met(head: Headline, subject: Subject) -> list[BrokenLimit]:
    """Every limit that a release breaks; without limits, every attack that the default rule does not accept.

    What the unmasked columns alone break comes first, then limits on attacks, then those on measures; among these, the one
    that is broken by most, in percentage points. Without limits, the strongest attack comes before the others.
    """
    own = head.attack.method if head.attack else ""
    candidate = subject.candidate(head)
    scores = {s.method: s for s in candidate.of_kind("risk")}
    alone = {m for m, s in scores.items() if unmasked_success_text(s, limit_on_value(s, subject.limits, head.name))}

    if subject.limits is not None and subject.limits.broken(head.name):
        rows = sorted(subject.limits.broken(head.name),
                      key=lambda r: (r["score"] not in alone, not of_attack(r["score"]), -_breach(r)))
        return [BrokenLimit(m := str(r["score"]), _figure_beyond(r, scores.get(m), subject.out_of)) for r in rows]
    if head.attack is None or passes_rule(head, subject.limits):
        return []
    ruled = [r for r in rule_rows(candidate) if r["met"] is not True]
    ruled.sort(key=lambda r: (r["attack"] not in alone, r["attack"] != own, float(r["at most"] or 0) - float(r["value"] or 0)))
    return [BrokenLimit(m := str(r["attack"]), _beyond_rule(r, scores[m], head, subject.out_of)) for r in ruled]


def _beyond_rule(row: Row, score: Score, head: Headline, out_of: int | None) -> str:
    """The figure and what the default rule allows, or the reason if another figure is too high."""
    most = limit_on_value(score, None, head.name)
    if most is None or score.value <= most:
        return str(row["reason"])
    return f"{_with_unit(score, score.value, most, out_of)[0]}, the rule allows {value_texts(score, most, out_of)[1]}"


def _with_unit(score: Score, value: float, most: float, out_of: int | None) -> tuple[str, str]:
    """A value of an attack and its limit; a value that is not a number says what it counts."""
    reached, limit = value_texts(replace(score, value=value), most, out_of)
    if score.unit == "correlation":
        return f"rank correlation {reached}", limit
    counted = plain_words(score.method, "risk", score.meaning).success.partition(" ")[0]
    return f"{reached} {counted}" if reached.endswith("all") else reached, limit


def _figure_beyond(row: Row, score: Score | None, out_of: int | None) -> str:
    """The figure and the limit in a few words; the appendix has the reason."""
    value, most = finite_number(row["value"]), finite_number(row["limit"])
    if value is None or most is None:
        return str(row["reason"])
    figure = figure_of_limit(row)
    what = LIMITED.get(figure, str(row["figure"]))
    upper = "up to " if row["figure"] == what + UPPER_END else ""
    if score is not None and figure == "at_most":
        reached, limit = _with_unit(score, value, most, out_of)
        return f"{upper}{reached}, limit {limit}"
    loss = "" if of_attack(row["score"]) else "loss "
    unit = "rank correlation " if is_correlation(row["score"]) else ""
    reached = f"{unit}{loss}{upper}{limit_figure(row, float(f'{value:.3g}'))}"
    said = reached if figure == "at_most" else f"{reached} {what}"
    return f"{said}, limit {limit_figure(row, most)}"


def _breach(row: Row) -> float:
    """How far a limit is broken: the difference from it, or as a share of the larger one for counts and multiples."""
    value, most = finite_number(row["value"]), finite_number(row["limit"])
    if value is None or most is None:
        return float("-inf")
    if figure_of_limit(row) in (*KEY_LIMITS, "times_chance"):
        return abs(value - most) / max(abs(value), abs(most), EXACT)
    return value - most
