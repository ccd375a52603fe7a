"""Labels of points: whole names in lines, next to their points or joined to them by a line, none over another.

Points that lie on each other share a label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from larvatus.reporting.charts.wrapping import LINE, lines_width, wrap_name
from larvatus.reporting.figures.label_placement import Box

_NEAR = ((10, 4, "start"), (-10, 4, "end"), (8, -9, "start"), (8, 17, "start"), (-8, -9, "end"), (-8, 17, "end"),
         (0, -12, "middle"), (0, 21, "middle"))
OFFSETS = _NEAR  # where a label may stand without a line to its point
_STEP, _TURNS = 14.0, 24
_POINT = 7.0


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
    points: Sequence[tuple[float, float]], names: Sequence[str], frame: Box, widest: float, taken: Sequence[Box] = ()
) -> list[PointLabel]:
    """A label for every point, in the given order of importance; names of points on one spot are joined."""
    busy = [*taken, *(Box(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in points)]
    out: list[PointLabel] = []
    for (x, y), said in _join_spots(points, names):
        lines = tuple(wrap_name(said, widest))
        found = next((p for p in _around(x, y, lines) if p.box.inside(frame) and not any(p.box.meets(b) for b in busy)), None)
        if found is not None:
            out.append(found)
            busy.append(found.box)
    return out


def _join_spots(points: Sequence[tuple[float, float]], names: Sequence[str]) -> list[tuple[tuple[float, float], str]]:
    """Points with their names; those within three pixels of an earlier one give their name to it."""
    spots: list[tuple[tuple[float, float], list[str]]] = []
    for point, said in zip(points, names, strict=True):
        here = next((own for (x, y), own in spots if abs(x - point[0]) < 3 and abs(y - point[1]) < 3), None)
        if here is None:
            spots.append((point, [said]))
        else:
            here.append(said)
    return [(point, ", ".join(own)) for point, own in spots]


def _around(x: float, y: float, lines: tuple[str, ...]) -> Iterator[PointLabel]:
    """Places next to the point, then further away in a spiral."""
    for dx, dy, anchor in _NEAR:
        up = LINE * (len(lines) - 1) * (1.0 if dy < 0 else 0.5 if dy == 4 else 0.0)
        yield _label(x + dx, y + dy - up, anchor, lines)
    for ring in range(2, 30):
        for turn in range(_TURNS):
            angle = 2 * pi * turn / _TURNS - pi / 4
            to_x, to_y = x + _STEP * ring * cos(angle), y + _STEP * ring * sin(angle)
            made = _label(to_x, to_y, "start" if cos(angle) >= 0 else "end", lines)
            edge = made.box.left - 2 if cos(angle) >= 0 else made.box.right + 2
            middle = (made.box.top + made.box.bottom) / 2
            yield PointLabel(made.lines, made.x, made.y, made.anchor, made.box, (x, y, edge, middle))


def _label(x: float, y: float, anchor: str, lines: tuple[str, ...]) -> PointLabel:
    width = lines_width(list(lines))
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return PointLabel(lines, x, y, anchor, Box(left - 1, y - 12, left + width + 1, y + 4 + LINE * (len(lines) - 1)))
