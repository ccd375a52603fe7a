"""Read original values from released ones by laws learnt from simulated releases, without the target's own record.

    x̂_i = Σ_k≠i f_k(y_i) x_k / Σ_k≠i f_k(y_i)        f_k the law of the released values of record k
    x̂_i = Σ_k≠i f(y_i − x_k) x_k / Σ_k≠i f(y_i − x_k)      one column at a time, one law of differences for all records
    x̂_i = mean{x_k : y_k among the m simulated values next to y_i, k ≠ i}        one column at a time

A regression on y is best only if values and noise are normal. Bounded noise, rare values, long tails and relations between
columns that are not linear let the posterior mean tell more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.stats.simulated_laws.pair_trials import TRIALS, PairTrials, SimulatedColumns

_WINDOWS = (25, 100, 400)
_BY_COLUMN = len(_WINDOWS) + 1
READINGS = (*(f"{m} nearest simulated values" for m in _WINDOWS), "one law of differences", *TRIALS)
_BINS = 200  # of the law of differences
_LEAST_GAIN = 0.01  # of the variance; less changes no verdict
_PILOTS, _FINALISTS = 2, 6
_CANDIDATES, _AT_ONCE = 1_500, 4_000_000

_Reader = Callable[[Ints], Floats]


class ValueReadings:
    """The readings of all rows of a sub-group, rows × columns, by place in READINGS. Row i belongs to record i."""

    def __init__(self, columns: SimulatedColumns, values: Floats) -> None:
        self._columns, self._values = columns, values
        self._trials: PairTrials | None = None

    def by(self, reading: int) -> Floats:
        if reading < _BY_COLUMN:
            c = self._columns
            return np.column_stack([
                window_means(x, c.simulated[..., j], c.y[:, j], _WINDOWS[reading]) if reading < len(_WINDOWS) else
                self._posterior_means(_differences(c.x[:, j], c.simulated[..., j], c.y[:, j]))[:, j]
                for j, x in enumerate(self._values.T)])
        self._trials = self._trials or PairTrials(self._columns)
        return self._posterior_means(self._trials.scores(reading - _BY_COLUMN))

    def same(self, reading: int, other: int) -> bool:
        """Whether two readings are the same by definition."""
        first = _BY_COLUMN
        return min(reading, other) >= first and self._trials is not None and (
            self._trials.scores(reading - first) is self._trials.scores(other - first))

    def _posterior_means(self, scores: Callable[[Ints, Ints], Floats]) -> Floats:
        n = len(self._values)
        records = np.unique(np.linspace(0, n - 1, min(n, _CANDIDATES)).astype(np.int64))
        known = self._values[records]
        there = ~np.isnan(known)
        out = np.empty_like(self._values)
        size = max(1, _AT_ONCE // len(records))
        for rows in (np.arange(a, min(a + size, n)) for a in range(0, n, size)):
            likely = np.array(scores(records, rows), dtype=np.float64)
            likely[records[:, None] == rows] = -np.inf
            weight = np.exp(likely - np.maximum(likely.max(axis=0), np.finfo(float).min))
            total = weight.T @ there
            out[rows] = np.where(total > 0, (weight.T @ np.where(there, known, 0.0)) / np.where(total > 0, total, 1.0), np.nan)
        return out


def window_means(x: Floats, simulated: Floats, y: Floats, m: int) -> Floats:
    """For each row, the mean original value of the m simulated values next to its own, without those of its record."""
    times, n = simulated.shape
    owner, drawn = np.tile(np.arange(n), times), simulated.ravel()
    used = np.isfinite(drawn) & np.isfinite(x)[owner]
    order = np.flatnonzero(used)[np.argsort(drawn[used], kind="stable")]
    m = min(m, len(order) // 4)
    if m < 2:
        return np.full(len(y), np.nan)
    place = (np.searchsorted(drawn[order], y, "left") + np.searchsorted(drawn[order], y, "right")) // 2
    first = np.clip(place - m // 2, 0, len(order) - m)
    owners, known = owner[order], x[owner[order]]
    mean = np.full(len(y), np.nan)
    size = max(1, _AT_ONCE // m)
    for rows in (np.arange(a, min(a + size, len(y))) for a in range(0, len(y), size)):
        near = first[rows, None] + np.arange(m)
        others = owners[near] != rows[:, None]
        count = others.sum(axis=1)
        mean[rows] = np.where(count > 0, (known[near] * others).sum(axis=1) / np.maximum(count, 1), np.nan)
    return np.where(np.isfinite(y), mean, np.nan)


def _differences(x: Floats, simulated: Floats, y: Floats) -> Callable[[Ints, Ints], Floats]:
    """The log density of y − x for pairs of a record and a row, if all records have the same law of differences."""
    apart = (simulated - x).ravel()
    apart = apart[np.isfinite(apart)]
    low, high = (float(apart.min()), float(apart.max())) if len(apart) else (0.0, 0.0)
    width = (high - low) / _BINS or 1.0
    count = np.bincount(np.minimum(((apart - low) / width).astype(np.int64), _BINS - 1), minlength=_BINS)
    with np.errstate(divide="ignore"):
        law = np.log(np.concatenate([[0.0], count, [0.0]]))

    def scores(records: Ints, rows: Ints) -> Floats:
        place = (y[rows] - x[records][:, None] - low) / width
        return np.asarray(law[np.clip(np.nan_to_num(np.floor(place), nan=-1), -1, _BINS).astype(np.int64) + 1])

    return scores


def choose_readings(columns: SimulatedColumns, values: Floats) -> list[int | None]:
    """For each column, the reading that tells most beyond a regression if simulated releases are read; None if none does.

    All are tried on the first simulated release, and the best six of each column on the second one too: some do well once, by
    luck. The release itself has no part in the choice.
    """
    gains = np.zeros((len(READINGS), values.shape[1]))
    pilots = min(_PILOTS, len(columns.simulated) - 1)
    tried = np.arange(len(READINGS))
    for t in range(pilots):
        rest = np.arange(len(columns.simulated)) != t
        reader = ValueReadings(replace(columns, y=columns.simulated[t], simulated=columns.simulated[rest]), values)
        done: list[int] = []
        for k in tried.tolist():
            if not any(reader.same(i, k) for i in done):
                gains[k] += [_gain(x, columns.simulated[t], r) for x, r in zip(values.T, reader.by(k).T, strict=True)]
                done.append(k)
        tried = np.unique(np.array(done)[np.argsort(-gains[done], axis=0, kind="stable")[:_FINALISTS]])
    if not pilots:
        return [None] * values.shape[1]
    best = tried[gains[tried].argmax(axis=0)]
    enough = gains[best, np.arange(len(best))] / pilots >= _LEAST_GAIN
    return [int(k) if ok else None for k, ok in zip(best, enough, strict=True)]


def _gain(x: Floats, shown: Floats, reading: Floats) -> float:
    """By how much the reading as a prediction explains more of the variance than a regression on y, fitted to the same rows.

    The reading is no regressor: it is made without the record, and a regression would undo that.
    """
    used: Bools = np.isfinite(x) & np.isfinite(reading)
    if not used.any():
        return 0.0
    there = np.isfinite(shown)
    mean = np.where(there, shown, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    given = np.column_stack([np.ones(len(x)), np.where(there, shown - mean, 0.0)])[used]
    away = x[used] - x[used].mean()
    total = float(away @ away)
    if len(away) <= given.shape[1] + 1 or not total > 0:
        return 0.0
    left = away - given @ np.linalg.lstsq(given, away, rcond=None)[0]
    missed = x[used] - reading[used]
    return float(left @ left - missed @ missed) / total
