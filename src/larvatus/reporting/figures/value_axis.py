"""An axis of values in bins with open ends: the position of a value, and round values for ticks."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from larvatus.data.dates.date_numbers import out_of_calendar
from larvatus.data.dates.periods import first_day, period_name

WIDENS = 5.0  # ratio of widths beyond which every bin is drawn equally wide
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class ValueAxis:
    """Inner edges in rising order; there is one bin more than edges, and the first and last bins are open.

    With `dates`, values are numbers of days and ticks are dates.
    """

    edges: tuple[float, ...]
    dates: bool = False

    @property
    def bins(self) -> int:
        return len(self.edges) + 1

    @property
    def widens(self) -> bool:
        """Whether bins differ so much in width that the axis is not to scale."""
        widths = [b - a for a, b in pairwise(self.edges)]
        return bool(widths) and max(widths) > WIDENS * min(widths)

    @property
    def ends(self) -> tuple[float, ...]:
        """Ends of bins as fractions of the axis; an open bin is drawn as wide as its neighbour."""
        if len(self.edges) < 2 or self.widens:
            return tuple(i / self.bins for i in range(self.bins + 1))
        low, high = self.edges[0], self.edges[-1]
        first, last = low - (self.edges[1] - low), high + (high - self.edges[-2])
        return tuple((v - first) / (last - first) for v in (first, *self.edges, last))

    def at(self, value: float) -> float:
        """The position of a value between the first and last edge, as a fraction of the axis."""
        ends = self.ends
        i = min(max(bisect_right(self.edges, value) - 1, 0), len(self.edges) - 2)
        if i < 0:
            return ends[1]
        low, high = self.edges[i], self.edges[i + 1]
        return ends[i + 1] + (ends[i + 2] - ends[i + 1]) * (value - low) / (high - low)

    def ticks(self, wanted: Sequence[float] = (0.1, 0.5, 0.9)) -> list[tuple[float, str]]:
        """Round values near the wanted positions on the axis, each with its position and text."""
        if not self.edges:
            return []
        found: dict[str, float] = {}
        for part in wanted:
            value = self._round_near(part)
            if self.edges[0] <= value <= self.edges[-1]:
                found.setdefault(self._said(value), self.at(value))
        kept = {said: part for said, part in found.items() if 0 <= part <= 1}
        return [(part, said) for said, part in kept.items()]

    def _round_near(self, part: float) -> float:
        """The roundest value near a position on the axis."""
        ends = self.ends
        if len(self.edges) == 1:
            return self.edges[0]
        i = min(max(bisect_right(ends, part) - 1, 1), len(self.edges) - 1)
        inside = min(max((part - ends[i]) / (ends[i + 1] - ends[i]), 0.0), 1.0)
        value = self.edges[i - 1] + inside * (self.edges[i] - self.edges[i - 1])
        rounds = (0.0, *(float(f"{value:.{digits}g}") for digits in (1, 2, 3)))
        if self.dates:
            rounds = tuple(float(first_day(np.array([value]), period)[0]) for period in ("year", "quarter", "month", "day"))
        fits = (v for v in rounds if self.edges[0] <= v <= self.edges[-1] and abs(self.at(v) - part) < 0.07)
        return next(fits, value)


    def _said(self, value: float) -> str:
        """The text of a tick: a year, a month or a day for dates."""
        if not self.dates:
            return short(value)
        period = next(p for p in ("year", "month", "day") if p == "day" or first_day(np.array([value]), p)[0] == value)
        return period_name(value, period) if out_of_calendar(np.array([value])) == 0 else short(value)


def short(value: float) -> str:
    """A value in few characters, for the axis of a small figure."""
    size = abs(value)
    unit, letter = next(((u, s) for u, s in _UNITS if size >= 0.9995 * u), (1.0, ""))
    if size and (size < 1e-3 or size >= 1e15):
        return f"{value:.0e}".replace("-", "−")
    scaled = float(f"{value / unit:.3g}")
    decimals = 0 if scaled == 0 else max(0, 2 - math.floor(math.log10(abs(scaled))))
    said = f"{scaled:.{decimals}f}"
    said = said.rstrip("0").rstrip(".") if "." in said else said
    return f"{said}{letter}".replace("-", "−")
