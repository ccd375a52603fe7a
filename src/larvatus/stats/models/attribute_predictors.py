"""Two simple models, fitted to released records, that predict a value of a target: ridge regression and nearest neighbours.

    ridge: ŷ = ȳ + b (AᵀA + λnI)⁻¹ Aᵀ(y − ȳ)   with standardised features A (released) and b (target)
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.neighbours.distinct_rows import distinct_rows

MODELS = ("ridge", "nearest 1", "nearest 5")
PENALTY = 1e-3  # ridge penalty, per record


def predictions(train: Floats, values: Floats, test: Floats, own: Ints | None = None) -> Floats:
    """Predictions from released features and values, models × rows of test; features may be missing.

    Features are in standard deviations of the released ones; missing ones become the mean and an indicator. If no feature
    varies, every model predicts the mean. `own` gives, for each row of test, the row of train that its model must not know.
    """
    return _predicted(train, values[:, None], test, own)[:, :, 0]


def category_predictions(train: Floats, codes: Floats, test: Floats, own: Ints | None = None) -> Floats:
    """Predicted categories, models × rows of test: the category whose indicator is predicted highest.

    Categories are codes from 0, NaN if missing. Equal predictions are decided for the smallest code.
    """
    missing = np.isnan(codes)
    if missing.all():
        return np.full((len(MODELS), len(test)), np.nan)
    levels = np.unique(codes[~missing])
    indicators = np.where(missing[:, None], np.nan, codes[:, None] == levels)
    return np.asarray(levels[np.argmax(np.round(_predicted(train, indicators, test, own), 12), axis=2)])


def _predicted(train: Floats, values: Floats, test: Floats, own: Ints | None) -> Floats:
    """Predictions of several columns that are missing in the same rows, models × rows of test × columns."""
    there = ~np.isnan(values[:, 0])
    if not there.any():
        return np.full((len(MODELS), len(test), values.shape[1]), np.nan)
    if own is not None:
        place = np.cumsum(there) - 1
        own = np.where(there[own], place[own], -1)
    train, values = train[there], values[there]
    mean = values.mean(axis=0)
    a, b = _prepared(train, test)
    if a.shape[1] == 0:
        return np.tile(_means(values, mean, len(test), own), (len(MODELS), 1, 1))
    gram = a.T @ a + PENALTY * len(a) * np.eye(a.shape[1])
    beta = np.linalg.solve(gram, a.T @ (values - mean))
    ridge = mean + b @ beta
    if own is not None:
        ridge = ridge - _own_part(a, values - mean - a @ beta, b, gram, own)
    return np.array([ridge, *_neighbours(a, values, b, own)])


def _means(values: Floats, mean: Floats, rows: int, own: Ints | None) -> Floats:
    """The mean, or the mean of the other records."""
    if own is None or len(values) < 2:
        return np.tile(mean, (rows, 1))
    return np.where((own >= 0)[:, None], (len(values) * mean - values[own]) / (len(values) - 1), mean)


def _own_part(a: Floats, error: Floats, b: Floats, gram: Floats, own: Ints) -> Floats:
    """What the own record of each target adds to its ridge prediction: (1/n + bᵀG⁻¹aᵢ) eᵢ / (1 − hᵢ), hᵢ = 1/n + aᵢᵀG⁻¹aᵢ."""
    mine = a[own]
    solved = np.linalg.solve(gram, mine.T).T
    n = len(a)
    leverage = 1 / n + (mine * solved).sum(axis=1)
    share = (1 / n + (b * solved).sum(axis=1)) / np.maximum(1 - leverage, 1e-12)
    return np.where((own >= 0)[:, None], share[:, None] * error[own], 0.0)


def _prepared(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    left: list[Floats] = []
    right: list[Floats] = []
    for a, b in zip(np.ascontiguousarray(train.T), np.ascontiguousarray(test.T), strict=True):
        missing = np.isnan(a)
        some = bool(missing.any())
        _standardise(a, b, a[~missing] if some else a, left, right)
        if some:
            _standardise(missing.astype(np.float64), np.isnan(b).astype(np.float64), missing.astype(np.float64), left, right)
    return np.array(left).reshape(len(left), len(train)).T, np.array(right).reshape(len(right), len(test)).T


def _standardise(u: Floats, v: Floats, known: Floats, left: list[Floats], right: list[Floats]) -> None:
    """Add a feature in standard deviations of its known values, if these vary; missing values become the mean."""
    if not len(known) or not float(known.max()) > float(known.min()):
        return
    centre = known.mean()
    off = known - centre
    sd = np.sqrt((off * off).mean())  # as `std`, which computes the mean again
    for values, out in ((u, left), (v, right)):
        scaled = (values - centre) / sd
        out.append(scaled if np.isfinite(scaled).all() else np.nan_to_num(scaled))


def _neighbours(a: Floats, values: Floats, b: Floats, own: Ints | None) -> list[Floats]:
    """Means over the nearest and the five nearest distinct feature rows, weighted by their frequency."""
    from larvatus.stats.neighbours.nearest_rows import nearest_lists

    rows, code, times = distinct_rows(a)
    total = np.column_stack([np.bincount(code, weights=column) for column in values.T])
    out = []
    more = 0 if own is None else 1
    for k, near in zip((1, 5), nearest_lists(b, rows, (1 + more, 5 + more)), strict=True):
        sums, counts = total[near], times[near].astype(np.float64)
        if own is not None:
            mine = (near == code[own][:, None]) & (own >= 0)[:, None]
            sums, counts = sums - np.where(mine[:, :, None], values[own][:, None], 0.0), counts - mine
            place = np.cumsum(counts > 0, axis=1)
            used = (counts > 0) & (place <= k)
            sums, counts = np.where(used[:, :, None], sums, 0.0), np.where(used, counts, 0.0)
        found = counts.sum(axis=1)[:, None]
        mean = np.tile(values.mean(axis=0), (len(b), 1))
        out.append(np.divide(sums.sum(axis=1), found, out=mean, where=found > 0))
    return out
