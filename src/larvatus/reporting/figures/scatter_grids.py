"""The grids in a score: a pair of columns, original and released."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from larvatus.core.number_format import finite_number
from larvatus.data.score import Row, Score
from larvatus.reporting.figures.histograms import axis_of
from larvatus.reporting.figures.value_axis import ValueAxis

GridPair = tuple[str, str]
GridCells = Mapping[tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class Grid:
    """Shares of records by cell, without empty cells."""

    x: ValueAxis
    y: ValueAxis
    original: GridCells
    released: GridCells


def grids_of(scores: Sequence[Score]) -> list[dict[GridPair, Grid]]:
    """For each score its grids by pair, in its own order; a pair has the same axes in all scores."""
    files = [_by_pair(score) for score in scores]
    axes: dict[GridPair, tuple[ValueAxis | None, ValueAxis | None]] = {}
    for pair in {pair for rows in files for pair in rows}:
        together = [row for rows in files for row in rows.get(pair, ())]
        axes[pair] = _axis(together, "x"), _axis(together, "y")
    made = [{pair: _grid(rows, *axes[pair]) for pair, rows in found.items()} for found in files]
    return [{pair: grid for pair, grid in grids.items() if grid} for grids in made]


def _by_pair(score: Score) -> dict[GridPair, list[Row]]:
    found: dict[GridPair, list[Row]] = {}
    for row in score.details.get("grid", ()):
        found.setdefault((str(row.get("first")), str(row.get("second"))), []).append(row)
    return found


def pair_losses(score: Score) -> dict[GridPair, float]:
    """The loss of every pair that has one."""
    rows = [((str(r.get("first")), str(r.get("second"))), finite_number(r.get("loss"))) for r in score.by_pair]
    return {pair: loss for pair, loss in rows if loss is not None}


def select_pairs(files: Sequence[Mapping[GridPair, Grid]], most: int) -> list[GridPair]:
    """Choose pairs so that every file has one if possible; first those that most uncovered files have, then most files."""
    left = list(dict.fromkeys(pair for grids in files for pair in grids))
    without = list(files)
    out: list[GridPair] = []
    while left and len(out) < most:
        counts = {pair: (sum(pair in g for g in without), sum(pair in g for g in files)) for pair in left}
        best = max(left, key=lambda pair: counts[pair])
        out.append(best)
        left.remove(best)
        without = [grids for grids in without if best not in grids]
    return out


def _grid(rows: Sequence[Row], x: ValueAxis | None, y: ValueAxis | None) -> Grid | None:
    if x is None or y is None:
        return None
    original, released = (_cells(rows, side, x, y) for side in ("original", "released"))
    return Grid(x, y, original, released) if original and released else None


def _axis(rows: Sequence[Row], name: str) -> ValueAxis | None:
    ends = {finite_number(row.get(f"{name}_{end}")) for row in rows for end in ("low", "high")}
    return axis_of(sorted(e for e in ends if e is not None), any(row.get(f"{name}_dates") for row in rows))


def _cells(rows: Sequence[Row], side: str, x: ValueAxis, y: ValueAxis) -> GridCells:
    counts: dict[tuple[int, int], float] = {}
    for row in rows:
        n = finite_number(row.get(side)) or 0.0
        if n > 0:
            cell = _place(x, finite_number(row.get("x_low"))), _place(y, finite_number(row.get("y_low")))
            counts[cell] = counts.get(cell, 0.0) + n
    total = sum(counts.values())
    return {cell: n / total for cell, n in counts.items()}


def _place(axis: ValueAxis, low: float | None) -> int:
    return 0 if low is None else bisect_right(axis.edges, low)
