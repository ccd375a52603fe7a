"""Small multiples: positions of panels, their headings, and the steps and lines drawn in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.reporting.figures.svg import element, line, panel_name, shorten, text, text_width
from larvatus.reporting.figures.value_axis import ValueAxis

WIDTH = 760.0
_GAP = 18.0
WIDEST = 371.0
SMALLER = 1.18  # how much more of the smaller type fits


@dataclass(frozen=True, slots=True)
class Frame:
    """The rectangle of a panel."""

    x: float
    y: float
    wide: float
    high: float

    @property
    def base(self) -> float:
        return self.y + self.high

    def along(self, part: float) -> float:
        return self.x + self.wide * part

    def up(self, part: float) -> float:
        return self.base - self.high * min(max(part, 0.0), 1.0)


def columns(n: int, start: float = 0.0) -> list[tuple[float, float]]:
    """Left end and width of each of n panels side by side."""
    wide = min((WIDTH - start - _GAP * (n - 1)) / n, WIDEST)
    return [(start + i * (wide + _GAP), wide) for i in range(n)]


def heading(x: float, y: float, wide: float, name: str, said: str = "") -> str:
    """A panel's name and, below it, its figure."""
    return panel_name(x, y, name, wide) + (text(x, y + 15, shorten(said, SMALLER * (wide + 12)), "tick") if said else "")


def panel_steps(ends: Sequence[float], heights: Sequence[float], frame: Frame, class_: str, highest: float) -> str:
    """One bar per bin, drawn as one outline."""
    out = [f"M{frame.x:.1f} {frame.base:.1f}"]
    for end, height in zip(ends[1:], heights, strict=True):
        out.append(f"V{frame.up(height / highest):.1f}H{frame.along(end):.1f}")
    return element("path", d=f"{''.join(out)}V{frame.base:.1f}", class_=class_)


def rising(ends: Sequence[float], parts: Sequence[float], frame: Frame, class_: str) -> str:
    """A line through the cumulative shares at the ends of the bins."""
    points = (f"{frame.along(e):.1f} {frame.up(p):.1f}" for e, p in zip(ends, parts, strict=True))
    return element("path", d="M" + "L".join(points), class_=class_)


def base_line(frame: Frame) -> str:
    return line(frame.x, frame.base, frame.x + frame.wide, frame.base, "axis")


def value_ticks(axis: ValueAxis, frame: Frame) -> str:
    """A few round values below a panel, as many as fit."""
    out: list[str] = []
    taken = frame.x - 8
    wanted = (0.08, 0.5, 0.92) if frame.wide >= 130 else (0.12, 0.88)
    for part, said in sorted(axis.ticks(wanted)):
        x, half = frame.along(part), text_width(said) / 2
        middle = min(max(x, frame.x + half), frame.x + frame.wide - half)
        if middle - half < taken + 6:
            continue
        taken = middle + half
        out += [line(x, frame.base, x, frame.base + 4, "axis"), text(middle, frame.base + 16, said, "tick", "middle")]
    return "".join(out)
