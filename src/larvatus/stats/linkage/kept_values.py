"""The law of values that a mask keeps, exactly or nearly, or replaces: column by column, learnt from known pairs,

    f(y | x) = k(|y − x|) + (1 − w) g(y),   w = ∫ k;      −cost = Σ_j log(f(y | x) / g(y))

    k   the part of the distribution of |y − x| among true pairs that random pairs lack. It is a step function that falls with
        the distance. Its steps are quantiles of the distances, so a spike of any width is seen beside a broad part
    g   the density of the released values: at the scale of k, or over some neighbours if that is denser

A swap or an imputation that is followed by small noise leaves such a mixture. A normal law would be too broad for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

if TYPE_CHECKING:
    from larvatus.stats.linkage.assignment import Costs

_FEWEST = 40  # pairs to learn from
_STEPS, _IN_STEP = 60, 4  # steps of k at most, and pairs in each at least
_EQUAL = 1e-12  # width of the first step, in standard deviations: equal values
_TAIL = 0.1  # share of random pairs from whose distances w is learnt, at least
_SAMPLE = 400  # rows of x for the distances of random pairs
_NEAR = 3  # neighbours for the density of released values
_LEAST = 1e-6


def costs_of_kept_values(x: Floats, y: Floats, known: Ints, half: Ints) -> Costs | None:
    """Costs of pairs of rows of x and y, relative to the density of y; None if there are too few pairs to learn from.

    Values are in standard deviations. The law for a record is learnt from the known pairs of the other `half`. A missing value
    says nothing.
    """
    if len(known) < _FEWEST or not y.shape[1]:
        return None
    laws = [[KeptValues.learn(x[some, j], y[some, j], y[:, j]) for j in range(y.shape[1])]
            for some in (known[half[known] != side] for side in (0, 1))]

    def costs(a: Ints, b: Ints) -> Floats:
        out = np.zeros((len(a), len(b)))
        for side in (0, 1):
            rows = np.flatnonzero(half[a] == side)
            for j, law in enumerate(laws[side]):
                out[rows] -= law.log_ratios(x[a[rows], j], y[b, j])
        return out

    return costs


class KeptValues:
    """The law of one column: upper ends of the steps, k on them, the share of replaced values, and all released values."""

    def __init__(self, edges: Floats, height: Floats, replaced: float, shown: Floats) -> None:
        self.edges, self.height, self.replaced = edges, height, replaced
        self._shown = np.sort(shown[np.isfinite(shown)])

    @classmethod
    def learn(cls, x: Floats, y: Floats, shown: Floats) -> KeptValues:
        """The law from pairs in the same position; `shown` are all released values of the column."""
        there = np.isfinite(x) & np.isfinite(y)
        apart = np.sort(np.abs(y[there] - x[there]))
        released = np.sort(shown[np.isfinite(shown)])
        if len(apart) < 2 * _IN_STEP or not len(released):
            return cls(np.array([_EQUAL]), np.zeros(1), 1.0, shown)
        size = max(_IN_STEP, len(apart) // _STEPS)
        edges = np.unique(np.maximum([*apart[size - 1 :: size], apart[-1]], _EQUAL))
        own = _in_steps(np.searchsorted(apart, edges, "right") / len(apart))
        mine = np.sort(x[there])[:: max(len(apart) // _SAMPLE, 1)]
        random = _in_steps(_within(mine, released, edges).mean(axis=0) / len(released))
        tail_own, tail_random = (np.cumsum(v[::-1])[::-1] for v in (own, random))
        beyond = max(1.0 - float(random.sum()), 0.0)  # random pairs that are farther apart than any true one
        ratio = np.minimum(tail_own / np.maximum(tail_random + beyond, _LEAST), 1.0)
        far = tail_random + beyond >= _TAIL
        replaced = float(ratio[far].min(initial=1.0))
        width = 2 * np.diff(edges, prepend=0.0)
        height = _falling(np.maximum(own - replaced * random, 0.0) / width, width)
        return cls(edges, height, max(replaced, _LEAST), shown)

    def log_ratios(self, x: Floats, y: Floats) -> Floats:
        """log f(y | x) / g(y) of every pair."""
        return np.asarray(_log_ratios(x, y, self._density(y), self.edges, np.append(self.height, 0.0), self.replaced))

    def _density(self, y: Floats) -> Floats:
        """g at released values: with k as the kernel, and over the nearest neighbours; the larger of both."""
        width = 2 * np.diff(self.edges, prepend=0.0)
        weight = float(self.height @ width)
        if weight <= 0:
            return np.ones(len(y))
        n, at = len(self._shown), np.nan_to_num(y)
        by_step = np.diff(_within(at, self._shown, self.edges), axis=1, prepend=0.0)
        kernel_density = by_step @ self.height / (weight * n)
        near = min(_NEAR, n - 1)
        place = np.searchsorted(self._shown, at)
        low, high = self._shown[np.clip(place - near, 0, n - 1)], self._shown[np.minimum(place + near, n - 1)]
        return np.asarray(np.maximum(kernel_density, 2 * near / (n * np.maximum(high - low, _EQUAL))))


class KeptLaw:
    """The law of several columns, learnt from simulated releases (simulations × records × columns, NaN says nothing).

    x is the value that a record has if every random step leaves it as it is.
    """

    def __init__(self, x: Floats, simulated: Floats, y: Floats) -> None:
        self.x, self.y = x, y
        times = len(simulated)
        self._laws = [KeptValues.learn(np.tile(x[:, j], times), simulated[..., j].ravel(), y[:, j]) for j in range(y.shape[1])]

    def log_densities(self, records: Ints, rows: Ints) -> Floats:
        """Logarithms of the ratios of every pair, records × rows."""
        out = np.zeros((len(records), len(rows)))
        for j, law in enumerate(self._laws):
            out += law.log_ratios(self.x[records, j], self.y[rows, j])
        return out


def _within(centre: Floats, ordered: Floats, distance: Floats) -> Floats:
    """The number of ordered values within each distance of each centre."""
    order = np.argsort(centre)  # in order, a search finds its way in the cache
    sorted_, apart = centre[order], distance[:, None]
    out = np.empty((len(centre), len(distance)))
    out[order] = (np.searchsorted(ordered, sorted_ + apart, "right") - np.searchsorted(ordered, sorted_ - apart, "left")).T
    return out


def _in_steps(up_to: Floats) -> Floats:
    return np.diff(up_to, prepend=0.0)


def _falling(height: Floats, width: Floats) -> Floats:
    """The nearest step function that does not rise, by pooling neighbouring steps."""
    pools: list[tuple[float, float, int]] = []  # area, width, steps
    for h, w in zip(height, width, strict=True):
        area, wide, steps = float(h * w), float(w), 1
        while pools and pools[-1][0] * wide <= area * pools[-1][1]:
            more = pools.pop()
            area, wide, steps = area + more[0], wide + more[1], steps + more[2]
        pools.append((area, wide, steps))
    return np.concatenate([np.full(steps, area / wide) for area, wide, steps in pools])


@kernel(error_model="numpy")  # the density may be 0 where no x is near enough for a step
def _log_ratios(x: Floats, y: Floats, density: Floats, edges: Floats, height: Floats, replaced: float) -> Floats:
    out = np.zeros((len(x), len(y)))
    rest = np.log(replaced)
    steps = len(edges)
    in_step = np.empty((len(y), steps))
    for r in range(len(y)):
        for s in range(steps):
            in_step[r, s] = np.log(replaced + height[s] / density[r]) if height[s] > 0 else rest
    for i in range(len(x)):
        for r in range(len(y)):
            apart = abs(y[r] - x[i])
            if apart <= edges[steps - 1]:
                low, high = 0, steps - 1
                while low < high:  # the first step that reaches so far
                    middle = (low + high) // 2
                    if edges[middle] < apart:
                        low = middle + 1
                    else:
                        high = middle
                out[i, r] = in_step[r, low]
            elif apart > edges[steps - 1]:
                out[i, r] = rest
    return out
