"""The columns of an analysis as arrays, from any engine: the selected records, their weights and sub-groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.errors import AnalysisError, LarvatusError
from larvatus.core.randomness import RecordRandom
from larvatus.data.conditions import condition, names_in
from larvatus.data.contracts import Array
from larvatus.data.microdata import Microdata
from larvatus.data.sub_groups import Level
from larvatus.data.weights import weight_column
from larvatus.measures.analyses.spec import Analysis

MOST_ANALYSED = 2_000_000


@dataclass(frozen=True, slots=True)
class AnalysisColumns:
    """Numbers as they are; categories as codes of `levels`, -1 if missing; only records with a positive weight."""

    values: Mapping[str, Array]
    levels: Mapping[str, tuple[Level, ...]]
    weight: Floats
    group: NDArray[np.int64]

    def codes(self, name: str, levels: Sequence[Level]) -> NDArray[np.int64]:
        """Codes of the given levels; -1 if missing, -2 if the value is not among them."""
        values = self.values[name]
        place = {v: i for i, v in enumerate(levels)}
        if name in self.levels:
            return np.array([*(place.get(v, -2) for v in self.levels[name]), -1], dtype=np.int64)[values]
        found, code = np.unique(values, return_inverse=True)
        known = np.array([-1 if np.isnan(v) else place.get(float(v), -2) for v in found], dtype=np.int64)
        return np.asarray(known[code.reshape(-1)])


def weight_of(analysis: Analysis, data: Microdata) -> str | None:
    """The weight column of an analysis, checked; None if it has none."""
    if not analysis.weighted or data.roles.weight is None or data.roles.weight not in data.table.columns:
        return None
    return weight_column(data, f"analysis {analysis.label!r}", AnalysisError, zeros=True)


def cannot_be_made(analysis: Analysis, original: Microdata, released: Microdata) -> str:
    """Why an analysis cannot be run on the release (missing columns, or columns of another type); empty if it can."""
    mine, theirs = original.table.columns, released.table.columns
    what = {"number": "numeric", "nominal": "categorical"}
    for name in dict.fromkeys([*analysis.columns, *(names_in(analysis.where) if analysis.where else ())]):
        if name not in theirs:
            return f"{name} is not in it"
        if theirs[name].kind != mine[name].kind:
            return f"{name} is {what[theirs[name].kind]} in it but {what[mine[name].kind]} in the original"
    try:
        condition(analysis.where, theirs) if analysis.where else None
    except LarvatusError as error:
        return f"the condition cannot be applied to it: {str(error).rstrip('.')}"
    return ""


def analysis_columns(analysis: Analysis, data: Microdata, weight: str | None, random: RecordRandom) -> AnalysisColumns:
    """The columns of the selected records; above two million records, of a sample that is the same in every file."""
    asked = condition(analysis.where, data.table.columns) if analysis.where else None
    names = list(dict.fromkeys([*analysis.columns, *(asked.columns if asked else ()), *([weight] if weight else [])]))
    most = np.iinfo(np.uint64).max if data.rows <= MOST_ANALYSED else np.uint64(MOST_ANALYSED / data.rows * float(2**64))
    held: dict[str, list[Array]] = {n: [] for n in names}
    groups: list[NDArray[np.int64]] = []
    for group, block in data.table.blocks(names):
        keep = np.ones(len(block), dtype=bool) if asked is None else np.asarray(asked.holds(block))
        if data.rows > MOST_ANALYSED:
            keep &= random.words(block.record)[0] < most
        if weight is not None:
            keep &= block[weight] > 0
        for n in names:
            held[n].append(block[n][keep])
        groups.append(np.full(int(keep.sum()), group))
    values = {n: np.concatenate(held[n]) if held[n] else np.zeros(0) for n in names}
    inside = np.concatenate(groups) if groups else np.zeros(0, dtype=np.int64)
    levels = {n: data.table.columns[n].levels for n in names if data.table.columns[n].kind == "nominal"}
    own = values[weight].astype(np.float64) if weight else np.ones(len(inside))
    return AnalysisColumns(values, levels, own, inside)


def levels_in(columns: AnalysisColumns, name: str) -> tuple[Level, ...]:
    """The levels that occur, in their order; for a numeric column, its distinct values."""
    values = columns.values[name]
    if name in columns.levels:
        there = set(np.unique(values).tolist())
        return tuple(v for i, v in enumerate(columns.levels[name]) if i in there)
    return tuple(float(v) for v in np.unique(values[~np.isnan(values)]))
