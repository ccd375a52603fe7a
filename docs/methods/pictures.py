"""Drawings for the pages of methods: a column or two before and after a mask, and bars of risks or losses by release."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from larvatus.core.number_format import SPACE
from larvatus.reporting.charts.scales import LinearScale
from larvatus.reporting.charts.wrapping import LINE, text_lines, wrap_name
from larvatus.reporting.figures.svg import document, dot, element, line, text, text_width, tick_text
from larvatus.reporting.figures.value_axis import short

WIDE, HIGH, LEFT, TOP, GAP = 760.0, 250.0, 54.0, 42.0, 64.0


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values on an axis, with round ticks inside."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float]) -> Axis:
        low, high = min(values), max(values)
        edge = 0.04 * (high - low or 1.0)
        return cls(low - edge, high + edge)

    def at(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        rough = (self.high - self.low) / 4
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough)
        first = math.ceil(self.low / step)
        return [step * i for i in range(first, math.floor(self.high / step) + 1)]


Points = Sequence[tuple[float, float] | None]  # None for a record without both values
MARKED = 60  # one record in this many is drawn in red


def draw_scatter_pair(title: str, names: tuple[str, str], before: Points, after: Points) -> str:
    """Two scatter plots on the same axes: original and released records."""
    both = [p for p in (*before, *after) if p is not None]
    x, y = Axis.around([p[0] for p in both]), Axis.around([p[1] for p in both])
    wide = (WIDE - LEFT - GAP - 12) / 2
    body = []
    for side, (label, points, tone) in enumerate((("original", before, "loss"), ("released", after, "risk"))):
        left = LEFT + side * (wide + GAP)
        body.append(text(left, 14, label, "panel"))
        body += _axes(x, y, left, wide, names)
        places = [p and (left + wide * x.at(p[0]), TOP + HIGH * (1 - y.at(p[1]))) for p in points]
        body += [dot(*place, f"dot {tone}", radius=2.0) for place in places if place]
        body += [dot(*place, "point bad", radius=4.2) for place in places[:: MARKED] if place]
    said = f"{title}: {names[1]} against {names[0]}, {len(before)} original and {len(after)} released records on the same axes"
    return document(title, said, WIDE, TOP + HIGH + 44, "".join(body))


def _axes(x: Axis, y: Axis, left: float, wide: float, names: tuple[str, str]) -> list[str]:
    bottom = TOP + HIGH
    body = [element("rect", x=left, y=TOP, width=wide, height=HIGH, class_="frame")]
    for ticks, axis, upright in ((x.ticks(), x, False), (y.ticks(), y, True)):
        step = min((b - a for a, b in pairwise(ticks)), default=1.0)
        for t in ticks:
            said = tick_text(t, step, False)
            if upright:
                at = TOP + HIGH * (1 - axis.at(t))
                body += [line(left, at, left + wide, at, "grid"), text(left - 5, at + 4, said, "tick", "end")]
            else:
                at = left + wide * axis.at(t)
                body += [line(at, TOP, at, bottom, "grid"), text(at, bottom + 15, said, "tick", "middle")]
    body += [text(left + wide, bottom + 34, names[0], "axis-name", "end"), text(left, TOP - 4, names[1], "axis-name")]
    return body


def draw_category_pair(title: str, before: Sequence[str], after: Sequence[str], moved: str) -> str:
    """Two bars for each category: original and released records."""
    old, new = Counter(before), Counter(after)
    names = sorted(old, key=lambda n: -old[n]) + sorted(n for n in new if n not in old)
    side = max(text_width(n) for n in names) + 14
    scale = LinearScale.up_to(float(max([*old.values(), *new.values()])), False)
    y, body = 30.0, [text(0, 16, "original", "panel"), text(110, 16, "released", "panel"),
                     element("rect", x=66.0, y=6.0, width=26.0, height=11.0, class_="was"),
                     element("rect", x=180.0, y=6.0, width=26.0, height=11.0, class_="shown")]
    for name in names:
        body.append(text(0, y + 18, name))
        for place, (tally, tone) in enumerate(((old, "was"), (new, "shown"))):
            wide = (WIDE - side - 80) * scale.at(float(tally[name]))
            body += [element("rect", x=side, y=y + 13 * place, width=wide, height=12.0, class_=tone),
                     text(side + wide + 6, y + 10.5 + 13 * place, str(tally[name]), "tick")]
        y += 36
    body.append(text(0, y + 12, moved, "remark"))
    said = f"{title}: " + ", ".join(f"{n} {old[n]} before and {new[n]} after" for n in names) + f". {moved}"
    return document(title, said, WIDE, y + 24, "".join(body))


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure of one release with its baseline, or why there is none."""

    name: str
    value: float | None
    baseline: float | None = None
    remark: str = ""


def draw_release_bars(
    title: str, bars: Sequence[Bar], as_share: bool, tone: str, axis: str, mark: str = "chance or S alone"
) -> str:
    """One bar for each release, with a mark at its baseline."""
    side = 250.0
    known = [v for b in bars for v in (b.value, b.baseline) if v is not None]
    scale = LinearScale.up_to(max([*known, 1e-9]), as_share)
    wide, y = WIDE - side - 96, 30.0
    body = [text(0, 16, axis, "axis-name")]
    if any(b.baseline is not None for b in bars):
        body += [line(WIDE - 250, 5, WIDE - 250, 19, "chance"), text(WIDE - 242, 16, f"baseline: {mark}", "tick")]
    top = y
    for bar in bars:
        lines = wrap_name(bar.name, side - 14)
        high = max(24.0, LINE * len(lines) + 8)
        body.append(text_lines(0, y + 4 + 11, lines))
        if bar.value is None:
            body.append(text(side, y + 15, bar.remark, "remark"))
        else:
            long = wide * scale.at(max(bar.value, 0.0))
            fill = "shown" if tone == "risk" else "gap"
            right = side + max(long, wide * scale.at(bar.baseline or 0.0)) + 8
            body += [element("rect", x=side, y=y + 4, width=max(long, 1.0), height=13.0, class_=fill),
                     text(right, y + 15, _figure(bar.value, as_share), "tick")]
            if bar.baseline is not None:
                x = side + wide * scale.at(max(bar.baseline, 0.0))
                body.append(line(x, y + 1, x, y + 20, "chance"))
        y += high
    body.append(line(side, top, side, y, "axis"))
    shown = [f"{b.name}: {b.remark if b.value is None else _figure(b.value, as_share)}" for b in bars]
    said = f"{title}: {'; '.join(shown)}"
    return document(title, said, WIDE, y + 8, "".join(body))


def _figure(value: float, as_share: bool) -> str:
    if as_share:
        return f"{100 * value:.1f}{SPACE}%"
    return "0" if abs(value) < 1e-12 else short(value)
