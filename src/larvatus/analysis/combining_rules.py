"""Combine the estimates from m copies of a release into one estimate with a valid interval.

With q̄ the mean of the estimates, ū the mean of their variances and b the variance of the estimates over copies:

    partially synthetic   T = ū + b / m             ν = (m − 1) (1 + ū / (b / m))²
    missing data          T = ū + (1 + 1/m) b       ν = (m − 1) (1 + ū / ((1 + 1/m) b))²
    fully synthetic       T = (1 + 1/m) b − ū       ν = (m − 1) (1 − ū / ((1 + 1/m) b))²

The rule depends on the copies. Partially synthetic data keep the records and replace values (Reiter 2003); this is what
`multiple_imputation` and `blank_and_impute` release. Fully synthetic data are new units (Raghunathan, Reiter and Rubin 2003).
Rubin's rule (1987) is for missing values; on synthetic data its intervals are too wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from larvatus.core.arrays import Floats
from larvatus.core.errors import AnalysisError

CombiningRule = Literal["partially_synthetic", "fully_synthetic", "missing_data"]


@dataclass(frozen=True, slots=True)
class CombinedEstimate:
    """An estimate over copies with its variance and degrees of freedom; arrays if several quantities were given.

    `within` is the mean of the copies' own variances, `between` the variance of their estimates. `replaced` marks variances
    that were negative under the fully synthetic rule and were replaced by `share` times `within`.

    Examples:
        >>> import larvatus as lv
        >>> found = lv.analysis.combine([2.1, 2.2, 2.3], [0.04, 0.05, 0.06])
        >>> print(f"{float(found.error):.3f}")
        0.231
    """

    rule: CombiningRule
    copies: int
    estimate: Floats
    within: Floats
    between: Floats
    variance: Floats
    freedom: Floats
    replaced: NDArray[np.bool_]

    @property
    def error(self) -> Floats:
        """Standard error."""
        return np.sqrt(self.variance)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the interval at a level, by Student's t."""
        from scipy.special import ndtri, stdtrit

        if not 0 < level < 1:
            raise AnalysisError(f"level: needs a value between 0 and 1, got {level!r}.")
        tail = (1 + level) / 2
        finite = np.where(np.isfinite(self.freedom), self.freedom, 1.0)
        half = np.where(np.isfinite(self.freedom), stdtrit(finite, tail), ndtri(tail)) * self.error
        return self.estimate - half, self.estimate + half


def combine(
    estimates: Sequence[ArrayLike] | Floats, variances: Sequence[ArrayLike] | Floats,
    rule: CombiningRule = "partially_synthetic", share: float = 1.0,
) -> CombinedEstimate:
    """Combine estimates and their variances, one of each (or a list) from every copy.

    `share` is the number of records of a copy divided by that of the original. Only the fully synthetic rule uses it, if its
    variance would be negative.

    Examples:
        >>> import larvatus as lv
        >>> found = lv.analysis.combine([2.1, 2.2, 2.3], [0.04, 0.05, 0.06])
        >>> print(f"{float(found.estimate):.2f} with variance {float(found.variance):.4f}")
        2.20 with variance 0.0533
    """
    q, u = _checked("estimates", estimates), _checked("variances", variances)
    if q.shape != u.shape:
        raise AnalysisError(f"variances: have the shape {u.shape} and estimates {q.shape}. Give one variance per estimate.")
    if (u < 0).any():
        raise AnalysisError("variances: some are negative. Give squared standard errors.")
    if not share > 0:
        raise AnalysisError(f"share: needs a value above 0, got {share!r}.")
    m = len(q)
    within, between = u.mean(axis=0), q.var(axis=0, ddof=1)
    if rule == "partially_synthetic":
        variance, freedom = within + between / m, _freedom(m, within, between / m)
        replaced = np.zeros(within.shape, dtype=bool)
    elif rule == "missing_data":
        extra = (1 + 1 / m) * between
        variance, freedom, replaced = within + extra, _freedom(m, within, extra), np.zeros(within.shape, dtype=bool)
    elif rule == "fully_synthetic":
        extra = (1 + 1 / m) * between
        replaced = extra <= within
        variance = np.where(replaced, share * within, extra - within)
        freedom = np.where(replaced, m - 1.0, np.maximum(_freedom(m, -within, extra), 1.0))
    else:
        raise AnalysisError(f"rule: {rule!r} is none of partially_synthetic, fully_synthetic and missing_data.")
    return CombinedEstimate(rule, m, q.mean(axis=0), within, between, np.asarray(variance), np.asarray(freedom),
                            np.asarray(replaced))


def _freedom(m: int, within: Floats, extra: Floats) -> Floats:
    """(m − 1)(1 + within / extra)²; infinite if copies do not differ."""
    ratio = np.divide(within, extra, out=np.full(np.shape(within), np.inf), where=np.asarray(extra) > 0)
    return np.asarray((m - 1) * (1 + ratio) ** 2)


def _checked(what: str, values: Sequence[ArrayLike] | Floats) -> Floats:
    try:
        out = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise AnalysisError(f"{what}: need numbers, the same number of them from every copy.") from None
    if out.size == 0:
        raise AnalysisError(f"{what}: none are given. Give one, or a list of them, from every copy.")
    if out.ndim == 0 or len(out) < 2:
        raise AnalysisError(
            f"{what}: come from one copy, which does not show what masking adds to the variance. Use two copies or more."
        )
    if not np.isfinite(out).all():
        raise AnalysisError(f"{what}: some are missing or infinite. Leave those quantities out.")
    return out
