"""Means, variances, correlations and regressions of the original, estimated from a noisy release and its published noise.

Noise does not change means. It inflates variances and weakens correlations and slopes by known amounts (errors in variables):

    Σ̂ = S_z − V,   with V = diag((φ² mean(z²) + c² s²) / (1 + φ² + c²)) or, for correlated noise, V = S_z c² / (1 + c²)

within each sub-group, where S_z is the covariance of the released values, s² its diagonal, c² the relative variance of the
noise and φ the SD of the factor. Regression slopes are Σ̂⁻¹ σ̂. The corrected moments are unbiased for those of the original
file. Standard errors include the sampling of records and the noise. They also allow for the fact that masks take their noise
variance from the sample: a sample that varies more by chance also receives more noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from larvatus.analysis.influence import LEAST_WEIGHT, Influence, powers_of
from larvatus.analysis.published_noise import Noise
from larvatus.core.arrays import Floats
from larvatus.core.display import view
from larvatus.core.errors import AnalysisError, LarvatusWarning, nearest_names


@dataclass(frozen=True, slots=True)
class Estimates:
    """Named estimates with standard errors, and the uncorrected estimates from the release.

    Examples:
        >>> import larvatus as lv
        >>> released = {"income": [2.0, 3.1, 4.7, 6.2], "age": [20, 30, 40, 50]}
        >>> means = lv.analysis.correct(released, lv.analysis.additive({"income": 0.1})).means()
        >>> means["income"][0]
        4.0
    """

    names: tuple[str, ...]
    estimate: Floats
    error: Floats
    uncorrected: Floats

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends at a level, by the normal distribution."""
        from scipy.special import ndtri

        if not 0 < level < 1:
            raise AnalysisError(f"level: needs a value between 0 and 1, got {level!r}.")
        half = ndtri((1 + level) / 2) * self.error
        return self.estimate - half, self.estimate + half

    def __getitem__(self, name: str) -> tuple[float, float]:
        """Estimate and standard error of one quantity."""
        if name not in self.names:
            raise AnalysisError(f"no estimate {name!r}; {nearest_names(name, self.names)}")
        j = self.names.index(name)
        return float(self.estimate[j]), float(self.error[j])

    def plot(self) -> Any:
        """Each estimate with its 95 % interval and the uncorrected one; it shows itself in a notebook and has `.save()`."""
        return view(self, "plot_estimates")


