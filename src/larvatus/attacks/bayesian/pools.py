"""The pools the Bayesian intruder searches, as arrays: known and released values, cells of S, targets, and laws of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.linkage.linkage_keys import TARGET, Keys, add_recall_error
from larvatus.attacks.scoring.credits import distance_from_centre, outlyingness
from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Block
from larvatus.data.intruder import Intruder
from larvatus.data.laws import FactorLaw
from larvatus.data.microdata import Microdata, collect

_SMALLEST = 1e-9  # smallest noise, as a fraction of the range of a column, so that densities stay finite


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Known and released values (columns × records) in record order, with sub-groups, pools, cells of S and targets.

    The last `absent` records are in the original but not in the file.
    """

    x: Floats
    z: Floats
    group: Ints
    pool: Ints
    cell: Ints
    target: NDArray[np.bool_]
    distance: Floats
    absent: int

    @classmethod
    def of(cls, keys: Keys, data: Microdata, original: Microdata, intruder: Intruder) -> RecordColumns:
        names = (*keys.numbers, *(n for n in keys.soft if n not in keys.codes))
        mine = [keys.known_column(n) for n in names]
        read = list(dict.fromkeys([*names, *mine, *keys.exact, TARGET]))
        record, pool, values = collect(keys.joined, read)
        group = collect(data, ())[1]
        exact = [np.asarray(values[n]) for n in keys.exact]
        numbers = list(dict.fromkeys(keys.known_column(n) for n in keys.numbers))
        centres = outlyingness(keys.joined, numbers)
        distance = np.empty(len(record))
        for g, centre in enumerate(centres):
            rows = pool == g
            distance[rows] = distance_from_centre(*centre, Block(record[rows], {n: values[n][rows] for n in numbers}), numbers)
        target = np.asarray(values[TARGET] == 1)
        x, z = (np.array([values[n] for n in side], dtype=np.float64).reshape(len(side), len(record)) for side in (mine, names))
        del values
        more = _absent(keys, names, record, data, original, intruder)
        if more is not None:
            x = np.hstack([x, more[0]])
            z = np.hstack([z, np.full(more[0].shape, np.nan)])
            pool = np.concatenate([pool, more[1] if len(centres) > 1 else np.zeros_like(more[1])])
            exact = [np.concatenate([a, b]) for a, b in zip(exact, more[2], strict=True)]
            target = np.concatenate([target, np.ones(len(more[1]), dtype=bool)])
        from larvatus.stats.linkage.coordinates import same_rows

        cell = same_rows(exact, len(pool))
        return cls(x, z, group, pool, cell, target, distance, len(pool) - len(record))


def _absent(
    keys: Keys, names: Sequence[str], record: Ints, data: Microdata, original: Microdata, intruder: Intruder
) -> tuple[Floats, Ints, list[NDArray[np.generic]]] | None:
    """Records of the original that are not in the file, if the intruder does not know which records are."""
    if intruder.presence == "known" or original.rows == data.rows or intruder.file:
        return None
    columns, theirs = original.table.columns, keys.joined.table.columns
    if any(n not in columns or columns[n].levels != theirs[n].levels for n in keys.exact):
        return None
    base = [keys.base.get(n, n) for n in names]
    held = add_recall_error(original, {n: n for n in dict.fromkeys(base)}, intruder)
    read = list(dict.fromkeys([*base, *keys.exact]))
    all_records, group, values = collect(held, read)
    out = ~np.isin(all_records, record) & (group < len(data.groups))
    x = np.array([values[n][out] for n in base], dtype=np.float64).reshape(len(base), int(out.sum()))
    return x, group[out], [np.asarray(values[n])[out] for n in keys.exact]


@dataclass(frozen=True, slots=True)
class Candidates:
    """One pool: known values of all its records, released values, and laws of the columns that vary."""

    rows: Ints
    x: Floats
    z: Floats
    cell: Ints
    own: Ints
    target: NDArray[np.bool_]
    bias: Ints
    noise: Ints
    bias_sd: Floats
    noise_sd: Floats
    soft: NDArray[np.bool_]

    @property
    def records(self) -> int:
        return int(self.z.shape[1])


def candidates(all_: RecordColumns, pool: int, names: Sequence[str], laws: Mapping[str, FactorLaw], soft: int) -> Candidates:
    """The pool, sorted by values alone; records in the file come first."""
    from larvatus.stats.link_posteriors.kernels import BIAS, NOISE_CODES

    rows = np.flatnonzero(all_.pool == pool)
    there = rows < len(all_.pool) - all_.absent
    order = np.lexsort([*np.nan_to_num(all_.x[:, rows], nan=-1e300), *np.nan_to_num(all_.z[:, rows], nan=-1e300),
                        all_.cell[rows], ~there])
    rows = rows[order]
    n = int(there.sum())
    x, z = all_.x[:, rows].copy(), all_.z[:, rows[:n]].copy()
    used, spread = [], []
    for j, name in enumerate(names):
        if laws[name].zeros_kept:
            x[j][x[j] == 0] = np.nan
            z[j][z[j] == 0] = np.nan
        there_j = z[j][~np.isnan(z[j])]
        if len(there_j) and np.ptp(there_j) > 0:
            used.append(j)
            spread.append(float(np.ptp(there_j)))
    chosen = [laws[names[j]] for j in used]
    group = all_.group[rows[:n]]
    least = _SMALLEST * np.array(spread)[:, None] if used else np.empty((0, 1))
    return Candidates(
        rows, np.ascontiguousarray(x[used]), np.ascontiguousarray(z[used]), all_.cell[rows],
        np.where(np.arange(len(rows)) < n, np.arange(len(rows)), -1), all_.target[rows],
        np.array([BIAS[law.bias] for law in chosen], dtype=np.int64),
        np.array([NOISE_CODES[law.noise] for law in chosen], dtype=np.int64),
        np.array([np.full(n, law.bias_sd) for law in chosen]).reshape(len(used), n),
        np.maximum(np.array([law.noise_sd[group] for law in chosen]).reshape(len(used), n), least),
        np.array([j >= len(names) - soft for j in used], dtype=bool),
    )
