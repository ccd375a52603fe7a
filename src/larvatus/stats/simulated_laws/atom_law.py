"""The law of released values that recur: values of other records, group means, classes, categories, missing cells.

    p_i(v) = (c_i(v) + α q_i(v)) / (m + α),    −cost = log p_i(v) − log p(v)

    c_i(v)   how often record i has the value v in m simulated releases
    q_i(v)   the probability of v if all records follow one law of moves: stay equal, become missing, move by some ranks
    p(v)     the share of v over all records; costs relative to it weigh an equal rare value more than an equal common one
    α        the weight of the common law. It and the number of classes of moves are chosen by how well they predict
             simulations that were set aside
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.kernels import kernel

_MISSING, _OTHER, _EQUAL, _MOVED = 0, 1, 2, 3  # classes of a move; from _MOVED on, by distance
_BINS = (20, 120, 600)
_SHIFTS = 8
_PSEUDO = 0.3  # what an event counts that no simulation shows
_WEIGHTS = (0.3, 2.0, 10.0, 50.0)
_NEVER = 1e-12


@dataclass(frozen=True, slots=True)
class AtomColumn:
    """A column in codes: original values, simulated values (simulations × records) and released values.

    The last code stands for every value that does not recur. `missing` is the code of missing values, or -1. `place` is the
    position of each value in the order of all, between 0 and 1.
    """

    x: Ints
    simulated: Ints
    y: Ints
    share: Floats
    place: Floats
    missing: int

    @property
    def other(self) -> int:
        return len(self.share) - 1

    @property
    def in_simulations(self) -> Bools:
        """Simulated values that recur."""
        return np.asarray(self.simulated != self.other)

    @property
    def in_release(self) -> Bools:
        """Released values that recur."""
        return np.asarray(self.y != self.other)

    @property
    def agreement(self) -> float:
        """The probability that a record has the same value in two simulations."""
        if len(self.simulated) < 2:
            return float(self.in_simulations.mean())
        first, second = self.simulated[1:], self.simulated[:-1]
        return float(((first == second) & (first != self.other)).mean())

    @property
    def stays(self) -> Bools:
        """Simulated values that equal the original ones."""
        return np.asarray(self.simulated == self.x)

    @classmethod
    def of(cls, x: Floats, simulated: Floats, y: Floats) -> AtomColumn:
        """Values recur if the original column has them, if a record has them in two simulations, or if they are missing."""
        values, codes = np.unique(np.concatenate([x, simulated.ravel(), y]), return_inverse=True)
        codes = codes.ravel()
        n, k = len(x), len(values)
        mine, drawn, shown = codes[:n], codes[n : n + simulated.size].reshape(simulated.shape), codes[n + simulated.size :]
        missing = k - 1 if k and np.isnan(values[-1]) else -1
        recurs = np.zeros(k, dtype=bool)
        recurs[mine] = True
        recurs[missing] |= missing >= 0
        ordered = np.sort(drawn, axis=0)
        recurs[ordered[1:][ordered[1:] == ordered[:-1]]] = True
        drawn, shown = (np.where(recurs[c], c, k) for c in (drawn, shown))
        return cls._of_codes(mine, drawn, shown, k, missing)

    @classmethod
    def together(cls, columns: list[AtomColumn]) -> AtomColumn:
        """Columns that move together as one column, whose values are the combinations of theirs."""
        parts = [np.concatenate([c.x, c.simulated.ravel(), c.y]) for c in columns]
        codes = np.unique(np.array(parts).T, axis=0, return_inverse=True)[1].ravel()
        n, shape = len(columns[0].x), columns[0].simulated.shape
        size = shape[0] * shape[1]
        return cls._of_codes(codes[:n], codes[n : n + size].reshape(shape), codes[n + size :], int(codes.max()) + 1, -1)

    @classmethod
    def _of_codes(cls, x: Ints, simulated: Ints, y: Ints, k: int, missing: int) -> AtomColumn:
        total = simulated.size + len(y)
        share = np.bincount(np.concatenate([simulated.ravel(), y]), minlength=k + 1) / total
        ordered = share.copy()
        ordered[[missing, k] if missing >= 0 else [k]] = 0.0
        above = np.cumsum(ordered)
        place = (above - ordered / 2) / max(float(above[-1]), np.finfo(float).tiny)
        return cls(x, simulated, y, np.maximum(share, 0.5 / total), place, missing)


class AtomLaw:
    """The law of an atom column: for categories from each category to each other one, for numbers by the distance moved."""

    def __init__(self, column: AtomColumn, categorical: bool) -> None:
        self.column = column
        self._moves: Floats | None = None
        self._bins, self._weight = _BINS[0], np.inf
        aside = len(column.simulated) // 8 if len(column.simulated) >= 4 else 0
        if categorical:
            k = len(column.share)
            moves = _PSEUDO * np.tile(column.share, (k, 1))
            np.add.at(moves, (np.broadcast_to(column.x, column.simulated.shape), column.simulated), 1.0)
            self._moves = moves / moves.sum(axis=1, keepdims=True)
        elif aside:
            self._bins = self._choose_bins(column.simulated[:aside], column.simulated[aside:])
        if not categorical:
            self._ratio, self._stays = self._learn(column.simulated)
        if aside:
            self._weight = self._choose_weight(column.simulated[:aside], column.simulated[aside:])

    def _choose_bins(self, test: Ints, train: Ints) -> int:
        likelihood = {}
        for self._bins in _BINS:
            self._ratio, self._stays = self._learn(train)
            likelihood[self._bins] = self._mean_log(self._common(np.broadcast_to(self.column.x, test.shape), test))
        return max(likelihood, key=lambda bins: (likelihood[bins], -bins))

    @staticmethod
    def _mean_log(probability: Floats) -> float:
        return float(np.log(np.maximum(probability, _NEVER)).mean())

    def _learn(self, simulated: Ints) -> tuple[Floats, float]:
        """The ratio of each class of move between own and random pairs, and the probability that a value stays."""
        c = self.column
        m, n = simulated.shape
        size = self._bins + _MOVED
        own = np.bincount(self._classes(c.x, simulated).ravel(), minlength=size) / (m * n)
        steps = np.unique(np.linspace(0, n, _SHIFTS + 2)[1:-1].astype(np.int64))
        steps = steps[steps > 0] if n > 1 else np.zeros(1, dtype=np.int64)
        random = np.zeros(size)
        for step in steps:
            random += np.bincount(self._classes(c.x, np.roll(simulated, step, axis=1)).ravel(), minlength=size)
        random = np.maximum(random / random.sum(), _PSEUDO / (m * n * len(steps)))
        extra = _PSEUDO / (m * n)
        ratio = (own + extra * random) / ((1 + extra) * random)
        by_luck = float(random[_EQUAL])
        return ratio, max((float(own[_EQUAL]) - by_luck) / max(1 - by_luck, _NEVER), 0.0)

    def _classes(self, x: Ints, value: Ints) -> Ints:
        c = self.column
        moved = c.place[value] - c.place[x]
        out = _MOVED + np.minimum(((moved + 1) * (self._bins / 2)).astype(np.int64), self._bins - 1)
        out = np.where(value == x, _EQUAL, out)
        out = np.where(value == c.other, _OTHER, out)
        return np.where((value == c.missing) & (x != c.missing), _MISSING, out)

    def _common(self, x: Ints, value: Ints) -> Floats:
        """q: the probability of the value if every record follows the same law."""
        if self._moves is not None:
            return np.asarray(self._moves[x, value])
        share, kind = self.column.share[value], self._classes(x, value)
        out = self._ratio[kind] * share
        if self._stays > 0:
            out = np.where(kind == _EQUAL, self._stays + (1 - self._stays) * share, out)
        return out

    def _choose_weight(self, test: Ints, train: Ints) -> float:
        count = np.array([(train == row).sum(axis=0) for row in test])
        common = np.maximum(self._common(np.broadcast_to(self.column.x, test.shape), test), _NEVER)
        likelihood = {np.inf: self._mean_log(common)}
        for weight in _WEIGHTS:
            likelihood[weight] = self._mean_log((count + weight * common) / (len(train) + weight))
        return max(likelihood, key=lambda w: (likelihood[w], w))

    def log_ratios(self, records: Ints, rows: Ints) -> Floats:
        """log p_i(v) − log p(v) of every pair, records × rows."""
        c = self.column
        value = c.y[rows]
        if self._moves is None and not np.isfinite(self._weight):
            return self._log_ratios_of_moves(c.x[records], value)
        found = self._common(c.x[records][:, None], value[None])
        if np.isfinite(self._weight):
            there, at = np.unique(value, return_inverse=True)
            drawn = c.simulated[:, records]
            spot = np.minimum(np.searchsorted(there, drawn), len(there) - 1)
            m, i = np.nonzero(there[spot] == drawn)
            count = np.zeros((len(records), len(there)))
            np.add.at(count, (i, spot[m, i]), 1.0)
            found = (count[:, at.ravel()] + self._weight * found) / (len(c.simulated) + self._weight)
        return np.asarray(np.log(np.maximum(found, _NEVER)) - np.log(c.share[value]))

    def _log_ratios_of_moves(self, x: Ints, value: Ints) -> Floats:
        """The same if every record follows one law of moves: a table for each class, and one for values that stay."""
        c = self.column
        share, least = np.log(c.share[value]), float(np.log(_NEVER))
        ratio = np.log(np.maximum(self._ratio, np.finfo(float).tiny))
        stays = np.maximum(ratio[_EQUAL] + share, least)
        if self._stays > 0:
            stays = np.log(np.maximum(self._stays + (1 - self._stays) * c.share[value], _NEVER))
        return np.asarray(_tabled(
            x, c.place[x], value, c.place[value], ratio, share, stays - share, least, c.other, c.missing, self._bins
        ))


@kernel()
def _tabled(
    x: Ints, x_place: Floats, value: Ints, place: Floats, ratio: Floats, share: Floats, stays: Floats, least: float,
    other: int, missing: int, bins: int,
) -> Floats:
    """Logarithms of ratios, records × rows; `ratio` is by class of move, `share` and `stays` are by row."""
    out = np.empty((len(x), len(value)))
    for i in range(len(x)):
        for r in range(len(value)):
            if value[r] == missing and x[i] != missing:
                kind = _MISSING
            elif value[r] == other:
                kind = _OTHER
            elif value[r] == x[i]:
                out[i, r] = stays[r]
                continue
            else:
                kind = _MOVED + min(int((place[r] - x_place[i] + 1) * (bins / 2)), bins - 1)
            out[i, r] = max(ratio[kind] + share[r], least) - share[r]
    return out
