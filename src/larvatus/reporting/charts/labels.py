"""Labels of points: whole names in lines, next to their points or joined to them by a line, none over another.

Points that lie on each other share a label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, cos, hypot, inf, pi, sin
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from larvatus.reporting.charts.wrapping import LINE, lines_width
from larvatus.reporting.figures.label_placement import Box, BoxRows, any_meets, as_rows, rows_inside
from larvatus.reporting.figures.svg import LETTER, text_width

_NEAR = ((10, 4, "start"), (-10, 4, "end"), (8, -9, "start"), (8, 17, "start"), (-8, -9, "end"), (-8, 17, "end"),
         (0, -12, "middle"), (0, 21, "middle"))
_STEP, _TURNS, _RINGS = 14.0, 16, 11
_POINT, _SPOT, _MOST = 7.0, 3.0, 8
_ABOVE, _BELOW, _SLACK, _APART = 12.0, 4.0, 0.01, 6.0
_CLOSE = 14.0  # a line may leave its point through the points next to it
_REACH = 52.0  # how far a point may be from the one that its label is next to
_RUN = 3  # numbers in a row that are written as a range
PLACES = {"near": _NEAR, "point": _POINT, "above": _ABOVE, "below": _BELOW, "line": LINE, "letter": LETTER}  # for the script


@dataclass(frozen=True, slots=True)
class PointLabel:
    """A placed label: its lines, the baseline of the first, and the start of a line to its point if it is far from it."""

    lines: tuple[str, ...]
    x: float
    y: float
    anchor: str
    box: Box
    leader: tuple[float, float, float, float] | None = None


class _Spot(NamedTuple):
    """A place with the names of all points on it, and of those that share its label, which are at most `reach` away."""

    x: float
    y: float
    names: tuple[Sequence[str], ...]
    members: tuple[tuple[float, float], ...]
    reach: float = 0.0


def place_point_labels(
    points: Sequence[tuple[float, float]], names: Sequence[Sequence[str]], frame: Box, widest: float,
    taken: Sequence[Box] = (), lines: Sequence[Box] = (), short: Sequence[str] = (),
) -> list[PointLabel]:
    """A label for every point, in the given order of importance; `names` are in lines, and points on one spot join theirs.

    Labels stay off what is `taken` and, if there is another place, off `lines`. No line to a label crosses another line,
    label or point. A point whose label finds no such place is tried before all others; if that does not help, it shares the
    label of its nearest neighbour. If names do not fit even so, `short` names are used. If a number would share the label of
    a point far away, lines may cross instead.
    """
    taken = [*taken, *(Box(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in points)]
    ground = _Ground(frame, as_rows(taken), as_rows(lines), widest, {})
    for said in (names, [(one,) for one in short] or names):
        spots = _join_spots(points, said)
        while spots:
            placed, left = _place_all(spots, ground)
            if left is None:
                return placed
            placed, again = _place_all([left, *(s for s in spots if s is not left)], ground)
            if again is None:
                return placed
            near = _merge_spots(spots, left, _REACH)
            if near or not _is_number(left.names[0]):
                spots = near
                continue
            crossed = _place_all(spots, ground, crossing=True)[0]
            if len(crossed) == len(spots):
                return crossed
            spots = _merge_spots(spots, left)
    return _place_all(_join_spots(points, said), ground, crossing=True)[0]


class _Places(NamedTuple):
    """Places for one label in order of preference, with what does not depend on the other labels.

    `boxes` are a little smaller than those of the labels, since boxes may touch each other. `usable` are the places in the
    frame and off what is taken. `ways` are stored when they are first needed.
    """

    labels: list[PointLabel]
    boxes: BoxRows
    usable: npt.NDArray[np.intp]
    on_line: npt.NDArray[np.bool_]
    ways: dict[int, BoxRows | None]

    def way(self, place: int, taken: BoxRows) -> BoxRows | None:
        """Boxes along the line of a label; None if it runs through what is taken and not next to its own point."""
        if place not in self.ways:
            label = self.labels[place]
            boxes = as_rows(_leader_boxes(label))
            if label.leader is not None:
                x, y = label.leader[:2]
                own = Box(x - _CLOSE, y - _CLOSE, x + _CLOSE, y + _CLOSE)
                clear = not any_meets(boxes[~rows_inside(boxes, own)], taken).any()
            self.ways[place] = boxes if label.leader is None or clear else None
        return self.ways[place]


class _Ground(NamedTuple):
    """Where labels may be placed. The same places are tried again in every round, so they are stored."""

    frame: Box
    taken: BoxRows
    lines: BoxRows
    widest: float
    stored: dict[object, _Places]

    def places(self, spot: _Spot) -> Iterator[_Places]:
        """Places next to a spot, then those further away."""
        said = _join_names(spot.names, self.widest)
        for around in (_near, _far):
            at = (around, spot.x, spot.y, said)
            if at not in self.stored:
                self.stored[at] = self._judged(list(around(spot.x, spot.y, said)))
            yield self.stored[at]

    def _judged(self, labels: list[PointLabel]) -> _Places:
        boxes = as_rows([p.box for p in labels])
        inner = boxes + np.array([_SLACK, _SLACK, -_SLACK, -_SLACK])
        usable = np.flatnonzero(rows_inside(boxes, self.frame) & ~any_meets(inner, self.taken))
        return _Places(labels, inner, usable, any_meets(inner, self.lines), {})


def _place_all(spots: Sequence[_Spot], ground: _Ground, crossing: bool = False) -> tuple[list[PointLabel], _Spot | None]:
    """Labels of all spots, or up to the first without a place, and that one. If lines may cross, it is left out instead."""
    busy, labels, leaders, out = as_rows([]), as_rows([]), as_rows([]), list[PointLabel]()
    for spot in spots:
        found = next((p for places in ground.places(spot)
                      if (p := _first_free(places, ground, busy, labels, leaders, crossing)) is not None), None)
        if found is not None:
            out.append(found)
            busy = np.vstack([busy, as_rows([found.box, *_leader_boxes(found)])])
            labels = np.vstack([labels, as_rows([found.box])])
            leaders = np.vstack([leaders, as_rows([found.leader] if found.leader else [])])
        elif not crossing:
            return out, spot
    return out, None


def _first_free(
    places: _Places, ground: _Ground, busy: BoxRows, labels: BoxRows, leaders: BoxRows, crossing: bool
) -> PointLabel | None:
    """The first place off everything; else the first off all but lines; else, if its line may cross others, the first one."""
    free = places.usable[~any_meets(places.boxes[places.usable], busy)]
    on_line = places.on_line[free]
    wanted = [int(i) for i in (*free[~on_line], *free[on_line])]
    found = next((i for i in wanted if not _crosses(places, i, ground.taken, labels, leaders)), None)
    if found is None and crossing and len(free):
        found = int(free[0])
    return None if found is None else places.labels[found]


def _crosses(places: _Places, place: int, taken: BoxRows, labels: BoxRows, leaders: BoxRows) -> bool:
    """Whether the line of a label runs through another label, another line, or what is taken and not next to its own point."""
    line, way = places.labels[place].leader, places.way(place, taken)
    if line is None:
        return False
    return way is None or bool(any_meets(way, labels).any() or _segments_meet(line, leaders).any())


def _segments_meet(one: tuple[float, float, float, float], others: BoxRows) -> npt.NDArray[np.bool_]:
    """Which of the others a segment crosses: each has its ends on both sides of the other."""
    def side(line: Any, x: Any, y: Any) -> Any:
        return (line[2] - line[0]) * (y - line[1]) - (line[3] - line[1]) * (x - line[0])

    left, top, right, bottom = two = others.T
    apart = side(one, left, top) * side(one, right, bottom) < 0
    found: npt.NDArray[np.bool_] = apart & (side(two, *one[:2]) * side(two, *one[2:]) < 0)
    return found


def _leader_boxes(label: PointLabel) -> list[Box]:
    """Small boxes along the line from a label to its point, without its ends."""
    if label.leader is None:
        return []
    x, y, to_x, to_y = label.leader
    steps = ceil(hypot(to_x - x, to_y - y) / _APART)
    at = [(x + (to_x - x) * k / steps, y + (to_y - y) * k / steps) for k in range(2, steps)]
    return [Box(a - 1, b - 1, a + 1, b + 1) for a, b in at]


def _join_spots(points: Sequence[tuple[float, float]], names: Sequence[Sequence[str]]) -> list[_Spot]:
    """Points with their names; those on an earlier one give their name to it."""
    spots: list[_Spot] = []
    for (x, y), said in zip(points, names, strict=True):
        here = next((i for i, s in enumerate(spots) if abs(s.x - x) < _SPOT and abs(s.y - y) < _SPOT), None)
        if here is None:
            spots.append(_Spot(x, y, (said,), ((x, y),)))
        else:
            spots[here] = spots[here]._replace(names=(*spots[here].names, said))
    return spots


def _merge_spots(spots: Sequence[_Spot], left: _Spot, most: float = inf) -> list[_Spot]:
    """The spots without one, whose names the nearest of the same kind takes; none if there is none, or a point is too far."""
    found = _nearest_pair([(s, left) for s in spots if s is not left])
    return _replace_pair(spots, *found) if found is not None and found[2].reach <= most else []


def _nearest_pair(pairs: Sequence[tuple[_Spot, _Spot]]) -> tuple[_Spot, _Spot, _Spot] | None:
    """The pair of one kind that is nearest to each other, and both as one spot; None if no two are of one kind."""
    alike = [(a, b) for a, b in pairs if _is_number(a.names[0]) == _is_number(b.names[0])]
    near = min(alike, key=lambda ab: hypot(ab[0].x - ab[1].x, ab[0].y - ab[1].y), default=None)
    return None if near is None else (*near, _joined(*near))


def _joined(one: _Spot, other: _Spot) -> _Spot:
    """Two spots as one, in the place of the first."""
    members = (*one.members, *other.members)
    reach = max(hypot(x - one.x, y - one.y) for x, y in members)
    return _Spot(one.x, one.y, (*one.names, *other.names), members, reach)


def _replace_pair(spots: Sequence[_Spot], one: _Spot, other: _Spot, both: _Spot) -> list[_Spot]:
    """The spots with two of them as one."""
    return [both if s is one else s for s in spots if s is not other]


def _is_number(name: Sequence[str]) -> bool:
    return len(name) == 1 and name[0].isdecimal()


def _join_names(names: Sequence[Sequence[str]], widest: float) -> tuple[str, ...]:
    """Names one after the other, each on the line of the one before if it fits; the last ones of many are counted.

    Numbers are in order, and three and more in a row are a range.
    """
    if all(map(_is_number, names)):
        shown: Sequence[Sequence[str]] = [(said,) for said in _ranges(sorted(int(n[0]) for n in names))]
    else:
        full = [n for n in names if not _is_number(n)]
        numbers = _ranges(sorted(int(n[0]) for n in names if _is_number(n)))
        more = len(full) - _MOST
        shown = [*full[:_MOST], (f"{more} more",)] if more > 0 else full
        if numbers:
            shown = [*shown[:-1], (*shown[-1][:-1], f"{shown[-1][-1]} and no. {numbers[0]}"), *((n,) for n in numbers[1:])]
    out = list(shown[0])
    for said in shown[1:]:
        joined = f"{out[-1]}, {said[0]}"
        if len(said) == 1 and text_width(joined) <= widest:
            out[-1] = joined
        else:
            out[-1] += ","
            out += said
    return tuple(out)


def _ranges(numbers: Sequence[int]) -> list[str]:
    """"3, 5–8" for 3, 5, 6, 7 and 8."""
    out: list[str] = []
    for _, run in groupby(enumerate(numbers), lambda at: at[1] - at[0]):
        own = [n for _, n in run]
        out += [f"{own[0]}–{own[-1]}"] if len(own) >= _RUN else map(str, own)
    return out


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
