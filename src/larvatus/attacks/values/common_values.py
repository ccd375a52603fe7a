"""The guess at a value by an intruder with several releases: the mean of the values that all of them show for the record.

A mask that moves values within sub-groups leaves every value in the sub-group of its owner. If another release was masked in
other sub-groups, the owner of a value is in both.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Column
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.verbs import map_rows
from larvatus.stats.estimates.common_values import mean_of_common_values


def with_common_values(data: Microdata, release: Release) -> tuple[Microdata, dict[str, str]]:
    """The data with a column of guesses for each column of which releases have values in common, and these columns by name.

    A column gets none if the guess does not vary within a sub-group: releases in the same sub-groups add nothing.
    """
    if not release.internals.other_releases:
        return data, {}
    record, group, _ = collect(data, ())
    made: dict[str, Floats] = {}
    named: dict[str, str] = {}
    for name in release.data.numeric(release.data.confidential):
        others = [o.data for o in release.internals.other_releases if name in o.internals.original_columns.values()
                  and o.data.table.columns[name].kind == "number"]
        if name in release.internals.original_columns or not others:
            continue
        shown = [collect(d, [name]) for d in (release.data, *others)]
        guess = mean_of_common_values([(v[name], g) for _, g, v in shown], [_groups_of(record, r, g) for r, g, _ in shown])
        mean = _means(guess, group)
        if np.nanmax(np.abs(guess - mean[group]), initial=0.0) > 1e-9 * np.nanmax(np.abs(guess), initial=0.0):
            named[name] = scratch("common", name)
            made[named[name]] = np.where(np.isnan(guess), mean[group], guess)
    if not made:
        return data, {}
    return map_rows(data, lambda g, b: {n: v[np.searchsorted(record, b.record)] for n, v in made.items()}, (),
                    [Column(n, "number") for n in made]), named


def _groups_of(record: Ints, there: Ints, group: Ints) -> Ints:
    """The groups of these records in a release; -1 if it does not have them."""
    place = np.minimum(np.searchsorted(there, record), len(there) - 1)
    return np.where(there[place] == record, group[place], -1)


def _means(values: Floats, group: Ints) -> Floats:
    """The mean of each group without missing values; 0 if all are missing."""
    known = np.isfinite(values)
    count, total = (np.bincount(group[known], weights=w, minlength=int(group.max(initial=0)) + 1)
                    for w in (None, values[known]))
    return np.asarray(total / np.maximum(count, 1))
