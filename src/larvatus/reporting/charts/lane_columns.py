"""A dot plot of many lanes in two columns, for paper: a single column would have to be shrunk until nobody can read it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace

from larvatus.reporting.charts.lanes import LaneFrame, LanePlot, ReleaseLane, lane_legend, lane_rows
from larvatus.reporting.figures.svg import document, element

MOST_LANES = 12  # the lanes that fit a single column on paper
_WIDE, _GAP, _NAMES, _EDGE = 900.0, 24.0, 150.0, 20.0
_Groups = tuple[tuple[str, tuple[ReleaseLane, ...]], ...]


def draw_lane_columns(plot: LanePlot) -> str:
    """The plot in two columns as SVG text; empty if it has few lanes."""
    if sum(len(lanes) for _, lanes in plot.groups) <= MOST_LANES:
        return ""
    each = (_WIDE - _GAP) / 2
    frame = LaneFrame(each, _NAMES, _NAMES + 16, each - _EDGE)
    key, top = lane_legend(plot, _WIDE)

    def rows_of(groups: _Groups) -> tuple[str, float]:
        return lane_rows(replace(plot, groups=groups), frame, top)

    drawn = [rows_of(groups) for groups in split_lanes(plot.groups, lambda groups: rows_of(groups)[1])]
    body = [element("g", rows, transform=f"translate({i * (each + _GAP):.0f} 0)") for i, (rows, _) in enumerate(drawn)]
    return document(plot.title, plot.sentence, _WIDE, max(high for _, high in drawn), key + "".join(body))


def split_lanes(groups: _Groups, height: Callable[[_Groups], float]) -> tuple[_Groups, _Groups]:
    """The groups in two columns whose larger height is as small as it can be; a group that is cut has its name in both."""
    rows = [(name, lane) for name, lanes in groups for lane in lanes]

    def columns(cut: int) -> tuple[_Groups, _Groups]:
        return _grouped(rows[:cut], None), _grouped(rows[cut:], rows[cut - 1][0])

    def is_enough(cut: int) -> bool:
        left, right = map(height, columns(cut))
        return left >= right

    cut = bisect_left(range(1, len(rows) - 1), True, key=is_enough) + 1  # the left column grows with the cut
    return min((columns(c) for c in {max(cut - 1, 1), cut}), key=lambda both: max(map(height, both)))


def _grouped(rows: list[tuple[str, ReleaseLane]], before: str | None) -> _Groups:
    """Lanes under the names of their groups; one that began `before` is continued."""
    out: dict[str, list[ReleaseLane]] = {}
    for name, lane in rows:
        out.setdefault(f"{name} (continued)" if name == before else name, []).append(lane)
    return tuple((name, tuple(lanes)) for name, lanes in out.items())
