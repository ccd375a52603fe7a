"""The sub-group in which an attack comes furthest above its baseline, if it is more than the rule allows for the whole file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import atanh, sqrt, tanh
from statistics import NormalDist

from larvatus.comparison.excess_risk import allowed_above, baseline
from larvatus.comparison.headline import Headline
from larvatus.comparison.release_sentences import plain_name
from larvatus.comparison.selection_rule import attacks_in_rule
from larvatus.comparison.unmasked_columns import RANK_DISCLOSURE, VALUE_DISCLOSURE
from larvatus.core.number_format import EXACT, finite_number, plural
from larvatus.data.score import Row, Score
from larvatus.reporting.board.figures_in_words import success_text
from larvatus.reporting.board.subject import Subject

_POWERS = {RANK_DISCLOSURE: 1, VALUE_DISCLOSURE: 2}  # attacks whose figure is a correlation, or its square
_FEWEST = 3  # records
_SURE = 0.05  # probability that chance alone names a sub-group, over all attacks and sub-groups


def score_of_row(row: Row, whole: Score) -> Score:
    """An attack in one sub-group, as a score."""
    low, high = _number(row, "low"), _number(row, "high")
    ends = (low, high) if low is not None and high is not None else None
    return replace(whole, value=_number(row, "value") or 0.0, chance=_number(row, "chance"),
                   s_alone=_number(row, "s_alone"), interval=ends)


def worst_sub_group_in_words(head: Headline, subject: Subject) -> str:
    """The sub-group that is furthest above its baseline, with its figures; empty if none is clearly far above.

    An attack is far above its baseline b in a sub-group if the lower end of its interval is above what the default rule
    allows for the whole file. Because many sub-groups and attacks are looked at, the intervals are widened (Bonferroni).
    Figures whose interval is not known may be chance and are left out.
    """
    found = list(_sub_groups(head, subject))
    z = NormalDist().inv_cdf(1 - _SURE / max(len(found), 1))
    far = []
    for row, score in found:
        base, low = baseline(score) or 0.0, _lower_end(row, score, z)
        if low is not None and low > base + allowed_above(base):
            far.append((score.value - base, row, score))
    if not far:
        return ""
    _, row, score = max(far, key=lambda one: one[0])
    records = row.get("records")
    size = f" ({plural(records, 'record')})" if isinstance(records, int) else ""
    return (f"in the sub-group {row['sub_group']}{size}, {plain_name(score.method)} reaches "
            f"{success_text(score, subject.out_of)}")


def _lower_end(row: Row, score: Score, z: float) -> float | None:
    """The lower end of an interval of z standard errors; None if it is not known.

    Correlations, and shares of variance as their squares, have that of Fisher's transformation: tanh(artanh r - z / √(n - 3)).
    """
    if score.interval is not None:
        return score.value - z / NormalDist().inv_cdf(0.975) * (score.value - score.interval[0])
    power, records = _POWERS.get(score.method.partition(" (")[0]), row.get("records")
    if power is None or not isinstance(records, int) or records <= _FEWEST:
        return None
    r = min(max(score.value, 0.0) ** (1 / power), 1 - EXACT)
    return float(max(tanh(atanh(r) - z / sqrt(records - 3)), 0.0) ** power)


def _sub_groups(head: Headline, subject: Subject) -> Iterator[tuple[Row, Score]]:
    """Every sub-group of every counted attack with a figure, if there are several."""
    for score in attacks_in_rule(subject.candidate(head)):
        if len(score.by_group) > 1:
            yield from ((r, score_of_row(r, score)) for r in score.by_group if _number(r, "value") is not None)


def _number(row: Row, name: str) -> float | None:
    return finite_number(row.get(name))
