"""The risk–utility map: one labelled point per release, loss to the right, excess risk upwards, the frontier, and the limits.

Positions are parts of an axis between 0 and 1. The script of the page makes this drawing one that readers can walk through. For
other axes it gets the pixels of releases, ticks and limits, which the frames here compute, and the lines of text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import NamedTuple

from larvatus.reporting.charts.labels import place_point_labels
from larvatus.reporting.charts.scales import Scale
from larvatus.reporting.charts.wrapping import LINE, text_lines, wrap_name
from larvatus.reporting.figures.label_placement import Box
from larvatus.reporting.figures.svg import document, element, line, text, text_width

MOST_NAMES = 12  # points beyond which only the most important have names and the others have numbers
LIMIT_NAME = "beyond the limit ↑"
RADII = {"circle": (5.5, 7.0), "square": (5.0, 6.0)}  # of a point, and of the point that the report is about
SMALL = 6.6  # mean width of a letter of small type
_BOLD = 7.8  # and of bold type


class MapFrame(NamedTuple):
    """The plot inside the drawing, in pixels; points stay `pad` away from its sides, and `above` away from its top."""

    wide: float
    high: float
    left: float
    right: float
    top: float
    bottom: float
    pad: float = 16.0
    above: float = 32.0

    @property
    def widest(self) -> float:
        """The widest label."""
        return min(230.0, (self.right - self.left) * 0.45)

    def name_lines(self, name: str) -> list[str]:
        """The name of a release, in lines."""
        return wrap_name(name, self.widest)

    def axis_lines(self, name: str) -> list[str]:
        """The name of an axis, in lines."""
        return wrap_name(name, self.wide - 4, SMALL)

    def x(self, part: float) -> float:
        return self.left + self.pad + (self.right - self.left - 2 * self.pad) * part

    def y(self, part: float) -> float:
        return self.bottom - self.pad - (self.bottom - self.top - self.pad - self.above) * part


SCREEN = MapFrame(640.0, 470.0, 58.0, 632.0, 40.0, 412.0)
PHONE = MapFrame(360.0, 430.0, 50.0, 356.0, 56.0, 366.0)


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A release on the map; `best` if it is on the frontier, `passes` if the rule lets it pass, `named` if it gets its name."""

    number: int
    name: str
    x: float
    y: float
    best: bool
    passes: bool
    named: bool
    hint: str


@dataclass(frozen=True, slots=True)
class RiskMap:
    """Everything that the map shows.

    `limits` are the lowest and the highest limit on risk among the releases, `most_loss` is the limit on the mean loss.
    `closed` is the reason why no point of the map may be released, if there is one; then the whole map is shaded.
    """

    title: str
    sentence: str
    points: tuple[MapPoint, ...]
    across: Scale
    upward: Scale
    x_name: str
    y_name: str
    limits: tuple[float, float] | None
    favourite: int
    most_loss: float | None = None
    closed: str = ""

    def fit(self, frame: MapFrame) -> MapFrame:
        """The frame with room above the points for the reason why no point may be released."""
        lines = len(self.reason_lines(frame))
        return frame._replace(above=max(frame.above, LINE * lines + 20)) if lines else frame

    def reason_lines(self, frame: MapFrame) -> list[str]:
        return wrap_name(self.closed, frame.right - frame.left - 16, _BOLD) if self.closed else []


def draw_risk_map(drawn: RiskMap, frame: MapFrame = SCREEN) -> str:
    """The map as SVG text."""
    frame = drawn.fit(frame)
    at = {p.number: (frame.x(drawn.across.at(p.x)), frame.y(drawn.upward.at(p.y))) for p in drawn.points}
    order = sorted(drawn.points, key=lambda p: (p.number != drawn.favourite, not p.named, not p.best, p.y))
    names = [frame.name_lines(p.name if p.named else str(p.number)) for p in order]
    room = Box(frame.left + 2, frame.top + 2, frame.right, frame.bottom - 1)
    corners = _corners(drawn, at)
    edges = [Box(min(a, c), min(b, d), max(a, c), max(b, d)) for (a, b), (c, d) in pairwise(corners)]
    limit = _limit_name(drawn, frame, at.values())
    taken = [limit] if limit else []
    if limit and drawn.limits:
        low = frame.y(drawn.upward.at(drawn.limits[0]))
        edges.append(Box(frame.left, low - 1, frame.right, low + 1))
    if drawn.closed:
        taken.append(Box(frame.left, frame.top, frame.right, frame.top + frame.above - 12))
    labels = place_point_labels([at[p.number] for p in order], names, room, frame.widest, taken, edges,
                                [str(p.number) for p in order])
    body = [_limits(drawn, frame, limit), _loss_limit(drawn, frame), _axes(drawn, frame), _frontier(corners)]
    body += [line(*label.leader, "leader") for label in labels if label.leader]
    body += [_point(p, *at[p.number], p.number == drawn.favourite) for p in reversed(order)]
    body += [text_lines(label.x, label.y, list(label.lines), "label name", label.anchor) for label in labels]
    return document(drawn.title, drawn.sentence, frame.wide, frame.high, "".join(body))


