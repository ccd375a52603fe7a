"""Every release's figure in every sub-group or variable, where a table with a column each would be too wide to read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from larvatus.reporting.contents import SearchTable
from larvatus.reporting.headline import Headline
from larvatus.reporting.lanes import Lane
from larvatus.reporting.numbers import count

MOST_FIGURES = 40_000
DECIMALS = 4
NOTE = "Type words of a {what} and of a release to find its figure; the largest come first. This needs a browser with scripts."


def search_table(name: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: str) -> SearchTable | None:
    """All figures to be searched, none where they are more than a page can bear."""
    found = sum(m is not None for lane in lanes for m in lane.marks)
    if not 0 < found <= MOST_FIGURES:
        return None
    figures = json.dumps({
        "what": what, "tone": tone, "releases": [f"{h.number}. {h.name}" for h in heads], "rows": [lane.name for lane in lanes],
        "values": [[None if m is None else _short(m.value) for m in lane.marks] for lane in lanes],
    }, ensure_ascii=False, separators=(",", ":"))
    caption = f"{name}: {tone} by {what} and release, {count(found)} figures"
    return SearchTable(caption, figures, NOTE.format(what=what))


def _short(value: float) -> float:
    """As many digits as are shown: four decimals, of small figures two digits."""
    return round(value, DECIMALS) if abs(value) >= 0.001 else float(f"{value:.2g}")
