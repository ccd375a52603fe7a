"""Estimates of one analysis on one file, and the reasons for missing estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from larvatus.core.errors import StudyError
from larvatus.core.number_format import exact_number
from larvatus.data.sub_groups import Level
from larvatus.measures.analyses.columns import AnalysisColumns, levels_in
from larvatus.measures.analyses.formulas import FormulaPart
from larvatus.measures.analyses.regressions import ModelEstimates, first_name, fit_regression
from larvatus.measures.analyses.spec import Analysis
from larvatus.stats.estimates import weighted_estimates as weighted

_MOST_LEVELS, _MOST_CELLS = 50, 400
OTHER = "any other"
Levels = Mapping[str, tuple[Level, ...]]
_NONE = "no record has a value"


def level_text(level: Level) -> str:
    return exact_number(level).replace(",", "") if isinstance(level, float) else str(level)


def shared_levels(analysis: Analysis, original: AnalysisColumns) -> Levels:
    """The levels of the original for every column that enters by levels; an error if there are too many."""
    if analysis.kind == "table":
        names: Sequence[str] = analysis.columns
    elif analysis.kind == "formula":
        asked = analysis.regression
        names = [p.column for p in asked.parts if p.function == "C" or p.column in original.levels]
        if analysis.model == "logistic":
            names = [*names, asked.outcome.column]
    else:
        names = ()
    found = {n: levels_in(original, n) for n in dict.fromkeys(names)}
    outcome = analysis.regression.outcome.column if analysis.model == "logistic" else ""
    problems = [
        f"analysis {analysis.label!r}: {n!r} has {len(v):,} distinct values; at most {_MOST_LEVELS} can enter as levels. "
        "Recode it, or use another column." for n, v in found.items() if len(v) > _MOST_LEVELS and n != outcome
    ]
    if outcome and (len(found[outcome]) != 2 or analysis.regression.outcome != FormulaPart(outcome)):
        problems.append(
            f"analysis {analysis.label!r}: a logistic regression needs an outcome with two values, but {outcome!r} has "
            f"{len(found[outcome]):,}."
        )
    if analysis.kind == "table" and np.prod([len(v) + 1 for v in found.values()]) > _MOST_CELLS:
        problems.append(f"analysis {analysis.label!r}: the table has more than {_MOST_CELLS} cells. Use fewer columns.")
    if problems:
        raise StudyError(problems)
    return found


def estimate(analysis: Analysis, columns: AnalysisColumns, levels: Levels) -> tuple[ModelEstimates,
                                                                                    tuple[np.ndarray, np.ndarray]]:
    """The estimates of one file, and the limits of their intervals at confidence 1 − level."""
    ends = None
    if analysis.kind == "formula":
        found = _regression(analysis, columns, levels)
    elif analysis.kind == "table":
        found = _table(analysis, columns, levels)
    elif analysis.kind == "correlation":
        found = _correlations(analysis, columns)
    elif analysis.kind == "mean":
        found = _means(analysis, columns)
    else:
        found, ends = _quantiles(analysis, columns)
    return found, ends or ends_of(analysis, found, np.full(len(found.names), found.freedom))


def ends_of(analysis: Analysis, found: ModelEstimates, freedom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Interval limits on the scale that suits the kind of analysis."""
    scales: dict[str, weighted.VarianceScale] = {"correlation": "correlation", "table": "share"}
    return weighted.estimate_interval(
        found.estimate, found.variance, freedom, 1 - analysis.level, scales.get(analysis.kind, "plain"),
        max(float(found.records), 1.0),
    )


def _regression(analysis: Analysis, columns: AnalysisColumns, levels: Levels) -> ModelEstimates:
    asked = analysis.regression
    coded = {p: columns.codes(p.column, levels[p.column]) for p in asked.parts if p.column in levels and by_levels(p, columns)}
    parts = {p: coded[p].astype(np.float64) if p in coded else np.asarray(p.of(columns.values)) for p in asked.parts}
    if analysis.model == "logistic":
        outcome = columns.codes(asked.outcome.column, levels[asked.outcome.column]).astype(np.float64)
        if (outcome == -2).any():
            why = "the outcome has values other than the two of the original"
            return ModelEstimates.failed(first_name(asked), why, len(outcome))
        outcome[outcome < 0] = np.nan
    else:
        outcome = np.asarray(asked.outcome.of(columns.values), dtype=np.float64)
    there = np.isfinite(outcome)
    for p, v in parts.items():
        there &= (v >= 0) if p in coded else np.isfinite(v)
    named = {p: [level_text(v) for v in levels[p.column]] for p in coded}
    return fit_regression(
        asked, analysis.model, outcome[there], {p: v[there] for p, v in parts.items()}, named, columns.weight[there]
    )


