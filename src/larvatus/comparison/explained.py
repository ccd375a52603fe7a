"""Scores turned into sentences by rule, each with the figure behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from larvatus.comparison.combining import with_combined
from larvatus.data.score import Cell, Row, Rows, Score
from larvatus.reporting.glance_words import KEPT, NEARLY, WITHOUT, at_baseline
from larvatus.reporting.headline import Headline, baseline, excess, headlines, unbeaten
from larvatus.reporting.held_to_limits import broken_in_words
from larvatus.reporting.numbers import EXACT, loss, number, plural, quoted, share, times, words

if TYPE_CHECKING:
    from larvatus.comparison.comparison import Candidate, Comparison


TOGETHER = "together"


def explained(comparison: Comparison) -> Rows:
    """All releases together first, then each: what is gained from it, what it keeps, what it changes, and its limits."""
    heads = headlines(comparison.candidates)
    rows = _together(comparison, heads)
    for candidate in comparison.candidates:
        rows += _risks(candidate) + _losses(comparison, candidate) + _limits(comparison, candidate)
    rows += [_row("not made", n.name, f"It was not made: {n.reason}", "", None) for n in comparison.not_made]
    return Rows.of(rows)


def _row(about: str, release: str, sentence: str, score: str, figure: Cell) -> Row:
    return {"about": about, "release": release, "sentence": sentence, "score": score, "figure": figure}


def _together(comparison: Comparison, heads: tuple[Headline, ...]) -> list[Row]:
    """Who is unbeaten, and who keeps the limits at the least loss."""
    if len(heads) < 2:
        return []
    rows = []
    for h in unbeaten(heads):
        attack = h.attack.method if h.attack else ""
        beaten = f"No other release has both a lower risk and a lower loss: risk {share(h.risk)}, loss {loss(h.loss)}."
        rows.append(_row(TOGETHER, h.name, beaten, attack, h.risk))
    if comparison.limits:
        kept = [n for n, j in comparison.judged().items() if j.kept]
        some = [h for h in heads if h.name in kept]
        said = f"{plural(len(kept), 'release')} of {len(heads)} {'keeps' if len(kept) == 1 else 'keep'} every limit"
        known = [(h.loss, h.name) for h in some if h.loss is not None]
        least = f"; {quoted(min(known)[1])} has the least loss of these ({loss(min(known)[0])})" if known else ""
        rows.append(_row(TOGETHER, "", f"{said}{least}.", "limits", len(kept)))
    return rows


def _risks(candidate: Candidate) -> list[Row]:
    """The attacks that do better than without the release, furthest first; or that none does."""
    known = [s for s in candidate.of_kind("risk") if number(s.value) is not None]
    weigh = [s for s in known if s.weighs]
    beyond = sorted((s for s in weigh if not at_baseline(s)), key=excess, reverse=True)
    rows = [_row("risk", candidate.name, _gained(s), s.method, s.value) for s in beyond]
    if weigh and not beyond:
        top = max(weigh, key=excess)
        said = f"No attack does better than {WITHOUT}; {words(top.method)} comes furthest with {share(top.value)}."
        rows.append(_row("risk", candidate.name, said, top.method, top.value))
    return rows


def _gained(score: Score) -> str:
    base, name = baseline(score) or 0.0, words(score.method)
    than = f"with nothing to be had {WITHOUT}"
    if base > 0:
        than = f"{times(score.value, base)} as much as {WITHOUT} ({share(base)})"
    near = ", still near it" if excess(score) <= 1 else ""
    means = f" ({score.meaning})" if score.meaning else ""
    return f"{name[:1].upper()}{name[1:]}{means} reaches {share(score.value)}, {than}{near}."


def _losses(comparison: Comparison, candidate: Candidate) -> list[Row]:
    """One sentence a measure: kept exactly, nearly, or changed, and where most."""
    return [
        _row("loss", candidate.name, _lost(s), s.method, s.value)
        for s in with_combined(candidate.scores, comparison.combine) if s.kind == "loss" and number(s.value) is not None
    ]


def _lost(score: Score) -> str:
    what = KEPT.get(score.method, words(score.method))
    what = f"{what[:1].upper()}{what[1:]}"
    if abs(score.value) < EXACT:
        return f"{what}: kept exactly."
    where = _most(score)
    if score.value < NEARLY:
        return f"{what}: nearly kept, a loss of {loss(score.value)}{where}."
    return f"{what}: changed, a loss of {loss(score.value)}{where}."


def _most(score: Score) -> str:
    """The variable, or the part of a combination, that is hit hardest."""
    parts = [(number(r.get("value")), str(r["part"])) for r in score.details.get("parts", ()) if "part" in r]
    columns = [(number(r.get("loss")), str(r.get("variable"))) for r in score.by_variable]
    known = [(v, n) for v, n in parts or columns if v is not None]
    return f", most in {max(known)[1]} ({loss(max(known)[0])})" if len(known) > 1 else ""


def _limits(comparison: Comparison, candidate: Candidate) -> list[Row]:
    if not comparison.limits:
        return []
    judgement = comparison.limits.judge(candidate.scores, comparison.combine)
    broken = [
        _row("limits", candidate.name, f"Breaks a limit: {broken_in_words(r)}.", str(r["score"]), r["judged"])
        for r in judgement.broken
    ]
    return broken or [_row("limits", candidate.name, "Keeps every limit.", "limits", len(judgement.rows))]
