"""How near released values are to a centre of each record, on a scale of its own: values that are kept up to noise, or moved.

    log f_i(y_r) = Σ_j log P(b | own record) / P(b | row r),   b the class of |y_rj − c_ij|

Classes are cut at quantiles of the distances, so a narrow peak beside a broad part has classes of its own. P(b | own record) is
the share of simulated values in class b, and P(b | row r) that of the centres of all records. The centre c is the original
value, or the simulated value that is nearest to it.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints

_CLASSES = 16, 12  # cut by the distances of own records, and of others
_FEW = 20  # with fewer records that near to a row, their density is taken as even
_MOST_PAIRS = 400_000  # distances to other records by which classes are cut
_SAME = 1e-9
_TELLING = 1.2  # ratio of the shares of own and of other records in a class


class NearnessLaw:
    """The law by distance from a centre: the original value or, if `image`, the simulated value nearest to it."""

    def __init__(self, x: Floats, simulated: Floats, y: Floats, image: bool) -> None:
        self._columns = [_Column(x[:, j], simulated[..., j], y[:, j], image) for j in range(y.shape[1])]

    def log_densities(self, records: Ints, rows: Ints) -> Floats:
        """Records × rows."""
        return np.asarray(np.sum([c.log_ratios(records, rows) for c in self._columns], axis=0))


class _Column:
    def __init__(self, x: Floats, simulated: Floats, y: Floats, image: bool) -> None:
        self.y, self.centre = y, _nearest(x, simulated) if image else x
        self.least = _SAME * (float(np.nanstd(y)) or 1.0)
        own = self._distances(simulated, self.centre[None, :]).ravel()
        step = max(1, int(np.sqrt(y.size * x.size / _MOST_PAIRS)))
        others = self._distances(y[::step, None], self.centre[None, ::step]).ravel()
        own, others = own[~np.isnan(own)], others[~np.isnan(others)]
        self.cuts = np.unique(np.concatenate([
            np.quantile(v, np.linspace(0, 1, m + 1)[1:-1]) for v, m in zip((own, others), _CLASSES, strict=True) if v.size
        ] or [np.zeros(0)]))
        mine, theirs = (np.bincount(np.searchsorted(self.cuts, v), minlength=len(self.cuts) + 1) + 0.5 for v in (own, others))
        telling = np.flatnonzero(mine / mine.sum() > _TELLING * theirs / theirs.sum())
        self.cuts = self.cuts[: telling[-1] + 1] if len(telling) else self.cuts  # beyond them, distances say no more
        k = len(self.cuts) + 1
        count = np.bincount(np.searchsorted(self.cuts, own), minlength=k) + 0.5
        self.own = np.log(count / count.sum())
        ends = np.exp(self.cuts)
        inner = np.concatenate([[1.0], 1 - ends[:-1] / ends[1:]]) if k > 1 else np.ones(1)
        self.by_row = np.empty((len(y), k))
        for at in range(0, len(y), 512):
            part = self._classes(np.arange(len(x)), np.arange(at, min(at + 512, len(y))))
            here = np.array([np.bincount(column[column >= 0], minlength=k) for column in part.T]).astype(np.float64)
            within = np.cumsum(here, axis=1)
            few = np.hstack([within[:, :-1] * inner[: k - 1], here[:, -1:]]) if k > 1 else here
            share = np.where(within < _FEW, few, here)
            self.by_row[at:at + 512] = np.log(np.maximum(share, 0.1) / np.maximum(within[:, -1:], 1.0))

    def log_ratios(self, records: Ints, rows: Ints) -> Floats:
        classes = self._classes(records, rows)
        ratio = self.own[classes] - self.by_row[rows[None, :], classes]
        return np.where(classes >= 0, ratio, 0.0)

    def _classes(self, records: Ints, rows: Ints) -> Ints:
        """The class of each pair; −1 if a value is missing."""
        apart = self._distances(self.y[rows][None, :], self.centre[records][:, None])
        return np.where(np.isnan(apart), -1, np.searchsorted(self.cuts, np.nan_to_num(apart)))

    def _distances(self, values: Floats, centres: Floats) -> Floats:
        return np.asarray(np.log(np.abs(values - centres) + self.least))


def _nearest(x: Floats, simulated: Floats) -> Floats:
    """For each record, the simulated value nearest to the original: what deterministic steps make of it if it is kept."""
    apart = np.where(np.isnan(simulated), np.inf, np.abs(simulated - x))
    return np.asarray(simulated[np.argmin(apart, axis=0), np.arange(len(x))])
