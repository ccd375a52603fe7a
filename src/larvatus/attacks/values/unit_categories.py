"""What the released categories of the other rows of a person, or members of a household, say about that of a record.

    P(y_others | x_i = k) = Σ_h P(h | k) Π_m Σ_l P(l | h) P(y_m | l)      over the other records m of the unit of record i

    h         the most frequent category of the unit;  P(h | k), P(l | h): how often a record has k or l in a unit with h
    P(c | l)  the transitions of the mask. All are counted in the other units

Members of a household share a language or a religion more often than strangers do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.households.record_units import RecordUnits, unit_levels
from larvatus.data.microdata import Microdata, collect

_MOST_UNITS, _MOST_LEVELS = 50_000, 50
_PSEUDO = 0.5  # added to the counts of a row


@dataclass(frozen=True, slots=True)
class UnitCategories:
    """The log likelihood of the released categories of the others, records × categories, up to a constant for each record."""

    record: Ints
    log: Floats

    @classmethod
    def of(cls, joined: Microdata, original: Microdata, name: str, codes: tuple[Ints, Ints], k: int) -> UnitCategories | None:
        """None if no unit has two records, or if there are too many units or categories."""
        levels = unit_levels(original)
        if not levels or k > _MOST_LEVELS or max(len(u.size) for u in levels) > _MOST_UNITS:
            return None
        was = scratch("original", name)
        record, _, values = collect(joined, [was, name])
        x, y = codes[0][values[was]], codes[1][values[name]]
        log = np.zeros((len(record), k))
        for units in levels:
            log += _of_others(units.of_records(record), x, y, k)
        return cls(record, log)

    def likelihood(self, record: Ints) -> Floats:
        """The likelihoods for these records, at most 1."""
        log = self.log[np.searchsorted(self.record, record)]
        return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))


def _of_others(units: RecordUnits, x: Ints, y: Ints, k: int) -> Floats:
    """Log likelihoods by the other records of one kind of units; 0 for records that are alone."""
    members = [rows for rows in np.split(units.members, units.starts[1:-1]) if len(rows) > 1]
    own = [(_by_mode(x[rows], k), _table(x[rows], y[rows], k)) for rows in members]
    out = np.zeros((len(x), k))
    alone = _table(x, y, k) - sum(t for _, t in own)
    modes, table = sum(p for p, _ in own), sum((t for _, t in own), alone)
    for rows, (p, t) in zip(members, own, strict=True):
        by_mode, changes = modes - p, _shares(table - t)
        shown = y[rows] >= 0
        log = np.where(shown, np.log(_shares(by_mode) @ changes[:, np.where(shown, y[rows], 0)]), 0.0)
        others = log.sum(axis=1)[:, None] - log
        top = others.max(axis=0)
        out[rows] = (top + np.log(_shares(by_mode.T) @ np.exp(others - top))).T
    return out


def _by_mode(x: Ints, k: int) -> Floats:
    """How often the records of a unit have each category, in the row of its most frequent one; ties share."""
    count = np.bincount(x[x >= 0], minlength=k).astype(np.float64)
    top = (count == count.max()) & (count > 0)
    return np.outer(top / max(top.sum(), 1), count)


def _table(x: Ints, y: Ints, k: int) -> Floats:
    both = (x >= 0) & (y >= 0)
    return np.bincount(x[both] * k + y[both], minlength=k * k).reshape(k, k).astype(np.float64)


def _shares(counts: Floats) -> Floats:
    """Shares by row."""
    more = counts + _PSEUDO / counts.shape[1]
    return np.asarray(more / more.sum(axis=1, keepdims=True))
