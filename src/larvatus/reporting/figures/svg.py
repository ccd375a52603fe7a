"""SVG as text: elements, a linear scale with round ticks, and a document a screen reader can name.

Colours and fonts come from the page's style sheet, so that dark mode and print need no second drawing.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from hashlib import blake2b
from html import escape

from larvatus.core.number_format import EXACT, SPACE

LETTER = 7.4  # mean width of a letter of the figures' type in the widest of the usual system fonts
BOLD = 1.18  # how much wider letters of names above panels are
_WIDE = 1.75  # how much wider Chinese, Japanese and Korean letters are


def element(tag: str, inner: str = "", **attributes: str | float) -> str:
    """One element; underscores in attribute names stand for hyphens, and values are escaped."""
    said = "".join(f' {k.strip("_").replace("_", "-")}="{_value(v)}"' for k, v in attributes.items())
    return f"<{tag}{said}>{inner}</{tag}>" if inner else f"<{tag}{said}/>"


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def text(x: float, y: float, said: str, class_: str = "label", anchor: str = "start", hint: str = "") -> str:
    inner = escape(said) + (element("title", escape(hint)) if hint else "")
    return element("text", inner, x=x, y=y, class_=class_, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def dot(x: float, y: float, class_: str, hint: str = "", radius: float = 4.5) -> str:
    return element("circle", element("title", escape(hint)) if hint else "", cx=x, cy=y, r=radius, class_=class_)


def diamond(x: float, y: float, class_: str, radius: float = 4.0) -> str:
    r = f"{radius:g}"
    return element("path", d=f"M{x:.1f} {y - radius:.1f}l{r} {r}l-{r} {r}l-{r} -{r}z", class_=class_)


def document(title: str, description: str, width: float, height: float, body: str) -> str:
    """The whole drawing, named and described for those who do not see it."""
    key = blake2b(f"{title}{description}{body}".encode(), digest_size=5).hexdigest()
    head = element("title", escape(title), id=f"t{key}") + element("desc", escape(description), id=f"d{key}")
    return element(
        "svg", head + body, viewBox=f"0 0 {width:.0f} {height:.0f}", width=width, height=height, role="img",
        aria_labelledby=f"t{key}", aria_describedby=f"d{key}",
    )


def shorten(said: str, width: float) -> str:
    """A text shortened to fit, with its middle left out."""
    if text_width(said) <= width:
        return said
    most = max(4, int(width / text_width(said) * len(said)))
    tail = (most - 1) // 2
    return f"{said[: most - 1 - tail]}…{said[len(said) - tail :]}"


def panel_name(x: float, y: float, name: str, wide: float) -> str:
    """The heading of a panel: as much of its name as fits, with the full name as a hint."""
    short = shorten(name, wide / BOLD)
    return text(x, y, short, "panel", hint=name if short != name else "")


def text_width(said: str, letter: float = LETTER) -> float:
    """The width of a text in pixels; marks above or below a letter take none."""
    if said.isascii():
        return len(said) * letter
    return letter * sum(_letters(one) for one in said)


def _letters(one: str) -> float:
    if unicodedata.category(one) in ("Mn", "Me", "Cf"):
        return 0.0
    return _WIDE if unicodedata.east_asian_width(one) in "WF" else 1.0


@dataclass(frozen=True, slots=True)
class AxisScale:
    """From 0 to a round number at least as high as the highest value, onto pixels."""

    high: float
    start: float
    end: float

    @classmethod
    def to(cls, highest: float, start: float, end: float, ceiling: float | None = None, steps: int = 5) -> AxisScale:
        top = highest if highest > EXACT else 1.0
        step = _round_step(top, steps)
        high = step * math.ceil(round(top / step, 9))
        return cls(min(high, ceiling) if ceiling and highest <= ceiling else high, start, end)

    def __call__(self, value: float) -> float:
        return self.start + (self.end - self.start) * min(max(value / self.high, 0.0), 1.0)

    def ticks(self, about: int = 5) -> list[float]:
        step = _round_step(self.high, about)
        return [step * i for i in range(int(round(self.high / step, 9)) + 1)]


def _round_step(high: float, about: int) -> float:
    rough = high / about
    power = 10.0 ** math.floor(math.log10(rough))
    return next((m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999), 10 * power)


def tick_text(value: float, step: float, as_share: bool) -> str:
    """All ticks of an axis with the same number of decimals."""
    shown, unit = (100 * value, 100 * step) if as_share else (value, step)
    if unit >= 1e5:
        return f"{shown:.3g}"
    decimals = next((d for d in range(12) if abs(round(unit, d) - unit) < 1e-6 * unit), 12)
    return f"{shown:,.{decimals}f}" + (f"{SPACE}%" if as_share else "")