def by_levels(part: FormulaPart, columns: AnalysisColumns) -> bool:
    """Whether a part enters as indicators of its levels."""
    return part.function == "C" or part.column in columns.levels


def _means(analysis: Analysis, columns: AnalysisColumns) -> ModelEstimates:
    found = []
    for name in analysis.columns:
        x = columns.values[name]
        there = np.isfinite(x)
        one = weighted.mean(x[there], columns.weight[there]) if there.any() else (np.nan, np.nan)
        found.append((*one, int(there.sum())))
    return _gathered([f"mean of {n}" for n in analysis.columns], found, max(min(n for *_, n in found) - 1, 1))


def _correlations(analysis: Analysis, columns: AnalysisColumns) -> ModelEstimates:
    found = []
    for a, b in analysis.correlation or ():
        x, y = columns.values[a], columns.values[b]
        there = np.isfinite(x) & np.isfinite(y)
        enough = there.sum() > 2
        pair = weighted.correlation(x[there], y[there], columns.weight[there]) if enough else (np.nan, np.nan)
        found.append((*pair, int(there.sum())))
    names = [f"correlation of {a} and {b}" for a, b in analysis.correlation or ()]
    return _gathered(names, found, np.inf, "a column does not vary")


def _gathered(
    names: Sequence[str], found: Sequence[tuple[float, float, int]], freedom: float, why: str = "only one record"
) -> ModelEstimates:
    estimate, variance = (np.array([f[i] for f in found], dtype=np.float64) for i in (0, 1))
    fine = np.isfinite(variance)
    reasons = tuple("" if ok else why if n else _NONE for ok, (*_, n) in zip(fine, found, strict=True))
    return ModelEstimates(tuple(names), np.where(fine, estimate, np.nan), variance, freedom, min(n for *_, n in found), reasons)


def _quantiles(analysis: Analysis, columns: AnalysisColumns) -> tuple[ModelEstimates, tuple[np.ndarray, np.ndarray]]:
    """Quantiles with Woodruff's intervals; the half-widths serve as standard errors when copies are combined."""
    from scipy.special import ndtri

    z = float(ndtri(1 - analysis.level / 2))
    names, found, ends = [], [], []
    for name, probabilities in (analysis.quantile or {}).items():
        x = columns.values[name]
        there = np.isfinite(x)
        for p in probabilities:
            names.append(f"quantile {exact_number(p)} of {name}")
            value, (low, high) = (
                weighted.quantile(x[there], columns.weight[there], p, lambda v: z * float(np.sqrt(v)))
                if there.any() else (np.nan, (np.nan, np.nan))
            )
            found.append((value, ((high - low) / (2 * z)) ** 2, int(there.sum())))
            ends.append((low, high))
    return _gathered(names, found, np.inf), (np.array([e[0] for e in ends]), np.array([e[1] for e in ends]))


def _table(analysis: Analysis, columns: AnalysisColumns, levels: Levels) -> ModelEstimates:
    """Shares of every cell of the original's levels, and of values outside them, among complete records."""
    coded = [columns.codes(n, levels[n]) for n in analysis.columns]
    there = np.logical_and.reduce([c != -1 for c in coded])
    coded, w = [c[there] for c in coded], columns.weight[there]
    names, found = [], []
    outside = np.logical_or.reduce([c == -2 for c in coded])
    for cell in product(*(range(len(levels[n])) for n in analysis.columns)):
        names.append(", ".join(f"{n}={level_text(levels[n][i])}" for n, i in zip(analysis.columns, cell, strict=True)))
        inside = np.logical_and.reduce([c == i for c, i in zip(coded, cell, strict=True)]).astype(np.float64)
        found.append((*weighted.mean(inside, w), len(w)) if len(w) else (np.nan, np.nan, 0))
    names.append(OTHER)
    found.append((*weighted.mean(outside.astype(np.float64), w), len(w)) if len(w) else (np.nan, np.nan, 0))
    out = _gathered([f"share of {n}" for n in names], found, np.inf)
    return ModelEstimates(out.names, out.estimate, out.variance, out.freedom, int(weighted.effective(w)), out.why)
