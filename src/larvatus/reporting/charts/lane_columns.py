"""A dot plot of many lanes in two columns, for paper: a single column would have to be shrunk until nobody can read it."""

from __future__ import annotations

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
    drawn = [lane_rows(replace(plot, groups=groups), frame, top) for groups in split_lanes(plot.groups)]
    body = [element("g", rows, transform=f"translate({i * (each + _GAP):.0f} 0)") for i, (rows, _) in enumerate(drawn)]
    return document(plot.title, plot.sentence, _WIDE, max(high for _, high in drawn), key + "".join(body))


def split_lanes(groups: _Groups) -> tuple[_Groups, _Groups]:
    """The groups in two columns of about the same number of lines; a group that is cut has its name in both."""
    rows = [(name, lane) for name, lanes in groups for lane in lanes]
    lines = [1 + (i == 0 or rows[i - 1][0] != name) for i, (name, _) in enumerate(rows)]
    cut = next(i for i in range(len(rows) + 1) if 2 * sum(lines[:i]) >= sum(lines))
    return _grouped(rows[:cut], None), _grouped(rows[cut:], rows[cut - 1][0])


def _grouped(rows: list[tuple[str, ReleaseLane]], before: str | None) -> _Groups:
    """Lanes under the names of their groups; one that began `before` is continued."""
    out: dict[str, list[ReleaseLane]] = {}
    for name, lane in rows:
        out.setdefault(f"{name} (continued)" if name == before else name, []).append(lane)
    return tuple((name, tuple(lanes)) for name, lanes in out.items())
