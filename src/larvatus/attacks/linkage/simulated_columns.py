"""Simulated releases as columns for the laws of pairs: all records of a sub-group, or the pilot by which laws are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from larvatus.attacks.linkage.simulated_releases import SimulatedPart
from larvatus.core.arrays import Floats, Ints

if TYPE_CHECKING:
    from larvatus.stats.simulated_laws.pair_trials import SimulatedColumns

_PILOT = 250  # records of the simulated release by which trials are chosen


def columns_of_records(parts: Sequence[SimulatedPart], record: Ints) -> SimulatedColumns:
    """The columns of all parts for these records, in standard deviations of the released values."""
    from larvatus.stats.simulated_laws.pair_trials import SimulatedColumns

    made = []
    for part in parts:
        x, simulated, shown = part.of(record)
        unit = np.where(part.categorical, 1.0, _units(shown[0]))
        made.append(SimulatedColumns.of_copies(x / unit, [v / unit for v in simulated], [v / unit for v in shown],
                                               part.categorical, part.image_of(record) / unit))
    times = min(len(m.simulated) for m in made)
    return SimulatedColumns(
        np.hstack([m.x for m in made]), np.concatenate([m.simulated[:times] for m in made], axis=2),
        np.hstack([m.y for m in made]), tuple(k for m in made for k in m.categorical), np.hstack([m.image for m in made]),
    )


def pilot_records(parts: Sequence[SimulatedPart], most: int = _PILOT) -> Ints:
    """Records of the largest sub-group; if there are many, those in the middle of the direction of largest variance."""
    from larvatus.stats.linkage.paired_points import in_same_units, windows_along, with_indicators

    first = parts[0]
    record = first.record[first.group == np.argmax(np.bincount(first.group))]
    x, _, shown = first.of(record)
    if len(record) > most:
        known, y = in_same_units(x, shown[0])
        gone = np.isnan(known).any(axis=0) | np.isnan(y).any(axis=0)
        windows = list(windows_along(with_indicators(known, gone), with_indicators(y, gone), most))
        record = record[windows[len(windows) // 2].left]
    return np.asarray(record[first.in_canonical_order(record)])


def _units(values: Floats) -> Floats:
    """Standard deviations of the columns; 1 for a column that does not vary."""
    sd = [float(np.std(v[np.isfinite(v)])) if np.isfinite(v).any() else 0.0 for v in values.T]
    return np.array([s if s > 0 else 1.0 for s in sd])
