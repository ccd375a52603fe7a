"""Losses within domains: which part of which domain has the largest loss, even if sub-groups show none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from larvatus.comparison.headline import Headline
from larvatus.comparison.release_sentences import as_title, plain_title, property_name
from larvatus.core.number_format import EXACT, NONE, count, finite_number, loss, quote
from larvatus.data.score import Row, Score
from larvatus.reporting.page.blocks import Fold, HeatCell, HeatTable, Listing, ReportBlock, Section
from larvatus.reporting.page.chart_rows import FEW

_SHIFT = "mean_shift"
_SLIGHT = 0.1
MOST_PARTS = 40
_NOTE = (
    "Records are assigned to parts by their original values. The darker a cell, the larger its loss relative to the largest "
    "in its column. The worst parts come first. Shifts of means are in standard deviations (SD) of the whole file."
)
Losses = Mapping[str, Sequence[Score | None]]


def domain_blocks(heads: Sequence[Headline], methods: Losses) -> tuple[ReportBlock, ...]:
    """A sentence per release and a table of domain by measure; empty if no domain was requested."""
    found = [(h, {n: s for n, scores in methods.items() if (s := scores[i]) and len(s.by_domain)}) for i, h in enumerate(heads)]
    there = [(h, scores) for h, scores in found if scores]
    if not there:
        return ()
    tables = [_table(h, scores, len(heads) > 1) for h, scores in there]
    if len(tables) == 1:
        return (Section("Inside domains", (tables[0],)),)
    said = Listing(tuple(f"{quote(h.name)}: {table.sentence}" for (h, _), table in zip(there, tables, strict=True)))
    shown: tuple[ReportBlock, ...] = tuple(Fold(t.caption, (t,)) for t in tables)
    more = shown if len(shown) <= FEW else (Fold(f"Domains of {count(len(shown))} releases, as tables", shown),)
    return (Section("Inside domains", (said, *more)),)


def domain_sentence(scores: Sequence[Score]) -> str:
    """Where means changed most, compared with the sub-groups; another measure if no means were compared."""
    for score in scores:
        shifts = _figures(score.by_domain, _SHIFT)
        if shifts:
            inside = [v for v, _ in _figures(score.by_group, _SHIFT)]
            return _said("Means", " change by up to", shifts, inside, " SD", "they are exact")
    for score in scores:
        losses = _figures(score.by_domain, "value")
        if losses:
            inside = [v for v, _ in _figures(score.by_group, "value")] or [score.value]
            return _said(as_title(property_name(score.method)), ": loss", losses, inside, "", "it is 0")
    return "No measure has a figure for any part."


def _said(what: str, verb: str, found: Sequence[tuple[float, Row]], inside: Sequence[float], unit: str, are: str) -> str:
    most, row = max(found, key=lambda f: f[0])
    if most < EXACT:
        return f"{what}: no change beyond rounding in any part of any domain."
    place = quote(f"{row['domain']}: {row['part']}")
    head = f"{what} within {place}{verb} {loss(most)}{unit}"
    if not inside:
        return f"{head}."
    one = len(inside) == 1
    if max(inside) < EXACT:
        return f"{head}, although {are} in {'the file as a whole' if one else 'every sub-group'}."
    beside = "in the file as a whole" if one else "in the worst sub-group"
    return f"{head}, compared with {loss(max(inside))}{unit} {beside}."


def _figures(rows: Iterable[Row], name: str) -> list[tuple[float, Row]]:
    return [(v, row) for row in rows if (v := finite_number(row.get(name))) is not None]


def _table(head: Headline, scores: Mapping[str, Score], several: bool) -> HeatTable:
    columns: list[tuple[str, str]] = []
    cells: list[dict[str, float]] = []
    for name, score in scores.items():
        title = plain_title(name)
        for figure, column in (("value", title), (_SHIFT, "Largest shift of a mean, SD")):
            values = {f"{r['domain']}: {r['part']}": v for v, r in _figures(score.by_domain, figure)}
            if values:
                columns.append((column, "" if figure == _SHIFT else f"file: {loss(score.value)}"))
                cells.append(values)
    largest = [max([_SLIGHT, *values.values()]) for values in cells]
    parts = list(dict.fromkeys(p for values in cells for p in values))
    parts.sort(key=lambda p: -sum(values.get(p, 0.0) / most for values, most in zip(cells, largest, strict=True)))
    rows = tuple(
        (p, tuple(_cell(values.get(p), most) for values, most in zip(cells, largest, strict=True))) for p in parts[:MOST_PARTS]
    )
    more = f" The worst {MOST_PARTS} of {count(len(parts))} parts are shown." if len(parts) > MOST_PARTS else ""
    caption = f"Loss within domains{f' of {quote(head.name)}' if several else ''}"
    said = domain_sentence(list(scores.values()))
    return HeatTable(caption, said, (("Loss", len(columns)),), tuple(columns), rows, _NOTE + more, "Domain part")


def _cell(value: float | None, most: float) -> HeatCell:
    if value is None:
        return HeatCell(NONE, 0.0, "loss")
    return HeatCell("exact" if value < EXACT else loss(value), min(value / most, 1.0), "loss")
