"""What the released values of all rows of a person, or of all members of a household, say together.

    ȳ_u = (m_u / (m_u + k)) (mean of y_i − ȳ_g(i) over the m_u records i of unit u),   k = variance inside / between units
    e_u = (max (y_i − upper_i) + min (y_i − lower_i)) / 2    for noise that all rows share, with limits of x_i by S
    the most frequent value of the unit, if there is one     for values that rows repeat

Noise that is drawn for each row is averaged out. Noise that all rows share, such as the shift of all dates of a person, is
found from the mean, and from the limits: the dates of a file begin and end somewhere, and so do those of a year that S names.
A column gets a mean if its original values are alike within units, or if most of the variance of the noise lies between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.attacks.values.repeated_values import most_frequent_values, repeated_share
from larvatus.attacks.values.unit_paths import path_means, varying_numbers
from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Column
from larvatus.data.households.record_units import RecordUnits, unit_levels
from larvatus.data.microdata import Microdata, collect
from larvatus.data.verbs import map_rows

_LEAST_BETWEEN = 0.1  # of the variance; with less, a mean says little
_LEAST_SHARED = 0.5  # of the variance of the noise
_FEWEST_UNITS = 5  # with two records or more
_MOST_SHRUNK = 100.0  # k, in mean sizes of units
_LEAST_REPEATED = 0.1  # of the values
_MOST_COLUMNS, _MOST_CLASSES, _FEWEST_IN_CLASS = 6, 100, 20  # of S; classes of a column; records in a class with limits


@dataclass(frozen=True, slots=True)
class UnitMeans:
    """The data with the columns of means; these by column of the release; and what they explain by chance.

    `chance` has the expected share of the variance of each original column (sub-groups × columns) that means of unrelated
    values explain: values within a unit are alike, so that units count instead of records.
    """

    joined: Microdata
    named: dict[str, str]
    kind: dict[str, str]
    chance: Floats


def with_unit_means(joined: Microdata, original: Microdata, names: Sequence[str], before: Sequence[str]) -> UnitMeans:
    """Means over persons and over households of the columns `names`, of which `before` has the original values."""
    chance = np.zeros((len(joined.groups), len(names)))
    levels = unit_levels(original)
    if not levels:
        return UnitMeans(joined, {}, {}, chance)
    s = [n for n in joined.known if n in joined.table.columns]
    record, group, values = collect(joined, list(dict.fromkeys([*names, *before, *s])))
    numbers = varying_numbers(values, [n for n in s if joined.table.columns[n].kind == "number"][:_MOST_COLUMNS])
    known = [group, *(v for n in s[:_MOST_COLUMNS] if (v := _few(values[n])) is not None)]
    made: dict[str, Floats] = {}
    named: dict[str, str] = {}
    kind: dict[str, str] = {}
    for units in levels:
        own = units.of_records(record)
        shown = _means_of_rows(own, group, values, names, before, known)
        more = np.array([_by_chance(own, group, values[b], len(joined.groups)) for b in before]).T * len(shown)
        for j, (name, was) in enumerate(zip(names, before, strict=True)):
            x, y = _away(values[was], group), _away(values[name], group)
            near = path_means(own.unit, x, y, numbers) if _variances(own.unit, y)[0] > 0 else None
            if near is not None:
                shown["local mean", name] = near[0]
                more[:, j] += np.minimum(near[1] * joined.rows / np.array(joined.groups.sizes), 1.0)
        for (what, name), mean in shown.items():
            column = scratch(f"{what} over {own.kind}", name)
            named[column], kind[column], made[column] = name, own.kind, mean
        chance += more
    if not made:
        return UnitMeans(joined, {}, {}, np.zeros_like(chance))
    out = map_rows(joined, lambda g, b: {n: v[np.searchsorted(record, b.record)] for n, v in made.items()}, (),
                   [Column(n, "number") for n in made])
    return UnitMeans(out, named, kind, np.minimum(chance, 1.0))


def _means_of_rows(
    units: RecordUnits, group: Ints, values: Mapping[str, Array], names: Sequence[str], before: Sequence[str],
    known: Sequence[Ints],
) -> dict[tuple[str, str], Floats]:
    """The means of the columns that differ within units and of which the original values are alike there."""
    out: dict[tuple[str, str], Floats] = {}
    for name, was in zip(names, before, strict=True):
        y, x = (_away(values[n], group) for n in (name, was))
        shown_inside, shown_between = _variances(units.unit, y)
        shared = shown_inside > 0 and _between(units.unit, y - x) > _LEAST_SHARED
        if shared:
            out["shared noise", name] = _between_limits(units.unit, values[name], *_limits(values[was], known))
        if shown_inside > 0 and repeated_share(units.unit, values[was]) > _LEAST_REPEATED:
            out["most frequent value", name] = most_frequent_values(units.unit, values[name])
        if shared or (shown_inside > 0 and _between(units.unit, x) > _LEAST_BETWEEN):
            size = float(units.size.mean())
            k = min(shown_inside / shown_between if shown_between > 0 else np.inf, _MOST_SHRUNK * size)
            count, total = _counts(units.unit, y)
            out["mean", name] = (total / (count + k))[units.unit]
    return out


def _by_chance(units: RecordUnits, group: Ints, x: Floats, groups: int) -> Floats:
    """The share of variance between units, divided by the number of units: by sub-group."""
    out = np.zeros(groups)
    for g in np.unique(group):
        rows = np.flatnonzero((group == g) & np.isfinite(x))
        if len(rows) > 1 and np.ptp(x[rows]):
            unit = np.unique(units.unit[rows], return_inverse=True)[1]
            away = x[rows] - x[rows].mean()
            count, total = _counts(unit, away)
            out[g] = float((total**2 / count).sum()) / float(away @ away) / max(len(count) - 1, 1)
    return out


def _away(values: Floats, group: Ints) -> Floats:
    """Deviations from the mean of the sub-group; NaN if missing."""
    count, total = _counts(group, values)
    return np.asarray(values - (total / np.maximum(count, 1))[group])


def _counts(place: Ints, values: Floats) -> tuple[Floats, Floats]:
    there = np.isfinite(values)
    size = int(place.max(initial=0)) + 1
    count = np.bincount(place[there], minlength=size).astype(np.float64)
    return count, np.asarray(np.bincount(place[there], weights=values[there], minlength=size), dtype=np.float64)


def _few(values: Array) -> Ints | None:
    """The class of each value of a column of S; None if there are too many."""
    if values.dtype.kind == "f":
        there = np.isfinite(values)
        different = np.unique(values[there])
        out = np.where(there, np.searchsorted(different, np.where(there, values, 0.0)), len(different))
        return out.astype(np.int64) if len(different) <= _MOST_CLASSES else None
    return values.astype(np.int64) + 1 if values.max(initial=0) < _MOST_CLASSES else None


def _limits(x: Floats, known: Sequence[Ints]) -> tuple[Floats, Floats]:
    """The least and the largest value that S allows for each record: those of the others in its classes, and of the file."""
    classes = [np.zeros(len(x), dtype=np.int64), *known]
    return (np.max([-_largest_of_others(-x, c) for c in classes], axis=0),
            np.min([_largest_of_others(x, c) for c in classes], axis=0))


def _largest_of_others(x: Floats, code: Ints) -> Floats:
    """The largest value of the others in the class of each record; no limit if the class is small."""
    rows = np.flatnonzero(np.isfinite(x))
    rows = rows[np.lexsort((-x[rows], code[rows]))]
    start = np.unique(code[rows], return_index=True)[1]
    size = np.diff(np.append(start, len(rows)))
    place = np.repeat(np.arange(len(start)), size)
    largest = np.where(size >= _FEWEST_IN_CLASS, x[rows[start]], np.inf)
    second = np.where(size >= _FEWEST_IN_CLASS, x[rows[np.minimum(start + 1, len(rows) - 1)]], np.inf)
    out = np.full(len(x), np.inf)
    out[rows] = np.where(np.arange(len(rows)) == start[place], second[place], largest[place])
    return out


def _between_limits(unit: Ints, y: Floats, least: Floats, most: Floats) -> Floats:
    """The middle of what the noise of each unit can be, if no value of it lies outside its limits."""
    low, high = np.full(int(unit.max()) + 1, -np.inf), np.full(int(unit.max()) + 1, np.inf)
    there = np.isfinite(y)
    np.maximum.at(low, unit[there], (y - most)[there])
    np.minimum.at(high, unit[there], (y - least)[there])
    both = np.isfinite(low) & np.isfinite(high)
    return np.where(both, (np.where(both, low, 0) + np.where(both, high, 0)) / 2, np.nan)[unit]


def _between(unit: Ints, away: Floats) -> float:
    """The share of the variance that lies between units; 0 if there are few."""
    if (np.bincount(unit[np.isfinite(away)]) > 1).sum() < _FEWEST_UNITS:
        return 0.0
    inside, between = _variances(unit, away)
    return between / (inside + between) if inside + between > 0 else 0.0


def _variances(unit: Ints, away: Floats) -> tuple[float, float]:
    """Variance within units and between them (analysis of variance); 0 if it is not positive."""
    count, total = _counts(unit, away)
    n, u = float(count.sum()), float((count > 0).sum())
    if n <= u or u < 2:
        return 0.0, 0.0
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    there = np.isfinite(away)
    inside = float(((away[there] - mean[unit[there]]) ** 2).sum()) / (n - u)
    usual = (n - float((count**2).sum()) / n) / (u - 1)
    between = (float((count * mean**2).sum()) / (u - 1) - inside) / usual
    return inside, max(between, 0.0)
