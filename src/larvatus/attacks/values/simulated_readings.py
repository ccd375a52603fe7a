"""Original values as an intruder reads them who makes the release again: posterior means given all released columns.

The intruder holds the other records and knows the steps, but not the secret. Which law reads a column best is decided on
simulated releases. A column gets a reading only if it tells more there than a regression on the released columns.
A reading is a prediction without the record. It must not be regressed on: a mean of the other records, scaled, is the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from larvatus.attacks.linkage.intruder_file import check_steps_known
from larvatus.attacks.linkage.simulated_columns import columns_of_records
from larvatus.attacks.linkage.simulated_releases import SimulatedPart, simulate_parts
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Column
from larvatus.data.copies import copies_in_memory
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.verbs import hold_in_memory, map_rows

_MOST_CELLS = 500_000  # in larger files, few records decide less, and each is compared with many others
_PILOT, _FEWEST = 500, 20  # records by which readings are chosen


def with_simulated_readings(
    joined: Microdata, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom, names: Sequence[str],
) -> tuple[Microdata, dict[str, str]]:
    """The data with a column of readings for each of `names` that is read better than by regression; these columns by name."""
    parts = _parts(original, release, intruder, random)
    if not parts:
        return joined, {}
    first = parts[0]
    read = [n for n in names if n in first.names]
    values = first.original[:, [first.names.index(n) for n in read]]
    chosen = _choice(parts, values)
    if all(k is None for k in chosen):
        return joined, {}
    out = np.full(values.shape, np.nan)
    for g in np.unique(first.group):
        _read_group(parts, values, first.record[first.group == g], chosen, out)
    record = collect(joined, ())[0]
    made: dict[str, Floats] = {}
    named: dict[str, str] = {}
    for j, (name, k) in enumerate(zip(read, chosen, strict=True)):
        if k is not None:
            named[name] = scratch("reading", name)
            made[named[name]] = out[np.searchsorted(first.record, record), j]
    return map_rows(joined, lambda g, b: {n: v[np.searchsorted(record, b.record)] for n, v in made.items()}, (),
                    [Column(n, "number") for n in made]), named


def _parts(original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> list[SimulatedPart]:
    """The simulated releases; none if the intruder cannot simulate the release, or it is too large."""
    masked = [n for n in release.data.confidential if n not in release.internals.original_columns]
    known = intruder.columns(tuple(masked), ())[0]
    if (not any(s.random for s in release.steps) or set(known) != set(masked) or intruder.error
            or release.data.rows * len(masked) > _MOST_CELLS):
        return []
    with suppress(RiskError):
        check_steps_known("value_disclosure", release, intruder)
        original, release = hold_in_memory(original), copies_in_memory(release)  # many releases are made from it
        return simulate_parts("value_disclosure", original, release, intruder, random.child("readings"), masked)
    return []


def _choice(parts: Sequence[SimulatedPart], values: Floats) -> list[int | None]:
    from larvatus.stats.simulated_laws.value_readings import choose_readings

    first = parts[0]
    record = first.record[first.group == np.argmax(np.bincount(first.group))]
    record = record[first.in_canonical_order(record)]
    record = record[np.unique(np.linspace(0, len(record) - 1, min(_PILOT, len(record))).astype(np.int64))]
    if len(record) < _FEWEST:
        return [None] * values.shape[1]
    return choose_readings(columns_of_records(parts, record), values[np.searchsorted(first.record, record)])


def _read_group(
    parts: Sequence[SimulatedPart], values: Floats, record: Ints, chosen: Sequence[int | None], out: Floats
) -> None:
    """Fill in the readings of the records of a sub-group."""
    from larvatus.stats.simulated_laws.value_readings import ValueReadings

    record = record[parts[0].in_canonical_order(record)]
    place = np.searchsorted(parts[0].record, record)
    readings = ValueReadings(columns_of_records(parts, record), values[place])
    for k in sorted({k for k in chosen if k is not None}):
        own = np.array([j for j, chose in enumerate(chosen) if chose == k])
        out[np.ix_(place, own)] = readings.by(k)[:, own]
