"""Regressions with statsmodels on arrays; its formula library codes the levels, and failures are explained in words.

The user's text never reaches the library. It is parsed by `formulas`; the library gets a new text with parts z0, z1 … joined
only by +, : and 0, so it contains no code to run.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.errors import AnalysisError
from larvatus.measures.analyses.formulas import Formula, FormulaPart, term_text

ROBUST = {"ordinary": "HC1", "logistic": "HC0"}
_COLLINEAR = 1e-9  # smallest singular value relative to the largest, for columns of unit length
_EXACT = 1e-20  # a fit is exact if its residual sum of squares is below this fraction of the outcome's
_ROUNDING = 1e-6  # in an exact fit, a coefficient below this fraction of its unit is zero
_SURE = 10.0  # if a logit exceeds this, the fit is checked for separation
NOT_DETERMINED = "not identified: its column is a combination of other columns"
UNVARIED = "its column does not vary and cannot be separated from the intercept"
SEPARATED = "the terms predict the outcome perfectly (separation), so no finite coefficient fits best"


@dataclass(frozen=True, slots=True)
class ModelEstimates:
    """Named estimates with variances; NaN if there is none, with the reason in `why`.

    `unit` is the natural unit of a coefficient (spread of the outcome over that of the column), 0 for other quantities.
    """

    names: tuple[str, ...]
    estimate: Floats
    variance: Floats
    freedom: float
    records: int
    why: tuple[str, ...] = ()
    unit: Floats | float = 0.0

    @classmethod
    def failed(cls, names: Sequence[str], why: str, records: int) -> ModelEstimates:
        """Missing estimates, all for the same reason."""
        nothing = np.full(len(names), np.nan)
        return cls(tuple(names), nothing, nothing, np.inf, records, (why,) * len(names))


def library() -> Any:
    """The two models of statsmodels, or an error that states what to install."""
    try:
        from statsmodels.genmod.families import Binomial
        from statsmodels.genmod.generalized_linear_model import GLM
        from statsmodels.regression.linear_model import WLS
    except ImportError:
        raise AnalysisError(
            "an analysis with a formula needs statsmodels, which is not installed: pip install 'larvatus[analysis]'. "
            "Means, quantiles, correlations and tables do not need it."
        ) from None
    return WLS, GLM, Binomial


def fit_regression(
    asked: Formula, model: str, outcome: Floats, parts: Mapping[FormulaPart, Floats],
    levels: Mapping[FormulaPart, Sequence[str]],
    weight: Floats,
) -> ModelEstimates:
    """Fit a formula to complete rows; parts are numbers, or codes if they have levels.

    Standard errors are robust (HC1; HC0 for logistic regression). With weights they are the linearised standard errors of a
    design without strata and clusters.
    """
    wls, glm, binomial = library()
    import pandas as pd  # installed with statsmodels

    known = {part: f"z{i}" for i, part in enumerate(asked.parts)}
    coded = {p: pd.Index([str(i) for i in range(len(v))]) for p, v in levels.items()}
    frame = pd.DataFrame({"y": outcome, **{
        known[p]: pd.Categorical.from_codes(v.astype(np.int64), coded[p]) if p in coded else v for p, v in parts.items()
    }})
    terms = [":".join(known[p] for p in term) for term in asked.terms]
    text = "y ~ " + " + ".join(["1" if asked.intercept else "0", *terms])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = wls.from_formula(text, frame, weights=weight) if len(outcome) else None
    if built is None:
        return ModelEstimates.failed(first_name(asked), "no record has all values", 0)
    names = tuple(_name(n, asked.parts, levels) for n in built.exog_names)
    x = np.asarray(built.exog, dtype=np.float64)
    if np.ptp(outcome) <= 1e-13 * np.abs(outcome).max():
        return ModelEstimates.failed(names, "the outcome does not vary", len(x))
    length = np.sqrt((x**2).mean(axis=0))
    scaled = x / np.where(length > 0, length, 1.0)
    _, roots, axes = np.linalg.svd(np.linalg.qr(scaled * np.sqrt(weight / weight.max())[:, None], mode="r"))
    free = np.zeros(len(axes), dtype=bool)
    free[: len(roots)] = roots > _COLLINEAR * roots[0]
    basis, lost = axes[free].T / roots[free[: len(roots)]] * np.sqrt(len(x)), axes[~free].T
    if len(x) <= int(free.sum()):
        return ModelEstimates.failed(names, f"{len(x)} complete records are too few for {int(free.sum())} coefficients", len(x))
    reduced = scaled @ basis
    share = weight / weight.mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if model == "ordinary":
                fit = wls(outcome, reduced, weights=share).fit(cov_type=ROBUST[model])
            else:
                fit = glm(outcome, reduced, family=binomial(), var_weights=share).fit(cov_type=ROBUST[model], maxiter=50)
        except (np.linalg.LinAlgError, ArithmeticError, ValueError):
            fit = None
    doubtful = model == "logistic" and (fit is None or not fit.converged or np.abs(reduced @ fit.params).max() > _SURE)
    if doubtful and is_separated(reduced, outcome > 0):
        return ModelEstimates.failed(names, SEPARATED, len(x))
    if fit is None or (model == "logistic" and not fit.converged):
        return ModelEstimates.failed(names, "the fit does not converge", len(x))
    estimate = basis @ np.asarray(fit.params) / np.where(length > 0, length, 1.0)
    variance = np.diag(basis @ np.asarray(fit.cov_params()) @ basis.T) / np.where(length > 0, length, 1.0) ** 2
    unit = float(outcome.std()) / np.where(length > 0, length, 1.0)
    if model == "ordinary" and float(fit.ssr) < _EXACT * float(weight @ (outcome - outcome.mean()) ** 2 / weight.mean()):
        estimate, variance = np.where(np.abs(estimate) < _ROUNDING * unit, 0.0, estimate), np.zeros(len(names))
    determined = (np.abs(lost) < 1e-6).all(axis=1)
    fine = determined & np.isfinite(variance)
    fixed = [np.ptp(column) == 0 and n != "intercept" for n, column in zip(names, x.T, strict=True)]
    why = tuple(
        "" if ok else "no record has it" if empty else UNVARIED if still else NOT_DETERMINED
        for ok, empty, still in zip(fine, length == 0, fixed, strict=True)
    )
    freedom = float(len(x) - free.sum()) if model == "ordinary" else np.inf
    return ModelEstimates(
        names, np.where(fine, estimate, np.nan), np.where(fine, np.maximum(variance, 0.0), np.nan), freedom, len(x), why, unit
    )


def first_name(asked: Formula) -> tuple[str]:
    """The name of one coefficient that stands for all if there is no record from which to find the others."""
    return ("intercept",) if asked.intercept else (term_text(asked.terms[0]),)


def is_separated(x: Floats, outcome: NDArray[np.bool_]) -> bool:
    """Whether the outcome is separated (Konis 2007), so that logistic coefficients diverge; columns have unit length.

    That is, some combination of the columns is ≥ 0 if the outcome is true, ≤ 0 if it is false, and not 0 everywhere.
    """
    from scipy.optimize import linprog

    signed = np.where(outcome[:, None], x, -x)
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(x)), bounds=(-1, 1), method="highs")
    return bool(found.status == 0 and float(signed.sum(axis=0) @ found.x) > 1e-6 * len(x))


def _name(label: str, parts: Sequence[FormulaPart], levels: Mapping[FormulaPart, Sequence[str]]) -> str:
    """The library's name of a coefficient, translated to the notation of the formula."""
    if label in ("Intercept", "1"):
        return "intercept"
    out = []
    for piece in label.split(":"):
        found = re.fullmatch(r"z(\d+)(?:\[(?:T\.)?(\d+)\])?", piece)
        if found is None:
            raise AnalysisError("a coefficient has an unexpected name; larvatus does not support this version of statsmodels.")
        part = parts[int(found[1])]
        out.append(f"{part}[{levels[part][int(found[2])]}]" if found[2] else str(part))
    return ":".join(out)
