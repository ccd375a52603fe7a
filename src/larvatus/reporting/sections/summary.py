"""All releases at a glance: every attack with its baseline, every loss, and a summary in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from larvatus.comparison.by_method import by_method
from larvatus.comparison.comparison import Candidate
from larvatus.comparison.excess_risk import at_baseline, baseline, baseline_ratio
from larvatus.comparison.headline import Headline, on_frontier
from larvatus.comparison.limits_by_release import JudgedLimits
from larvatus.comparison.release_sentences import not_counted, plain_title, release_in_words
from larvatus.comparison.risk_text import risk_range_text, risk_text
from larvatus.comparison.selection_rule import attacks_in_rule, attacks_outside_rule, preferred_release
from larvatus.core.number_format import EXACT, NONE, count, finite_number, loss, plural, quote
from larvatus.data.score import Score
from larvatus.reporting.figures.release_selection import MOST_RELEASES, evenly_spaced
from larvatus.reporting.page.blocks import Fold, HeatCell, HeatTable, Listing, ReportBlock
from larvatus.reporting.page.tables import release_title
from larvatus.reporting.sections.null_distributions import null_beside

MOST_SEEN = 12
_SLIGHT = 0.1  # losses below this share of the full loss never get the deepest colour, however small all of them are
_NOTE = (
    "Baseline: the success of the attack without the masked columns, by chance or from the non-confidential columns alone. "
    "An attack beats its baseline if its whole interval lies above it; its risk is then coloured. The darker a loss, the "
    "larger it is relative to the largest in its column; “exact” means 0 up to rounding. All figures are for the whole file; "
    "sub-groups follow below."
)


def glance(
    candidates: Sequence[Candidate], heads: Sequence[Headline], chosen: str | None = None, limits: JudgedLimits | None = None
) -> tuple[ReportBlock, ...]:
    """A table with one row per release and, for few releases, a sentence or two on each; empty without scores.

    With many releases, a selection is shown first and all are in a folded table.
    """
    attacks, measures = by_method(candidates, "risk"), by_method(candidates, "loss")
    if not attacks and not measures:
        return ()
    columns = [(plain_title(n), _baseline(scores)) for n, scores in attacks.items()]
    columns += [(plain_title(n), null_beside(scores)) for n, scores in measures.items()]
    cells = [*(_risk_cells(s) for s in attacks.values()), *(_loss_cells(s) for s in measures.values())]
    pairing = ["" if c.paired else " (not paired)" for c in candidates]
    rows = tuple((release_title(h, len(heads)) + pairing[i], tuple(column[i] for column in cells)) for i, h in enumerate(heads))
    spans = tuple((name, len(of)) for name, of in (("Risk", attacks), ("Loss", measures)) if of)
    first = releases_at_first(heads, chosen, limits)
    named = tuple(rows[h.number - 1] for h in first)
    few = f" {_which(first, heads, chosen, limits)}" if len(first) < len(heads) else ""
    table = HeatTable("At a glance", _sentence(candidates, heads) + few, spans, tuple(columns), named, _NOTE)
    whole = HeatTable("All releases at a glance", _sentence(candidates, heads), spans, tuple(columns), rows, _NOTE)
    more = (Fold(f"All {plural(len(heads), 'release')} at a glance", (whole,)),) if few else ()
    shown = heads if len(heads) <= MOST_RELEASES else _named(heads, chosen, limits)[:MOST_RELEASES]
    items = [(h, release_in_words(*(candidates[h.number - 1].of_kind(kind) for kind in ("risk", "loss")))) for h in shown]
    said = tuple(f"{quote(h.name)}: {text}" for h, text in items if text)
    return (table, *([Listing(said)] if said else []), *more)


def releases_at_first(heads: Sequence[Headline], chosen: str | None, limits: JudgedLimits | None) -> tuple[Headline, ...]:
    """All releases if they are few; else the chosen one, the one the rule selects, and some on the frontier."""
    return tuple(heads) if len(heads) <= MOST_SEEN else tuple(sorted(_named(heads, chosen, limits), key=lambda h: h.number))


def _named(heads: Sequence[Headline], chosen: str | None, limits: JudgedLimits | None) -> list[Headline]:
    best = preferred_release(heads, limits)
    named = [*(h for h in heads if h.name == chosen), *([best] if best else []), *evenly_spaced(on_frontier(heads) or heads)]
    return list({h.number: h for h in named}.values())


def _which(
    first: Sequence[Headline], heads: Sequence[Headline], chosen: str | None, limits: JudgedLimits | None
) -> str:
    named = ["the chosen one"] if chosen else []
    named += ["the one that the rule on the first screen selects"] if preferred_release(heads, limits) else []
    named += ["some that no other release beats on both excess risk and loss" if on_frontier(heads) else "the first ones"]
    return f"{count(len(first))} of {count(len(heads))} releases are shown here: {', '.join(named)}. The tables below show all."


def _baseline(scores: Sequence[Score | None]) -> str:
    said = risk_range_text(next((s for s in scores if s), None), (baseline(s) for s in scores if s))
    return "" if said == NONE else f"baseline: {said}"


def _risk_cells(scores: Sequence[Score | None]) -> list[HeatCell]:
    return [HeatCell(risk_text(s, s.value) if s else NONE, _risk_depth(s) if s else 0.0, "risk") for s in scores]


def _risk_depth(score: Score) -> float:
    """0 at the baseline, low near it, then rising with the order of magnitude."""
    if finite_number(score.value) is None or at_baseline(score):
        return 0.0
    beyond = min(baseline_ratio(score), 1e3)
    return 0.15 if beyond <= 1 else min(0.4 + 0.35 * math.log10(beyond), 1.0)


def _loss_cells(scores: Sequence[Score | None]) -> list[HeatCell]:
    values = [finite_number(s.value) if s else None for s in scores]
    slight = _SLIGHT * max((s.worst_value or 1.0 for s in scores if s), default=1.0)
    largest = max([slight, *(abs(v) for v in values if v is not None)])
    return [HeatCell(_loss_text(v), 0.0 if v is None else abs(v) / largest, "loss") for v in values]


def _loss_text(value: float | None) -> str:
    return "exact" if value is not None and abs(value) < EXACT else loss(value)


def _sentence(candidates: Sequence[Candidate], heads: Sequence[Headline]) -> str:
    """The releases on which no attack beats its baseline, and the one of them with the least loss."""
    attacked = [h for h in heads if h.risk is not None]
    safe = [h for h in attacked if all(at_baseline(s) for s in attacks_in_rule(candidates[h.number - 1]))]
    aside = attacks_outside_rule(candidates)
    if not attacked:
        return "No attack was run; only losses are shown."
    if not safe:
        return "On every release at least one attack beats its baseline."
    few = len(safe) <= MOST_RELEASES
    named = " and ".join(quote(h.name) for h in safe) if few else f"{count(len(safe))} of {count(len(heads))} releases"
    said = f"On {named} no attack beats its baseline{not_counted(aside)}."
    known = [(h.loss, h.name) for h in safe if h.loss is not None]
    said += f" Of these releases, {quote(min(known)[1])} has the least mean loss." if len(known) > 1 else ""
    others = len(attacked) - len(safe)
    which = "the other" if others == 1 else "every other"
    return said + (f" On {which} release at least one attack beats its baseline." if others else "")
