"""One page per release: its steps, its risk and loss, and its notes."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.comparison import Candidate
from larvatus.comparison.excess_risk import at_baseline, baseline
from larvatus.comparison.headline import Headline
from larvatus.comparison.limits_by_release import JudgedLimits
from larvatus.comparison.release_sentences import plain_name, plain_title, release_in_words
from larvatus.comparison.risk_text import risk_interval_text, risk_text
from larvatus.comparison.selection_rule import preferred_release
from larvatus.core.number_format import EXACT, NONE, Cell, count, finite_number, loss, plural
from larvatus.data.score import Score
from larvatus.reporting.page.blocks import (
    Fold,
    KeyFigure,
    KeyFigures,
    NotesList,
    Page,
    Paragraph,
    ReportBlock,
    ReportTable,
    Section,
)
from larvatus.reporting.page.chart_rows import anchor
from larvatus.reporting.page.tables import _S_ALONE
from larvatus.reporting.sections.null_distributions import P95, null_of
from larvatus.reporting.sections.rules import rules_block
from larvatus.reporting.sections.steps import steps_section
from larvatus.reporting.sections.summary import releases_at_first

_MOST_NOTES = 60
_MOST_GROUPS = 5
_KINDS = ("warning", "status", "information")


def pages(
    candidates: Sequence[Candidate], heads: Sequence[Headline], chosen: str | None = None, limits: JudgedLimits | None = None
) -> Section:
    """One page per release, closed by default; print includes the page of the proposed release."""
    best = preferred_release(heads, limits)
    paper = chosen or (best.name if best else None)
    others = len(heads) - (paper is not None)
    rest = [Paragraph(f"The HTML file has {plural(others, 'page')} on the other releases.", "paper")] if others else []
    opening = Paragraph("Click a release to open its page. Names and points elsewhere in the report link here.", "quiet")
    all_pages = [_page(c, h, h.name == paper) for c, h in zip(candidates, heads, strict=True)]
    seen = {h.number for h in releases_at_first(heads, chosen, limits)}
    first = [page for page, h in zip(all_pages, heads, strict=True) if h.number in seen]
    later = tuple(page for page, h in zip(all_pages, heads, strict=True) if h.number not in seen)
    fold = [Fold(plural(len(later), "other release"), later)] if later else []
    return Section("Each release", (opening, *first, *fold, *rest))


def _page(candidate: Candidate, head: Headline, paper: bool) -> Page:
    risks, losses = candidate.of_kind("risk"), candidate.of_kind("loss")
    said = release_in_words(risks, losses)
    blocks: list[ReportBlock] = [_figures(head), *([Paragraph(said)] if said else []), *steps_section(candidate)]
    blocks += [_risks(risks), *_worst(head)] if risks else [Paragraph("No attack was run.", "quiet")]
    blocks += [_losses(losses)] if losses else [Paragraph("No loss was measured.", "quiet")]
    blocks += [*rules_block(candidate), _notes(candidate)]
    return Page(anchor(head), f"{head.number}. {head.name}", tuple(blocks), paper)


def _figures(head: Headline) -> KeyFigures:
    items = []
    if head.attack is not None and head.risk is not None:
        beside = f"{plain_name(head.attack.method)}; baseline {risk_text(head.attack, head.base)}"
        items.append(KeyFigure("Strongest attack", risk_text(head.attack, head.risk), beside))
    items.append(KeyFigure("Mean loss", loss(head.loss), "over the measures common to all releases"))
    return KeyFigures(tuple(items))


def _risks(risks: Sequence[Score]) -> ReportTable:
    rows = tuple(
        (plain_title(s.method), risk_text(s, s.value), risk_interval_text(s, *(s.interval or (None, None))),
         risk_text(s, s.chance), risk_text(s, s.s_alone), _beyond(s)) for s in risks
    )
    columns = ("Attack", "Risk", "Interval", "Chance", _S_ALONE, "Compared with baseline")
    return ReportTable("Risk by attack", columns, rows, frozenset({0, 5}))


def _beyond(score: Score) -> str:
    value, base = finite_number(score.value), baseline(score)
    if value is None:
        return NONE
    if at_baseline(score):
        return "not above"
    return "above" if not base else f"{value / base:,.1f} times"


def _worst(head: Headline) -> list[ReportBlock]:
    """The sub-groups in which the strongest attack succeeds most often."""
    found = [(v, r) for r in (head.attack.by_group if head.attack else ()) if (v := finite_number(r.get("value"))) is not None]
    if len(found) < 2 or head.attack is None:
        return []
    worst = sorted(found, key=lambda f: -f[0])[:_MOST_GROUPS]
    rows = tuple(
        (str(r.get("sub_group")), _size(r.get("records")), risk_text(head.attack, v), risk_text(head.attack, r.get("chance")))
        for v, r in worst
    )
    caption = f"{plain_title(head.attack.method)}: the {len(rows)} of {plural(len(found), 'sub-group')} with the highest risk"
    return [ReportTable(caption, ("Sub-group", "Records", "Risk", "Chance"), rows)]


def _size(value: Cell) -> str:
    return count(value) if isinstance(value, int) else NONE


def _losses(losses: Sequence[Score]) -> ReportTable:
    nulls = [null_of(s) for s in losses]
    beside = any(nulls)
    rows = []
    for score, null in zip(losses, nulls, strict=True):
        worst = max(((finite_number(r.get("loss")) or 0.0, str(r.get("variable"))) for r in score.by_variable), default=None)
        named = f"{worst[1]} ({loss(worst[0])})" if worst and worst[0] >= EXACT else NONE
        own = [loss(null["p95"]) if null else NONE] if beside else []
        rows.append((plain_title(score.method), loss(score.value), *own, named))
    columns = ("Measure", "Loss", *([P95] if beside else []), "Column with the largest loss")
    return ReportTable("Loss by measure", columns, tuple(rows), frozenset({0, len(columns) - 1}))


def _notes(candidate: Candidate) -> ReportBlock:
    scores = (*candidate.of_kind("risk"), *candidate.of_kind("loss"))
    said = [*((n.kind, str(n)) for n in candidate.notes)]
    said += [("information", f"{plain_title(s.method)}: {t}") for s in scores for t in s.notes]
    items = sorted(dict.fromkeys(said), key=lambda item: _KINDS.index(item[0]))
    if not items:
        return Paragraph("No step and no score added a note.", "quiet")
    more = [("information", f"and {count(len(items) - _MOST_NOTES)} more")] if len(items) > _MOST_NOTES else []
    return NotesList((*items[:_MOST_NOTES], *more))
