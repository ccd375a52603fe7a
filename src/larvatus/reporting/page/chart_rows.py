"""Figures by sub-group or variable: one lane each, with one mark per release; used by charts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import finite_number
from larvatus.data.score import Row, Score

FEW = 4  # releases that are listed by name


class Mark(NamedTuple):
    """One release's figure in a lane; a report of many releases has hundreds of thousands."""

    value: float
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    s_alone: float | None = None

    @property
    def above_chance(self) -> bool:
        """Whether the whole interval lies above chance and S alone."""
        known = [v for v in (self.chance, self.s_alone) if v is not None]
        return bool(known) and (self.value if self.low is None else self.low) > max(known)


@dataclass(frozen=True, slots=True)
class Lane:
    """One sub-group or variable, with a mark for each release that has a figure."""

    name: str
    marks: tuple[Mark | None, ...]
    records: int | None = None

    @property
    def worst(self) -> float:
        return max((m.value for m in self.marks if m), default=float("-inf"))


def lanes_of(scores: Sequence[Score | None], part: Literal["by_group", "by_variable", "by_domain"]) -> tuple[Lane, ...]:
    """One lane for every name with a figure in any release, the worst first."""
    key = {"by_group": "sub_group", "by_variable": "variable", "by_domain": "part"}[part]
    found: dict[str, list[Mark | None]] = {}
    records: dict[str, int] = {}
    for place, score in enumerate(scores):
        for row in getattr(score, part) if score else ():
            name = f"{row['domain']}: {row[key]}" if part == "by_domain" else str(row.get(key))
            found.setdefault(name, [None] * len(scores))[place] = _mark(row)
            size = row.get("records")
            if isinstance(size, int):
                records[name] = min(size, records.get(name, size))
    lanes = (Lane(name, tuple(marks), records.get(name)) for name, marks in found.items())
    return tuple(sorted((lane for lane in lanes if any(lane.marks)), key=lambda lane: -lane.worst))


def _mark(row: Row) -> Mark | None:
    value = finite_number(row.get("value", row.get("loss")))
    if value is None:
        return None
    get = row.get
    return Mark(value, finite_number(get("low")), finite_number(get("high")), finite_number(get("chance")),
                finite_number(get("s_alone")))


def select_marks(lanes: Sequence[Lane], places: Sequence[int]) -> tuple[Lane, ...]:
    """The lanes with the marks of some releases only, the worst first."""
    kept = (replace(lane, marks=tuple(lane.marks[p] for p in places)) for lane in lanes)
    return tuple(sorted((lane for lane in kept if any(lane.marks)), key=lambda lane: -lane.worst))


def anchor(head: Headline) -> str:
    """The anchor of a release's page."""
    return f"release-{head.number}"
