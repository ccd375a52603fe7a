"""Intervals compared with the original's: one lane per quantity, one panel per release, in half widths of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.core.number_format import finite_number
from larvatus.data.score import Row
from larvatus.reporting.figures.svg import diamond, document, dot, element, line, panel_name, shorten, text, text_width

_WIDTH, _NAMES, _GAP = 760.0, 270.0, 22.0
_TOP, _LANE, FURTHEST = 58.0, 26.0, 4.0
IntervalEnds = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class IntervalLane:
    """A quantity: the position of zero, and the released and corrected estimates of each release with their intervals."""

    name: str
    zero: float
    released: tuple[IntervalEnds | None, ...]
    corrected: tuple[IntervalEnds | None, ...]

    @property
    def beyond(self) -> bool:
        """Whether an estimate lies outside the drawn range."""
        return any(abs(e[0]) > FURTHEST for e in (*self.released, *self.corrected) if e)


def interval_lane(name: str, rows: Sequence[Row | None]) -> IntervalLane | None:
    """A lane in half widths from the original estimate; None if the original has no interval of positive width."""
    first = next((r for r in rows if r), {})
    centre, low, high = (finite_number(first.get(k)) for k in ("original", "original_low", "original_high"))
    if centre is None or low is None or high is None or not high > low:
        return None
    half, middle = (high - low) / 2, (high + low) / 2

    def ends(row: Row | None, side: str) -> IntervalEnds | None:
        found = [finite_number(row.get(k)) for k in (side, f"{side}_low", f"{side}_high")] if row else [None]
        there = [(v - middle) / half for v in found if v is not None]
        return (there[0], there[1], there[2]) if len(there) == 3 else None

    sides = (tuple(ends(row, side) for row in rows) for side in ("released", "corrected"))
    return IntervalLane(name, -middle / half, *sides)


def draw_intervals(title: str, sentence: str, panels: Sequence[str], lanes: Sequence[IntervalLane]) -> str:
    """All lanes in all panels on one scale; marks outside it are drawn at the edge."""
    bottom = _TOP + _LANE * len(lanes)
    names = min(_NAMES, max(text_width(lane.name) for lane in lanes) + 16)
    wide = (_WIDTH - names - _GAP * (len(panels) - 1) - 16) / len(panels)
    every = [v for lane in lanes for e in (*lane.released, *lane.corrected) if e for v in e]
    reach = min(max([1.5, *(abs(v) for v in every)]) * 1.05, FURTHEST)
    body = [_legend(any(any(lane.corrected) for lane in lanes))]
    for i, lane in enumerate(lanes):
        y = _TOP + _LANE * (i + 0.5)
        if i % 2 == 0:
            body.append(element("rect", class_="stripe", x=0.0, y=y - _LANE / 2, width=_WIDTH, height=_LANE))
        short = shorten(lane.name, names - 16)
        body.append(text(6, y + 4, short, hint=lane.name if short != lane.name else ""))
    for p, panel in enumerate(panels):
        left = names + p * (wide + _GAP)
        body.append(_panel(panel if len(panels) > 1 else "", left, wide, bottom, reach))
        body += [_marks(lane, p, left, wide, _TOP + _LANE * (i + 0.5), reach) for i, lane in enumerate(lanes)]
    return document(title, sentence, _WIDTH, bottom + 26, "".join(body))


def _place(value: float, left: float, wide: float, reach: float) -> float:
    return left + wide * (min(max(value, -reach), reach) + reach) / (2 * reach)


def _panel(name: str, left: float, wide: float, bottom: float, reach: float) -> str:
    ends = [_place(v, left, wide, reach) for v in (-1.0, 1.0)]
    out = [panel_name(left, _TOP - 12, name, wide)] if name else []
    out.append(element("rect", class_="band", x=ends[0], y=_TOP - 4, width=ends[1] - ends[0], height=bottom - _TOP + 4))
    middle = sum(ends) / 2
    out.append(line(middle, _TOP - 4, middle, bottom, "grid"))
    if ends[1] - ends[0] > text_width("original") + 4:
        out.append(text(middle, bottom + 17, "original", "tick", "middle"))
    return "".join(out)


def _marks(lane: IntervalLane, p: int, left: float, wide: float, y: float, reach: float) -> str:
    out = []
    if abs(lane.zero) < reach:
        x = _place(lane.zero, left, wide, reach)
        out.append(line(x, y - 8, x, y + 8, "chance"))
    both = lane.released[p] is not None and lane.corrected[p] is not None
    for ends, at, side in ((lane.released[p], y - 5.0 * both, "released"), (lane.corrected[p], y + 5.0 * both, "corrected")):
        if ends is not None:
            value, low, high = (_place(v, left, wide, reach) for v in ends)
            out.append(_mark(side, low, value, high, at))
    return "".join(out)


def _mark(side: str, low: float, value: float, high: float, y: float) -> str:
    if side == "released":
        return line(low, y, high, y, "whisker loss") + dot(value, y, "dot loss", "", 3.5)
    return line(low, y, high, y, "reference") + diamond(value, y, "alone")


def _legend(corrected: bool) -> str:
    """A label for each kind of mark that is drawn."""
    out, x = [], 6.0
    named = {
        "original": "original interval", "zero": "zero", "released": "released, with its interval",
        "corrected": "corrected for the noise",
    }
    for side, said in named.items():
        if side == "corrected" and not corrected:
            continue
        if side == "original":
            out.append(element("rect", class_="band", x=x, y=7.0, width=20.0, height=14.0))
        else:
            out.append(line(x + 10, 6, x + 10, 22, "chance") if side == "zero" else _mark(side, x, x + 10, x + 20, 14))
        out.append(text(x + 28, 18, said, "tick"))
        x += 28 + text_width(said) * 0.93 + 16
    return "".join(out)