@dataclass(frozen=True, slots=True)
class CorrectedMoments:
    """The moments of the original, estimated from the complete records of a noisy release.

    Examples:
        >>> import larvatus as lv
        >>> released = {"income": [2.0, 3.1, 4.7, 6.2]}
        >>> moments = lv.analysis.correct(released, lv.analysis.additive({"income": 0.25}))
        >>> print(f"{float(moments.covariance[0, 0] / moments.released[0, 0]):.2f}")
        0.80
    """

    columns: tuple[str, ...]
    records: int
    left_out: int
    mean: Floats
    covariance: Floats
    released: Floats
    _influence: Influence = field(repr=False)

    def means(self) -> Estimates:
        """Means; noise does not change them, and their errors are those of the released values."""
        k = len(self.columns)
        gradients = [(row, np.zeros((k, k))) for row in np.eye(k)]
        return self._estimates(self.columns, self.mean, gradients, self.mean)

    def variances(self) -> Estimates:
        """Variances of the original."""
        k = len(self.columns)
        gradients = [(np.zeros(k), np.diag(row)) for row in np.eye(k)]
        return self._estimates(self.columns, np.diag(self.covariance), gradients, np.diag(self.released))

    def correlations(self) -> Estimates:
        """Correlations of every pair, named `one, other`; NaN, with a warning, if the covariance is not positive definite."""
        k = len(self.columns)
        rows, columns = np.triu_indices(k, 1)
        names = tuple(f"{self.columns[i]}, {self.columns[j]}" for i, j in zip(rows, columns, strict=True))
        lost = [not self._proper([int(i), int(j)]) for i, j in zip(rows, columns, strict=True)]
        if any(lost):
            _warn(f"correlations: {'; '.join(n for n, gone in zip(names, lost, strict=True) if gone)}")
        sd = np.sqrt(np.maximum(np.diag(self.covariance), np.finfo(float).tiny))
        own = np.diag(self.released)
        was = self.released[rows, columns] / np.sqrt(own[rows] * own[columns])
        value = np.where(lost, np.nan, self.covariance[rows, columns] / (sd[rows] * sd[columns]))
        gradients = []
        for i, j, rho in zip(rows, columns, value, strict=True):
            a = np.zeros((k, k))
            if not np.isnan(rho):
                a[i, j] = a[j, i] = 0.5 / (sd[i] * sd[j])
                a[i, i], a[j, j] = -0.5 * rho / sd[i] ** 2, -0.5 * rho / sd[j] ** 2
            gradients.append((np.zeros(k), a))
        return self._estimates(names, value, gradients, was)

    def regression(self, outcome: str, on: Sequence[str] | str) -> Estimates:
        """Least squares coefficients of one column on others: `intercept`, then one for each.

        All are NaN, with a warning, if the corrected covariance of these columns is not positive definite.
        """
        on = [on] if isinstance(on, str) else list(on)
        y, *z = (self._place(n) for n in (outcome, *on))
        if not z or len({y, *z}) < len(z) + 1:
            raise AnalysisError("regression: needs an outcome and at least one other column, each named once.")
        names = ("intercept", *on)
        plain = np.linalg.solve(self.released[np.ix_(z, z)], self.released[z, y])
        if not self._proper([y, *z]):
            _warn(f"regression of {outcome} on {', '.join(on)}")
            none = np.full(len(names), np.nan)
            return Estimates(names, none, none, np.array([self.mean[y] - plain @ self.mean[z], *plain]))
        inverse = np.linalg.inv(self.covariance[np.ix_(z, z)])
        slopes = inverse @ self.covariance[z, y]
        k = len(self.columns)
        residual = np.zeros(k)
        residual[y], residual[z] = 1.0, -slopes
        gradients = []
        for row in inverse:
            along = np.zeros(k)
            along[z] = row
            gradients.append((np.zeros(k), (np.outer(along, residual) + np.outer(residual, along)) / 2))
        level = (residual, -np.sum([m * a for m, (_, a) in zip(self.mean[z], gradients, strict=True)], axis=0))
        value, was = (np.array([self.mean[y] - s @ self.mean[z], *s]) for s in (slopes, plain))
        return self._estimates(names, value, [level, *gradients], was)

    def _proper(self, places: Sequence[int]) -> bool:
        """Whether the corrected covariance of some columns is positive definite."""
        return _smallest(self.covariance[np.ix_(places, places)]) >= LEAST_WEIGHT

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise AnalysisError(f"regression: no column {name!r} here; {nearest_names(name, self.columns)}")
        return self.columns.index(name)

    def _estimates(
        self, names: Sequence[str], value: Floats, gradients: Sequence[tuple[Floats, Floats]], uncorrected: Floats
    ) -> Estimates:
        variance = np.array([self._influence.variance(b, a) for b, a in gradients]) / self.records
        if (variance < 0).any():
            name = names[int(np.argmin(variance))]
            raise AnalysisError(f"{name}: {self.records} records are too few to estimate its standard error under this noise.")
        error = np.where(np.isnan(value), np.nan, np.sqrt(variance))
        return Estimates(tuple(names), np.array(value), error, np.array(uncorrected))


class NamedColumns(Protocol):
    """A data frame, or a mapping from names to arrays."""

    def __getitem__(self, name: str, /) -> Any: ...


