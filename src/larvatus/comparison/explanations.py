"""Scores turned into sentences by rule, each with the figure behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from larvatus.comparison.combined_scores import with_combined
from larvatus.comparison.frontier import undominated
from larvatus.comparison.headline import Headline, baseline, excess, headlines
from larvatus.comparison.limits_by_release import broken_in_words
from larvatus.comparison.release_sentences import NEARLY_KEPT, WITHOUT, at_baseline, plain_name
from larvatus.core.number_format import EXACT, Cell, finite_number, loss, plural, quote, share, times, words
from larvatus.data.score import Row, Rows, Score

if TYPE_CHECKING:
    from larvatus.comparison.comparison import Candidate, Comparison


_TOGETHER, _TELLING = "together", 0.1
ASIDE = "It does not decide between releases: any that keeps relations and totals gives some of it."


def explain(comparison: Comparison) -> Rows:
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
    """What S alone gives, who is unbeaten, and who keeps the limits at the least loss."""
    rows = _without(comparison)
    if len(heads) < 2:
        return rows
    for head, top in _unbeaten(comparison, heads):
        gives = _none(next(c for c in comparison.candidates if c.name == head.name))
        if top is not None:
            gives = f"{_reached(top, top.value)} by {words(top.method)}, {_reached(top, baseline(top) or 0.0)} {WITHOUT}"
        said = f"No other release gives an intruder less beyond what is had anyway and loses less: {gives}; "
        said += f"loss {loss(head.loss)}."
        rows.append(_row(_TOGETHER, head.name, said, top.method if top else "", top.value if top else 0.0))
    if comparison.limits:
        kept = [n for n, j in comparison.judged().items() if j.kept]
        some = [h for h in heads if h.name in kept]
        said = f"{plural(len(kept), 'release')} of {len(heads)} {'keeps' if len(kept) == 1 else 'keep'} every limit"
        known = [(h.loss, h.name) for h in some if h.loss is not None]
        least = f"; {quote(min(known)[1])} has the least loss of these ({loss(min(known)[0])})" if known else ""
        rows.append(_row(_TOGETHER, "", f"{said}{least}.", "limits", len(kept)))
    return rows


def _without(comparison: Comparison) -> list[Row]:
    """The attack to which S alone gives away most: no mask of confidential columns answers for that."""
    scores = [s for c in comparison.candidates for s in c.of_kind("risk") if s.weighs and finite_number(s.s_alone) is not None]
    top = max(scores, key=lambda s: (finite_number(s.s_alone) or 0.0) - (finite_number(s.chance) or 0.0), default=None)
    if top is None or (finite_number(top.s_alone) or 0.0) - (finite_number(top.chance) or 0.0) < _TELLING:
        return []
    said = (f"Columns that leave as they are give {share(top.s_alone)} to {words(top.method)} without any masked one, where "
            f"chance gives {share(top.chance)}. No mask helps against that: release fewer of them, or coarser ones, the weight "
            "included.")
    return [_row(_TOGETHER, "", said, top.method, top.s_alone)]


def _unbeaten(comparison: Comparison, heads: tuple[Headline, ...]) -> list[tuple[Headline, Score | None]]:
    """Releases that no other one beats on both what it gives away beyond what is had without it, and loss; least first."""
    placed = []
    for candidate, head in zip(comparison.candidates, heads, strict=True):
        if head.risk is not None and head.loss is not None:
            top = next(iter(_beyond(candidate)), None)
            placed.append((top.value - (baseline(top) or 0.0) if top else 0.0, head.loss, head, top))
    return [placed[i][2:] for i in undominated([p[:2] for p in placed])]


def _known(candidate: Candidate, weighs: bool) -> list[Score]:
    return [s for s in candidate.of_kind("risk") if s.weighs == weighs and finite_number(s.value) is not None]


def _beyond(candidate: Candidate, weighs: bool = True) -> list[Score]:
    """The attacks that are shown to do better than without the release, furthest first: those that decide, or the others."""
    return sorted((s for s in _known(candidate, weighs) if not at_baseline(s)), key=excess, reverse=True)


def _reached(score: Score | None, value: Cell) -> str:
    """A figure of an attack: a share, but for correlations."""
    found = finite_number(value)
    if score is not None and score.unit == "correlation" and found is not None:
        return f"{found:.2f}"
    return share(value)


def _risks(candidate: Candidate) -> list[Row]:
    """The attacks that do better than without the release, furthest first, or that none does; then those that do not decide."""
    weigh, beyond, aside = _known(candidate, True), _beyond(candidate), _beyond(candidate, False)
    rows = [_row("risk", candidate.name, _gained(s), s.method, s.value) for s in beyond]
    if weigh and not beyond:
        top = max(weigh, key=lambda s: s.value - (baseline(s) or 0.0))
        gets = f"{_reached(top, top.value)}, and {_reached(top, baseline(top) or 0.0)} {WITHOUT}"
        said = f"{_none(candidate)}; {words(top.method)} comes furthest: {gets}."
        rows.append(_row("risk", candidate.name, said[:1].upper() + said[1:], top.method, top.value))
    return rows + [_row("risk", candidate.name, f"{_gained(s)} {ASIDE}", s.method, s.value) for s in aside]


def _none(candidate: Candidate) -> str:
    which = " that decides between releases" if _beyond(candidate, False) else ""
    return f"no attack{which} is shown to do better than {WITHOUT}"


def _gained(score: Score) -> str:
    base, name = baseline(score) or 0.0, words(score.method)
    than = f"with nothing to be had {WITHOUT}"
    if base > 0:
        than = f"{times(score.value, base)} as much as {WITHOUT} ({_reached(score, base)})"
    near = ", still near it" if excess(score) <= 1 else ""
    means = f" ({score.meaning})" if score.meaning else ""
    return f"{name[:1].upper()}{name[1:]}{means} reaches {_reached(score, score.value)}, {than}{near}."


def _losses(comparison: Comparison, candidate: Candidate) -> list[Row]:
    """One sentence a measure: kept exactly, nearly, or changed, and where most."""
    return [
        _row("loss", candidate.name, _lost(s), s.method, s.value)
        for s in with_combined(candidate.scores, comparison.combine) if s.kind == "loss" and finite_number(s.value) is not None
    ]


def _lost(score: Score) -> str:
    what = plain_name(score.method)
    what = f"{what[:1].upper()}{what[1:]}"
    if abs(score.value) < EXACT:
        return f"{what}: kept exactly."
    how = "nearly kept" if round(score.lost, 3) < NEARLY_KEPT else "changed"
    means = f" ({score.meaning})" if score.meaning else ""
    return f"{what}: {how}, a loss of {loss(score.value)}{means}{_most(score)}."


def _most(score: Score) -> str:
    """The variable, or the part of a combination, that is hit hardest."""
    parts = [(finite_number(r.get("value")), str(r["part"])) for r in score.details.get("parts", ()) if "part" in r]
    columns = [(finite_number(r.get("loss")), str(r.get("variable"))) for r in score.by_variable]
    known = [(v, n) for v, n in parts or columns if v is not None]
    if len(known) < 2 or max(known)[0] < EXACT:
        return ""
    most, where = max(known)
    by_itself = "" if most >= score.value else "; of columns by themselves"
    return f"{by_itself}, most in {where} ({loss(most)})"


def _limits(comparison: Comparison, candidate: Candidate) -> list[Row]:
    if not comparison.limits:
        return []
    judgement = comparison.limits.judge(candidate.scores, comparison.combine)
    broken = [
        _row("limits", candidate.name, f"Breaks a limit: {broken_in_words(r)}.", str(r["score"]), r["judged"])
        for r in judgement.broken
    ]
    return broken or [_row("limits", candidate.name, "Keeps every limit.", "limits", len(judgement.rows))]
