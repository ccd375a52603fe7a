"""Labels of points: whole names in lines, next to their points or joined to them by a line, none over another.

Points that lie on each other share a label. The script of the page places labels by the same numbers (`PLACES`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, cos, hypot, pi, sin

from larvatus.reporting.charts.wrapping import LINE, lines_width
from larvatus.reporting.figures.label_placement import Box
from larvatus.reporting.figures.svg import LETTER, text_width

_NEAR = ((10, 4, "start"), (-10, 4, "end"), (8, -9, "start"), (8, 17, "start"), (-8, -9, "end"), (-8, 17, "end"),
         (0, -12, "middle"), (0, 21, "middle"))
_STEP, _TURNS, _RINGS = 14.0, 24, 30
_POINT, _SPOT, _MOST = 7.0, 3.0, 8
_ABOVE, _BELOW, _SLACK, _APART = 12.0, 4.0, 0.01, 6.0
PLACES = {"near": _NEAR, "step": _STEP, "turns": _TURNS, "rings": _RINGS, "point": _POINT, "spot": _SPOT, "most": _MOST,
          "above": _ABOVE, "below": _BELOW, "line": LINE, "letter": LETTER, "slack": _SLACK, "apart": _APART}


@dataclass(frozen=True, slots=True)
class PointLabel:
    """A placed label: its lines, the baseline of the first, and the start of a line to its point if it is far from it."""

    lines: tuple[str, ...]
    x: float
    y: float
    anchor: str
    box: Box
    leader: tuple[float, float, float, float] | None = None


def place_point_labels(
    points: Sequence[tuple[float, float]], names: Sequence[Sequence[str]], frame: Box, widest: float,
    taken: Sequence[Box] = (), lines: Sequence[Box] = (), short: Sequence[str] = (),
) -> list[PointLabel]:
    """A label for every point, in the given order of importance; `names` are in lines, and points on one spot join theirs.

    Labels stay off what is `taken` and, if there is another place, off `lines`. If the names of a spot find no place, its
    `short` names are used.
    """
    brief = [(said,) for said in short] or names
    busy = [*taken, *(Box(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in points)]
    out: list[PointLabel] = []
    spots = zip(_join_spots(points, names, widest), _join_spots(points, brief, widest), strict=True)
    for ((x, y), said), (_, less) in spots:
        tries = ((said, _near, lines, out), (said, _near, (), out), (said, _far, lines, out), (said, _far, (), out),
                 (said, _far, (), ()), (less, _near, (), out), (less, _far, (), ()))
        found = next((p for text, around, also, crossed in tries for p in around(x, y, text)
                      if p.box.inside(frame) and not any(_inner(p.box).meets(b) for b in (*busy, *also))
                      and not any(way.meets(other.box) for way in _leader_boxes(p) for other in crossed)), None)
        if found is not None:
            out.append(found)
            busy += [found.box, *_leader_boxes(found)]
    return out


def _leader_boxes(label: PointLabel) -> list[Box]:
    """Small boxes along the line from a label to its point, without its ends."""
    if label.leader is None:
        return []
    x, y, to_x, to_y = label.leader
    steps = ceil(hypot(to_x - x, to_y - y) / _APART)
    at = [(x + (to_x - x) * k / steps, y + (to_y - y) * k / steps) for k in range(2, steps)]
    return [Box(a - 1, b - 1, a + 1, b + 1) for a, b in at]


def _inner(box: Box) -> Box:
    """A box that may touch others."""
    return Box(box.left + _SLACK, box.top + _SLACK, box.right - _SLACK, box.bottom - _SLACK)


def _join_spots(
    points: Sequence[tuple[float, float]], names: Sequence[Sequence[str]], widest: float
) -> list[tuple[tuple[float, float], tuple[str, ...]]]:
    """Points with their names; those within three pixels of an earlier one give their name to it."""
    spots: list[tuple[tuple[float, float], list[Sequence[str]]]] = []
    for point, said in zip(points, names, strict=True):
        here = next((own for (x, y), own in spots if abs(x - point[0]) < _SPOT and abs(y - point[1]) < _SPOT), None)
        if here is None:
            spots.append((point, [said]))
        else:
            here.append(said)
    return [(point, _join_names(own, widest)) for point, own in spots]


def _join_names(names: Sequence[Sequence[str]], widest: float) -> tuple[str, ...]:
    """Names one after the other, each on the line of the one before if it fits; the last ones of many are counted."""
    more = len(names) - _MOST
    shown = [*names[:_MOST], (f"{more} more",)] if more > 0 else names
    out = list(shown[0])
    for said in shown[1:]:
        joined = f"{out[-1]}, {said[0]}"
        if len(said) == 1 and text_width(joined) <= widest:
            out[-1] = joined
        else:
            out[-1] += ","
            out += said
    return tuple(out)


def _near(x: float, y: float, lines: tuple[str, ...]) -> Iterator[PointLabel]:
    """Places next to the point."""
    for dx, dy, anchor in _NEAR:
        up = LINE * (len(lines) - 1) * (1.0 if dy < 0 else 0.5 if dy == 4 else 0.0)
        yield _label(x + dx, y + dy - up, anchor, lines)


def _far(x: float, y: float, lines: tuple[str, ...]) -> Iterator[PointLabel]:
    """Places further away in a spiral, with a line to the point."""
    for ring in range(2, _RINGS):
        for turn in range(_TURNS):
            angle = 2 * pi * turn / _TURNS - pi / 4
            to_x, to_y = x + _STEP * ring * cos(angle), y + _STEP * ring * sin(angle)
            made = _label(to_x, to_y, "start" if cos(angle) >= 0 else "end", lines)
            edge = made.box.left - 1 if cos(angle) >= 0 else made.box.right + 1
            middle = (made.box.top + made.box.bottom) / 2
            yield PointLabel(made.lines, made.x, made.y, made.anchor, made.box, (x, y, edge, middle))


def _label(x: float, y: float, anchor: str, lines: tuple[str, ...]) -> PointLabel:
    width = lines_width(list(lines))
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return PointLabel(lines, x, y, anchor, Box(left - 1, y - _ABOVE, left + width + 1, y + _BELOW + LINE * (len(lines) - 1)))
