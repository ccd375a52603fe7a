"""Run the user's analyses on the original and on a release, and compare the estimates.

    loss of a quantity = 1 − J, with J the overlap of its two confidence intervals (see `regression_overlap`)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from larvatus.analysis.combining_rules import combine
from larvatus.core.arrays import Floats
from larvatus.core.progress import Progress, silent
from larvatus.core.randomness import RecordRandom
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.measures.analyses.columns import MOST_ANALYSED, analysis_columns, cannot_be_made, weight_of
from larvatus.measures.analyses.corrections import Correction, correction
from larvatus.measures.analyses.estimates import OTHER, ends_of, estimate, shared_levels
from larvatus.measures.analyses.regressions import ROBUST, ModelEstimates, library
from larvatus.measures.analyses.spec import METHOD, Analysis, check_analyses
from larvatus.stats.estimates.intervals import LEAST_OVERLAP, overlaps
from larvatus.stats.estimates.weighted_estimates import estimate_interval

MEANING = ("1 − overlap of the confidence intervals of original and release, mean over analyses: 0 if they agree, 1 if they "
           "only touch, at most 2")


@dataclass(frozen=True, slots=True)
class Side:
    """Estimates of one file with the limits of their intervals."""

    found: ModelEstimates
    low: Floats
    high: Floats


def compare_analyses(
    data: Microdata, release: Release, analyses: Sequence[Analysis], random: RecordRandom, progress: Progress = silent
) -> Score:
    """Compare every analysis between the files: estimates, intervals, their overlap, changes of sign and significance.

    Estimates from several copies are combined by the rule for partially synthetic data. If the release has published noise
    that can be corrected for, corrected estimates are added. The loss of a quantity is 1 − overlap, from 0 to 2; it is 2 if
    the release gives no estimate. A quantity that cannot be estimated from the original is not counted.
    """
    check_analyses(analyses, data.released, data.table.columns)
    rows: list[Row] = []
    variables: list[Row] = []
    labels_of: dict[str, list[str]] = {}  # each note with the analyses it applies to
    for i, (analysis, label) in enumerate(zip(analyses, labels(analyses), strict=True)):
        progress(f"analysing: {label}", i, len(analyses))
        own, own_notes = _analysis(analysis, label, data, release, random)
        rows += own
        for text in own_notes:
            labels_of.setdefault(text, []).append(label)
        changed = [sum(bool(r[k]) for r in own) for k in ("sign", "significance")]
        counted = any(r["loss"] is not None for r in own)
        variables.append({
            "variable": label, "loss": mean_of(own) if counted else None, "quantities": len(own), "sign_changed": changed[0],
            "significance_changed": changed[1],
        })
    notes = [text if len(of) == len(analyses) else f"{'; '.join(of)}: {text}" for text, of in labels_of.items()]
    if any(d.rows > MOST_ANALYSED for d in (data, *release.copies)):
        notes.append(f"computed on a random sample of about {MOST_ANALYSED:,} records, the same in both files")
    return Score(
        METHOD, "loss", mean_of(variables), MEANING, {"analysis": [a.plain() for a in analyses]},
        by_variable=Rows.of(variables), details={"estimates": Rows.of(rows)}, notes=tuple(notes),
        sampled=data.rows > MOST_ANALYSED, worst_value=1.0 - LEAST_OVERLAP,
    )


def check_can_be_made(analyses: Sequence[Analysis], data: Microdata) -> None:
    """Raise an error before any work is done, if a column is missing or a needed library is not installed."""
    check_analyses(analyses, data.released, data.table.columns)
    if any(a.formula is not None for a in analyses):
        library()


def labels(analyses: Sequence[Analysis]) -> list[str]:
    """Names of analyses, numbered if two are the same."""
    own = [a.label for a in analyses]
    return [n if own.count(n) == 1 else f"{n} ({own[: i + 1].count(n)})" for i, n in enumerate(own)]


def _analysis(
    analysis: Analysis, label: str, data: Microdata, release: Release, random: RecordRandom
) -> tuple[list[Row], list[str]]:
    weights = [weight_of(analysis, d) for d in (data, *release.copies)]
    if None in weights:
        weights = [None] * len(weights)
    held = analysis_columns(analysis, data, weights[0], random)
    levels = shared_levels(analysis, held)
    before = Side(*_flat(estimate(analysis, held, levels)))
    why = next((w for copy in release.copies if (w := cannot_be_made(analysis, data, copy))), "")
    copies, beside = [], None
    for copy, weight in zip(release.copies if not why else (), weights[1:], strict=bool(not why)):
        held = analysis_columns(analysis, copy, weight, random)
        copies.append(Side(*_flat(estimate(analysis, held, levels))))
    if why:
        failed, nothing = ModelEstimates.failed(before.found.names, why, 0), np.full(len(before.found.names), np.nan)
        after = Side(failed, nothing, nothing)
    else:
        after = _combined(analysis, copies)
        beside = correction(analysis, release, held, levels, weights[0] is not None)
    notes = []
    if analysis.weighted and data.roles.weight is not None and weights[0] is None:
        notes.append("unweighted, because the weight is not in both files")
    if analysis.kind == "formula":
        notes.append(f"standard errors are robust ({ROBUST[analysis.model]})" + _by_weights(weights[0]))
    elif weights[0] is not None:
        notes.append("standard errors are linearised" + _by_weights(weights[0]))
    if analysis.model == "logistic" and analysis.regression.outcome.column in held.levels:
        notes.append("the model is for the second level of the outcome against the first, in their order")
    elif analysis.model == "logistic" and levels[analysis.regression.outcome.column] != (0.0, 1.0):
        notes.append("the model is for the larger of the two values of the outcome against the smaller")
    if len(copies) > 1:
        notes.append(f"{len(copies)} copies are combined by the rule for partially synthetic data")
    if beside is not None and beside.why:
        notes.append(f"not corrected for the published noise: {beside.why}")
    return _rows(analysis, label, before, after, beside), notes


def _by_weights(weight: str | None) -> str:
    return f", records weighted by {weight}, without strata and clusters" if weight else ""


def _flat(made: tuple[ModelEstimates, tuple[Floats, Floats]]) -> tuple[ModelEstimates, Floats, Floats]:
    return made[0], *made[1]


def _combined(analysis: Analysis, copies: Sequence[Side]) -> Side:
    """One side combined from several copies; a quantity missing in any copy is missing."""
    if len(copies) == 1:
        return copies[0]
    names = copies[0].found.names
    if any(c.found.names != names for c in copies):
        failed = next(c for c in copies if c.found.names != names)
        return replace(failed, found=replace(failed.found, estimate=np.full(len(failed.found.names), np.nan)))
    q, u = (np.array([getattr(c.found, f) for c in copies]) for f in ("estimate", "variance"))
    there = np.isfinite(q).all(axis=0) & np.isfinite(u).all(axis=0)
    nothing = np.full(len(names), np.nan)
    estimate, variance, freedom = nothing.copy(), nothing.copy(), np.full(len(names), np.inf)
    if there.any():
        both = combine(q[:, there], u[:, there])
        estimate[there], variance[there], freedom[there] = both.estimate, both.variance, both.freedom
    why = tuple(
        "" if ok else next((f"copy {c}: {s.found.why[j]}" for c, s in enumerate(copies, 1) if s.found.why[j]), "")
        for j, ok in enumerate(there)
    )
    found = ModelEstimates(names, estimate, variance, np.inf, min(c.found.records for c in copies), why)
    return Side(found, *ends_of(analysis, found, np.minimum(freedom, copies[0].found.freedom)))


def _rows(analysis: Analysis, label: str, before: Side, after: Side, beside: Correction | None) -> list[Row]:
    """One row per quantity in either file."""
    scored = analysis.kind in ("formula", "correlation")
    places = [{n: j for j, n in enumerate(side.found.names)} for side in (before, after)]
    out: list[Row] = []
    for name in dict.fromkeys((*before.found.names, *after.found.names)):
        if name.endswith(OTHER) and not any(_value(s, p.get(name)) for s, p in zip((before, after), places, strict=True)):
            continue
        one, two = (_cells(side, place.get(name)) for side, place in zip((before, after), places, strict=True))
        three = _corrected_cells(analysis, beside, name)
        unit = _unit(before.found, places[0].get(name))
        j, other = _overlap(one, two, unit), _overlap(one, three, unit)
        counted = one[0] is not None
        reasons = [f"{what}: {why}" for what, why in (
            ("original", _why(before, places[0].get(name))), ("release", _why(after, places[1].get(name))),
            ("corrected", _not_corrected(analysis, beside, name)),
        ) if why]
        out.append({
            "analysis": label, "kind": analysis.kind, "quantity": name,
            "original": one[0], "original_low": one[1], "original_high": one[2],
            "released": two[0], "released_low": two[1], "released_high": two[2],
            "corrected": three[0], "corrected_low": three[1], "corrected_high": three[2],
            "overlap": j, "corrected_overlap": other, "loss": (1.0 - (LEAST_OVERLAP if j is None else j)) if counted else None,
            "sign": _sign(one, two) if analysis.kind != "table" else None,
            "significance": _significance(one, two) if scored else None, "level": analysis.level, "said": "; ".join(reasons),
        })
    return out


SideCells = tuple[float | None, float | None, float | None]
_NOTHING: SideCells = (None, None, None)


def _value(side: Side, place: int | None) -> float:
    return 0.0 if place is None or not np.isfinite(side.found.estimate[place]) else float(side.found.estimate[place])


def _cells(side: Side, place: int | None) -> SideCells:
    if place is None or not np.isfinite([side.found.estimate[place], side.low[place], side.high[place]]).all():
        return _NOTHING
    return float(side.found.estimate[place]), float(side.low[place]), float(side.high[place])


def _why(side: Side, place: int | None) -> str:
    if place is None:
        return next((w for w in side.found.why if w), "has no such quantity")
    return side.found.why[place] if side.found.why else ""


def _corrected_cells(analysis: Analysis, beside: Correction | None, name: str) -> SideCells:
    if beside is None or name not in beside.estimate:
        return _NOTHING
    estimate, error = np.array([beside.estimate[name]]), np.array([beside.error[name]])
    if _not_corrected(analysis, beside, name):
        return _NOTHING
    low, high = estimate_interval(
        estimate, error**2, np.array([np.inf]), 1 - analysis.level,
        "correlation" if analysis.kind == "correlation" else "plain",
    )
    return float(estimate[0]), float(low[0]), float(high[0])


def _not_corrected(analysis: Analysis, beside: Correction | None, name: str) -> str:
    """Why a correction gives no corrected estimate; empty if it gives one."""
    if beside is None or name not in beside.estimate:
        return ""
    if not np.isfinite(beside.estimate[name]):
        return "subtracting the published noise leaves no valid covariance: the noise is too large"
    if analysis.kind == "correlation" and abs(beside.estimate[name]) >= 1:
        return "subtracting the variance of the noise gives a correlation of 1 or more, so only that it is high is known"
    return "" if np.isfinite(beside.error[name]) else "it has no standard error"


def _unit(found: ModelEstimates, place: int | None) -> float:
    return float(found.unit[place]) if place is not None and isinstance(found.unit, np.ndarray) else 0.0


def _overlap(one: SideCells, two: SideCells, unit: float) -> float | None:
    if None in one or None in two:
        return None
    before, after = ((np.array([c[1]], dtype=np.float64), np.array([c[2]], dtype=np.float64)) for c in (one, two))
    return float(overlaps(before, after, unit)[0])


def _sign(one: SideCells, two: SideCells) -> str:
    return "changed" if one[0] and two[0] and (one[0] > 0) != (two[0] > 0) else ""


def _significance(one: SideCells, two: SideCells) -> str:
    if None in one or None in two:
        return ""
    before, after = (not (c[1] or 0.0) <= 0 <= (c[2] or 0.0) for c in (one, two))
    return "" if before == after else "lost" if before else "gained"
