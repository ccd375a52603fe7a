"""Labels of points: every point has its name or number, none covers another, and no line crosses another or a label."""

from __future__ import annotations

import random
from math import hypot

import pytest

from larvatus.reporting.charts.labels import PointLabel, place_point_labels
from larvatus.reporting.figures.label_placement import Box

FRAME = Box(60, 42, 632, 411)
FAR, NEAR = 30.0, 4.0  # a line may leave its point through the points next to it, but not run over another one


def points(shape: str, many: int, seed: int) -> list[tuple[float, float]]:
    """Points in the middle of the frame: in a row, in a corner, in a heap, or spread out."""
    draw = random.Random(seed)
    made = {
        "row": lambda i: (300 + 5.7 * i, 90.0), "corner": lambda i: (80 + 40 * draw.random(), 75 + 60 * draw.random()),
        "heap": lambda i: (draw.gauss(300, 25), draw.gauss(200, 25)),
        "spread": lambda i: (draw.uniform(90, 600), draw.uniform(80, 390)),
    }[shape]
    return [made(i) for i in range(many)]


def numbers(label: PointLabel) -> list[int]:
    """The numbers of a label, ranges written out."""
    ends = [part.strip().split("–") for part in " ".join(label.lines).split(",")]
    return [n for end in ends for n in range(int(end[0]), int(end[-1]) + 1)]


def turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def cross(one: tuple[float, ...], two: tuple[float, ...]) -> bool:
    a, b, c, d = one[:2], one[2:], two[:2], two[2:]
    return turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0


def distance(x: float, y: float, line: tuple[float, ...]) -> float:
    """From a point to the nearest place of a line."""
    a, b, c, d = line
    part = ((x - a) * (c - a) + (y - b) * (d - b)) / ((c - a) ** 2 + (d - b) ** 2)
    part = min(max(part, 0.0), 1.0)
    return hypot(x - a - part * (c - a), y - b - part * (d - b))


@pytest.mark.parametrize("shape", ["row", "corner", "heap", "spread"])
@pytest.mark.parametrize("seed", range(3))
def test_forty_points_have_their_numbers_and_no_lines_cross(shape, seed):
    at = points(shape, 40, seed)
    short = [str(i + 1) for i in range(40)]
    labels = place_point_labels(at, [(s,) for s in short], FRAME, 230, short=short)
    assert sorted(n for label in labels for n in numbers(label)) == list(range(1, 41))
    boxes = [label.box for label in labels]
    assert not [1 for i, a in enumerate(boxes) for b in boxes[i + 1 :] if a.meets(Box(b[0] + 1, b[1] + 1, b[2] - 1, b[3] - 1))]
    lines = [label.leader for label in labels if label.leader]
    assert shape == "spread" or lines, "a crowded drawing needs lines"
    assert not [1 for i, one in enumerate(lines) for two in lines[i + 1 :] if cross(one, two)]
    assert not [1 for one in lines for x, y in at if hypot(x - one[0], y - one[1]) > FAR and distance(x, y, one) < NEAR]


@pytest.mark.parametrize("shape", ["row", "corner", "heap", "spread"])
@pytest.mark.parametrize("seed", range(6))
def test_a_label_names_no_point_that_is_far_from_it(shape, seed):
    """Sixty points; in a crowded heap, lines may cross instead."""
    at = points(shape, 60, seed)
    short = [str(i + 1) for i in range(60)]
    labels = place_point_labels(at, [(s,) for s in short], FRAME, 230, short=short)
    assert sorted(n for label in labels for n in numbers(label)) == list(range(1, 61))
    for label in labels:
        for n in numbers(label):
            x, y = at[n - 1]
            a, b = label.leader[:2] if label.leader else (min(max(x, label.box.left), label.box.right),
                                                          min(max(y, label.box.top), label.box.bottom))
            assert hypot(x - a, y - b) <= 66, "at most 52 from the point that the label is next to"


def test_points_on_one_spot_share_a_label_and_a_run_is_a_range():
    at = [(300.0, 200.0)] * 5 + [(400.0, 200.0)] * 2
    labels = place_point_labels(at, [(str(n),) for n in (9, 3, 4, 5, 6, 1, 2)], FRAME, 230)
    assert [label.lines for label in labels] == [("3–6, 9",), ("1, 2",)]


def test_a_name_does_not_join_the_numbers_around_it():
    at = [(300 + 4.0 * i, 200.0) for i in range(30)]
    names = [("the chosen release",), *((str(i),) for i in range(2, 31))]
    labels = place_point_labels(at, names, FRAME, 230, short=[str(i) for i in range(1, 31)])
    assert ("the chosen release",) in [label.lines for label in labels]


def test_a_name_and_a_number_on_one_spot_cannot_be_read_as_one_figure():
    at = [(300.0, 200.0)] * 4
    labels = place_point_labels(at, [("similarity=0",), ("12",), ("3",), ("13",)], FRAME, 230)
    assert [label.lines for label in labels] == [("similarity=0 and no. 3, 12, 13",)]


def test_a_name_without_a_place_is_tried_before_the_others():
    at = [(74.0, 132.0), (98.0, 122.0), (146.0, 132.0)]  # below a text that takes the top of the frame
    names = [("rank swapping",), ("microaggregation",), ("noise, variance 0.1",)]
    labels = place_point_labels(at, names, FRAME, 230, [Box(60, 42, 632, 108)], short=["1", "2", "3"])
    assert sorted(label.lines for label in labels) == sorted(names)
