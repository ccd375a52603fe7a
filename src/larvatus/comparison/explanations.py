"""Turn scores into sentences by fixed rules, each with the figure behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from larvatus.comparison.combined_scores import add_combined_scores
from larvatus.comparison.excess_risk import attacks_above_baseline, baseline, baseline_ratio
from larvatus.comparison.headline import Headline, headlines, on_frontier
from larvatus.comparison.limits_by_release import broken_in_words
from larvatus.comparison.release_sentences import (
    capitalise,
    nearly_unchanged,
    not_counted,
    plain_name,
    property_name,
)
from larvatus.comparison.risk_text import risk_text
from larvatus.comparison.selection_rule import attacks_in_rule
from larvatus.comparison.unmasked_columns import singled_out_sentence
from larvatus.core.number_format import EXACT, Cell, count, finite_number, loss, plural, quote, share, times
from larvatus.data.exposure.unchanged_records import UNCHANGED_RECORDS, unchanged_in_words
from larvatus.data.score import Row, Rows, Score

if TYPE_CHECKING:
    from larvatus.comparison.comparison import Candidate, Comparison


_TOGETHER, _TELLING, _LINKS = "together", 0.1, "bayesian_intruder"
ASIDE = "It does not decide between releases: every release that preserves relations and totals allows some of it."
_NO_MASK = "No mask helps against that: release fewer or coarser columns"
FRONTIER = "On the frontier: no other release has both less excess risk and less loss."


def explain(comparison: Comparison) -> Rows:
    """All releases together first, then each one: what attacks reach, what masking changed, and its limits."""
    heads = headlines(comparison.candidates)
    rows = _together(comparison, heads)
    for candidate in comparison.candidates:
        rows += _risks(candidate) + _losses(comparison, candidate) + _limits(comparison, candidate)
    rows += [_row("not made", n.name, f"It was not made: {n.reason}", "", None) for n in comparison.not_made]
    return Rows.of(rows)


def _row(about: str, release: str, sentence: str, score: str, figure: Cell) -> Row:
    return {"about": about, "release": release, "sentence": sentence, "score": score, "figure": figure}


def _together(comparison: Comparison, heads: tuple[Headline, ...]) -> list[Row]:
    """What S alone reveals, which releases are on the frontier, and which one meets the limits with the least loss."""
    rows = _without(comparison)
    if len(heads) < 2:
        return rows
    for head, top in _unbeaten(comparison, heads):
        attack = _none(next(c for c in comparison.candidates if c.name == head.name))
        if top is not None:
            reached = f"{risk_text(top, top.value)}, baseline {risk_text(top, baseline(top) or 0.0)}"
            attack = f"Strongest attack: {plain_name(top.method)} ({reached})"
        said = f"{FRONTIER} {attack}. Loss: {loss(head.loss)}."
        rows.append(_row(_TOGETHER, head.name, said, top.method if top else "", top.value if top else 0.0))
    if comparison.limits:
        kept = [n for n, j in comparison.judge().items() if j.meets_limits]
        some = [h for h in heads if h.name in kept]
        said = f"{count(len(kept))} of {plural(len(heads), 'release')} {'meets' if len(kept) == 1 else 'meet'} every limit"
        known = [(h.loss, h.name) for h in some if h.loss is not None]
        least = f"; {quote(min(known)[1])} has the least loss of these ({loss(min(known)[0])})" if known else ""
        rows.append(_row(_TOGETHER, "", f"{said}{least}.", "limits", len(kept)))
    return rows


def _without(comparison: Comparison) -> list[Row]:
    """Records singled out by S alone, and the attack that gains most from it, which no mask can prevent."""
    first = singled_out_sentence(s for c in comparison.candidates for s in c.scores)
    no_mask = f"{_NO_MASK}{'; group or round the weight, or do not release it' if comparison.about.weight else ''}."
    rows = [_row(_TOGETHER, "", f"{first} {no_mask}", "uniqueness", None)] if first else []
    scores = [s for c in comparison.candidates for s in c.of_kind("risk") if s.decides and finite_number(s.s_alone) is not None]
    top = max(scores, key=lambda s: (finite_number(s.s_alone) or 0.0) - (finite_number(s.chance) or 0.0), default=None)
    if top is None or (finite_number(top.s_alone) or 0.0) - (finite_number(top.chance) or 0.0) < _TELLING:
        return rows
    reach = f"link {share(top.s_alone)} of records" if top.method == _LINKS else f"reach {risk_text(top, top.s_alone)}"
    said = f"The unmasked columns alone let {plain_name(top.method)} {reach}; chance gives {risk_text(top, top.chance)}."
    return [*rows, _row(_TOGETHER, "", said if rows else f"{said} {no_mask}", top.method, top.s_alone)]


def _unbeaten(comparison: Comparison, heads: tuple[Headline, ...]) -> list[tuple[Headline, Score | None]]:
    """The releases on the frontier, each with its strongest attack if that beats its baseline."""
    best = on_frontier(heads)
    beyond = [attacks_above_baseline(attacks_in_rule(comparison.candidates[h.number - 1])) for h in best]
    return [(h, next(iter(attacks), None)) for h, attacks in zip(best, beyond, strict=True)]


def _known(candidate: Candidate, decides: bool) -> list[Score]:
    return [s for s in candidate.of_kind("risk") if s.decides == decides and finite_number(s.value) is not None]


def _beyond(candidate: Candidate, decides: bool = True) -> list[Score]:
    """The attacks that beat their baseline, furthest first: those that decide between releases, or the others."""
    return attacks_above_baseline(_known(candidate, decides))


def _risks(candidate: Candidate) -> list[Row]:
    """The attacks that beat their baseline, furthest first, or that none does; then those that do not decide."""
    weigh, beyond, aside = _known(candidate, True), _beyond(candidate), _beyond(candidate, False)
    tables = [s.details[UNCHANGED_RECORDS] for s in candidate.scores if UNCHANGED_RECORDS in s.details]
    rows = [_row("risk", candidate.name, said, "uniqueness", None) for said in unchanged_in_words(tables)]
    rows += [_row("risk", candidate.name, _gained(s), s.method, s.value) for s in beyond]
    if weigh and not beyond:
        top = max(weigh, key=lambda s: s.value - (baseline(s) or 0.0))
        gets = f"reaches {risk_text(top, top.value)}; its baseline is {risk_text(top, baseline(top) or 0.0)}"
        said = f"{_none(candidate)}. The highest, {plain_name(top.method)}, {gets}."
        rows.append(_row("risk", candidate.name, said, top.method, top.value))
    return rows + [_row("risk", candidate.name, f"{_gained(s)} {ASIDE}", s.method, s.value) for s in aside]


def _none(candidate: Candidate) -> str:
    return f"No attack beats its baseline{not_counted([s.method for s in _beyond(candidate, False)])}"


def _gained(score: Score) -> str:
    base = baseline(score) or 0.0
    than = f", {times(score.value, base)} its baseline ({risk_text(score, base)})" if base > 0 else "; its baseline is 0"
    near = ", still near it" if baseline_ratio(score) <= 1 else ""
    means = f" ({score.meaning})" if score.meaning else ""
    return f"{capitalise(plain_name(score.method))}{means} reaches {risk_text(score, score.value)}{than}{near}."


def _losses(comparison: Comparison, candidate: Candidate) -> list[Row]:
    """One sentence per measure: unchanged, nearly unchanged or changed, and where most."""
    return [
        _row("loss", candidate.name, _lost(s), s.method, s.value)
        for s in add_combined_scores(candidate.scores, comparison.combine) if s.kind == "loss"
        and finite_number(s.value) is not None
    ]


def _lost(score: Score) -> str:
    what = capitalise(property_name(score.method))
    if abs(score.value) < EXACT:
        return f"{what}: unchanged."
    how = "nearly unchanged" if nearly_unchanged(score) else "changed"
    means = f" ({score.meaning})" if score.meaning else ""
    return f"{what}: {how}, loss {loss(score.value)}{means}{_most(score)}."


def _most(score: Score) -> str:
    """The variable, or the part of a combination, with the largest loss."""
    parts = [(finite_number(r.get("value")), str(r["part"])) for r in score.details.get("parts", ()) if "part" in r]
    columns = [(finite_number(r.get("loss")), str(r.get("variable"))) for r in score.by_variable]
    known = [(v, n) for v, n in parts or columns if v is not None]
    if len(known) < 2 or max(known)[0] < EXACT:
        return ""
    most, where = max(known)
    if most >= score.value:
        return f", largest for {where} ({loss(most)})"
    return f"; the largest loss of a single column is {loss(most)} ({where})"


def _limits(comparison: Comparison, candidate: Candidate) -> list[Row]:
    if not comparison.limits:
        return []
    judgement = comparison.limits.judge(candidate.scores, comparison.combine)
    broken = [
        _row("limits", candidate.name, f"Breaks a limit: {broken_in_words(r)}.", str(r["score"]), r["value"])
        for r in judgement.broken
    ]
    return broken or [_row("limits", candidate.name, "Meets every limit.", "limits", len(judgement.rows))]
