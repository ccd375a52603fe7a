"""Profiles of columns before masking, in counts and shares: missing values, zeros, ties, outliers, shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.data.contracts import Array, Block
from larvatus.data.microdata import Microdata
from larvatus.data.text_columns import FEW_CODES
from larvatus.data.verbs import as_one_group, fold_in_order, moments_by_group, reduce_groups

FENCES, MANY_TIES, _DENSE = 3.0, 0.5, 0.3
_DECIMALS = 4  # most decimals that are checked
SKEWED, LONG_TAILS, SHORT_TAILS, ZEROS = 1.0, 2.0, -1.0, 0.05
FEWEST_VALUES = 20  # values needed to infer a property
_Run = tuple[float, int, int, int]


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One confidential numeric column: shares of its values, and how far it is from normal inside sub-groups."""

    name: str
    values: int
    missing: float
    zeros: float
    negative: float
    tied: float
    outliers: float
    distinct: int
    decimals: int | None
    dense: float
    yes_no: bool
    numbering: bool
    constant: bool
    skewness: float
    kurtosis: float
    above: float
    rounding: float
    dates: bool = False

    @property
    def integer(self) -> bool:
        """Whether every value is a whole number; dates are not numbers in this sense."""
        return self.decimals == 0 and not self.dates

    @property
    def normal(self) -> bool:
        """Near enough to normal: no marked skewness, tails, zeros or ties."""
        tails = SHORT_TAILS <= self.kurtosis <= LONG_TAILS
        return abs(self.skewness) <= SKEWED and tails and self.zeros <= ZEROS and not self.coarse

    @property
    def not_normal(self) -> str:
        """The first departure from normality found, with its figure."""
        departures = [
            (abs(self.skewness) > SKEWED, f"skewness {self.skewness:.2f}"),
            (self.kurtosis > LONG_TAILS, f"kurtosis {self.kurtosis:.2f}"), (self.zeros > ZEROS, f"{self.zeros:.0%} zeros"),
            (self.coarse, f"{_most(self.tied)} tied"), (self.kurtosis < SHORT_TAILS, f"kurtosis {self.kurtosis:.2f}"),
        ]
        return next((words for there, words in departures if there), "")

    @property
    def few(self) -> bool:
        """Whether it has so few distinct whole numbers that they may be codes."""
        return self.integer and not self.constant and self.distinct <= FEW_CODES

    @property
    def floor(self) -> Literal["seen", "guessed", "none"]:
        """Whether zero bounds the column: "seen" if zeros occur, or if a normal column would have negative values."""
        if self.constant or self.negative or self.dates or not self.values:
            return "none"
        reached = self.zeros > 0 or self.values * _normal_below(-self.above) >= 1
        return "seen" if reached and self.values >= FEWEST_VALUES else "guessed"

    @property
    def coarse(self) -> bool:
        """Whether values are coarse: few distinct values, or many ties with most possible values unused."""
        return not self.constant and (self.distinct <= FEW_CODES or (self.tied > MANY_TIES and self.dense < _DENSE))


def _most(share: float) -> str:
    """A share in percent; 100% only if it is exactly all."""
    return f"{min(share, 0.99):.0%}" if share < 1 else "100%"


