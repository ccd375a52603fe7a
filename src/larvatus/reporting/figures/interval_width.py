"""The width of an intruder's interval for a value, relative to its width without the release."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import finite_number, plural, quote, share
from larvatus.core.scratch_names import column_of_key
from larvatus.data.score import Rows, Score
from larvatus.reporting.figures.dot_plot import draw_dots
from larvatus.reporting.figures.histograms import WHOLE
from larvatus.reporting.figures.release_selection import select_releases
from larvatus.reporting.page.blocks import Figure, ReportBlock
from larvatus.reporting.page.chart_rows import Lane, Mark

_MOST_LANES = 15
_WIDE = 0.98
_NAMED = "width with the release, in per cent of the width without it"
_SPREAD = "; the line: narrowest to widest sub-group"


def interval_figures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    """A dot for the file and a line for the sub-groups: one lane per variable, the narrowest first."""
    drawn, left_out = select_releases(heads, scores)
    tables = [(head, score.details.get("interval_width", Rows())) for head, score in drawn]
    names = dict.fromkeys(c for _, rows in tables for c in rows.columns if c != "sub_group")
    lanes = [Lane(column_of_key(n), tuple(_mark(rows, n) for _, rows in tables)) for n in names]
    lanes = sorted((lane for lane in lanes if any(lane.marks)), key=_narrowest)
    if not lanes:
        return []
    title = "Width of an intruder's interval for an original value"
    sentence = _sentence(lanes, [head for head, _ in tables]) + left_out
    if len(lanes) > _MOST_LANES:
        sentence += f" The figure shows the {_MOST_LANES} narrowest of {plural(len(lanes), 'variable')}."
    named = _NAMED + (_SPREAD if any(m.low is not None for lane in lanes for m in lane.marks if m) else "")
    panels = [head.name for head, _ in tables]
    return [Figure(title, sentence, draw_dots(title, sentence, panels, lanes[:_MOST_LANES], "risk", named))]


def _mark(rows: Rows, name: str) -> Mark | None:
    found = {str(row.get("sub_group")): finite_number(row.get(name)) for row in rows}
    whole = found.pop(WHOLE, None)
    inside = [v for v in found.values() if v is not None]
    if whole is None:
        return None
    return Mark(whole, low=min(inside), high=max(inside)) if len(inside) > 1 else Mark(whole)


def _narrowest(lane: Lane) -> float:
    return min(m.value for m in lane.marks if m)


def _sentence(lanes: Sequence[Lane], heads: Sequence[Headline]) -> str:
    """The narrowest interval, and the releases in which no interval narrows."""
    place, mark = min(((i, m) for i, m in enumerate(lanes[0].marks) if m), key=lambda pair: pair[1].value)
    under = f" in {quote(heads[place].name)}" if len(heads) > 1 else ""
    if mark.value >= _WIDE:
        return "The release narrows no interval by more than 2 %." if len(heads) == 1 else (
            "No release narrows an interval by more than 2 %."
        )
    said = f"The interval for {lanes[0].name} shrinks most{under}: to {share(mark.value)} of its width without the release."
    marks = [[m for lane in lanes if (m := lane.marks[i])] for i in range(len(heads))]
    wide = [quote(h.name) for h, own in zip(heads, marks, strict=True) if own and all(m.value >= _WIDE for m in own)]
    return said + (f" In {' and '.join(wide)} no interval narrows by more than 2 %." if wide else "")
