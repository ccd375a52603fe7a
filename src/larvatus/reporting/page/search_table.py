"""Figures of every release by sub-group or variable, if a table with one column per release would be too wide."""

from __future__ import annotations

import json
from collections.abc import Sequence

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import count
from larvatus.reporting.page.blocks import SearchTable
from larvatus.reporting.page.chart_rows import Lane

MOST_FIGURES = 180_000  # in the whole report
_UNIT = 10_000
_NOTE = "Type parts of the names of a {what} and a release to find a figure; the largest come first. Requires scripts."


def search_table(
    name: str, what: str, heads: Sequence[Headline], every: Sequence[Lane], tone: str, methods: int
) -> SearchTable:
    """All figures, searchable; if there are too many for one of `methods` tables, those of the worst rows."""
    lanes = every[: max(MOST_FIGURES // max(methods, 1) // len(heads), 1)]
    left_out = f" Only the worst {count(len(lanes))} of {count(len(every))} are included." if len(lanes) < len(every) else ""
    found = sum(m is not None for lane in lanes for m in lane.marks)
    figures = json.dumps({
        "what": what, "tone": tone, "releases": [f"{h.number}. {h.name}" for h in heads], "rows": [lane.name for lane in lanes],
        "values": [[None if m is None else _short(m.value) for m in lane.marks] for lane in lanes],
    }, ensure_ascii=False, separators=(",", ":"))
    caption = f"{name}: {tone} by {what} and release, {count(found)} figures"
    return SearchTable(caption, figures, _NOTE.format(what=what) + left_out)


def _short(value: float) -> float:
    """In ten-thousandths, rounded to as many digits as are shown, to save space."""
    return round(value * _UNIT) if abs(value) >= 0.001 else float(f"{value * _UNIT:.2g}")
