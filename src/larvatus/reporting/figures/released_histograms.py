"""Released distributions for the public: no original count, and no bin with few records before or after masking.

The tails that are cut off are not drawn and not on the axis, so the axis ends at the last bin with enough records.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from larvatus.core.number_format import count, finite_number
from larvatus.data.score import Row, Score
from larvatus.reporting.figures.histograms import WHOLE, axis_of
from larvatus.reporting.figures.small_multiples import WIDTH, Frame, base_line, columns, heading, value_ticks
from larvatus.reporting.figures.svg import document, element
from larvatus.reporting.figures.value_axis import ValueAxis
from larvatus.reporting.page.blocks import Figure, ReportBlock

_MOST_VARIABLES = 12
_BESIDE = 4
_NAMES, _HIGH, _FOOT = 42.0, 74.0, 34.0
FEWEST_BINS = 3


@dataclass(frozen=True, slots=True)
class ShownBins:
    """Shares of the released bins (None for bins that may not be shown), and the rounded loss in words."""

    name: str
    axis: ValueAxis
    shares: tuple[float | None, ...]
    said: str


def released_histograms(score: Score, columns_out: Collection[str], smallest: int, losses: dict[str, str]) -> list[ReportBlock]:
    """One figure with one panel for each released column that has enough bins to show."""
    found: dict[str, list[Row]] = {}
    for row in score.details.get("histogram", ()):
        if row.get("sub_group") == WHOLE and row.get("variable") in columns_out:
            found.setdefault(str(row.get("variable")), []).append(row)
    shown = [s for name, rows in found.items() if (s := _shown(name, rows, smallest, losses.get(name, "")))]
    if not shown:
        return []
    title = "Released distributions"
    sentence = (
        f"Histograms of the released columns. The loss is the share of records that would have to change bin to restore the "
        f"collected data. Bins with fewer than {smallest} records, before or after masking, are not drawn."
    )
    if any(s.axis.widens for s in shown[:_MOST_VARIABLES]):
        sentence += " Bins are wider in the tails, so the axis is not to scale."
    if len(shown) > _MOST_VARIABLES:
        sentence += f" The figure shows the first {_MOST_VARIABLES} of {count(len(shown))} columns."
    return [Figure(title, sentence, _drawn(title, sentence, shown[:_MOST_VARIABLES]))]


def _shown(name: str, rows: Sequence[Row], smallest: int, said: str) -> ShownBins | None:
    counts = [[finite_number(row.get(side)) or 0.0 for row in rows] for side in ("original", "released")]
    kept = [i for i, pair in enumerate(zip(*counts, strict=True)) if min(pair) >= smallest]
    total = sum(counts[1])
    if len(kept) < FEWEST_BINS or not total:
        return None
    first, last = kept[0], kept[-1]
    axis = axis_of([finite_number(row.get("high")) for row in rows[first:last]], bool(rows[0].get("dates")))
    if axis is None:
        return None
    return ShownBins(name, axis, tuple(counts[1][i] / total if i in kept else None for i in range(first, last + 1)), said)


def _drawn(title: str, sentence: str, shown: Sequence[ShownBins]) -> str:
    places = columns(min(_BESIDE, len(shown)))
    high = _NAMES + _HIGH + _FOOT
    body = []
    for i, panel in enumerate(shown):
        x, wide = places[i % _BESIDE]
        y = high * (i // _BESIDE)
        frame = Frame(x, y + _NAMES, wide, _HIGH)
        body += [heading(x, y + 14, wide, panel.name, panel.said), _bars(panel, frame), base_line(frame),
                 value_ticks(panel.axis, frame)]
    return document(title, sentence, WIDTH, high * ((len(shown) + _BESIDE - 1) // _BESIDE), "".join(body))


def _bars(panel: ShownBins, frame: Frame) -> str:
    ends = panel.axis.ends
    heights = [None if s is None else s / (b - a) for s, a, b in zip(panel.shares, ends, ends[1:], strict=False)]
    highest = max(h for h in heights if h is not None)
    parts = (
        f"M{frame.along(a):.1f} {frame.base:.1f}V{frame.up(h / highest):.1f}H{frame.along(b):.1f}V{frame.base:.1f}z"
        for h, a, b in zip(heights, ends, ends[1:], strict=False) if h is not None
    )
    return element("path", d="".join(parts), class_="shown")
