"""Masked values that fall on a code of missing values would be read as missing. They move to the nearest other released value.

    y' = arg min |y − v|  over the released values v that are no codes

Rounding grids, bounds and whole numbers stay as they are, because v is a released value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import MaskError
from larvatus.data.contracts import Array, Block
from larvatus.data.labelling.labels import MissingCode
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import map_rows, reduce_groups

Range = tuple[float, float]


def code_ranges(codes: Sequence[MissingCode]) -> tuple[Range, ...]:
    """Numeric codes as ranges that do not overlap, in ascending order."""
    given = sorted(c if isinstance(c, tuple) else (float(c), float(c)) for c in codes if not isinstance(c, str))
    out: list[Range] = []
    for low, high in given:
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(high, out[-1][1]))
        else:
            out.append((low, high))
    return tuple(out)


def off_missing_codes(data: Microdata, fixed: Collection[str] = ()) -> tuple[Microdata, list[Note]]:
    """The masked data without values that equal a code of missing values. Columns in `fixed` are only counted."""
    coded = {n: found for n in data.numeric(data.changeable) if data.table.columns[n].dates is None
             and (found := code_ranges(data.roles.missing.get(n, ())))}
    hits = {n: k for n, ranges in coded.items() if (k := _count(data, n, ranges))}
    movable = {n: coded[n] for n in hits if n not in fixed}
    notes = [Note(f"{k:,} masked values of {n} fell on codes of missing values and were moved to the nearest other value")
             for n, k in hits.items() if n in movable]
    notes += [Note(f"{k:,} masked values of {n} equal codes of missing values, where a rule holds them. Readers of the file "
                   "take them for missing", "warning") for n, k in hits.items() if n not in movable]
    return (_moved(data, movable) if movable else data), notes


def _inside(values: Array, ranges: Sequence[Range]) -> NDArray[np.bool_]:
    out = np.zeros(len(values), dtype=bool)
    for low, high in ranges:
        out |= (values >= low) & (values <= high)
    return out


def _count(data: Microdata, name: str, ranges: Sequence[Range]) -> int:
    return sum(reduce_groups(data, [name], lambda g, b: int(_inside(b[name], ranges).sum()), int.__add__))


def _neighbours(data: Microdata, name: str, ranges: Sequence[Range]) -> NDArray[np.float64]:
    """For each range the largest released value below it and the smallest above it, without codes; infinite if none."""
    def ends(group: int, block: Block) -> Array:
        values = block[name]
        values = values[~np.isnan(values) & ~_inside(values, ranges)]
        return np.array([[-np.max(values[values < low], initial=-np.inf), np.min(values[values > high], initial=np.inf)]
                         for low, high in ranges])

    found = np.min(reduce_groups(data, [name], ends, np.minimum), axis=0)
    found[:, 0] = -found[:, 0]
    if np.isinf(found).all(axis=1).any():
        raise MaskError(f"every masked value of {name!r} would equal a code of missing values. Use another mask, or other "
                        "codes.", subject="missing")
    return np.asarray(found, dtype=np.float64)


def _moved(data: Microdata, coded: Mapping[str, Sequence[Range]]) -> Microdata:
    beside = {n: _neighbours(data, n, ranges) for n, ranges in coded.items()}

    def move(group: int, block: Block) -> Mapping[str, Array]:
        out = {}
        for name, ranges in coded.items():
            values = block[name].copy()
            for (low, high), (below, above) in zip(ranges, beside[name], strict=True):
                on = (block[name] >= low) & (block[name] <= high)
                values[on] = np.where(values[on] - below <= above - values[on], below, above)
            out[name] = values
        return out

    return map_rows(data, move, list(coded), [data.table.columns[n] for n in coded])
