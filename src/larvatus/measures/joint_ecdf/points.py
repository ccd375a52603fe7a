"""The records of both files as points, by sub-group: numbers as they are, categories as indicators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.errors import UtilityError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block
from larvatus.data.design import MOST_LEVELS
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import take_rows


@dataclass(frozen=True, slots=True)
class PointAxis:
    """One coordinate of a point: a numeric column, or the indicator of a level (None: missing) of a categorical column."""

    column: str
    nominal: bool = False
    level: object = None

    @property
    def name(self) -> str:
        return self.column if not self.nominal else f"{self.column}={'missing' if self.level is None else self.level}"


@dataclass(frozen=True, slots=True)
class Points:
    """The records of one file by sub-group (rows × axes), and a random draw per record for nested samples."""

    groups: tuple[Floats, ...]
    draws: tuple[Floats, ...]

    def thinned(self, share: float) -> Points:
        """The records whose draw is below `share`."""
        if share >= 1:
            return self
        kept = [d < share for d in self.draws]
        return Points(
            tuple(g[k] for g, k in zip(self.groups, kept, strict=True)),
            tuple(d[k] for d, k in zip(self.draws, kept, strict=True)),
        )

    @property
    def whole(self) -> Floats:
        """The points of all sub-groups."""
        return np.concatenate(self.groups)

    @property
    def rows(self) -> int:
        return sum(len(g) for g in self.groups)


def comparable(original: Microdata, released: Microdata, named: Sequence[str] | None, asked_by: str) -> tuple[str, ...]:
    """Columns with the same type in both files, in role order: those named, or all confidential columns."""
    mine, theirs = original.table.columns, released.table.columns
    there = [
        n for n in dict.fromkeys((*original.confidential, *original.non_confidential))
        if n in theirs and mine[n].kind == theirs[n].kind
    ]
    for name in named or ():
        if name not in there:
            raise UtilityError(
                f"{asked_by}.columns: {name!r} is not in both files with the same type; {nearest_names(name, there)}"
            )
    chosen = tuple(n for n in there if n in (named if named is not None else original.confidential))
    if not chosen:
        raise UtilityError("the release contains no confidential column of the original to compare.", subject=asked_by)
    return chosen


def axes_of(original: Microdata, released: Microdata, columns: Sequence[str]) -> tuple[list[PointAxis], list[str]]:
    """An axis for every numeric column and every level, and the categorical columns left out for too many levels."""
    axes: list[PointAxis] = []
    left_out: list[str] = []
    for name in columns:
        both = [d.table.columns[name] for d in (original, released)]
        if both[0].kind == "number":
            axes.append(PointAxis(name))
            continue
        levels = list(dict.fromkeys(v for c in both for v in c.levels))
        if len(levels) > MOST_LEVELS:
            left_out.append(name)
            continue
        axes += [PointAxis(name, True, v) for v in levels]
        if any(c.missing for c in both):
            axes.append(PointAxis(name, True))
    return axes, left_out


def points_of(data: Microdata, axes: Sequence[PointAxis], random: RecordRandom, share: float = 1.0,
              draws: bool = False) -> Points:
    """The records as points, or a random sample of them (a share, keyed by record)."""
    columns = list(dict.fromkeys(a.column for a in axes))
    held = data.table.columns
    levels = {a: held[a.column].levels.index(a.level) if a.level in held[a.column].levels else -2 for a in axes if a.nominal}

    def drawn(block: Block) -> Floats:
        return np.asarray(random.uniform(block.record, purpose="sample")[0])

    if share < 1:
        data = take_rows(data, lambda group, block: drawn(block) < share, ())
    parts: list[list[Floats]] = [[] for _ in range(len(data.groups))]
    words: list[list[Floats]] = [[] for _ in range(len(data.groups))]
    for group, block in data.table.blocks(columns):
        parts[group].append(np.array([_axis(a, block[a.column], levels) for a in axes]).T)
        words[group].append(drawn(block) if draws else np.zeros(len(block)))
    return Points(
        tuple(np.concatenate([np.empty((0, len(axes))), *p]) for p in parts),
        tuple(np.concatenate([np.empty(0), *w]) for w in words),
    )


def _axis(axis: PointAxis, values: Array, levels: dict[PointAxis, int]) -> Array:
    if not axis.nominal:
        return values
    code = -1 if axis.level is None else levels[axis]
    return np.asarray(values == code, dtype=np.float64)
