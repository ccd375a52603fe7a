"""Corrected estimates with their intervals, and the uncorrected ones, each quantity on a scale of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.reporting.charts.wrapping import lines_width
from larvatus.reporting.figures.svg import document, dot, line, text
from larvatus.reporting.figures.value_axis import short

_WIDE, _ROW, _TOP, _EDGE, _FIGURES = 640.0, 54.0, 58.0, 0.06, 24.0


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """A quantity with its interval, and the estimate without a correction."""

    name: str
    estimate: float
    low: float
    high: float
    uncorrected: float

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(v for v in (self.low, self.high, self.estimate, self.uncorrected) if math.isfinite(v))


def draw_estimates(title: str, rows: Sequence[EstimateRow]) -> str:
    """One row per quantity: a line from end to end of its interval, a full dot, and an empty dot without the correction."""
    left = min(220.0, lines_width([r.name for r in rows]) + 30)
    body = [dot(8, 12, "point"), text(18, 16, "corrected, with 95 % interval", "tick"), dot(238, 12, "point beaten"),
            text(248, 16, "as released", "tick")]
    y = _TOP
    for row in rows:
        body += [text(0, y + 5, row.name), *_row(row, left, y)]
        y += _ROW
    said = "; ".join(f"{r.name} {short(r.estimate)} ({short(r.low)} to {short(r.high)}), as released {short(r.uncorrected)}"
                     for r in rows if r.values)
    return document(title, f"{title}: {said}", _WIDE, y - _ROW + 30, "".join(body))


def _row(row: EstimateRow, left: float, y: float) -> list[str]:
    if not row.values:
        return [text(left, y + 5, "no estimate", "remark")]
    low, high = min(row.values), max(row.values)
    wide = (high - low) or abs(high) or 1.0
    start, room = left + _FIGURES, _WIDE - left - 2 * _FIGURES

    def x(value: float) -> float:
        return start + room * (_EDGE + (1 - 2 * _EDGE) * (value - low) / wide)

    body = [line(left, y, _WIDE, y, "grid")]
    if math.isfinite(row.low) and math.isfinite(row.high):
        body += [line(x(row.low), y, x(row.high), y, "whisker risk")]
    for value, tone, below in ((row.uncorrected, "point beaten", -10), (row.estimate, "point", 19)):
        if math.isfinite(value):
            body += [dot(x(value), y, tone, short(value), 5.0), text(x(value), y + below, short(value), "tick", "middle")]
    return body
