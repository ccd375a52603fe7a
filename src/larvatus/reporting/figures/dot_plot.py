"""Dots with intervals: one lane per sub-group or variable, one panel per release, and the baselines of each dot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from larvatus.core.number_format import interval_text, loss, share
from larvatus.reporting.figures.svg import (
    AxisScale,
    diamond,
    document,
    dot,
    line,
    panel_name,
    shorten,
    text,
    text_width,
    tick_text,
)
from larvatus.reporting.page.chart_rows import Lane, Mark

_WIDTH, _NAMES, _GAP = 760.0, 270.0, 22.0
_TOP, _LANE = 58.0, 21.0
_NARROW = 110.0  # width below which only the ends of a scale are named
DotTone = Literal["risk", "loss"]


def draw_dots(
    title: str, sentence: str, panels: Sequence[str], lanes: Sequence[Lane], tone: DotTone, named: str = ""
) -> str:
    """All lanes in all panels on one scale, so that panels can be compared; `named` labels the dots."""
    bottom = _TOP + _LANE * len(lanes)
    names = min(_NAMES, max(text_width(lane.name) for lane in lanes) + 16)
    wide = (_WIDTH - names - _GAP * (len(panels) - 1) - 16) / len(panels)
    highest = max(v for lane in lanes for m in lane.marks if m for v in (m.value, m.high, m.chance, m.s_alone) if v is not None)
    body = [_legend(lanes, tone, named)]
    for i, lane in enumerate(lanes):
        y = _TOP + _LANE * (i + 0.5)
        if i % 2 == 0:
            body.append(f'<rect class="stripe" x="0" y="{y - _LANE / 2:.1f}" width="{_WIDTH:.0f}" height="{_LANE:.0f}"/>')
        short = shorten(lane.name, names - 16)
        body.append(text(6, y + 4, short, hint=lane.name if short != lane.name else ""))
    for p, panel in enumerate(panels if len(panels) > 1 else [""]):
        left = names + p * (wide + _GAP)
        scale = AxisScale.to(highest, left, left + wide, ceiling=1.0 if tone == "risk" else None, steps=8)
        body.append(_frame(panel, scale, wide, bottom, tone))
        body += [_marks(m, scale, _TOP + _LANE * (i + 0.5), tone) for i, lane in enumerate(lanes) if (m := lane.marks[p])]
    return document(title, sentence, _WIDTH, bottom + 26, "".join(body))


def _frame(panel: str, scale: AxisScale, wide: float, bottom: float, tone: DotTone) -> str:
    ticks = scale.ticks(4 if wide > 200 else 2)
    out = [panel_name(scale.start, _TOP - 12, panel, wide)] if panel else []
    taken = scale.start - 8
    for t in ticks:
        anchor = "end" if scale(t) > scale.end - 12 else "start" if t == 0 else "middle"
        said = tick_text(t, ticks[1], tone == "risk" and scale.high <= 1)
        left = scale(t) - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * text_width(said)
        out.append(line(scale(t), _TOP - 4, scale(t), bottom, "grid"))
        if left >= taken + 4 and (wide >= _NARROW or t in (ticks[0], ticks[-1])):
            out.append(text(scale(t), bottom + 17, said, "tick", anchor))
            taken = left + text_width(said)
    return "".join(out)


def _marks(mark: Mark, scale: AxisScale, y: float, tone: DotTone) -> str:
    out = []
    if mark.low is not None and mark.high is not None:
        out.append(line(scale(mark.low), y, scale(mark.high), y, f"whisker {tone}"))
    if mark.s_alone is not None and mark.s_alone != mark.chance:
        out.append(diamond(scale(mark.s_alone), y, "alone"))
    if mark.chance is not None:
        x = scale(mark.chance)
        out.append(line(x, y - 7, x, y + 7, "chance"))
    out.append(dot(scale(mark.value), y, f"dot {tone}", _hint(mark, tone), 4))
    return "".join(out)


def _hint(mark: Mark, tone: DotTone) -> str:
    if tone == "loss":
        return f"loss {loss(mark.value)}"
    ends = "" if mark.low is None else f" ({interval_text(mark.low, mark.high)})"
    known = [f"{name} {share(v)}" for name, v in (("chance", mark.chance), ("S alone", mark.s_alone)) if v is not None]
    return f"{share(mark.value)}{ends}" + (f"; {', '.join(known)}" if known else "")


def _legend(lanes: Sequence[Lane], tone: DotTone, named: str) -> str:
    """A label for each kind of mark that is drawn."""
    marks = [m for lane in lanes for m in lane.marks if m]
    ends = any(m.low is not None for m in marks)
    out = [line(6, 14, 26, 14, f"whisker {tone}") if ends else "", dot(16, 14, f"dot {tone}", "", 4)]
    if not named:
        named = ("risk, with its interval" if ends else "risk") if tone == "risk" else "loss; 0 is best"
    out.append(text(34, 18, named, "tick"))
    x = 34 + text_width(named) + 20
    if any(m.chance is not None for m in marks):
        same = all(m.s_alone == m.chance for m in marks)
        said = "chance; S alone gives the same" if same else "chance"
        out += [line(x, 7, x, 21, "chance"), text(x + 10, 18, said, "tick")]
        x += 30 + text_width(said)
    if any(m.s_alone is not None and m.s_alone != m.chance for m in marks):
        out += [diamond(x, 14, "alone"), text(x + 10, 18, "S alone", "tick")]
    return "".join(out)
