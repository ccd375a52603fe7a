"""The law of the released row of each record, independent over records: draws, and log densities of rows under records.

    added noise     y = z_j + u,  independent u of named distributions, in coordinates in which they have variance 1
    random factor   y = x_j θ + ε,  normal θ and ε:  y ~ N(x_j, σ² + φ² x_j²) in each column
    levels          P(y = l | x_j = k) in each column
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from larvatus.core.arrays import Floats, Ints, Matrix

_HALF = np.sqrt(3.0)
_NARROW = np.sqrt(0.4)
_SURE = 1e-14  # noise that a direction without noise is taken to have, in SDs of the column: less than the last digits
_APART = 1e3  # between values of columns without noise, in SDs
_ROUNDING = 4 * np.finfo(float).eps


class RecordLaw(Protocol):
    """The law of one part of the released row, for a fixed list of records."""

    @property
    def points(self) -> Floats:
        """Records × coordinates: near points have similar laws."""

    def draw(self, rows: Ints, random: np.random.Generator) -> Floats:
        """A released part for each of the records."""

    def log_density(self, released: Floats, rows: Ints) -> Floats:
        """log f(released | record), released × records, up to a constant for each released part."""


@dataclass(frozen=True, slots=True)
class AddedNoise:
    """y = points + u; `shapes` has the distribution of each coordinate of u."""

    points: Floats
    shapes: tuple[str, ...]

    def draw(self, rows: Ints, random: np.random.Generator) -> Floats:
        noise = [_drawn(s, len(rows), random) for s in self.shapes]
        return self.points[rows] + np.stack(noise, axis=1) if noise else self.points[rows]

    def log_density(self, released: Floats, rows: Ints) -> Floats:
        out = np.zeros((len(released), len(rows)))
        normal = [k for k, s in enumerate(self.shapes) if s == "normal"]
        if normal:
            centre = self.points[rows][:, normal].mean(axis=0)
            y, z = released[:, normal] - centre, self.points[rows][:, normal] - centre
            exact = np.abs(z).max(initial=0.0) > 1e5
            out -= _by_pairs(y, z) if exact else ((y**2).sum(axis=1)[:, None] - 2 * y @ z.T + (z**2).sum(axis=1)) / 2
        for k, s in enumerate(self.shapes):
            if s != "normal":
                out += _log_density(s, np.abs(released[:, k : k + 1] - self.points[rows, k]))
        return out


def no_values(records: int) -> AddedNoise:
    """The law of records of which nothing is drawn: nothing tells them apart."""
    return AddedNoise(np.zeros((records, 0)), ())


def _by_pairs(y: Floats, z: Floats) -> Floats:
    """Half the squared distances without cancellation, column by column."""
    out = np.zeros((len(y), len(z)))
    for k in range(y.shape[1]):
        out += (y[:, k : k + 1] - z[:, k]) ** 2 / 2
    return out


def _drawn(shape: str, count: int, random: np.random.Generator) -> Floats:
    if shape == "uniform":
        return random.uniform(-_HALF, _HALF, count)
    if shape == "laplace":
        return random.laplace(0.0, 1 / np.sqrt(2), count)
    z = random.standard_normal(count)
    return np.where(random.random(count) < 0.1, 4.0, 1.0) * _NARROW * z if shape == "mixture" else z


def _log_density(shape: str, r: Floats) -> Floats:
    if shape == "uniform":
        return np.where(r <= _HALF * (1 + 1e-9), 0.0, -np.inf)
    if shape == "laplace":
        return np.asarray(-np.sqrt(2) * r)
    z = (r / _NARROW) ** 2 / 2
    return np.asarray(-z / 16 + np.log(0.9 * np.exp(z / 16 - z) + 0.025))


def added_noise(values: Matrix, root: Matrix, shape: str) -> AddedNoise | None:
    """The law of values + rootᵀ u; None if the draws u cannot be recovered from the noise.

    Directions that get no noise are kept with noise so small that records that differ there are told apart. Columns without
    noise tell all their values apart.
    """
    noisy = (root != 0).any(axis=0)
    if not noisy.all():
        codes = [np.unique(x, return_inverse=True)[1].reshape(-1) for x in values[:, ~noisy].T if np.ptp(x) > 0]
        rest = added_noise(values[:, noisy], root[:, noisy], shape) if noisy.any() else no_values(len(values))
        return rest and AddedNoise(np.column_stack([rest.points, *(_APART * c for c in codes)]),
                                   (*rest.shapes, *("normal",) * len(codes)))
    sd = np.maximum(values.std(axis=0), np.sqrt((root**2).sum(axis=0)))
    sd = np.where(sd > 0, sd, 1.0)
    left, size, right = np.linalg.svd(root / sd, full_matrices=True)
    rank = int((size > _SURE).sum())
    if shape != "normal" and rank < len(root):
        return None
    turn = (right[:rank].T / size[:rank]) / sd[:, None]
    if shape != "normal":
        turn = turn @ left[:, :rank].T
    still = right[rank:].T / sd[:, None] / _SURE
    centred = values - values.mean(axis=0)
    at, doubt = centred @ still, _ROUNDING * (np.abs(values) @ np.abs(still))  # of the numbers themselves
    still = still[:, (at - doubt).max(axis=0) > (at + doubt).min(axis=0) + 1.0]
    return AddedNoise(centred @ np.hstack([turn, still]), (shape,) * rank + ("normal",) * still.shape[1])


@dataclass(frozen=True, slots=True)
class RandomFactor:
    """y ~ N(x, σ² + φ² x²), column by column; `noise_sd` and `factor_sd` have one value per column."""

    values: Floats
    noise_sd: Floats
    factor_sd: Floats

    @property
    def points(self) -> Floats:
        return np.asarray(self.values / np.sqrt(self._sd(self.values) ** 2).mean(axis=0))

    def _sd(self, x: Floats) -> Floats:
        sd, every = (np.hypot(self.noise_sd, self.factor_sd * v) for v in (x, self.values))
        least = np.where(every > 0, every, np.inf).min(axis=0)
        return np.asarray(np.where(sd > 0, sd, _SURE * np.where(np.isfinite(least), least, 1.0)))

    def draw(self, rows: Ints, random: np.random.Generator) -> Floats:
        x = self.values[rows]
        return np.asarray(x + self._sd(x) * random.standard_normal(x.shape))

    def log_density(self, released: Floats, rows: Ints) -> Floats:
        x = self.values[rows]
        sd = self._sd(x)
        out = np.zeros((len(released), len(rows)))
        with np.errstate(over="ignore"):
            for k in range(x.shape[1]):
                out -= ((released[:, k : k + 1] - x[:, k]) / sd[:, k]) ** 2 / 2 + np.log(sd[:, k])
        return out


@dataclass(frozen=True, slots=True)
class LevelLaw:
    """P(y | x) in each column: `codes` are records × columns, `moves` one transition matrix per column."""

    codes: Ints
    moves: tuple[Matrix, ...]

    @property
    def points(self) -> Floats:
        return np.asarray(self.codes, dtype=np.float64)

    def draw(self, rows: Ints, random: np.random.Generator) -> Floats:
        out = np.empty((len(rows), len(self.moves)))
        for k, move in enumerate(self.moves):
            upper = np.cumsum(move, axis=1)
            upper[:, -1] = 1.0
            out[:, k] = (random.random(len(rows))[:, None] >= upper[self.codes[rows, k]]).sum(axis=1)
        return out

    def log_density(self, released: Floats, rows: Ints) -> Floats:
        out = np.zeros((len(released), len(rows)))
        for k, move in enumerate(self.moves):
            with np.errstate(divide="ignore"):
                out += np.log(move.T[released[:, k].astype(np.int64)][:, self.codes[rows, k]])
        return out


@dataclass(frozen=True, slots=True)
class JointLaw:
    """Parts of the released row that are masked independently of each other, one at least."""

    parts: tuple[RecordLaw, ...]
    records: int

    @property
    def points(self) -> Floats:
        return np.hstack([p.points for p in self.parts])

    def draw(self, rows: Ints, random: np.random.Generator) -> Sequence[Floats]:
        return [p.draw(rows, random) for p in self.parts]

    def log_density(self, released: Sequence[Floats], rows: Ints) -> Floats:
        out = np.zeros((len(released[0]), len(rows)))
        for part, y in zip(self.parts, released, strict=True):
            out = out + part.log_density(y, rows)
        return out
