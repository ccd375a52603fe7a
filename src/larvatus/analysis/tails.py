"""The tail that top coding cut off, filled in from its published mean and count by a Pareto law.

Only the distribution of the one column is restored: which record held which value is not known, so relations with other
columns in the tail are not. The sum of the filled tail is exactly the published one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import AnalysisError
from larvatus.core.randomness import RecordRandom, stream_key

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ParetoTail:
    """Values above a bound: Pr(X > x | X > bound) = (bound / x)^index, with index = mean / (mean - bound)."""

    bound: float
    mean: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.bound) and self.bound > 0):
            raise AnalysisError(f"bound: a Pareto tail needs one above 0, got {self.bound!r}.")
        if not (np.isfinite(self.mean) and self.mean > self.bound):
            raise AnalysisError(f"mean: the mean above the bound must exceed it, got {self.mean!r} and {self.bound!r}.")

    @property
    def index(self) -> float:
        return self.mean / (self.mean - self.bound)

    @property
    def variance(self) -> float:
        """Variance in the tail, infinite at an index of two or less."""
        a = self.index
        return float("inf") if a <= 2 else self.bound**2 * a / ((a - 1) ** 2 * (a - 2))

    def quantile(self, probability: float | Sequence[float] | Floats) -> Floats:
        """Value below which a share of the tail lies."""
        p = np.asarray(probability, dtype=np.float64)
        if ((p < 0) | (p >= 1)).any():
            raise AnalysisError("probability: needs values from 0 to below 1.")
        return np.asarray(self.bound * (1 - p) ** (-1 / self.index))

    def values(self, count: int) -> Floats:
        """So many values at even steps of probability, ascending, with exactly the stated mean."""
        q = self.quantile((np.arange(count) + 0.5) / count)
        return np.asarray(self.bound + (q - self.bound) * ((self.mean - self.bound) / (q - self.bound).mean()))


def filled_tail(
    values: Sequence[float] | Floats, bound: float, mean: float, count: int | None = None, seed: int = 0,
) -> Floats:
    """A top-coded column with its tail filled in: values at or above the bound get Pareto values in random order.

    `bound` and `mean` are published: the value from which on the column was cut, and the mean of what was cut. `count` is how
    many were; it is checked against the column, or, where the cut records were left out of it, so many values are added
    at its end. Missing values stay missing. Repeat with several seeds to see what the unknown order does to an analysis.
    """
    out = np.array(values, dtype=np.float64)
    tail = ParetoTail(float(bound), float(mean))
    cut = np.flatnonzero(out >= bound)
    if len(cut) == 0:
        if not count:
            raise AnalysisError("filled_tail: no value lies at or above the bound. Give the count that was cut off.")
        out, cut = np.concatenate([out, np.full(count, np.nan)]), np.arange(len(out), len(out) + count)
    elif count is not None and count != len(cut):
        raise AnalysisError(
            f"count: {count} values were cut, and {len(cut)} of the column lie at or above the bound. Give the bound that was "
            "used, or leave count out where values equal to the bound were not cut."
        )
    words = RecordRandom(stream_key(b"a filled tail is no secret", str(seed))).words(cut)[0]
    out[cut[np.argsort(words, kind="stable")]] = tail.values(len(cut))
    return out
