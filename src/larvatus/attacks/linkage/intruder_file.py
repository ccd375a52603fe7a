"""The original as an intruder holds it: without the columns that are not known, and with the intruder's error in numbers.

A number known with error is read as the nearest value that the release shows in that column, if one lies within five standard
deviations of the error. Otherwise it is rounded as the column is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from larvatus.attacks.linkage.linkage_keys import recall_spread, recalled
from larvatus.core.arrays import Floats
from larvatus.core.errors import RiskError
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.copies import copies_of_steps
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.steps import columns_by_step
from larvatus.data.verbs import map_rows

_WITHIN = 5.0  # standard deviations of the error within which a released value is taken for the known one


def check_steps_known(method: str, release: Release, intruder: Intruder) -> None:
    """Raise an error unless the intruder holds columns of the original, and knows the sub-groups and how they were masked."""
    beside = intruder.columns((), (*release.data.sub_groups.columns, *release.data.known))[1]
    if not set(release.data.sub_groups.columns) <= set(beside):
        raise RiskError("the steps can be simulated only by an intruder who knows the sub-groups.", subject=method)
    if intruder.file is not None:
        raise RiskError("the steps can be simulated only by an intruder who knows the original values, not an own file.",
                        subject=method)
    if not release.steps:
        raise RiskError("how the file was masked is not known, so the steps cannot be rerun.", subject=method)
    if not intruder.knows_settings_of(release.steps):
        raise RiskError("the intruder does not know all settings of the steps (intruder.published).", subject=method)


def file_of_intruder(original: Microdata, release: Release, intruder: Intruder) -> Microdata:
    """The original as the intruder holds it. Columns that are not known have no role, and every value of them is missing."""
    base = release.internals.original_columns
    data = original.with_confidential([n for n in original.roles.confidential if n not in base])
    known, beside = intruder.columns(data.confidential, (*data.sub_groups.columns, *data.known))
    kept = {*known, *beside}
    gone = [n for n in (*data.released, *base) if n not in kept and n in data.table.columns]
    if not intruder.error and not any(n not in base for n in gone):
        return data
    columns = data.table.columns
    blank = map_rows(data, lambda g, b: {n: _missing(b[n]) for n in gone}, gone, [columns[n] for n in gone]) if gone else data
    roles = data.roles
    blank = replace(blank, roles=roles.model_copy(update={
        "confidential": known, "non_confidential": tuple(n for n in roles.non_confidential if n in kept),
        "key": tuple(n for n in roles.key if n in kept), "weight": None if roles.weight in gone else roles.weight,
    }))
    return _recalled_values(blank, release, intruder)


def with_known_steps(method: str, held: Microdata, release: Release) -> Release:
    """The release with the steps that mask a column that the intruder knows."""
    if set(held.confidential) >= set(release.data.confidential) - set(release.internals.original_columns):
        return release
    named = zip(release.steps, columns_by_step(held, release.steps), strict=True)
    steps = tuple(s for s, names in named if names or s.drops)
    if not any(s.random for s in steps) or copies_of_steps(steps)[0] != copies_of_steps(release.steps)[0]:
        raise RiskError("the steps cannot be simulated from the columns that the intruder knows.", subject=method)
    return replace(release, steps=steps)


def _missing(values: Array) -> Array:
    return np.full_like(values, np.nan if values.dtype.kind == "f" else -1)


def _recalled_values(data: Microdata, release: Release, intruder: Intruder) -> Microdata:
    """The data with the intruder's error in numbers, read as released values where these are near enough."""
    if not intruder.error:
        return data
    apart = set(data.sub_groups.columns)
    names = [n for n in dict.fromkeys([*data.confidential, *data.known]) if n not in apart]
    columns = {n: data.table.columns[n] for n in data.numeric(names)}
    read = {n: _reader(column, release, intruder) for n, column in columns.items()}

    def blur(group: int, block: Block) -> Mapping[str, Array]:
        return {n: read[n](recalled(block[n], n, block.record, columns[n].dates is not None, intruder)) for n in columns}

    return map_rows(data, blur, list(columns), list(columns.values()))


def _reader(column: Column, release: Release, intruder: Intruder) -> Callable[[Floats], Floats]:
    """How the intruder reads a number of this column that is known with error."""
    shown = _shown_values(column.name, release)

    def read(values: Floats) -> Floats:
        rounded = column.dates.round(values) if column.dates is not None else np.rint(values) if column.integer else values
        if not len(shown):
            return np.asarray(rounded)
        place = np.clip(np.searchsorted(shown, values), 1, max(len(shown) - 1, 1))
        below, above = shown[place - 1], shown[np.minimum(place, len(shown) - 1)]
        nearest = np.where(values - below <= above - values, below, above)
        near = np.abs(values - nearest) <= _WITHIN * recall_spread(values, column.dates is not None, intruder)
        return np.where(near, nearest, rounded)

    return read


def _shown_values(name: str, release: Release) -> Floats:
    """The different numbers that the release, and those joined with it, show in a column, in increasing order."""
    base = release.internals.original_columns
    every = [n for n in release.data.table.columns if base.get(n, n) == name]
    found = [collect(copy, [n])[2][n] for copy in release.copies for n in every if copy.table.columns[n].kind == "number"]
    values = np.unique(np.concatenate([np.zeros(0), *found]))
    return np.asarray(values[np.isfinite(values)])
