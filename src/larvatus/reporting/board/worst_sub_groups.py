"""Where it is worst: the ten sub-groups in which the strongest attack succeeds most often, one panel per release."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.headline import Headline
from larvatus.comparison.release_sentences import plain_name
from larvatus.comparison.risk_text import risk_text
from larvatus.core.number_format import EXACT, cell_text, count, finite_number, plural, quote, share
from larvatus.data.score import Row, Score
from larvatus.reporting.board.figures_in_words import success_text, worst_loss
from larvatus.reporting.board.sub_group_risk import score_of_row
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.charts.panels import PanelDot, Panels, draw_panels
from larvatus.reporting.charts.scales import LinearScale, scale_of_risks
from larvatus.reporting.page.blocks import Figure, Listing, Paragraph, ReportBlock, ReportTable, Story

_TITLE = "Where it is worst"
_MOST_GROUPS, _MOST_PANELS = 10, 4
_WIDE, _NARROW = 900.0, 380.0


def sub_groups_story(subject: Subject) -> Story:
    """Small multiples of risk, and of loss, in the worst sub-groups."""
    head = subject.favourite
    risks = _rows_of(head.attack)
    worst = worst_loss(subject.candidate(head))
    losses = _rows_of(worst)
    if len(risks) < 2 and len(losses) < 2:
        said = "There are no sub-groups, so all figures are for the whole file."
        return Story(_TITLE, said, (Paragraph("No figures by sub-group exist.", "quiet"),))
    pictures: list[ReportBlock] = []
    if len(risks) >= 2 and head.attack is not None:
        pictures.append(_risk_figure(subject, head.attack, risks))
    if len(losses) >= 2 and worst is not None:
        pictures.append(_loss_figure(subject, worst, losses))
    return Story(_TITLE, _finding(head, risks, worst, losses, subject.out_of), tuple(pictures), _beside(subject))


def _rows_of(score: Score | None) -> list[Row]:
    """Sub-groups with a figure, the worst first."""
    found = [r for r in (score.by_group if score else ()) if finite_number(r.get("value")) is not None]
    return sorted(found, key=lambda r: -(finite_number(r["value"]) or 0.0))


def _finding(
    head: Headline, risks: Sequence[Row], worst: Score | None, losses: Sequence[Row], out_of: int | None
) -> str:
    """The sub-group with the highest risk; if there is none, the one with the largest loss."""
    if len(risks) >= 2 and head.attack is not None and (finite_number(risks[0]["value"]) or 0.0) > EXACT:
        first = risks[0]
        records = first.get("records")
        size = f" ({plural(records, 'record')})" if isinstance(records, int) else ""
        where = f"the sub-group {first['sub_group']}{size}"
        return f"In {quote(head.name)} risk is highest in {where}: {success_text(score_of_row(first, head.attack), out_of)}."
    if len(losses) >= 2 and worst is not None:
        return f"In {quote(head.name)} {plain_name(worst.method)} change most in the sub-group {losses[0]['sub_group']}."
    return f"In {quote(head.name)} no sub-group is at risk beyond 0."


def _panels_of(subject: Subject, score: Score) -> list[tuple[str, Score]]:
    """The same method on the releases with a card, the favourite first."""
    out = []
    for head in subject.on_cards:
        same = next((s for s in subject.candidate(head).scores if s.method == score.method), None)
        if same is not None and _rows_of(same):
            out.append((f"{head.number} {head.name}", same))
    return out[:_MOST_PANELS]


def _figure(
    title: str, caption: str, rows: Sequence[str], panels: Sequence[tuple[str, Score]], tone: str, axis: str
) -> Figure:
    dots, every, bases = [], [], []
    for _, score in panels:
        by_name = {str(r["sub_group"]): r for r in score.by_group}
        made = tuple(_dot(by_name[n], tone) if n in by_name else None for n in rows)
        every += [v for d in made if d for v in (d.value, d.high or 0.0)]
        bases += [d.baseline for d in made if d and d.baseline]
        dots.append(made)
    highest = max(every, default=1.0)
    scale = scale_of_risks(every, bases) if tone == "risk" else LinearScale.up_to(highest, False)
    drawn = Panels(title, caption, tuple(rows), tuple(n for n, _ in panels), tuple(dots), scale, axis, tone)
    return Figure(title, caption, draw_panels(drawn, _WIDE), draw_panels(drawn, _NARROW))


def _dot(row: Row, tone: str) -> PanelDot | None:
    value = finite_number(row.get("value"))
    if value is None:
        return None
    low, high = finite_number(row.get("low")), finite_number(row.get("high"))
    base = _bases(row)
    said = share(value) if tone == "risk" else f"loss {value:.3g}"
    return PanelDot(max(value, 0.0), low, high, max(base, default=None) if tone == "risk" else None, said)


def _risk_figure(subject: Subject, score: Score, rows: Sequence[Row]) -> Figure:
    names = [str(r["sub_group"]) for r in rows[:_MOST_GROUPS]]
    every = f"{count(len(rows))} sub-groups"
    of = f"the worst {len(names)} of {every}" if len(rows) > len(names) else f"all {every}"
    caption = f"Lines are 95 % intervals; the grey tick is guessing. Shown: {of} of the first panel."
    return _figure(f"Success of {plain_name(score.method)} by sub-group", caption, names, _panels_of(subject, score), "risk",
                   "share found →")


def _loss_figure(subject: Subject, score: Score, rows: Sequence[Row]) -> Figure:
    names = [str(r["sub_group"]) for r in rows[:_MOST_GROUPS]]
    shown = f"The worst {len(names)} of {count(len(rows))}" if len(rows) > len(names) else f"All {len(names)}"
    caption = f"The measure on which the first release loses most. {shown} sub-groups."
    return _figure(f"Loss of {plain_name(score.method)} by sub-group", caption, names, _panels_of(subject, score), "loss",
                   "loss, in the unit of the measure →")


def _beside(subject: Subject) -> tuple[ReportBlock, ...]:
    sizes = sorted((size, name) for name, size in subject.comparison.about.group_sizes)
    items = []
    if sizes:
        items.append(f"The smallest of {plural(len(sizes), 'sub-group')} has {plural(sizes[0][0], 'record')}: {sizes[0][1]}.")
    items.append("Figures in small sub-groups are imprecise; their intervals are wide.")
    return (Listing(tuple(items)), *_worst_table(subject))


def _worst_table(subject: Subject) -> tuple[ReportBlock, ...]:
    """The sub-groups of the first panel, with their sizes."""
    head = subject.favourite
    rows = _rows_of(head.attack)[:_MOST_GROUPS]
    if len(rows) < 2 or head.attack is None:
        return ()
    cells = tuple((str(r["sub_group"]), cell_text(r.get("records")), risk_text(head.attack, r["value"]),
                   risk_text(head.attack, max(_bases(r), default=None))) for r in rows)
    title = f"Highest risk in {quote(head.name)}"
    return (ReportTable(title, ("Sub-group", "Records", "Success", "Baseline"), cells),)


def _bases(row: Row) -> list[float]:
    return [v for v in (finite_number(row.get("chance")), finite_number(row.get("s_alone"))) if v is not None]
