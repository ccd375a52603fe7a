"""Bars of one column: counts in bins of equal width, or one bar per category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from larvatus.core.number_format import count, plural
from larvatus.reporting.charts.scales import LinearScale
from larvatus.reporting.charts.wrapping import LINE, lines_width, text_lines, wrap_name
from larvatus.reporting.figures.svg import document, element, line, text, text_width
from larvatus.reporting.figures.value_axis import short

_WIDE = 640.0
_LEAST = 1e-300  # widths below it lose their digits
_LEFT, _TOP, _HIGH = 62.0, 56.0, 210.0


@dataclass(frozen=True, slots=True)
class ColumnBars:
    """Counts by bin (`ends` has one more entry) or by category (`names`)."""

    title: str
    counts: tuple[int, ...]
    ends: tuple[float, ...] = ()
    names: tuple[str, ...] = ()


def draw_bars(bars: ColumnBars) -> str:
    """Bins as a histogram; categories as horizontal bars with their whole names."""
    said = f"{bars.title}, {plural(sum(bars.counts), 'record')}"
    return _histogram(bars, said) if bars.ends else _categories(bars, said)


def _histogram(bars: ColumnBars, said: str) -> str:
    scale = LinearScale.up_to(float(max(bars.counts, default=1)), False)
    base, wide = _TOP + _HIGH, _WIDE - _LEFT - 12
    body = [text(0, 16, bars.title, "panel"), text(0, _TOP - 15, "↑ records", "axis-name")]
    for at, tick in scale.ticks():
        y = base - _HIGH * at
        body += [line(_LEFT, y, _WIDE - 12, y, "grid"), text(_LEFT - 6, y + 4, tick, "tick", "end")]
    each = wide / max(len(bars.counts), 1)
    for i, number in enumerate(bars.counts):
        high = _HIGH * scale.at(float(number))
        x, thick = _LEFT + i * each + 0.5, max(each - 1, 0.5)
        body.append(element("rect", x=x, y=base - high, width=thick, height=high, class_="shown"))
    taken = -1e9
    for i, end in enumerate(bars.ends):
        x, label = _LEFT + i * each, short(end)
        if x - text_width(label) / 2 > taken + 8:
            body.append(text(x, base + 18, label, "tick", "middle"))
            taken = x + text_width(label) / 2
    body.append(line(_LEFT, base, _WIDE - 12, base, "axis"))
    return document(bars.title, said, _WIDE, base + 28, "".join(body))


def _categories(bars: ColumnBars, said: str) -> str:
    names = min(220.0, lines_width(list(bars.names)) + 14)
    highest, y = max([*bars.counts, 1]), 30.0
    body = [text(0, 16, bars.title, "panel")]
    for name, number in zip(bars.names, bars.counts, strict=True):
        lines = wrap_name(name, names - 12)
        high = max(20.0, LINE * len(lines) + 4)
        wide = (_WIDE - names - 80) * number / highest
        body += [text_lines(0, y + 13, lines), element("rect", x=names, y=y + 2, width=wide, height=14.0, class_="shown"),
                 text(names + wide + 6, y + 13, count(number), "tick")]
        y += high
    return document(bars.title, said, _WIDE, y + 8, "".join(body))


def bars_of_numbers(title: str, values: Sequence[float], bins: int = 24) -> ColumnBars:
    """A histogram of finite values in about that number of bins, which begin and end at round numbers."""
    low, high = min(values), max(values)
    each = high / bins - low / bins
    width = _round_width(each) if each > _LEAST else 1.0
    first = floor(low / width)
    counts = [0] * max(ceil(high / width) - first, 1)
    for v in values:
        counts[min(floor(v / width) - first, len(counts) - 1)] += 1
    return ColumnBars(title, tuple(counts), tuple((first + i) * width for i in range(len(counts) + 1)))


def _round_width(width: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** floor(log10(width))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= width * (1 - 1e-9))
