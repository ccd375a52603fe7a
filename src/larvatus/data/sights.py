"""What can be seen of data before they are masked, in counts and shares: shapes of columns, sub-groups, relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata

Floats = NDArray[np.float64]
FENCES, BENT, TURNS = 3.0, 0.1, 0.2
ENOUGH = 20
RANK, SCORE, SQUARE = " rank of ", " score of ", " square of "
Run = tuple[float, int, int, int]


@dataclass(frozen=True, slots=True)
class Sight:
    """One confidential column of numbers: shares of its values, and how far it is from normal inside sub-groups."""

    name: str
    values: int
    missing: float
    zeros: float
    negative: float
    tied: float
    outliers: float
    integer: bool
    constant: bool
    skewness: float
    kurtosis: float

    @property
    def normal(self) -> bool:
        """Near enough to normal: no marked skewness, tails or ties."""
        return abs(self.skewness) <= 1 and self.kurtosis <= 2 and self.zeros <= 0.05 and not self.coarse

    @property
    def coarse(self) -> bool:
        """Whether values repeat so much that ranks are hardly defined."""
        return (self.tied > 0.5 and not self.integer) or self.tied > 0.95


@dataclass(frozen=True, slots=True)
class Relation:
    """Two columns: whether the relation is a straight line, only goes one way, or turns."""

    first: str
    second: str
    shape: str


def sights(data: Microdata) -> tuple[Sight, ...]:
    """Every confidential column of numbers."""
    names = data.numeric(data.confidential)
    if not names:
        return ()
    whole = data.ungrouped()
    moments = data.moments(names)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.array([np.diag(m.mean_pair) for m in moments])
        sd = np.sqrt(np.array([np.diag(m.square) / np.maximum(np.diag(m.count), 1) for m in moments]))
    counts = np.add.reduce(data.reduce(names, _counted(names), np.add))
    sums = np.add.reduce(data.reduce(names, _powers(names, mean, sd), np.add))
    out = []
    for j, name in enumerate(names):
        there, zeros, negative, broken = (int(v) for v in counts[:, j])
        low, high = (float(v) for v in whole.table.quantiles(name, [0.25, 0.75])[0]) if there else (0.0, 0.0)
        far = sum(whole.reduce([name], _far(name, low, high), int.__add__))
        n, cubes, fourths = sums[:, j]
        out.append(Sight(
            name, there, 1 - there / data.rows, zeros / max(there, 1), negative / max(there, 1),
            _tied(whole, name) / max(there, 1), far / max(there, 1), broken == 0, not n,
            float(cubes / n) if n else 0.0, float(fourths / n) - 3 if n else 0.0,
        ))
    return tuple(out)


def _counted(names: Sequence[str]) -> Callable[[int, Block], Floats]:
    def count(group: int, block: Block) -> Floats:
        x = block.matrix(names)
        return np.array([(~np.isnan(x)).sum(0), (x == 0).sum(0), (x < 0).sum(0), (~np.isnan(x) & (x % 1 != 0)).sum(0)], float)

    return count


def _powers(names: Sequence[str], mean: Floats, sd: Floats) -> Callable[[int, Block], Floats]:
    """Sums of powers of values standardised inside their sub-group; columns constant there are left out."""
    def power(group: int, block: Block) -> Floats:
        usable = sd[group] > 0
        z = np.where(usable, (block.matrix(names) - mean[group]) / np.where(usable, sd[group], 1), np.nan)
        return np.array([(~np.isnan(z)).sum(0), np.nansum(z**3, 0), np.nansum(z**4, 0)])

    return power


def _far(name: str, low: float, high: float) -> Callable[[int, Block], int]:
    reach = FENCES * (high - low)
    return lambda g, b: int(((b[name] < low - reach) | (b[name] > high + reach)).sum()) if reach > 0 else 0


def _tied(data: Microdata, name: str) -> int:
    """How many values are shared by several records."""
    start: Run = (np.nan, 0, 0, 0)
    ends = data.carried(name, [name], start, lambda g, carry, block: _runs(carry, block[name]))
    return sum(tied + (run if run > 1 else 0) for _, run, tied, _ in ends)


def _runs(carry: Run, values: Array) -> Run:
    last, run, tied, distinct = carry
    if not len(values):
        return carry
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    lengths = np.diff(np.r_[starts, len(values)])
    if values[0] == last:
        lengths[0] += run
    else:
        tied += run if run > 1 else 0
    closed = lengths[:-1]
    return float(values[-1]), int(lengths[-1]), tied + int(closed[closed > 1].sum()), distinct + len(lengths)


def relations(data: Microdata) -> tuple[Relation, ...]:
    """Relations between confidential columns of numbers: Pearson's correlation beside Spearman's, and normal scores.

    A straight line with normal errors has Spearman's correlation where Pearson's puts it; otherwise the relation is bent or the
    columns are skewed. One that turns shows between a score and the square of another, beyond what the score itself explains.
    """
    from scipy.special import ndtri

    whole = data.ungrouped()
    names = whole.numeric(whole.confidential)
    if len(names) < 2:
        return ()
    ranked = whole.ranks({RANK + n: n for n in names})
    there = np.diag(whole.moments(names)[0].count)

    def score(group: int, block: Block) -> Mapping[str, Array]:
        z = {n: ndtri(block[RANK + n] / (k + 1)) for n, k in zip(names, there, strict=True)}
        return {**{SCORE + n: z[n] for n in names}, **{SQUARE + n: z[n] ** 2 for n in names}}

    made = [Column(head + n, "number") for head in (SCORE, SQUARE) for n in names]
    scored = ranked.map_rows(score, [RANK + n for n in names], made)
    pearson, spearman = _correlations(whole, names), _correlations(scored, [RANK + n for n in names])
    both = _correlations(scored, [*(SCORE + n for n in names), *(SQUARE + n for n in names)])
    out = []
    for i, j in combinations(range(len(names)), 2):
        if min(there[i], there[j]) < ENOUGH or np.isnan([pearson[i, j], spearman[i, j]]).any():
            continue
        straight = 6 / np.pi * np.arcsin(pearson[i, j] / 2)
        shape = "line" if abs(spearman[i, j] - straight) <= BENT else "one way"
        found = [_turning(both, len(names), a, b) for a, b in ((i, j), (j, i))]
        if max(found) > max(TURNS, 5 / np.sqrt(min(there[i], there[j]))):
            shape = "turns"
        out.append(Relation(names[i], names[j], shape))
    return tuple(out)


def _turning(found: Floats, count: int, i: int, j: int) -> float:
    """How far the square of one score goes with another score, once the first score itself is taken out of both.

    Nothing where the parabola through them turns more than one standard deviation from the middle: it is bent and goes one way.
    """
    with_own, with_other, plain = found[i, count + i], found[j, count + i], found[i, j]
    left = (1 - with_own**2) * (1 - plain**2)
    curved, sloped = with_other - with_own * plain, plain - with_own * with_other
    if left <= 1e-9 or abs(sloped) > np.sqrt(2) * abs(curved):
        return 0.0
    return abs(float(curved / np.sqrt(left)))


def _correlations(data: Microdata, names: Sequence[str]) -> Floats:
    found = data.moments(names)[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(found.scatter / np.sqrt(found.square * found.square.T))
