"""How probable it is that a value drawn anew falls as near to the original value as the released one does.

    q_i = max( P̂(|Y − x_i| ≤ d_i),  d_i / 1.25 σ ),   d_i = |y_i − x_i|

P̂ is the share of the other released values of the sub-group as near as that, interpolated below the tenth nearest one. σ is
the standard deviation of x in the sub-group that S leaves unexplained; d / 1.25 σ is the probability that a normal draw is that
near to its centre, so a record in a thin tail does not count as nearly unchanged because few others are there. If released
values are original values of other records, an equal value is a coincidence in one of n cases.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints

_NEIGHBOURS = 10
_LEAST = 3  # records of a sub-group; values of a smaller one are compared with the whole file
_SAME = 1e-9  # standard deviations
_NORMAL = 1.2533141373155001  # 1 / density of the absolute value of a standard normal draw at 0
_CHUNK = 100_000


def chance_of_nearness(x: Floats, y: Floats, group: Ints, asked: NDArray[np.bool_], unexplained: float) -> Floats:
    """q of the records asked for; 1 if one of the values is missing. `unexplained` is the share of variance that S leaves."""
    there = ~(np.isnan(x) | np.isnan(y))
    out = np.ones(len(x))
    if not there.any():
        return out[asked]
    borrowed = _borrowed(x[there], y[there])
    size = np.bincount(group[there], minlength=int(group.max(initial=0)) + 1)
    mine = np.where(size >= _LEAST, np.arange(len(size)), -1)[group]
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(len(size) + 1))
    for g in np.unique(mine[asked & there]):
        rows = np.arange(len(x)) if g < 0 else order[first[g] : first[g + 1]]
        rows = rows[there[rows]]
        shown, sd = np.sort(y[rows]), float(x[rows].std())
        wanted = rows[asked[rows] & (mine[rows] == g)]
        for part in np.array_split(wanted, len(wanted) // _CHUNK + 1):
            out[part] = _chance(x[part], y[part], shown, sd, float(np.sqrt(unexplained)), borrowed)
    return np.asarray(out[asked])


def _chance(x: Floats, y: Floats, shown: Floats, sd: float, left: float, borrowed: float) -> Floats:
    """q of records with original values x and released values y, which are among the values shown."""
    n = len(shown)
    away = np.abs(y - x)
    away = np.where(away <= _SAME * sd, 0.0, away)
    near = np.maximum(_neighbour_distance(x, y, shown), away)
    own = away <= near
    inside, equal = (_count(shown, x, width) - mine for width, mine in ((near, own), (_SAME * sd, away == 0)))
    part = np.divide(away, near, out=np.ones(len(x)), where=near > 0)
    others = max(n - 1, 1)
    by_release = (equal + (inside - equal) * part) / others
    normal = np.divide(away, _NORMAL * left * sd, out=(away > 0).astype(np.float64), where=left * sd > 0)
    coincidence = np.where(away == 0, borrowed / n, 0.0)
    return np.asarray(np.clip(np.maximum(np.maximum(by_release, normal), coincidence), 0.0, 1.0))


def _neighbour_distance(x: Floats, y: Floats, shown: Floats) -> Floats:
    """Distance from x to the tenth nearest value shown, apart from the record's own one."""
    k = min(_NEIGHBOURS, len(shown) - 1)
    if k <= 0:
        return np.zeros(len(x))
    place = np.searchsorted(shown, x)
    at = place[:, None] + np.arange(-k - 1, k + 1)
    inside = (at >= 0) & (at < len(shown))
    far = np.where(inside, np.abs(shown[np.clip(at, 0, len(shown) - 1)] - x[:, None]), np.inf)
    ordered = np.sort(far, axis=1)
    return np.asarray(np.where(np.abs(y - x) <= ordered[:, k - 1], ordered[:, k], ordered[:, k - 1]))


def _count(shown: Floats, x: Floats, width: Floats | float) -> Ints:
    return np.asarray(np.searchsorted(shown, x + width, "right") - np.searchsorted(shown, x - width, "left"))


def _borrowed(x: Floats, y: Floats) -> float:
    """Share of the changed values that are the original value of another record: 1 after a permutation, 0 after noise."""
    changed = y[x != y]
    return float(np.isin(changed, x).mean()) if len(changed) else 0.0


def chance_of_any(chances: Floats) -> Floats:
    """One probability per row: that values drawn anew are as near in any of the columns (Simes 1986)."""
    k = chances.shape[1]
    ordered = np.sort(chances, axis=1) * (k / np.arange(1, k + 1))
    return np.asarray(np.minimum(ordered.min(axis=1, initial=1.0), 1.0))


def beyond_chance(chances: Floats, level: float, most: float) -> int:
    """Number of records with a probability of at most `most`, beyond the number that chance explains.

    The k-th smallest of n probabilities exceeds chance if a beta distribution with parameters k and n − k + 1 is below it with
    a probability of at most level / k(k + 1). The k that exceeds it most clearly is taken, less the number expected by chance.
    If all are due to chance, the result is above 0 with a probability below `level`.
    """
    from scipy.special import betainc

    n = len(chances)
    ordered = np.sort(chances[chances <= most])
    k = np.arange(1, len(ordered) + 1)
    below = betainc(k, n - k + 1, ordered)
    found = np.flatnonzero(below <= level / (k * (k + 1)))
    if not len(found):
        return 0
    clearest = int(found[below[found] == below[found].min()][-1])
    return max(1, int(k[clearest]) - int(n * ordered[clearest]))
