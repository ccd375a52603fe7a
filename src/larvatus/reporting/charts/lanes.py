"""A dot plot in lanes: one lane per attack or measure, in named groups, with one numbered mark per release.

A circle meets its limits, a square does not. The filled mark is the release that the report is about. Releases with the same
figure share one mark; marks that would cover each other are stacked, so that every number can be read. A lane without marks
has a remark, such as "not run".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from larvatus.reporting.charts.scales import Scale
from larvatus.reporting.charts.wrapping import LINE, lines_width, text_lines, wrap_name
from larvatus.reporting.figures.svg import document, element, line, text, text_width

_SCREEN_WIDTH, NARROW = 900.0, 380.0
_BASELINE = "baseline: guessing, also from the unmasked columns"
_RADIUS = 8.5
_SMALL = 6.6  # mean width of a letter of small type
_NAMES = 250.0
_SAME = 4.0  # pixels below which two figures look the same
_NUMBER, _DIGIT = 7.0, 7.0  # room for the number of a release in a shared mark, and for each of its digits


@dataclass(frozen=True, slots=True)
class ReleaseMark:
    """One release's figure in a lane, with its number in the report."""

    number: int
    value: float
    beyond: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseLane:
    """A named row of marks; `baseline` and `limit` are drawn as lines, `remark` is written at the end of the lane."""

    name: str
    marks: tuple[ReleaseMark, ...]
    baseline: float | None = None
    limit: float | None = None
    remark: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class LanePlot:
    """Groups of lanes on one scale, with the releases by number and what the lines mean."""

    title: str
    sentence: str
    groups: tuple[tuple[str, tuple[ReleaseLane, ...]], ...]
    scale: Scale
    axis: str
    releases: tuple[tuple[int, str], ...]
    favourite: int
    tone: str  # risk or loss


@dataclass(frozen=True, slots=True)
class LaneFrame:
    """The width of a drawing, the room for names, and the ends of the axis."""

    wide: float
    names: float
    left: float
    right: float

    @property
    def above(self) -> bool:
        """Whether names stand above their lanes, because there is no room for them to the left."""
        return self.names == 0

    def x(self, part: float) -> float:
        return self.left + (self.right - self.left) * part


def draw_lanes(plot: LanePlot, wide: float = _SCREEN_WIDTH) -> str:
    """The plot as SVG text, for a screen or, with names above their lanes, for a phone."""
    longest = lines_width([lane.name for _, lanes in plot.groups for lane in lanes])
    names = 0.0 if wide < 600 else min(_NAMES, longest + 18)
    frame = LaneFrame(wide, names, names + 16, wide - 20)
    key, y = lane_legend(plot, wide)
    body, high = lane_rows(plot, frame, y)
    return document(plot.title, plot.sentence, wide, high, key + body)


def lane_rows(plot: LanePlot, frame: LaneFrame, y: float) -> tuple[str, float]:
    """All groups of lanes below `y` with their axis, and the height they reach."""
    body, grid_top = list[str](), y + 4
    y += 8
    for name, lanes in plot.groups:
        body.append(text(0, y + 15, name, "panel"))
        y += 24
        for i, lane in enumerate(lanes):
            drawn, high = _lane(plot, frame, lane, y, striped=i % 2 == 0)
            body.append(drawn)
            y += high
        y += 6
    grid = "".join(
        line(frame.x(at), grid_top, frame.x(at), y, "grid") + text(frame.x(at), y + 16, said, "tick", "middle")
        for at, said in _sparse(plot.scale.ticks(), frame)
    )
    axis = line(frame.left, y, frame.right, y, "axis") + _axis_name(plot.axis, frame, y + 34)
    high = y + 34 + LINE * len(wrap_name(plot.axis, frame.wide - 4, _SMALL)) - 8
    return grid + "".join(body) + axis, high


def _axis_name(said: str, frame: LaneFrame, y: float) -> str:
    return text_lines(frame.right, y, wrap_name(said, frame.wide - 4, _SMALL), "axis-name", "end")


