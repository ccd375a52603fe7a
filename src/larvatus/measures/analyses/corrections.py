"""Estimates corrected for published noise, as an analyst who knows it would report them (see `larvatus.analysis`)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.analysis.noise_correction import CorrectedMoments, Estimates, correct
from larvatus.analysis.published_noise import Noise, additive, correlated, multiplicative
from larvatus.core.errors import AnalysisError, LarvatusWarning
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Mask
from larvatus.data.per_column import per_column
from larvatus.data.release import Release
from larvatus.data.step_columns import columns_of_step
from larvatus.measures.analyses.columns import AnalysisColumns
from larvatus.measures.analyses.estimates import Levels, by_levels, level_text
from larvatus.measures.analyses.formulas import Formula, FormulaPart, term_text
from larvatus.measures.analyses.spec import Analysis

_NOISES = ("additive_noise", "correlated_noise", "bias_and_noise")
_GROUP = scratch("sub-group")


@dataclass(frozen=True, slots=True)
class Correction:
    """Corrected estimates and standard errors by name; if the published noise cannot be corrected for, the reason."""

    estimate: dict[str, float]
    error: dict[str, float]
    why: str = ""


def correction(analysis: Analysis, release: Release, columns: AnalysisColumns, levels: Levels,
               weighted: bool) -> Correction | None:
    """The correction; None if no published noise affects the analysis (means are not affected)."""
    step = _noise_step(release)
    if step is None or analysis.kind == "mean":
        return None
    masked = columns_of_step(step, release.data)
    if not set(masked) & set(analysis.columns):
        return None
    why = _cannot(analysis, release, step, masked, weighted)
    if why:
        return Correction({}, {}, why)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LarvatusWarning)  # every NaN comes with its reason
            if analysis.kind == "correlation":
                return _correlations(analysis, step, masked, columns)
            return _regression(analysis.regression, step, masked, columns, levels)
    except AnalysisError as error:
        return Correction({}, {}, str(error).rstrip("."))


def _noise_step(release: Release) -> Mask | None:
    return next((s for s in release.steps if s.name() in _NOISES), None)


def _cannot(analysis: Analysis, release: Release, step: Mask, masked: Sequence[str], weighted: bool) -> str:
    settings = step.settings()
    if len(release.steps) > 1 or len(release.copies) > 1:
        return "another step changes the distribution of the noise"
    if settings.get("zeros") == "keep" or settings.get("positive") or step.where is not None or len(release.rules):
        return "kept zeros, redrawn values, unmasked records or enforced rules change the distribution of the noise"
    if analysis.kind in ("quantile", "table") or analysis.model == "logistic":
        return f"there is no correction for {'a logistic regression' if analysis.kind == 'formula' else f'a {analysis.kind}'}"
    if weighted:
        return "the correction does not support weights"
    if analysis.where is not None:
        return "the noise was scaled by all records, and the analysis uses some of them"
    if analysis.kind == "formula":
        asked = analysis.regression
        plain = all(len(t) == 1 and (t[0].column not in masked or t[0] == FormulaPart(t[0].column)) for t in asked.terms)
        if not asked.intercept or not asked.terms or not plain or asked.outcome != FormulaPart(asked.outcome.column):
            return "there is a correction only for models with an intercept and untransformed masked columns"
    return ""


def _published(step: Mask, masked: Sequence[str], used: Sequence[str]) -> Noise:
    """The published noise of the columns used, in the order of the release."""
    settings, kept = step.settings(), [n for n in masked if n in used]

    def each(name: str) -> dict[str, float]:
        value = settings[name]
        found = per_column(name, tuple(value) if isinstance(value, list) else value, list(masked))
        return {n: float(v) for n, v in zip(masked, found, strict=True) if n in kept}

    if step.name() == "additive_noise":
        return additive(each("variance"), settings["noise"])
    if step.name() == "correlated_noise":
        return correlated(kept, float(settings["variance"]), settings["noise"])
    return multiplicative(each("bias_sd"), each("noise_ratio"), settings["noise"], settings["bias"])


def _moments(step: Mask, masked: Sequence[str], frame: dict[str, Array], group: Array) -> CorrectedMoments:
    inside = (_GROUP,) if step.scope == "sub_group" else ()
    noise = _published(step, masked, list(frame))
    return correct({**frame, _GROUP: group}, noise, [n for n in frame if n not in noise.columns], inside)


def _correlations(analysis: Analysis, step: Mask, masked: Sequence[str], columns: AnalysisColumns) -> Correction:
    estimate, error = {}, {}
    for pair in analysis.correlation or ():
        if not set(pair) & set(masked) or pair[0] == pair[1]:
            continue
        found = _moments(step, masked, {n: columns.values[n] for n in pair}, columns.group).correlations()
        name = f"correlation of {pair[0]} and {pair[1]}"
        estimate[name], error[name] = float(found.estimate[0]), float(found.error[0])
    return Correction(estimate, error)


def _regression(asked: Formula, step: Mask, masked: Sequence[str], columns: AnalysisColumns, levels: Levels) -> Correction:
    frame: dict[str, Array] = {asked.outcome.column: columns.values[asked.outcome.column].astype(np.float64)}
    for (part,) in asked.terms:
        if by_levels(part, columns):
            code = columns.codes(part.column, levels[part.column])
            for i, level in enumerate(levels[part.column][1:], 1):
                frame[f"{part}[{level_text(level)}]"] = np.where(code < 0, np.nan, code == i)
        else:
            name = part.column if part.column in masked else term_text((part,))
            frame[name] = np.asarray(part.of(columns.values), dtype=np.float64)
    outcome, *on = frame
    found: Estimates = _moments(step, masked, frame, columns.group).regression(outcome, on)
    shown = {n: str(FormulaPart(n)) if n in columns.values else n for n in found.names}
    return Correction(
        {shown[n]: float(v) for n, v in zip(found.names, found.estimate, strict=True)},
        {shown[n]: float(v) for n, v in zip(found.names, found.error, strict=True)},
    )
