"""Levels of detail of a column, from its values as they are (level 0) up to one class for all of them.

    categories      level ℓ cuts the taxonomy at depth D − ℓ, D the depth of the tree: deeper categories become their ancestor
    numbers         level ℓ has classes of width w_ℓ, each a multiple of the one before; the level after the last joins all

Every level is a coarsening of the one below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from larvatus.core.errors import MaskError
from larvatus.data.contracts import Block, Column
from larvatus.data.hierarchies.taxonomy import ROOT, Taxonomy
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import as_one_group, reduce_groups

ALL_VALUES = "all"
MOST_CUTS = 1000
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class CategoryLadder:
    """Levels of a categorical column. Without a taxonomy there are two: as it is, and all in one."""

    taxonomy: Taxonomy | None = None
    depth: int = 1
    top: str = ROOT

    @classmethod
    def of(cls, column: Column, tree: Any) -> CategoryLadder:
        if tree is None:
            return cls()
        taxonomy = Taxonomy.of(column.name, tree)
        lacking = [v for v in column.levels if str(v) not in taxonomy.parents]
        if lacking:
            raise MaskError(f"{column.name!r}: {len(lacking)} of its levels are not in its taxonomy (roles.taxonomies). Add "
                            "them there.")
        top = ROOT
        while len(below := [n for n, p in taxonomy.parents.items() if p == top]) == 1:
            top = below[0]
        deepest = max(len(_path(taxonomy, str(v), top)) - 1 for v in column.levels) if column.levels else 1
        return cls(taxonomy, max(deepest, 1), top)

    @property
    def height(self) -> int:
        return self.depth

    def labels(self, levels: Sequence[Any], level: int) -> list[str]:
        """The label of each category at a level."""
        if level >= self.height:
            return [self.top or ALL_VALUES] * len(levels)
        if self.taxonomy is None or level <= 0:
            return [str(v) for v in levels]
        paths = (_path(self.taxonomy, str(v), self.top) for v in levels)
        return [path[min(self.depth - level, len(path) - 1)] or ALL_VALUES for path in paths]


@dataclass(frozen=True, slots=True)
class NumberLadder:
    """Levels of a numeric column: classes of growing widths, and all in one."""

    widths: tuple[float, ...] = ()

    @classmethod
    def of(cls, name: str, widths: Sequence[float]) -> NumberLadder:
        for narrow, wide in pairwise(widths):
            times = wide / narrow
            if times < 2 - _SLACK or abs(times - round(times)) > _SLACK:
                raise MaskError(f"widths of {name!r}: each must be a multiple of the one before, at least twice it.")
        return cls(tuple(float(w) for w in widths))

    @property
    def height(self) -> int:
        return len(self.widths) + 1

    def cuts(self, low: float, high: float, level: int) -> tuple[float, ...]:
        """Cut points between the classes of a level that lie between the smallest and the largest value; none for the top."""
        if level >= self.height or level <= 0:
            return ()
        width = self.widths[level - 1]
        first, last = int(np.floor(low / width)) + 1, int(np.floor(high / width))
        if last - first >= MOST_CUTS:
            raise MaskError(f"widths: {last - first + 2:,} classes of width {width:g} are too many. Use larger widths.")
        return tuple(float(f"{i * width:.12g}") for i in range(first, last + 1))


Ladder = CategoryLadder | NumberLadder


def ladder_of(data: Microdata, name: str, widths: Mapping[str, Sequence[float]], taxonomies: Mapping[str, Any]) -> Ladder:
    """The levels of a column of the data."""
    column = data.table.columns[name]
    if column.kind == "nominal":
        return CategoryLadder.of(column, taxonomies.get(name))
    if column.dates is not None:
        raise MaskError(f"{name!r} contains dates, which have no levels. Recode them by unit, such as unit = \"month\".")
    return NumberLadder.of(name, widths.get(name, ()))


def range_of_values(data: Microdata, name: str) -> tuple[float, float]:
    """The smallest and the largest value of a numeric column; NaN if it has none."""
    def ends(group: int, block: Block) -> tuple[float, float]:
        x = block[name]
        return float(np.fmin.reduce(x, initial=np.nan)), float(np.fmax.reduce(x, initial=np.nan))

    def both(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
        return float(np.fmin(a[0], b[0])), float(np.fmax(a[1], b[1]))

    return reduce_groups(as_one_group(data), [name], ends, both)[0]


def usual_widths(low: float, high: float) -> tuple[float, ...]:
    """Widths for a range of numbers: a twentieth of it as 1, 2 or 5 times a power of ten, then twice as wide each time."""
    spread = high - low
    if not spread > 0:
        return ()
    power = 10.0 ** np.floor(np.log10(spread / 20))
    first = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= spread / 20 * (1 - _SLACK))
    return tuple(float(f"{first * 2**i:.12g}") for i in range(4))


def _path(taxonomy: Taxonomy, category: str, top: str) -> list[str]:
    """The categories from the top of the tree down to this one."""
    out = [category]
    while out[-1] not in (top, ROOT):
        out.append(taxonomy.parents[out[-1]])
    return out[::-1]
