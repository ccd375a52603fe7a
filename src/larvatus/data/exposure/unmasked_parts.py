"""Confidential columns that are not masked in a part of the file: a sub-group, a category of S, or a tenth of a number of S.

    e = (k − nf) / n(1 − f),   k of n values unchanged in the part,   f the share of values that a permutation leaves unchanged

A column counts as not masked in a part of five or more records if e is at least .9 and a permutation of the part would leave
that number of values unchanged with a probability of at most 1 % over all parts and columns together. As e ≤ k / n, f is
computed only for parts of which at least .9 of the values are unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.data.exposure.unchanged_records import WHOLE_COLUMN
from larvatus.data.score import Row, Rows

_LEAST = 5  # fewer records may be unchanged by coincidence
_UNMASKED, _EXACT = 0.9, 1e-9
_LEVEL = 0.01
_MOST_VALUES, _PARTS = 50, 10  # a number of S with more values is cut into tenths
_MOST_CELLS = 10_000_000  # combinations that are counted in a table; more are sorted


class FilePart:
    """A division of the file: the part of each record, and the names of each part; a combination has two."""

    def __init__(self, part: Ints, names: Sequence[str | tuple[str, ...]]) -> None:
        self.part, self.names = part, tuple((n,) if isinstance(n, str) else n for n in names)

    @classmethod
    def of_numbers(cls, name: str, values: Floats) -> FilePart:
        """By the values of a number of S, or by its tenths."""
        there = ~np.isnan(values)
        different = np.unique(values[there])
        if len(different) <= _MOST_VALUES:
            return cls(np.where(there, np.searchsorted(different, values), -1), [f"{name}={v:.12g}" for v in different])
        cuts = np.quantile(values[there], np.linspace(0, 1, _PARTS + 1)[1:-1])
        part = np.where(there, np.searchsorted(cuts, values, side="right"), -1)
        return cls(part, [f"tenth {i + 1} of {name}" for i in range(_PARTS)])

    def crossed(self, other: FilePart) -> FilePart:
        """The combinations of both divisions that occur."""
        cells = len(self.names) * len(other.names)
        both = np.where((self.part >= 0) & (other.part >= 0), self.part * len(other.names) + other.part, cells)
        if cells <= _MOST_CELLS:
            found = np.flatnonzero(np.bincount(both, minlength=cells)[:cells])
            place = np.full(cells + 1, -1)
            place[found] = np.arange(len(found))
            part = place[both]
        else:
            found, part = np.unique(both, return_inverse=True)
            part = np.where(both < cells, part, -1)
            found = found[found < cells]
        return FilePart(part, [self.names[k // len(other.names)] + other.names[k % len(other.names)] for k in found])


def unmasked_parts(
    divisions: Sequence[FilePart], originals: Mapping[str, Floats], same: Mapping[str, NDArray[np.bool_]],
    covered: Sequence[str],
) -> Rows:
    """One row for each column and part in which the column is not masked.

    `originals` are the original values, NaN if they do not count; `same` says which values are unchanged. `covered` are parts
    that are known to be unmasked in all columns.
    """
    from scipy.special import gammaln
    from scipy.stats import binom

    n = len(next(iter(same.values()), ()))
    found: list[tuple[float, str, tuple[str, ...], Row]] = []
    for division in divisions:
        for column, values in originals.items():
            used = (division.part >= 0) & ~np.isnan(values)
            part, parts = division.part[used], len(division.names)
            size = np.bincount(part, minlength=parts)
            unchanged = np.bincount(part, weights=same[column][used], minlength=parts)
            likely = (size >= _LEAST) & (unchanged >= (_UNMASKED - _EXACT) * size)
            if not likely.any():
                continue
            chosen = likely[part]
            owner, count = _equal_values(part[chosen], values[used][chosen])
            alike = np.bincount(owner, weights=count.astype(float) ** 2, minlength=parts) / np.maximum(size, 1.0) ** 2
            whole = np.bincount(owner, weights=gammaln(count + 1.0), minlength=parts) - gammaln(size + 1.0)
            for g in np.flatnonzero(likely & (alike < 1)):
                excess = (unchanged[g] / size[g] - alike[g]) / (1 - alike[g])
                if excess < _UNMASKED or any(n in covered for n in division.names[g]):
                    continue
                all_kept = unchanged[g] == size[g]
                luck = float(np.exp(whole[g])) if all_kept else float(binom.sf(unchanged[g] - 1, size[g], alike[g]))
                where = f"{column} where {', '.join(division.names[g])}"
                found.append((luck, column, division.names[g], {
                    "records": WHOLE_COLUMN, "sub_group": where, "count": int(unchanged[g]),
                    "share": float(unchanged[g] / max(n, 1)), "beyond": int(unchanged[g])}))
    tried = max(sum(len(d.names) for d in divisions) * len(originals), 1)
    sure = [(column, names, row) for luck, column, names, row in found if luck * tried <= _LEVEL]
    single = {(column, names[0]) for column, names, _ in sure if len(names) == 1}
    rows = [row for column, names, row in sure if len(names) == 1 or not any((column, n) in single for n in names)]
    return Rows.of(sorted(rows, key=lambda row: -int(row["count"] or 0)))


def _equal_values(part: Ints, values: Floats) -> tuple[Ints, Ints]:
    """The part and the size of each set of equal values in the same part."""
    different, codes = np.unique(values, return_inverse=True)
    pair, count = np.unique(part * len(different) + codes, return_counts=True)
    return pair // max(len(different), 1), count
