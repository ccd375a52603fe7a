"""Fill in the tail removed by top coding, from its published mean and count, by a Pareto law:

    Pr(X > x | X > bound) = (bound / x)^a,   a = mean / (mean − bound)

Only the distribution of this column is restored. Which record had which value is unknown, so relations with other columns in
the tail are not restored. The sum of the filled tail equals the published one exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.errors import AnalysisError
from larvatus.core.randomness import RecordRandom, stream_key


@dataclass(frozen=True, slots=True)
class ParetoTail:
    """Values above a bound: Pr(X > x | X > bound) = (bound / x)^index, with index = mean / (mean - bound).

    Examples:
        >>> import larvatus as lv
        >>> tail = lv.analysis.ParetoTail(bound=100.0, mean=150.0)
        >>> tail.index
        3.0
    """

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
        """Variance in the tail; infinite if the index is 2 or less."""
        a = self.index
        return float("inf") if a <= 2 else self.bound**2 * a / ((a - 1) ** 2 * (a - 2))

    def quantile(self, probability: float | Sequence[float] | Floats) -> Floats:
        """The value below which this share of the tail lies."""
        p = np.asarray(probability, dtype=np.float64)
        if ((p < 0) | (p >= 1)).any():
            raise AnalysisError("probability: needs values from 0 to below 1.")
        return np.asarray(self.bound * (1 - p) ** (-1 / self.index))

    def values(self, count: int) -> Floats:
        """`count` ascending values at equal steps of probability, with exactly the stated mean."""
        return self.weighted_values(np.ones(count))

    def weighted_values(self, weights: Floats) -> Floats:
        """One ascending value per weight, at the middle of its share of probability, with the stated weighted mean."""
        total = weights.sum()
        q = self.quantile(np.minimum((np.cumsum(weights) - weights / 2) / total, 1 - 1e-12))
        return np.asarray(self.bound + (q - self.bound) * ((self.mean - self.bound) * total / (weights @ (q - self.bound))))


def fill_tail(
    values: Sequence[float] | Floats, bound: float, mean: float, count: int | None = None, seed: int = 0,
    weights: Sequence[float] | Floats | None = None,
) -> Floats:
    """A top-coded column with its tail filled in: values at or above the bound get Pareto values in random order.

    `bound` and `mean` are published: the value at which the column was cut, and the mean of the cut values. `count` is the
    number of cut values. If more values than that lie at the bound, some of these are original: `count` of them are filled
    in and the others stay. All are equal, so the sum is that of the original whichever are chosen. If no value lies at the
    bound, because the cut records were left out, `count` values are added at the end. With `weights`, one per value, `mean`
    is the weighted mean of the cut values and the weighted sum is exact. Missing values stay missing. Repeat with several
    seeds to see the effect of the unknown order on an analysis.

    Examples:
        >>> import larvatus as lv
        >>> filled = lv.analysis.fill_tail([20.0, 35.0, 100.0, 100.0], bound=100.0, mean=150.0)
        >>> print(f"{filled[2:].mean():.1f}")
        150.0
    """
    out, by = _numbers("values", values), None if weights is None else _numbers("weights", weights)
    tail = ParetoTail(_number("bound", bound), _number("mean", mean))
    if count is not None and (isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1):
        raise AnalysisError(f"count: needs a whole number of 1 or more, got {count!r}.")
    if by is not None and (by.shape != out.shape or not (by >= 0).all()):
        raise AnalysisError("weights: need one for each value, none missing or negative.")
    random = RecordRandom(stream_key(b"a filled tail is no secret", str(seed)))
    cut = _cut(out, tail.bound, None if count is None else int(count), by, random)
    if len(cut) == 0:
        if count is None or by is not None:
            way_out = "Weights of omitted records are not known." if count else "Give the count that was cut off."
            raise AnalysisError(f"fill_tail: no value lies at or above the bound. {way_out}")
        cut = np.arange(len(out), len(out) + count)
        out = np.concatenate([out, np.full(count, np.nan)])
    cut = cut[np.argsort(random.words(cut)[0], kind="stable")]
    if by is not None and not by[cut].sum() > 0:
        raise AnalysisError("weights: those at or above the bound are all zero. Leave weights out.")
    out[cut] = tail.values(len(cut)) if by is None else tail.weighted_values(by[cut])
    return out


def _cut(values: Floats, bound: float, count: int | None, weights: Floats | None, random: RecordRandom) -> NDArray[np.int64]:
    """Positions of the cut values: all above the bound, and enough at the bound to reach `count`."""
    above, at = np.flatnonzero(values > bound), np.flatnonzero(values == bound)
    both = np.sort(np.concatenate([above, at]))
    if count is None or count == len(both) or len(both) == 0:
        return both
    if not len(above) <= count < len(both):
        raise AnalysisError(
            f"count: {count} values were cut, but {len(above)} values lie above the bound and {len(at)} at it. Give the bound "
            "that was used and the number of values that were cut."
        )
    if weights is not None and np.ptp(weights[at]) > 0:
        raise AnalysisError(
            f"weights: {len(both) - count} of {len(at)} values at the bound were not cut, and it is not known which, so a "
            "weighted sum cannot be exact. Leave weights out, or take the values at the bound as cut (no count)."
        )
    chosen = at[np.argsort(random.words(at)[0], kind="stable")][: count - len(above)]
    return np.sort(np.concatenate([above, chosen]))


def _numbers(what: str, values: Sequence[float] | Floats) -> Floats:
    try:
        out = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise AnalysisError(f"{what}: need numbers, one for each record.") from None
    if out.ndim != 1:
        raise AnalysisError(f"{what}: need one column of numbers.")
    return out


def _number(what: str, value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise AnalysisError(f"{what}: needs a number, got {value!r}.") from None
