"""The mean of the released values of records that are near in S: house prices of a neighbourhood, values of nearby dates.

    ȳ_i = Σ_j w_ij y_j,    w_ij ∝ exp(−|s_i − s_j|² / 2h²),    h = arg min mean((x − W x)²) + Var(y − x) mean(Σ_j w_ij²)

Noise that is drawn for each record is averaged out, if values vary smoothly with numbers of S. The regression on S does not
see this, and cells of a hundred records only the coarse part of it. A column gets a mean if the original values of the others
nearby predict it clearly better than a regression on S does, which does not depend on the release.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Column
from larvatus.data.microdata import Microdata, collect
from larvatus.data.verbs import map_rows

_WIDTHS = (0.02, 0.04, 0.08, 0.15, 0.3, 0.6)  # h, in standard deviations of each column of S
_MOST_POINTS, _MOST_ROWS, _MOST_COLUMNS = 1_500, 200_000, 6
_LEAST_GAIN = 0.05  # of the variance
_FEWEST = 50  # records


@dataclass(frozen=True, slots=True)
class LocalMeans:
    """The data with the columns of means, these by original column, and what they explain by chance (sub-groups × columns)."""

    joined: Microdata
    named: dict[str, str]
    chance: Floats


@dataclass(frozen=True, slots=True)
class _Places:
    """The distinct places in some columns of S: that of each record, and squared distances between places."""

    of: Ints
    squared: Floats

    def weights(self, width: float) -> Floats:
        """Weights of places, before they are multiplied by the number of records."""
        return np.asarray(np.exp(-self.squared / (2 * width**2)))


def with_local_means(joined: Microdata, names: Sequence[str], before: Sequence[str]) -> LocalMeans:
    """Means near each record of the columns `names`, of which `before` has the original values."""
    chance = np.zeros((len(joined.groups), len(names)))
    columns = joined.table.columns
    numbers = [n for n in joined.known if n in columns and columns[n].kind == "number"][:_MOST_COLUMNS]
    if not numbers or not _FEWEST <= joined.rows <= _MOST_ROWS:
        return LocalMeans(joined, {}, chance)
    record, group, values = collect(joined, [*names, *before, *numbers])
    every = list(_places([values[n] for n in numbers]))
    s = np.column_stack([np.ones(len(record)), *(np.nan_to_num(values[n] - np.nanmean(values[n])) for n in numbers)])
    made: dict[str, Floats] = {}
    named: dict[str, str] = {}
    sizes = np.array(joined.groups.sizes, dtype=np.float64)
    for j, (name, was) in enumerate(zip(names, before, strict=True)):
        found = _best(every, s, *(_away(values[n], group) for n in (was, name)))
        if found is not None:
            mean, share, weight = found
            named[name] = scratch("local mean", name)
            made[named[name]] = mean
            chance[:, j] = np.minimum(share / np.maximum(weight * sizes, 1.0), 1.0)
    if not made:
        return LocalMeans(joined, {}, chance)
    out = map_rows(joined, lambda g, b: {n: v[np.searchsorted(record, b.record)] for n, v in made.items()}, (),
                   [Column(n, "number") for n in made])
    return LocalMeans(out, named, chance)


def _best(every: Sequence[_Places], s: Floats, x: Floats, y: Floats) -> tuple[Floats, float, float] | None:
    """Local means of y by the places that predict x best, what these explain, and the mean weight of a record in its own."""
    there = np.isfinite(x) & np.isfinite(y)
    total = float((x[there] ** 2).sum())
    if there.sum() < _FEWEST or not total > 0:
        return None
    fitted = s[there] @ np.linalg.lstsq(s[there], x[there], rcond=None)[0]
    least = 1 - float(((x[there] - fitted) ** 2).sum()) / total + _LEAST_GAIN
    found = None
    for places in every:
        shares = [_by_others(places.weights(h), places.of[there], x[there]) for h in _WIDTHS]
        if max(shares) > least:
            found, least = places, max(shares)
    if found is None:
        return None
    noise = float(np.var(y[there] - x[there]))
    tried = []
    for h in _WIDTHS:
        w, at = found.weights(h), found.of[there]
        near, squares = _smooth(w, at, x[there]), _squared_weights(w, at)
        tried.append((float(((x[there] - near) ** 2).mean() + noise * squares.mean()), h, float(squares.mean())))
    _, h, squares_mean = min(tried)
    out = np.full(len(x), np.nan)
    out[there] = _smooth(found.weights(h), found.of[there], y[there])
    return out, least, squares_mean


def _smooth(w: Floats, at: Ints, values: Floats) -> Floats:
    size = len(w)
    count, total = (np.bincount(at, weights=v, minlength=size) for v in (None, values))
    return np.asarray(((w @ total) / np.maximum(w @ count, 1e-300))[at])


def _squared_weights(w: Floats, at: Ints) -> Floats:
    count = np.bincount(at, minlength=len(w))
    return np.asarray((w**2 @ count / np.maximum(w @ count, 1e-300) ** 2)[at])


def _by_others(w: Floats, at: Ints, x: Floats) -> float:
    """The share of variance that the other records nearby explain."""
    count, total = (np.bincount(at, weights=v, minlength=len(w)) for v in (None, x))
    weight = (w @ count)[at] - 1.0
    near = np.where(weight > 1e-6, ((w @ total)[at] - x) / np.maximum(weight, 1e-6), 0.0)
    return 1 - float(((x - near) ** 2).sum()) / float((x**2).sum())


def _places(columns: Sequence[Floats]) -> Iterator[_Places]:
    """Places by one, two and three columns of S."""
    units = [_units(v) for v in columns]
    for k in (1, 2, 3):
        for chosen in combinations(units, k):
            if k < 3 or len(units) == k:
                yield _distinct(np.column_stack(chosen))


def _distinct(points: Floats) -> _Places:
    """Distinct places; if there are too many, coordinates are rounded to classes."""
    places, at = np.unique(points, axis=0, return_inverse=True)
    classes = int(_MOST_POINTS ** (1 / points.shape[1]))
    if len(places) > _MOST_POINTS:
        low, span = points.min(axis=0), np.maximum(np.ptp(points, axis=0), 1e-300)
        coarse = np.minimum(np.floor((points - low) / span * classes), classes - 1)
        code = np.unique(coarse, axis=0, return_inverse=True)[1].ravel()
        count = np.bincount(code)
        places = np.column_stack([np.bincount(code, weights=p) / count for p in points.T])
        at = code
    return _Places(at.ravel(), ((places[:, None] - places[None]) ** 2).sum(axis=2))


def _units(values: Floats) -> Floats:
    """The values in standard deviations; a missing one lies at the mean."""
    spread = float(np.nanstd(values))
    return np.nan_to_num((values - np.nanmean(values)) / (spread if spread > 0 else 1.0))


def _away(values: Floats, group: Ints) -> Floats:
    """Deviations from the mean of the sub-group; NaN if missing."""
    there = np.isfinite(values)
    size = int(group.max(initial=0)) + 1
    count, total = (np.bincount(group[there], weights=w, minlength=size) for w in (None, values[there]))
    return np.asarray(values - (total / np.maximum(count, 1))[group])
