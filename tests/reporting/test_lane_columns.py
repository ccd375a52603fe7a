"""Charts of many lanes in two columns, for paper."""

from __future__ import annotations

import re

import pytest

from larvatus.reporting.charts.lane_columns import MOST_LANES, draw_lane_columns, split_lanes
from larvatus.reporting.charts.lanes import LanePlot, ReleaseLane, ReleaseMark
from larvatus.reporting.charts.scales import LogScale


def groups(*sizes: int):
    return tuple((f"group {g}", tuple(ReleaseLane(f"attack {g}.{i}", (ReleaseMark(1, 0.1),)) for i in range(size)))
                 for g, size in enumerate(sizes))


def lines_of(column) -> float:
    return sum(1 + len(lanes) for _, lanes in column)


@pytest.mark.parametrize("sizes", [(26,), (14, 10, 2), (1, 1, 30), (13, 13), (5, 4, 3, 2, 1)])
def test_every_lane_is_in_one_of_two_columns_of_about_the_same_height(sizes):
    every = groups(*sizes)
    left, right = split_lanes(every, lines_of)
    assert [lane.name for _, lanes in (*left, *right) for lane in lanes] == [lane.name for _, lanes in every for lane in lanes]
    lines = [lines_of(column) for column in (left, right)]
    assert abs(lines[0] - lines[1]) <= 3
    assert all(lanes for _, lanes in (*left, *right))


def test_a_group_that_is_cut_is_named_in_both_columns():
    left, right = split_lanes(groups(26), lines_of)
    assert [name for name, _ in left] == ["group 0"]
    assert [name for name, _ in right] == ["group 0 (continued)"]


def test_only_a_chart_of_many_lanes_is_drawn_in_columns():
    few, many = (LanePlot("t", "s", groups(n), LogScale(0.01, 1.0), "axis", ((1, "a"),), 1, "risk")
                 for n in (MOST_LANES, MOST_LANES + 1))
    assert draw_lane_columns(few) == ""
    drawn = draw_lane_columns(many)
    assert len(re.findall("translate\\((0|462) 0\\)", drawn)) == 2
    assert drawn.count("attack 0.") == MOST_LANES + 1


def test_tall_lanes_count_as_tall():
    """Lanes with points side by side are drawn higher: twenty low lanes are as high as five high ones."""
    def height(column) -> float:
        return sum(4.0 if int(lane.name.rpartition(".")[2]) < 5 else 1.0 for _, lanes in column for lane in lanes)

    left, right = split_lanes(groups(25), height)
    assert height(left) == height(right) == 20
    assert sum(len(lanes) for _, lanes in left) == 5