def correct(
    frame: NamedColumns, noise: Noise, others: Sequence[str] | str = (), sub_groups: Sequence[str] | str = ()
) -> CorrectedMoments:
    """Moments of the masked columns and of `others` (unmasked numeric columns).

    `sub_groups` are the columns that define the sub-groups of the mask; omit them if it ran over the whole file. Zeros must
    have been masked too, and no value drawn again until positive, because both change the law. Records with a missing value
    in any of the columns are left out. If these differ from the rest, so does their noise.

    Examples:
        >>> import larvatus as lv
        >>> released = {"income": [2.0, 3.1, 4.7, 6.2]}
        >>> found = lv.analysis.correct(released, lv.analysis.additive({"income": 0.25}))
        >>> print(f"{found.variances()['income'][0]:.2f}")
        2.70
    """
    others, sub_groups = ((v,) if isinstance(v, str) else tuple(v) for v in (others, sub_groups))
    names = (*noise.columns, *(n for n in others if n not in noise.columns))
    values = np.array([_numbers(frame, n) for n in names]).T
    there = np.isfinite(values).all(axis=1)
    group = _groups(frame, sub_groups, len(values))[there]
    z = values[there]
    n, k, p = len(z), len(names), len(noise.columns)
    if n < k + 2:
        raise AnalysisError(f"corrected: {n} complete records for {k} columns. Give more records, or fewer columns.")
    group = np.unique(group, return_inverse=True)[1]
    count = np.bincount(group)
    if count.min() < 2:
        raise AnalysisError("corrected: the noise of a sub-group with one complete record cannot be estimated. Leave it out.")
    added, factor = (np.concatenate([v, np.zeros(k - p)]) for v in (noise.variance, noise.bias_sd))
    centre = np.array([np.bincount(group, z[:, j]) / count for j in range(k)]).T
    r, w = z - centre[group], z - z.mean(axis=0)
    within = np.array([r[group == g].T @ r[group == g] / (count[g] - 1) for g in range(len(count))])
    spread = np.array([_noise(noise, added, factor, within[g], z[group == g]) for g in range(len(count))])
    share = count / n
    released = w.T @ w / (n - 1)
    covariance = released - np.einsum("g,gjk->jk", share, spread)
    _check(released, z.mean(axis=0), names)
    inside = within - spread
    powers = None if noise.correlated else powers_of(noise, added, factor, inside, centre, z, group)
    influence = Influence(w, r, z, group, share, spread, inside, added, factor, noise, powers)
    return CorrectedMoments(names, n, len(values) - n, z.mean(axis=0), covariance, released, influence)


def _noise(noise: Noise, added: Floats, factor: Floats, within: Floats, z: Floats) -> Floats:
    """The noise covariance of a sub-group: unbiased given the original, since E S_z = S + V and E z² = x² + V."""
    if noise.correlated:
        masked = np.outer(added > 0, added > 0)
        return np.where(masked, within * (added.max() / (1 + added.max())), 0.0)
    v = (factor**2 * (z**2).mean(axis=0) + added * np.diag(within)) / (1 + factor**2 + added)
    return np.diag(v)


def _check(released: Floats, mean: Floats, names: Sequence[str]) -> None:
    """Refuse released columns that are constant or linearly dependent: more records would not help."""
    for name, own, centre in zip(names, np.diag(released), mean, strict=True):
        if not own > (1e-12 * centre) ** 2:
            raise AnalysisError(f"{name}: its released values are all the same, so it has no variance. Leave the column out.")
    least = _smallest(released)
    if least < LEAST_WEIGHT:
        raise AnalysisError(
            f"corrected: the released columns determine each other (smallest eigenvalue {least:.2g} on the correlation scale). "
            "Leave one of them out."
        )


def _smallest(covariance: Floats) -> float:
    """The smallest eigenvalue on the correlation scale; -1 if a variance is not positive."""
    own = np.diag(covariance)
    if not (own > 0).all():
        return -1.0
    return float(np.linalg.eigvalsh(covariance / np.sqrt(np.outer(own, own)))[0])


def _warn(what: str) -> None:
    warnings.warn(
        f"{what}: not estimated (NaN). After subtracting the published noise, the covariance is not positive definite. This "
        "happens by sampling error in small files and under strong noise. Use more records or fewer columns. If there are many "
        "records, check the published figures and the sub-groups. Means and variances are not affected.",
        LarvatusWarning, stacklevel=3,
    )


def _numbers(frame: NamedColumns, name: str) -> Floats:
    try:
        column = frame[name]
    except Exception:
        raise AnalysisError(f"corrected: the release has no column {name!r}.") from None
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise AnalysisError(f"corrected: {name!r} is not numeric. Make indicators of its levels first.") from None


def _groups(frame: NamedColumns, columns: Sequence[str], rows: int) -> NDArray[np.int64]:
    """An integer code for each combination of levels."""
    out = np.zeros(rows, dtype=np.int64)
    for name in columns:
        try:
            level = np.asarray(frame[name]).astype(str)
        except Exception:
            raise AnalysisError(f"corrected: the release has no column {name!r}.") from None
        code = np.unique(level, return_inverse=True)[1]
        out = np.unique(out * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1]
    return out
