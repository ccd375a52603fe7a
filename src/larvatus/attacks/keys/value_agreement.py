"""Whether released values equal the original ones, judged by the spread of a column; columns not masked in parts of S."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.exposure.readable_values import disclosing_blanks, recognised
from larvatus.data.exposure.unmasked_parts import FilePart, unmasked_parts
from larvatus.data.households.record_units import RecordUnits
from larvatus.data.microdata import Microdata, collect
from larvatus.data.score import Row, Rows
from larvatus.data.steps import codes_in
from larvatus.data.verbs import map_rows, moments_by_group, with_table

_SAME = 1e-9  # of the standard deviation of the column
_ROUNDING = 1e-15  # of the value
_MOST_LEVELS = 1000  # of a column of S
_MOST_CROSSED = 7  # sub-groups and columns of S that are also combined in pairs


def spreads_by_group(original: Microdata, joined: Microdata, names: Sequence[str]) -> Mapping[str, Floats]:
    """Standard deviations of the original numbers in each sub-group."""
    numbers = [n for n in names if original.table.columns[n].kind == "number"]
    moments = moments_by_group(joined, [scratch("original", n) for n in numbers]) if numbers else []
    return {n: np.array([np.sqrt(np.nan_to_num(m.variance[j])) for m in moments]) for j, n in enumerate(numbers)}


def agreement(
    original: Microdata, pool: Microdata, names: Sequence[str], spread: Mapping[str, Floats], whole: bool = False
) -> Callable[[int, Block], NDArray[np.bool_]]:
    """Whether the released values of a record that are not blanked equal its original ones; if `whole`, nothing is blanked."""
    mine, theirs = original.table.columns, pool.table.columns
    codes = {n: codes_in(theirs[n], mine[n]) for n in names if mine[n].kind == theirs[n].kind == "nominal"}

    def agree(group: int, block: Block) -> NDArray[np.bool_]:
        out = np.ones(len(block), dtype=bool)
        for n in names:
            now, was = block[n], block[scratch("original", n)]
            if mine[n].kind != theirs[n].kind:
                out &= not whole
            elif theirs[n].kind == "nominal":
                blank = (now < 0) & (was < 0) if whole else now < 0
                out &= blank | (codes[n][now] == was)
            else:
                blank = np.isnan(now) & np.isnan(was) if whole else np.isnan(now)
                out &= blank | (np.abs(now - was) <= _SAME * spread[n][group] + _ROUNDING * np.abs(was))
        return out

    return agree


def columns_not_masked(
    original: Microdata, data: Microdata, names: Sequence[str], covered: Sequence[str], households: RecordUnits | None,
    shared: Sequence[str],
) -> Rows:
    """Columns of which nearly all values can be read in a part: a sub-group, a category, a tenth of a number of S.

    A value can be read if it is unchanged, or if the original value of the column nearest to the released one is its own.

    Parts are also combined in pairs. The records with one original category of a confidential column are a part, too: a step
    may exclude those with a certain diagnosis. Of the columns `shared` within households one record per household counts.
    """
    was = {scratch("original", n): n for n in names}
    if not was:
        return Rows()
    joined = with_table(data, data.table.pair(original.table, was))
    spread = spreads_by_group(original, joined, names)
    checks = {n: agreement(original, data, [n], spread, whole=True) for n in names}
    made = {n: scratch("unchanged", n) for n in names}

    def flags(group: int, block: Block) -> Mapping[str, Array]:
        return {made[n]: check(group, block).astype(np.float64) for n, check in checks.items()}

    marked = map_rows(joined, flags, [*was, *names], [Column(c, "number") for c in made.values()])
    record, group, _ = collect(marked, ())
    divisions = [FilePart(group, data.groups.names)] if len(data.groups) > 1 or not data.known else []
    by_s = [part for n in data.known if (part := _part(data, n)) is not None]
    divisions += [*by_s, *(one.crossed(other) for one, other in combinations([*divisions, *by_s][:_MOST_CROSSED], 2))]
    divisions += [FilePart(collect(marked, [was_n])[2][was_n].astype(np.int64), [f"{n}={level}" for level in column.levels])
                  for was_n, n in was.items()
                  if (column := original.table.columns[n]).kind == "nominal" and len(column.levels) <= _MOST_LEVELS]
    first = np.ones(len(record), dtype=bool)
    if households is not None:
        first[:] = False
        first[households.of_records(record).first] = True
    originals, same, blanks = {}, {}, list[Row]()
    for n in names:
        numeric = original.table.columns[n].kind == data.table.columns[n].kind == "number"
        _, _, values = collect(marked, [scratch("original", n), made[n], *([n] if numeric else [])])
        x = values[scratch("original", n)]
        there = x >= 0 if original.table.columns[n].kind == "nominal" else ~np.isnan(x)
        originals[n] = np.where(there & (first if n in shared else True), x, np.nan)
        same[n] = values[made[n]] == 1
        if numeric:
            same[n] |= recognised(x, values[n])
            blanks += disclosing_blanks(n, x, values[n], group, list(data.groups.names), len(names) * (1 + len(data.groups)))
    return Rows.of([*unmasked_parts(divisions, originals, same, covered), *blanks])


def _part(data: Microdata, name: str) -> FilePart | None:
    values = collect(data, [name])[2][name]
    column = data.table.columns[name]
    if column.kind == "nominal":
        few = len(column.levels) <= _MOST_LEVELS
        return FilePart(values.astype(np.int64), [f"{name}={level}" for level in column.levels]) if few else None
    return FilePart.of_numbers(name, values.astype(np.float64))
