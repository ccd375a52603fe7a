"""Many releases at once: one lane per sub-group or variable, one cell per release; darker is worse."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from larvatus.core.number_format import EXACT, loss, share
from larvatus.reporting.figures.dot_plot import DotTone
from larvatus.reporting.figures.svg import document, element, shorten, text, text_width
from larvatus.reporting.page.chart_rows import Lane

_WIDTH, _NAMES = 760.0, 270.0
_TOP, _LANE = 58.0, 19.0
SHADES = 20
HINTS = 600  # cells beyond which hints would only make the file heavy; the table has the figures


def draw_strips(title: str, sentence: str, numbers: Sequence[int], lanes: Sequence[Lane], tone: DotTone) -> str:
    """One cell per release, numbered as in the report."""
    names = min(_NAMES, max(text_width(lane.name) for lane in lanes) + 16)
    wide = min((_WIDTH - names - 8) / len(numbers), 44.0)
    highest = max(EXACT, *(lane.worst for lane in lanes))
    hints = len(numbers) * len(lanes) <= HINTS
    show = share if tone == "risk" else loss
    body = [_legend(show(highest), tone), text(names - 10, _TOP - 8, "release", "tick", "end")]
    every = 1 if wide >= 20 else 5
    body += [
        text(names + wide * (j + 0.5), _TOP - 8, str(n), "tick", "middle")
        for j, n in enumerate(numbers) if n == 1 or n % every == 0
    ]
    if not hints:
        body += _shaded(lanes, names, wide, highest, tone)
    for i, lane in enumerate(lanes):
        y = _TOP + _LANE * i
        short = shorten(lane.name, names - 16)
        body.append(text(6, y + 14, short, hint=lane.name if short != lane.name else ""))
        for j, mark in enumerate(lane.marks):
            if mark is None or not hints:
                continue
            hint = element("title", escape(f"release {numbers[j]}, {lane.name}: {show(mark.value)}"))
            body.append(_cell(names + wide * j, y, wide, max(mark.value, 0.0) / highest, hint, tone))
    return document(title, sentence, _WIDTH, _TOP + _LANE * len(lanes) + 6, "".join(body))


def _shaded(lanes: Sequence[Lane], names: float, wide: float, highest: float, tone: DotTone) -> list[str]:
    """All cells of one shade as one path, which keeps the page small with thousands of cells."""
    gap = 1.0 if wide > 5 else 0.3
    shades: dict[int, list[str]] = {}
    for i, lane in enumerate(lanes):
        for j, mark in enumerate(lane.marks):
            if mark is not None:
                step = round(SHADES * max(mark.value, 0.0) / highest)
                shades.setdefault(step, []).append(f"M{names + wide * j:.1f} {_TOP + _LANE * (i + 0.5):g}h{wide - gap:.1f}")
    return [
        element("path", d="".join(places), class_=f"cells {tone}", stroke_width=_LANE - 2,
                stroke_opacity=f"{0.06 + 0.94 * step / SHADES:.2f}")
        for step, places in sorted(shades.items())
    ]


def _cell(x: float, y: float, wide: float, depth: float, hint: str, tone: DotTone) -> str:
    opacity = f"{0.06 + 0.94 * depth:.2f}"
    gap = 1.0 if wide > 5 else 0.3
    return element("rect", hint, x=x, y=y + 1, width=wide - gap, height=_LANE - 2, class_=f"cell {tone}", fill_opacity=opacity)


def _legend(highest: str, tone: DotTone) -> str:
    out = [text(6, 18, "0", "tick")]
    out += [_cell(20 + 18 * i, 5, 18, i / 5, "", tone) for i in range(6)]
    out.append(text(134, 18, f"{highest}, the highest {tone}", "tick"))
    return "".join(out)
