"""Scales from values to parts of an axis, between 0 and 1: linear, or logarithmic with a place for 0 at its start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from larvatus.core.number_format import EXACT, SPACE, minus
from larvatus.reporting.figures.svg import AxisScale, tick_text

ZERO_SLOT = 0.09  # part of a logarithmic axis that stands for values below its lowest tick
_SPREAD = 20.0  # a largest value this many times the smallest reference is easier to read on a logarithmic scale
_LOWEST = 1e-4


class Scale(Protocol):
    """Where a value lies along an axis, and where the ticks are."""

    def at(self, value: float) -> float: ...

    def ticks(self) -> list[tuple[float, str]]: ...


@dataclass(frozen=True, slots=True)
class LinearScale:
    """From 0 to a round number; shares are shown in per cent."""

    high: float
    as_share: bool

    @classmethod
    def up_to(cls, highest: float, as_share: bool, steps: int = 4) -> LinearScale:
        return cls(AxisScale.to(highest, 0.0, 1.0, ceiling=1.0 if as_share else None, steps=steps).high, as_share)

    def at(self, value: float) -> float:
        return min(max(value / self.high, 0.0), 1.0)

    def ticks(self) -> list[tuple[float, str]]:
        ticks = AxisScale(self.high, 0.0, 1.0).ticks(4)
        return [(self.at(t), tick_text(t, ticks[1], self.as_share and self.high <= 1)) for t in ticks]


@dataclass(frozen=True, slots=True)
class LogScale:
    """Powers of ten between two values, after a slot for 0 and for values below the lowest power."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float], highest: float | None = None) -> LogScale:
        known = [v for v in values if v > EXACT and math.isfinite(v)] or [0.01, 1.0]
        low = 10.0 ** math.floor(math.log10(max(min(known), _LOWEST)) + 1e-9)
        high = highest or max(known)
        top = high if highest else 10.0 ** math.ceil(math.log10(high) - 1e-9)
        return cls(low, max(top, 10 * low))

    def at(self, value: float) -> float:
        if value < self.low * (1 - 1e-9):
            return 0.0
        part = math.log(min(value, self.high) / self.low) / math.log(self.high / self.low)
        return ZERO_SLOT + (1 - ZERO_SLOT) * part

    def ticks(self) -> list[tuple[float, str]]:
        out = [(0.0, "0")]
        decade = self.low
        while decade <= self.high * (1 + 1e-9):
            out.append((self.at(decade), _percent(decade)))
            decade *= 10
        return out


def _percent(value: float) -> str:
    return minus(f"{100 * value:.10g}{SPACE}%")


def scale_of_risks(values: Sequence[float], references: Sequence[float]) -> Scale:
    """Logarithmic if the largest value is many times the smallest reference (a baseline or a limit), else linear."""
    known = [v for v in (*values, *references) if v > EXACT]
    small = [v for v in references if v > EXACT]
    if known and small and max(known) > _SPREAD * min(small) and max(known) <= 1:
        return LogScale.around(known, 1.0 if max(known) > 0.1 else None)
    return LinearScale.up_to(max(known, default=1.0), max(known, default=1.0) <= 1)
