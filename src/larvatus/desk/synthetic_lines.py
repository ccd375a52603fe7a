"""What the attacks say about a file without pairs, in three lines: copies, closeness, membership."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from larvatus.comparison.comparison import Candidate
from larvatus.core.number_format import finite_number
from larvatus.data.score import Score
from larvatus.desk.wording import Wording

_ALARM, _CHANCE = 0.05, 0.5


class SyntheticLine(NamedTuple):
    """One line: what was looked at, what was found, and whether it is good; None if it was not looked at."""

    name: str
    text: str
    good: bool | None


class SyntheticResult(NamedTuple):
    """A release without pairs, and its lines."""

    release: str
    lines: tuple[SyntheticLine, ...]


def synthetic_results(candidates: Sequence[Candidate], say: Wording) -> list[SyntheticResult]:
    """The lines of every release that is not paired with the original."""
    return [SyntheticResult(c.name, (_copies(c, say), _closeness(c, say), _membership(c, say)))
            for c in candidates if not c.paired]


def _copies(candidate: Candidate, say: Wording) -> SyntheticLine:
    """Near copies of records that the generator saw, beside how often real records are so near each other."""
    name, score = say("synthetic.copies"), _score(candidate, "near_copies")
    p = _p_value(score)
    if score is None or p is None:
        return SyntheticLine(name, say("synthetic.not_looked"), None)
    found = {"share": say.share(score.value), "base": say.share(score.s_alone or 0.0), "p": _p_text(p, say)}
    good = p > _ALARM
    return SyntheticLine(name, say("synthetic.copies_none", **found) if good else say("synthetic.copies_some", **found), good)


def _closeness(candidate: Candidate, say: Wording) -> SyntheticLine:
    """Rows closer to records that the generator saw than to records held out."""
    name, score = say("synthetic.closeness"), _score(candidate, "closest_record")
    p = _p_value(score)
    if score is None or p is None:
        return SyntheticLine(name, say("synthetic.not_looked"), None)
    found = {"share": say.share(score.value), "p": _p_text(p, say)}
    good = p > _ALARM
    return SyntheticLine(name, say("synthetic.closer_none", **found) if good else say("synthetic.closer_some", **found), good)


def _membership(candidate: Candidate, say: Wording) -> SyntheticLine:
    """Records that were used, told from records held out; the lower end of the interval decides."""
    name, score = say("synthetic.membership"), _score(candidate, "membership_inference")
    if score is None or score.interval is None:
        return SyntheticLine(name, say("synthetic.not_looked"), None)
    low, high = score.interval
    found = {"share": say.share(score.value), "low": say.share(low), "high": say.share(high)}
    good = low <= _CHANCE
    return SyntheticLine(name, say("synthetic.member_none", **found) if good else say("synthetic.member_some", **found), good)


def _score(candidate: Candidate, method: str) -> Score | None:
    """The first score of an attack."""
    return next((s for s in candidate.scores if s.method.partition(" (")[0] == method), None)


def _p_value(score: Score | None) -> float | None:
    rows = score.details.get("test", ()) if score is not None else ()
    return next((finite_number(row.get("p_value")) for row in rows), None)


def _p_text(p: float, say: Wording) -> str:
    return f"p < {say.number(0.001)}" if p < 0.001 else f"p = {say.number(p, 2)}"