def _normal_below(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def column_profiles(data: Microdata) -> tuple[ColumnProfile, ...]:
    """The profile of every confidential numeric column."""
    names = data.numeric(data.confidential)
    if not names:
        return ()
    whole = as_one_group(data)
    moments = moments_by_group(data, names)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.array([np.diag(m.mean_pair) for m in moments])
        sd = np.sqrt(np.array([np.diag(m.square) / np.maximum(np.diag(m.count), 1) for m in moments]))
    counts = np.add.reduce(reduce_groups(data, names, _counted(names), np.add))
    sums = np.add.reduce(reduce_groups(data, names, _powers(names, mean, sd), np.add))
    inside = np.nansum([np.diag(m.square) for m in moments], axis=0) / np.maximum(counts[0], 1)
    overall = moments_by_group(whole, names)[0]
    out = []
    for j, name in enumerate(names):
        there, zeros, negative, ones, *broken = (int(v) for v in counts[:, j])
        low, high = (float(v) for v in whole.table.quantiles(name, [0.25, 0.75])[0]) if there else (0.0, 0.0)
        far = sum(reduce_groups(whole, [name], _far(name, low, high), int.__add__))
        n, cubes, fourths = sums[:, j]
        tied, distinct = _ties(whole, name)
        decimals = next((d for d, b in enumerate(broken) if there and not b), None)
        spread = float(np.sqrt(overall.square[j, j] / max(there, 1)))
        unit = 10.0 ** -(decimals or 0)
        steps = _steps(whole, name, unit) if decimals is not None else math.inf
        out.append(ColumnProfile(
            name, there, 1 - there / data.rows, zeros / max(there, 1), negative / max(there, 1),
            tied / max(there, 1), far / max(there, 1), distinct, decimals, distinct / steps,
            distinct == 2 and zeros + ones == there,
            decimals == 0 and FEWEST_VALUES <= there == distinct == steps, not n,
            float(cubes / n) if n else 0.0, float(fourths / n) - 3 if n else 0.0,
            float(overall.mean_pair[j, j]) / spread if spread > 0 else 0.0,
            unit**2 / (12 * float(inside[j])) if decimals is not None and inside[j] > 0 else 0.0,
            data.table.columns[name].dates is not None,
        ))
    return tuple(out)


def record_numbering(data: Microdata, names: Sequence[str]) -> tuple[list[str], list[tuple[str, int]]]:
    """Numeric columns that only number the records, and those with few distinct whole numbers, with their number."""
    whole, running, few = as_one_group(data), [], []
    for name in data.numeric(names):
        counts = np.add.reduce(reduce_groups(data, [name], _counted([name]), np.add))[:, 0]
        there = int(counts[0])
        if not there or counts[4]:
            continue
        _, distinct = _ties(whole, name)
        running += [name] if FEWEST_VALUES <= there == distinct == _steps(whole, name, 1.0) else []
        few += [(name, distinct)] if 1 < distinct <= FEW_CODES else []
    return running, few


def own_values(data: Microdata, names: Sequence[str]) -> dict[str, float]:
    """For each numeric column, the share of records whose value no other record has."""
    asked, whole = data.numeric(names), as_one_group(data)
    there = np.add.reduce(reduce_groups(data, asked, _counted(asked), np.add))[0] if asked else ()
    return {n: float(k - _ties(whole, n)[0]) / data.rows for n, k in zip(asked, there, strict=True)}


def _steps(data: Microdata, name: str, unit: float) -> float:
    """How many multiples of a unit lie between the minimum and maximum of a column."""
    low, high = (float(v) for v in data.table.quantiles(name, [0.0, 1.0])[0])
    return round((high - low) / unit) + 1


def _counted(names: Sequence[str]) -> Callable[[int, Block], Floats]:
    def count(group: int, block: Block) -> Floats:
        x = block.matrix(names)
        there = ~np.isnan(x)
        broken = [(there & (np.round(x, d) != x)).sum(0) for d in range(_DECIMALS + 1)]
        return np.array([there.sum(0), (x == 0).sum(0), (x < 0).sum(0), (x == 1).sum(0), *broken], float)

    return count


def _powers(names: Sequence[str], mean: Floats, sd: Floats) -> Callable[[int, Block], Floats]:
    """Sums of powers of values standardised inside their sub-group, without columns that are constant there."""
    def power(group: int, block: Block) -> Floats:
        usable = sd[group] > 0
        z = np.where(usable, (block.matrix(names) - mean[group]) / np.where(usable, sd[group], 1), np.nan)
        return np.array([(~np.isnan(z)).sum(0), np.nansum(z**3, 0), np.nansum(z**4, 0)])

    return power


def _far(name: str, low: float, high: float) -> Callable[[int, Block], int]:
    reach = FENCES * (high - low)
    return lambda g, b: int(((b[name] < low - reach) | (b[name] > high + reach)).sum()) if reach > 0 else 0


def _ties(data: Microdata, name: str) -> tuple[int, int]:
    """The number of values shared by several records, and the number of distinct values."""
    start: _Run = (np.nan, 0, 0, 0)
    ends = fold_in_order(data, name, [name], start, lambda g, carry, block: _runs(carry, block[name]))
    return sum(tied + (run if run > 1 else 0) for _, run, tied, _ in ends), sum(distinct for *_, distinct in ends)


def _runs(carry: _Run, values: Array) -> _Run:
    last, run, tied, distinct = carry
    if not len(values):
        return carry
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    lengths = np.diff(np.r_[starts, len(values)])
    distinct += len(lengths)
    if values[0] == last:
        lengths[0] += run
        distinct -= 1
    else:
        tied += run if run > 1 else 0
    closed = lengths[:-1]
    return float(values[-1]), int(lengths[-1]), tied + int(closed[closed > 1].sum()), distinct