def _sparse(ticks: Sequence[tuple[float, str]], frame: LaneFrame) -> list[tuple[float, str]]:
    """Ticks whose texts do not meet."""
    out: list[tuple[float, str]] = []
    taken = -1e9
    for at, said in ticks:
        half = text_width(said) / 2
        if frame.x(at) - half > taken + 4:
            out.append((at, said))
            taken = frame.x(at) + half
    return out


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Releases with the same figure, drawn as one mark."""

    x: float
    marks: tuple[ReleaseMark, ...]

    @property
    def widths(self) -> list[float]:
        """The room for each number."""
        return [_NUMBER + _DIGIT * len(str(m.number)) for m in self.marks]

    @property
    def half(self) -> float:
        """Half the width of the mark; a number of three digits needs a wider one."""
        if len(self.marks) == 1:
            return max(_RADIUS, (self.widths[0] - 4) / 2)
        return sum(self.widths) / 2 + _RADIUS - _NUMBER


def _lane(plot: LanePlot, frame: LaneFrame, lane: ReleaseLane, y: float, striped: bool) -> tuple[str, float]:
    lines = wrap_name(lane.name, (frame.names if frame.names else frame.wide) - 14)
    clusters = _clusters(plot, frame, lane)
    levels = _levels(clusters)
    rows = max([level + 1 for level in levels], default=1)
    marks_high = rows * (2 * _RADIUS + 2) + 4
    top = y + (LINE * len(lines) + 2 if frame.above else 0)
    high = LINE * len(lines) + 2 + marks_high if frame.above else max(LINE * len(lines) + 6, marks_high)
    body = [element("rect", x=0.0, y=y, width=frame.wide, height=high, class_="stripe")] if striped else []
    first = y + 12 if frame.above else y + (high - LINE * len(lines)) / 2 + 12
    body.append(text_lines(6, first, lines, hint=lane.hint))
    middle = top + (marks_high if frame.above else high) / 2
    reach = (marks_high if frame.above else high) / 2 - 2
    for value, class_ in ((lane.baseline, "chance"), (lane.limit, "limit")):
        if value is not None:
            x = frame.x(plot.scale.at(value))
            body.append(line(x, middle - reach, x, middle + reach, class_))
    for cluster, level in zip(clusters, levels, strict=True):
        body.append(_mark(cluster, middle + (level - (rows - 1) / 2) * (2 * _RADIUS + 2), plot))
    if lane.remark:
        body.append(_remark(plot, frame, lane, middle))
    return "".join(body), high


def _clusters(plot: LanePlot, frame: LaneFrame, lane: ReleaseLane) -> list[_Cluster]:
    """Marks from left to right; those within a few pixels are joined if all or none of them break a limit."""
    out: list[_Cluster] = []
    for mark in sorted(lane.marks, key=lambda m: (m.value, m.number)):
        x = frame.x(plot.scale.at(mark.value))
        last = out[-1] if out else None
        if last is not None and x - last.x < _SAME and last.marks[0].beyond == mark.beyond:
            out[-1] = _Cluster(last.x, (*last.marks, mark))
        else:
            out.append(_Cluster(x, (mark,)))
    kept = (min(max(c.x, frame.left - 12 + c.half), frame.right + 12 - c.half) for c in out)
    return [_Cluster(x, tuple(sorted(c.marks, key=lambda m: m.number))) for x, c in zip(kept, out, strict=True)]


def _remark(plot: LanePlot, frame: LaneFrame, lane: ReleaseLane, y: float) -> str:
    """The remark on whichever side of the marks has more room."""
    xs = sorted([frame.left, frame.right, *(frame.x(plot.scale.at(m.value)) for m in lane.marks),
                 *(frame.x(plot.scale.at(v)) for v in (lane.baseline, lane.limit) if v is not None and lane.marks)])
    gap, left = max((b - a, a) for a, b in pairwise(xs))
    lines = wrap_name(lane.remark, max(gap - 26, 60), _SMALL)
    return text_lines(left + 14, y + 4 - LINE * (len(lines) - 1) / 2, lines, "remark")


def _levels(clusters: Sequence[_Cluster]) -> list[int]:
    """For each mark the first row in which it covers no earlier one."""
    ends: list[float] = []
    out = []
    for cluster in clusters:
        row = next((r for r, end in enumerate(ends) if cluster.x - cluster.half - end >= 1), len(ends))
        if row == len(ends):
            ends.append(0.0)
        ends[row] = cluster.x + cluster.half
        out.append(row)
    return out


def _mark(cluster: _Cluster, y: float, plot: LanePlot) -> str:
    """One mark with the numbers of its releases; the favourite among several has a filled disc of its own."""
    first, several = cluster.marks[0], len(cluster.marks) > 1
    own = f"mark {plot.tone}{' beyond' if first.beyond else ''}"
    hint = "\n".join(m.hint for m in cluster.marks if m.hint)
    if not several:
        return _badge(cluster.x, y, first.number, own + _filled(first, plot), first.beyond, hint)
    h, r = cluster.half, _RADIUS
    body = [element("title", escape(hint)) if hint else "",
            element("rect", x=cluster.x - h, y=y - r, width=2 * h, height=2 * r, rx=1.5 if first.beyond else r)]
    start = cluster.x - sum(cluster.widths) / 2
    for i, mark in enumerate(cluster.marks):
        x = start + sum(cluster.widths[:i]) + cluster.widths[i] / 2
        body.append(element("g", (_shape(x, y, r - 2, first.beyond) if mark.number == plot.favourite else "")
                            + text(x, y + 3.8, str(mark.number), "digit", "middle"),
                            class_=f"inner{_filled(mark, plot)}"))
    return element("g", "".join(body), class_=own)


def _filled(mark: ReleaseMark, plot: LanePlot) -> str:
    return " favourite" if mark.number == plot.favourite else ""


def _shape(x: float, y: float, r: float, square: bool) -> str:
    if square:
        return element("rect", x=x - r, y=y - r, width=2 * r, height=2 * r, rx=1.5)
    return element("circle", cx=x, cy=y, r=r)


def _badge(x: float, y: float, number: int, class_: str, square: bool, hint: str = "") -> str:
    said = text(x, y + 3.8, str(number), "digit", "middle")
    return element("g", (element("title", escape(hint)) if hint else "") + _shape(x, y, _RADIUS, square) + said, class_=class_)


def lane_legend(plot: LanePlot, wide: float) -> tuple[str, float]:
    """Every release by its number and whole name, then what circles, squares and lines mean."""
    body: list[str] = []
    x, y = 0.0, 12.0
    lanes = [lane for _, group in plot.groups for lane in group]
    for number, name in plot.releases:
        lines = wrap_name(name, wide - 34)
        need = lines_width(lines) + 34
        if x and x + need > wide:
            x, y = 0.0, y + 22
        class_ = f"mark {plot.tone}{' favourite' if number == plot.favourite else ''}"
        body += [_badge(x + 9, y, number, class_, False), text_lines(x + 24, y + 4, lines)]
        x += need + 8
        if len(lines) > 1:
            x, y = 0.0, y + 22 + LINE * (len(lines) - 1)
    marked = any(lane.baseline is not None or lane.limit is not None or any(m.beyond for m in lane.marks) for lane in lanes)
    x, y = 0.0, y + (22 if x and marked else 0)
    square = element("g", element("rect", x=2.0, y=-7.0, width=14.0, height=14.0, rx=1.5), class_=f"mark {plot.tone} beyond")
    for there, drawn, said in (
        (any(lane.baseline is not None for lane in lanes), line(9, -8, 9, 8, "chance"), _BASELINE),
        (any(lane.limit is not None for lane in lanes), line(9, -8, 9, 8, "limit"), "limit"),
        (any(m.beyond for lane in lanes for m in lane.marks), square, "breaks a limit"),
    ):
        need = text_width(said, _SMALL) + 46
        if there:
            if x and x + need > wide:
                x, y = 0.0, y + 20
            body.append(element("g", drawn + text(24, 4, said, "tick"), transform=f"translate({x:.0f} {y:.0f})"))
            x += need
    return "".join(body), y + 12
