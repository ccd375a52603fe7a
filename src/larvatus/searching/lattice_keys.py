"""The keys of a file for the search of their levels: combinations that occur, new codes and losses at every level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.attacks.key_risk import KeyRisk
from larvatus.attacks.keys.key_population import population_of
from larvatus.attacks.keys.key_table import KeyTable, class_values, key_table
from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Block
from larvatus.data.hierarchies.key_ladders import CategoryLadder, Ladder
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import as_one_group, reduce_groups
from larvatus.searching.lattice_settings import Lattice
from larvatus.stats.grouping.rare_classes import ClassValues, KeyClasses
from larvatus.stats.grouping.recoding_lattice import RecodedKeys


def keys_for_recoding(
    data: Microdata, method: KeyRisk, names: tuple[str, ...], fixed: tuple[str, ...], ladders: Sequence[Ladder],
    settings: Lattice, of: Sequence[str],
) -> tuple[RecodedKeys, Ints]:
    """The keys that can be recoded, and the codes of the others."""
    population = population_of(data, data.rows, method.sampled)
    table = key_table(as_one_group(data), names, population.weight)
    part = np.unique(table.codes[:, : len(fixed)], axis=0, return_inverse=True)[1].reshape(-1) if fixed else (
        np.zeros(len(table.count), dtype=np.int64))
    values = []
    for name in of:
        ordered = data.table.columns[name].kind == "number" or name in data.roles.ordered
        values.append(ClassValues(*class_values(as_one_group(data), table, name), ordered))
    classes = KeyClasses(part, table.count, table.weight, population.fraction, tuple(values))
    codes, new, losses = table.codes[:, len(fixed) :] + 1, [], []
    total = sum(settings.importance.get(n, 1.0) for n in names)
    for j, (name, ladder) in enumerate(zip(names[len(fixed) :], ladders, strict=True)):
        maps = _maps(data, table, name, len(fixed) + j, ladder)
        new.append(tuple(maps))
        losses.append(_losses(codes[:, j], table.count, maps) * settings.importance.get(name, 1.0) / total)
    return RecodedKeys(codes, classes, tuple(new), tuple(losses)), table.codes[:, : len(fixed)]


def _maps(data: Microdata, table: KeyTable, name: str, j: int, ladder: Ladder) -> list[Ints]:
    """The code at each level of every code of a key; 0 is missing, at all levels."""
    column = data.table.columns[name]
    out: list[Ints] = []
    for level in range(ladder.height + 1):
        if isinstance(ladder, CategoryLadder):
            labels = ladder.labels(column.levels, level)
            first = {label: i for i, label in enumerate(dict.fromkeys(labels))}  # the order of the recoded column
            number = np.array([first[label] for label in labels], dtype=np.int64)
        else:
            values = _values(data, name)
            ends = (values[0], values[-1]) if len(values) else (0.0, 0.0)
            cuts = ladder.cuts(float(ends[0]), float(ends[1]), level)
            number = np.arange(len(values)) if level == 0 else np.searchsorted(np.array(cuts), values, side="right")
        out.append(np.concatenate(([0], number + 1)).astype(np.int64))
    return out


def _values(data: Microdata, name: str) -> Floats:
    """The different values of a numeric column, ascending."""
    def of(group: int, block: Block) -> Floats:
        return np.unique(block[name][~np.isnan(block[name])])

    return reduce_groups(as_one_group(data), [name], of, lambda a, b: np.unique(np.concatenate((a, b))))[0]


def _losses(codes: Ints, count: Ints, maps: Sequence[Ints]) -> Floats:
    """Levels and suppression × codes: the loss of a cell, as a share of the loss if all cells of the key are suppressed."""
    n = np.bincount(codes, weights=count, minlength=len(maps[0])).astype(np.float64)
    n[0] = 0.0
    there, total = n > 0, n.sum()
    out = np.zeros((len(maps) + 1, len(n)))
    for level, new in enumerate(maps):
        joined = np.bincount(new, weights=n)[new]
        out[level, there] = np.log(joined[there] / n[there])
    out[-1, there] = np.log(total / n[there])
    most = float(out[-1] @ n)
    return out / most if most > 0 else np.zeros_like(out)
