"""The risk–utility map: one point per release, loss to the right, risk upwards, the baselines as lines or bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.comparison.headline import Headline, unbeaten
from larvatus.comparison.release_sentences import plain_name
from larvatus.core.number_format import finite_number, interval_text, loss, share, shares
from larvatus.reporting.figures.label_placement import Box, place_labels
from larvatus.reporting.figures.svg import AxisScale, document, dot, element, line, shorten, text, tick_text

_WIDTH, HEIGHT = 760.0, 460.0
_LEFT, RIGHT, _TOP, BOTTOM = 62.0, 596.0, 34.0, 408.0
_LONGEST = 200.0  # pixels a label may take
MOST_NAMES = 12  # points beyond which numbers are easier to read than names
LINE = 16.0


@dataclass(frozen=True, slots=True)
class Point:
    """A release that has both a risk and a loss."""

    head: Headline
    loss: float
    risk: float
    low: float
    high: float


def map_points(heads: Sequence[Headline]) -> tuple[Point, ...]:
    """The releases that can be drawn."""
    out = []
    for h in heads:
        if h.risk is None or h.loss is None or h.attack is None:
            continue
        low, high = h.attack.interval or (h.risk, h.risk)
        out.append(Point(h, h.loss, h.risk, _or(finite_number(low), h.risk), _or(finite_number(high), h.risk)))
    return tuple(out)


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def draw_map(points: Sequence[Point], title: str, sentence: str, y_name: str, x_name: str) -> str:
    """The map as SVG text."""
    chance, alone = _range(points, "chance"), _range(points, "s_alone")
    tops = [*(p.high for p in points), *chance[1:], *alone[1:]]
    x = AxisScale.to(max(p.loss for p in points), _LEFT + 14, RIGHT - 24)
    y = AxisScale.to(max(tops), BOTTOM, _TOP, ceiling=1.0)
    best = {p.number for p in unbeaten([p.head for p in points])}
    order = sorted(points, key=lambda p: (p.head.number not in best, p.risk))
    at = [(x(p.loss), y(p.risk)) for p in order]
    few = len(points) <= MOST_NAMES
    names = [(*([shorten(p.head.name, _LONGEST)] if few else []), str(p.head.number)) for p in order]
    labels = place_labels(at, names, Box(_LEFT, _TOP - 4, RIGHT + 6, BOTTOM - 2))
    body = [_axes(x, y, x_name, y_name), _references(chance, alone, y), *(_whisker(p, x, y) for p in points)]
    body += [dot(*place, "point" if p.head.number in best else "point beaten", _hint(p), 5)
             for p, place in reversed(list(zip(order, at, strict=True)))]
    body += [text(label.x, label.y, label.said, "label name", label.anchor) for label in labels if label]
    return document(title, sentence, _WIDTH, HEIGHT, "".join(body))


def _range(points: Sequence[Point], which: str) -> tuple[float, ...]:
    """Lowest and highest baseline; empty if no attack has one."""
    values = [finite_number(getattr(p.head.attack, which)) for p in points]
    known = [v for v in values if v is not None]
    return (min(known), max(known)) if known else ()


def _axes(x: AxisScale, y: AxisScale, x_name: str, y_name: str) -> str:
    out = [line(_LEFT, y(t), RIGHT, y(t), "grid") for t in y.ticks()]
    out += [text(_LEFT - 8, y(t) + 4, tick_text(t, y.ticks()[1], y.high <= 1), "tick", "end") for t in y.ticks()]
    out += [line(x(t), BOTTOM, x(t), BOTTOM + 5, "axis") for t in x.ticks()]
    out += [text(x(t), BOTTOM + 20, tick_text(t, x.ticks()[1], False), "tick", "middle") for t in x.ticks()]
    out.append(line(_LEFT, BOTTOM, RIGHT, BOTTOM, "axis"))
    out.append(text(_LEFT - 52, 16, f"risk: success of {y_name} ↑", "axis-name"))
    out.append(text(RIGHT, HEIGHT - 10, f"{x_name} →", "axis-name", "end"))
    return "".join(out)


def _references(chance: Sequence[float], alone: Sequence[float], y: AxisScale) -> str:
    """Lines or bands for both baselines, named to the right of the plot."""
    same = chance and alone and shares(chance) == shares(alone)
    wanted = [("chance, S alone", chance, "chance")] if same else [("S alone", alone, "alone"), ("chance", chance, "chance")]
    out, lowest = [], BOTTOM + LINE + 4
    for name, ends, class_ in sorted((w for w in wanted if w[1]), key=lambda w: w[1][1]):
        low, high = y(ends[0]), y(ends[1])
        out.append(element("rect", x=_LEFT, y=high, width=RIGHT - _LEFT, height=max(low - high, 0.0), class_=f"band {class_}")
                   if low - high > 1.5 else line(_LEFT, high, RIGHT, high, f"reference {class_}"))
        lowest = min(high + 4, lowest - LINE)
        out.append(text(RIGHT + 8, lowest, f"{name} {shares(ends)}", "tick"))
    return "".join(out)


def _whisker(point: Point, x: AxisScale, y: AxisScale) -> str:
    if point.high <= point.low:
        return ""
    return line(x(point.loss), y(point.low), x(point.loss), y(point.high), "whisker risk")


def _hint(point: Point) -> str:
    attack = plain_name(point.head.attack.method) if point.head.attack else ""
    return (
        f"{point.head.number}. {point.head.name}: risk {share(point.risk)} ({interval_text(point.low, point.high)}, {attack}), "
        f"loss {loss(point.loss)}"
    )