def _point(point: MapPoint, x: float, y: float, favourite: bool) -> str:
    class_ = f"point {'good' if point.passes else 'bad'}{' favourite' if favourite else ''}{'' if point.best else ' beaten'}"
    hint = element("title", escape(point.hint))
    if point.passes:
        return element("circle", hint, cx=x, cy=y, r=RADII["circle"][favourite], class_=class_, data_number=point.number)
    r = RADII["square"][favourite]
    return element("rect", hint, x=x - r, y=y - r, width=2 * r, height=2 * r, class_=class_, data_number=point.number)


def _limits(drawn: RiskMap, frame: MapFrame, name: Box | None) -> str:
    """What lies beyond the limits, shaded; lighter where only some releases have so low a limit."""
    if drawn.closed:
        return _closed(drawn, frame)
    if drawn.limits is None or name is None:
        return ""
    low, high = (frame.y(drawn.upward.at(v)) for v in drawn.limits)
    wide = frame.right - frame.left
    out = [element("rect", x=frame.left, y=frame.top, width=wide, height=max(high - frame.top, 0.0), class_="forbidden")]
    if low - high > 1:
        out.append(element("rect", x=frame.left, y=high, width=wide, height=low - high, class_="forbidden some"))
    out.append(line(frame.left, low, frame.right, low, "limit"))
    return "".join(out) + text(name.right - 4, low - 5, LIMIT_NAME, "tick", "end")


def _closed(drawn: RiskMap, frame: MapFrame) -> str:
    """The whole map shaded, with the reason at its top."""
    shade = element("rect", x=frame.left, y=frame.top, width=frame.right - frame.left, height=frame.bottom - frame.top,
                    class_="forbidden")
    return shade + text_lines(frame.left + 8, frame.top + 18, drawn.reason_lines(frame), "reason")


def _loss_limit(drawn: RiskMap, frame: MapFrame) -> str:
    """What lies beyond the limit on the mean loss, shaded."""
    x = frame.x(drawn.across.at(drawn.most_loss)) if drawn.most_loss is not None and not drawn.closed else frame.right
    if x >= frame.right:
        return ""
    high = frame.bottom - frame.top
    return element("rect", x=x, y=frame.top, width=frame.right - x, height=high, class_="forbidden") + line(
        x, frame.top, x, frame.bottom, "limit")


def _limit_name(drawn: RiskMap, frame: MapFrame, points: Iterable[tuple[float, float]]) -> Box | None:
    """The place of the name of the limit: as far to the right as no point lies in it, else at the right end."""
    if drawn.limits is None or drawn.closed:
        return None
    y, wide = frame.y(drawn.upward.at(drawn.limits[0])), text_width(LIMIT_NAME, SMALL)
    near = sorted((x for x, at in points if y - 25 < at < y + 9), reverse=True)
    right = next((end for end in (frame.right, *(x - 8 for x in near))
                  if end - 4 - wide > frame.left and not any(end - 12 - wide < x < end + 8 for x in near)), frame.right)
    return Box(right - 4 - wide, y - 17, right, y + 1)


def _axes(drawn: RiskMap, frame: MapFrame) -> str:
    out: list[str] = []
    for part, said in drawn.upward.ticks():
        y = frame.y(part)
        out += [line(frame.left, y, frame.right, y, "grid"), text(frame.left - 6, y + 4, said, "tick", "end")]
    taken = -1e9
    for part, said in drawn.across.ticks():
        x, half = frame.x(part), text_width(said) / 2
        if x - half > taken + 4:
            out += [line(x, frame.bottom, x, frame.bottom + 5, "axis"), text(x, frame.bottom + 19, said, "tick", "middle")]
            taken = x + half
    out.append(line(frame.left, frame.bottom, frame.right, frame.bottom, "axis"))
    out.append(text_lines(0, 14, frame.axis_lines(f"↑ {drawn.y_name}"), "axis-name"))
    lines = frame.axis_lines(f"{drawn.x_name} →")
    out.append(text_lines(frame.right, frame.bottom + 38, lines, "axis-name", "end"))
    return "".join(out)


def _corners(drawn: RiskMap, at: dict[int, tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of the frontier, from the least risk to the least loss."""
    best = sorted((at[p.number] for p in drawn.points if p.best), key=lambda xy: (-xy[1], xy[0]))
    steps = [corner for (x, _), (to_x, to_y) in pairwise(best) for corner in ((x, to_y), (to_x, to_y))]
    return [*best[:1], *steps]


def _frontier(corners: list[tuple[float, float]]) -> str:
    if len(corners) < 2:
        return ""
    return element("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners), class_="frontier")
