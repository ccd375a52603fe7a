"""Place labels next to points so that none covers another label or a point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from larvatus.reporting.figures.svg import text_width


class Box(NamedTuple):
    """An occupied rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def inside(self, other: Box) -> bool:
        return (
            self.left >= other.left and self.right <= other.right and self.top >= other.top and self.bottom <= other.bottom
        )


BoxRows = npt.NDArray[np.float64]  # many boxes, one in each row


def as_rows(boxes: Sequence[tuple[float, float, float, float]]) -> BoxRows:
    return np.array(boxes, dtype=float).reshape(-1, 4)


def any_meets(boxes: BoxRows, others: BoxRows) -> npt.NDArray[np.bool_]:
    """For each box whether it meets any of the others."""
    left, top, right, bottom = boxes.T[:, :, None]
    meets = (left < others[:, 2]) & (others[:, 0] < right) & (top < others[:, 3]) & (others[:, 1] < bottom)
    found: npt.NDArray[np.bool_] = meets.any(axis=1)
    return found


def rows_inside(boxes: BoxRows, other: Box) -> npt.NDArray[np.bool_]:
    """For each box whether it is inside another one."""
    left, top, right, bottom = boxes.T
    found: npt.NDArray[np.bool_] = (
        (left >= other.left) & (right <= other.right) & (top >= other.top) & (bottom <= other.bottom)
    )
    return found


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A placed text: its anchor and baseline."""

    said: str
    x: float
    y: float
    anchor: str


def place_labels(
    points: Sequence[tuple[float, float]], names: Sequence[Sequence[str]], frame: Box
) -> list[PlacedLabel | None]:
    """For each point the first of its names that fits around it; None if none fits."""
    busy = [Box(x - 6, y - 6, x + 6, y + 6) for x, y in points]
    out: list[PlacedLabel | None] = []
    for (x, y), wanted in zip(points, names, strict=True):
        found = next(((b, label) for said in wanted for b, label in _around(x, y, said) if _free(b, busy, frame)), None)
        out.append(found[1] if found else None)
        if found:
            busy.append(found[0])
    return out


def _free(box: Box, busy: Sequence[Box], frame: Box) -> bool:
    return box.inside(frame) and not any(box.meets(b) for b in busy)


def _around(x: float, y: float, said: str) -> Iterable[tuple[Box, PlacedLabel]]:
    width = text_width(said)
    for dx, dy, anchor in (
        (10, 4, "start"), (-10, 4, "end"), (8, -9, "start"), (8, 17, "start"), (-8, -9, "end"), (-8, 17, "end"),
        (0, -12, "middle"), (0, 21, "middle"),
    ):
        left = x + dx - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        yield Box(left, y + dy - 11, left + width, y + dy + 3), PlacedLabel(said, x + dx, y + dy, anchor)
