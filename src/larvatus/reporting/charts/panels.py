"""Small multiples: the same rows in one panel per release, each with a dot, its interval, its baseline and its limit."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from larvatus.reporting.charts.scales import Scale
from larvatus.reporting.charts.wrapping import LINE, lines_width, text_lines, wrap_name
from larvatus.reporting.figures.svg import BOLD, document, dot, element, line, text, text_width

_GAP, _LANE, _NARROWEST = 14.0, 20.0, 140.0


@dataclass(frozen=True, slots=True)
class PanelDot:
    """One figure with the ends of its interval, its baseline, and what it says on hover."""

    value: float
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Panels:
    """Named rows and named panels; `dots[panel][row]` is None if there is no figure."""

    title: str
    sentence: str
    rows: tuple[str, ...]
    panels: tuple[str, ...]
    dots: tuple[tuple[PanelDot | None, ...], ...]
    scale: Scale
    axis: str
    tone: str


def draw_panels(drawn: Panels, wide: float) -> str:
    """Panels side by side as far as they fit, then below each other, all on one scale."""
    names = min(250.0 if wide > 600 else 150.0, lines_width(list(drawn.rows)) + 12)
    across = max(1, min(len(drawn.panels), int((wide - names + _GAP) // (_NARROWEST + _GAP))))
    each = (wide - names - _GAP * (across - 1) - 8) / across
    body: list[str] = []
    y = 0.0
    for start in range(0, len(drawn.panels), across):
        part, y = _row_of_panels(drawn, start, across, names, each, y)
        body.append(part)
    body.append(text_lines(wide, y + 14, wrap_name(drawn.axis, wide, 6.6), "axis-name", "end"))
    return document(drawn.title, drawn.sentence, wide, y + 8 + LINE * len(wrap_name(drawn.axis, wide, 6.6)), "".join(body))


def _row_of_panels(
    drawn: Panels, start: int, across: int, names: float, each: float, y: float
) -> tuple[str, float]:
    some = range(start, min(start + across, len(drawn.panels)))
    titles = [wrap_name(drawn.panels[p], each / BOLD) for p in some]
    top = y + LINE * max(len(t) for t in titles) + 10
    lines = [wrap_name(n, names - 10) for n in drawn.rows]
    highs = [max(_LANE, LINE * len(own) + 5) for own in lines]
    starts = [top + sum(highs[:i]) for i in range(len(highs))]
    bottom = top + sum(highs)
    body = []
    for i, own in enumerate(lines):
        if i % 2 == 0:
            whole = names + across * (each + _GAP)
            body.append(element("rect", x=0.0, y=starts[i], width=whole, height=highs[i], class_="stripe"))
        body.append(text_lines(4, starts[i] + (highs[i] - LINE * len(own)) / 2 + 12, own))
    for place, p in enumerate(some):
        left = names + place * (each + _GAP) + 4
        body.append(text_lines(left, y + 13, titles[place], "panel"))
        body.append(_ticks(drawn.scale, left, each - 8, top, bottom))
        for i, found in enumerate(drawn.dots[p]):
            if found is not None:
                body.append(_dot(found, drawn, left, each - 8, starts[i] + highs[i] / 2))
    return "".join(body), bottom + 26


def _ticks(scale: Scale, left: float, wide: float, top: float, bottom: float) -> str:
    """A line at every tick, and the text of every tick, or of every second, third … one if there is no room for all."""
    ticks = scale.ticks()
    anchors = ["start" if at < 0.1 else "end" if at > 0.9 else "middle" for at, _ in ticks]
    ends = [_text_ends(left + wide * at, said, anchor) for (at, said), anchor in zip(ticks, anchors, strict=True)]
    step = next(k for k in range(1, len(ticks) + 1) if all(a[1] + 5 < b[0] for a, b in pairwise(ends[::k])))
    lines = [line(left + wide * at, top, left + wide * at, bottom, "grid") for at, _ in ticks]
    return "".join(lines + [text(left + wide * at, bottom + 15, said, "tick", anchor)
                            for (at, said), anchor in list(zip(ticks, anchors, strict=True))[::step]])


def _text_ends(x: float, said: str, anchor: str) -> tuple[float, float]:
    begin = x - text_width(said) * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
    return begin, begin + text_width(said)


def _dot(found: PanelDot, drawn: Panels, left: float, wide: float, y: float) -> str:
    def x(value: float) -> float:
        return left + wide * drawn.scale.at(value)

    out = []
    if found.low is not None and found.high is not None:
        out.append(line(x(found.low), y, x(found.high), y, f"whisker {drawn.tone}"))
    if found.baseline is not None:
        out.append(line(x(found.baseline), y - 7, x(found.baseline), y + 7, "chance"))
    out.append(dot(x(found.value), y, f"dot {drawn.tone}", found.hint, 4.5))
    return "".join(out)
