"""Every release's figure in every sub-group or variable, where a table with a column each would be too wide to read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import count
from larvatus.reporting.page.blocks import SearchTable
from larvatus.reporting.page.lanes import Lane

MOST_FIGURES = 200_000  # in the whole report
_UNIT = 10_000
_NOTE = "Type words of a {what} and of a release to find its figure; the largest come first. This needs a browser with scripts."


def search_table(
    name: str, what: str, heads: Sequence[Headline], every: Sequence[Lane], tone: str, methods: int
) -> SearchTable:
    """All figures to be searched; of more than each of so many methods may have, those of the worst rows."""
    lanes = every[: max(MOST_FIGURES // max(methods, 1) // len(heads), 1)]
    left_out = f" They are those of the {count(len(lanes))} worst of {count(len(every))}." if len(lanes) < len(every) else ""
    found = sum(m is not None for lane in lanes for m in lane.marks)
    figures = json.dumps({
        "what": what, "tone": tone, "releases": [f"{h.number}. {h.name}" for h in heads], "rows": [lane.name for lane in lanes],
        "values": [[None if m is None else _short(m.value) for m in lane.marks] for lane in lanes],
    }, ensure_ascii=False, separators=(",", ":"))
    caption = f"{name}: {tone} by {what} and release, {count(found)} figures"
    return SearchTable(caption, figures, _NOTE.format(what=what) + left_out)


def _short(value: float) -> float:
    """In ten-thousandths, whole ones but for small figures: as many digits as are shown, in few letters."""
    return round(value * _UNIT) if abs(value) >= 0.001 else float(f"{value * _UNIT:.2g}")
