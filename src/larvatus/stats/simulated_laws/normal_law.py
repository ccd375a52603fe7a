"""The joint law of continuous released values, learnt from simulations: for record i

    y = μ_i + D_i e,   e with correlation matrix R: normal, with long tails (t), or with any shape of its whitened coordinates

    μ_i   mean of the record's simulated values, shrunk towards a regression on its original ones
    D_i   standard deviations: common to all records, or those of the record and of records with similar means

Cells may be missing, because they recur and are left to the law of atoms. The law of the others is then the marginal one.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints

_THIN = 1e-12  # share of a column's variance that noise has at least
_OWN = 20.0  # simulations that the neighbours of a record count for
_REACH, _BINS = 6.0, 240  # whitened coordinates, in standard deviations
_FREEDOM = 4.0  # of the t distribution that stands for long tails
_WIDTH = 0.8  # of the smoothing of their distribution, in classes
_COMPLETE = 20  # complete rows for each column, for EM
_ROUNDS = ((300, 5), (2_000, 2), (np.inf, 0))  # of EM, by the number of patterns of missing cells
_THIN_SHARE = 1e-9  # least eigenvalue of a correlation matrix that EM gives
_TINY = np.finfo(float).tiny
_AT_ONCE = 4_000_000  # cells of a table that are held at once


class NormalLaw:
    """The law of some continuous columns. `simulated` is simulations × records × columns; missing cells are NaN."""

    def __init__(self, x: Floats, simulated: Floats, y: Floats, *, by_record: bool, shape: bool = False,
                 tails: bool = False) -> None:
        there = np.isfinite(simulated)
        count = there.sum(axis=0)
        mean = np.where(there, simulated, 0.0).sum(axis=0) / np.maximum(count, 1)
        apart = np.where(there, simulated - mean, 0.0)
        squares, freedom = (apart**2).sum(axis=0), np.maximum(count - 1, 0)
        scale = np.array([float(np.var(v[t])) if t.any() else 0.0 for v, t in
                          ((simulated[..., j], there[..., j]) for j in range(simulated.shape[2]))])
        common = np.maximum(squares.sum(axis=0) / np.maximum(freedom.sum(axis=0), 1), _THIN * scale + _TINY)
        self.y, self._tails = y, tails
        self.centre = _shrunk(x, mean, count, common)
        self.sd = np.sqrt(_local(self.centre, squares, freedom, common) if by_record else np.tile(common, (len(x), 1)))
        units = np.where(there, apart / self.sd, 0.0)
        blanks = _Blanks.of(units, there)
        if blanks is None:
            units = units.reshape(-1, y.shape[1])
            self.correlation = _correlation(units, there.reshape(units.shape))
        else:
            shift, self.correlation, times = blanks.fit()
            self.centre = _shrunk(x, mean + shift * self.sd, np.minimum(count, 1) * times[:, None], common)
            units = (units - np.where(there, shift, 0.0)).reshape(-1, y.shape[1])
        self._shape: list[Floats] | None = None
        if shape:
            whole = there.all(axis=2).ravel()
            self._whitens = np.linalg.inv(np.linalg.cholesky(self.correlation)).T
            self._shape = [_log_density(u) for u in (units[whole] @ self._whitens).T]

    def log_densities(self, records: Ints, rows: Ints) -> Floats:
        """Logarithms of the densities of every pair up to a constant for each row, records × rows."""
        y, centre, sd = self.y[rows], self.centre[records], self.sd[records]
        patterns, at = np.unique(np.isfinite(y), axis=0, return_inverse=True)
        out = np.zeros((len(records), len(rows)))
        for k, there in enumerate(patterns):
            if there.any():
                these = np.flatnonzero(at.ravel() == k)
                out[:, these] = self._of_pattern(y[these], centre, sd, there)
        return out

    def _of_pattern(self, y: Floats, centre: Floats, sd: Floats, there: Bools) -> Floats:
        values, middle, spread = y[:, there], centre[:, there], sd[:, there]
        lost = np.log(spread).sum(axis=1)[:, None]
        if self._shape is not None and there.all():
            back, kinds = self._whitens, self._shape
        else:
            back = np.linalg.inv(np.linalg.cholesky(self.correlation[np.ix_(there, there)])).T
            kinds = []
        if not kinds and (spread == spread[:1]).all():
            from larvatus.stats.linkage.missing_patterns import squared_distances

            return np.asarray(-squared_distances(middle / spread[0] @ back, values / spread[0] @ back) / 2 - lost)
        out = np.empty((len(middle), len(values)))
        size = max(_AT_ONCE // max(values.size, 1), 1)
        for start in range(0, len(middle), size):
            part = slice(start, start + size)
            u = ((values[None] - middle[part, None]) / spread[part, None]) @ back
            if kinds:
                code = _classes(u)
                out[part] = np.sum([kind[code[..., j]] for j, kind in enumerate(kinds)], axis=0)
            else:
                square = np.einsum("abj,abj->ab", u, u)
                out[part] = -(_FREEDOM + u.shape[2]) / 2 * np.log1p(square / _FREEDOM) if self._tails else -square / 2
        return np.asarray(out - lost)


def local_spread(simulated: Floats) -> tuple[Floats, Floats]:
    """Means of records in order, and the standard deviation of simulated values near each; simulations × records, with NaN."""
    there = np.isfinite(simulated)
    count = there.sum(axis=0)
    some = count > 0
    values, there, count = simulated[:, some], there[:, some], count[some]
    mean = np.where(there, values, 0.0).sum(axis=0) / count
    squares = np.where(there, values - mean, 0.0) ** 2
    freedom = np.maximum(count - 1, 0)
    common = np.maximum(squares.sum() / max(int(freedom.sum()), 1), _THIN * float(np.var(values[there])) + _TINY)
    local = _local(mean[:, None], squares.sum(axis=0)[:, None], freedom[:, None], np.array([common]))[:, 0]
    order = np.argsort(mean, kind="stable")
    width = max(3, len(order) // 30)
    smooth = np.convolve(np.pad(np.sqrt(local[order]), width, "edge"), np.ones(2 * width + 1) / (2 * width + 1), "valid")
    return mean[order], np.maximum(smooth, 1e-3 * np.sqrt(common))


def _shrunk(x: Floats, mean: Floats, count: Ints, common: Floats) -> Floats:
    """Means of records, moved towards a regression on x by as much as they could differ from it by chance."""
    design = np.hstack([np.ones((len(x), 1)), np.nan_to_num(x)])
    out = np.empty_like(mean)
    for j in range(mean.shape[1]):
        weight = np.sqrt(count[:, j].astype(np.float64))
        some = weight > 0
        if some.sum() > 2 * design.shape[1]:
            slope = np.linalg.lstsq(design * weight[:, None], mean[:, j] * weight, rcond=None)[0]
            expected = design @ slope
        else:
            expected = np.full(len(x), float(np.average(mean[:, j], weights=count[:, j])) if some.any() else 0.0)
        left = np.where(some, mean[:, j] - expected, 0.0)
        error = common[j] / np.maximum(count[:, j], 1)
        between = max(float((left[some] ** 2 - error[some]).mean()), 0.0) if some.any() else 0.0
        out[:, j] = expected + left * between / (between + error)
    return out


def _local(centre: Floats, squares: Floats, freedom: Ints, common: Floats) -> Floats:
    """Variances by record: its own simulations, and those of the records with the nearest means."""
    n = len(centre)
    half = max(15, n // 15) // 2
    low, high = np.maximum(np.arange(n) - half, 0), np.minimum(np.arange(n) + half + 1, n)
    near = np.empty_like(squares)
    for j in range(centre.shape[1]):
        order = np.argsort(centre[:, j], kind="stable")
        total, weight = (np.concatenate([[0.0], np.cumsum(v[order, j])]) for v in (squares, freedom))
        near[order, j] = (total[high] - total[low] + 3 * common[j]) / (weight[high] - weight[low] + 3)
    return np.asarray(np.maximum((squares + _OWN * near) / (freedom + _OWN), 1e-9 * common))


class _Blanks:
    """Means of records and the correlation of the noise if cells are missing, by expectation and maximisation (EM).

    Missing cells are replaced by their expectation given the others, so that the errors of the means are along the noise. Means
    and correlations of single cells would lose directions in which the noise is thin.
    """

    def __init__(self, units: Floats, there: Bools) -> None:
        self._shape, self._rows = units.shape, units.reshape(-1, units.shape[2])
        patterns, at = np.unique(there.reshape(self._rows.shape), axis=0, return_inverse=True)
        order = np.argsort(at.ravel(), kind="stable")
        cuts = np.cumsum(np.bincount(at.ravel(), minlength=len(patterns)))[:-1]
        self._patterns = list(zip(patterns, np.split(order, cuts), strict=True))
        self._whole: Bools = np.asarray(there.all(axis=2))
        self._many = self._whole.sum(axis=0)

    @classmethod
    def of(cls, units: Floats, there: Bools) -> _Blanks | None:
        """None if no cell is missing, or if there are too few complete rows."""
        many = there.all(axis=2).sum(axis=0)
        enough = int(np.maximum(many - 1, 0).sum()) >= _COMPLETE * units.shape[2]
        return cls(units, there) if enough and not there.all() else None

    def fit(self) -> tuple[Floats, Floats, Ints]:
        """Shifts of the means (records × columns), the correlation matrix, and the number of rows behind each mean.

        The start is from complete rows. With too many patterns of missing cells it is also the end.
        """
        units, times = self._rows.reshape(self._shape), self._shape[0]
        count = np.where(self._many > 0, self._many, times)
        shift = np.where(self._whole[..., None], units, 0.0).sum(axis=0) / count[:, None]
        apart = (units - shift)[self._whole]
        covariance = apart.T @ apart / int(np.maximum(self._many - 1, 0).sum())
        for _ in range(next(rounds for most, rounds in _ROUNDS if len(self._patterns) <= most)):
            filled, rest = self._fill(shift, covariance)
            shift = filled.mean(axis=0)
            apart = (filled - shift).reshape(self._rows.shape)
            covariance = (apart.T @ apart + rest) / (len(apart) * (times - 1) / times)
            count = np.full(self._shape[1], times)
        return shift, _positive_definite(covariance, _THIN_SHARE), count

    def _fill(self, shift: Floats, covariance: Floats) -> tuple[Floats, Floats]:
        """The rows with missing cells replaced by their expectation, and the sum of the covariances around it."""
        records = self._shape[1]
        out, rest = self._rows.copy(), np.zeros_like(covariance)
        for there, rows in self._patterns:
            if there.all():
                continue
            centre, gone = shift[rows % records], ~there
            on = np.linalg.lstsq(covariance[np.ix_(there, there)], covariance[np.ix_(there, gone)], rcond=1e-13)[0]
            out[np.ix_(rows, gone)] = centre[:, gone] + (out[np.ix_(rows, there)] - centre[:, there]) @ on
            left = covariance[np.ix_(gone, gone)] - covariance[np.ix_(gone, there)] @ on
            rest[np.ix_(gone, gone)] += len(rows) * left
        return out.reshape(self._shape), rest


def _correlation(units: Floats, there: Bools) -> Floats:
    """The correlation matrix over pairs of cells that are both there, made positive definite."""
    pairs = there.astype(np.float64)
    return _positive_definite((units.T @ units) / np.maximum(pairs.T @ pairs, 1.0), 1e-6)


def _positive_definite(covariance: Floats, least: float) -> Floats:
    """The correlation matrix of a covariance, with eigenvalues of at least `least`."""
    size = np.sqrt(np.maximum(np.diag(covariance), _THIN))
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    found = (vectors * np.maximum(values, least)) @ vectors.T
    size = np.sqrt(np.diag(found))
    return np.asarray(found / np.outer(size, size))


def _classes(u: Floats) -> Ints:
    """The class of each whitened coordinate; values out of reach, even infinite ones, are in the outermost classes."""
    place = np.clip((u + _REACH) * (_BINS / (2 * _REACH)), 0, _BINS - 1)
    return np.asarray(np.nan_to_num(place).astype(np.int64))


def _log_density(u: Floats) -> Floats:
    """Logarithm of the distribution of a whitened coordinate over classes; a normal one counts as two further values."""
    code = _classes(u)
    seen = np.bincount(code, minlength=_BINS).astype(np.float64)
    kernel = np.exp(-((np.arange(-4, 5) / _WIDTH) ** 2) / 2)
    seen = np.convolve(seen, kernel / kernel.sum(), "same")
    middle = (np.arange(_BINS) + 0.5) * (2 * _REACH / _BINS) - _REACH
    normal = np.exp(-(middle**2) / 2)
    return np.asarray(np.log((seen + 2 * normal / normal.sum() + 1e-4) / (seen.sum() + 2)))
