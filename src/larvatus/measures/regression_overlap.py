"""Overlap of the confidence intervals of regression coefficients in both files (Karr and others 2006).

    loss of a coefficient = 1 − J,   J = ½ [ (U − L) / (U_o − L_o) + (U − L) / (U_m − L_m) ]

[L_o, U_o] is the interval in the original, [L_m, U_m] in the release, U = min(U_o, U_m), L = max(L_o, L_m). J is at least −1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from pydantic import AfterValidator, Field

from larvatus.core.errors import StudyError, UtilityError
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups, common_non_confidential, common_numbers
from larvatus.data.contracts import Block, Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.data.verbs import moments_by_group, reduce_groups
from larvatus.measures.analyses.formulas import Formula, FormulaPart, formula
from larvatus.measures.analyses.model_terms import ModelTerms, check_formula_columns, model_terms

if TYPE_CHECKING:
    from larvatus.stats.linear.moments import SampleMoments
    from larvatus.stats.linear.regression import LeastSquaresFit


def _readable(text: str) -> str:
    try:
        formula(text)
    except StudyError as error:
        raise ValueError(error.problems[0]) from None
    return text


FormulaText = Annotated[str, AfterValidator(_readable)]


@dataclass(frozen=True, slots=True)
class _Model:
    """A regression: its matrix of columns, their positions there, and the names of its coefficients."""

    label: str
    outcome: str
    matrix: int
    place: int
    on: tuple[int, ...]
    names: tuple[str, ...]
    intercept: bool = True


class RegressionOverlap(Measure):
    """Fit the same regressions to both files and compare the confidence interval of every coefficient.

    The loss of a coefficient is 1 − J, where J is the mean fraction of the two intervals that they share: 0 for equal
    intervals, 1 for intervals that touch, more for a gap, and at most 2. A coefficient that cannot be estimated from the
    release has a loss of 2; one that cannot be estimated from the original is not counted. Models are fitted by ordinary
    least squares with the usual standard errors, unweighted. Records with a missing value in a model, or with an undefined
    logarithm or root, are left out.

    Look at it if you know the regressions that users run. In small files wide intervals overlap although estimates differ.

    Parameters:
        formulas: models such as "FEDTAX ~ AGI + STATETAX" (default: each confidential column on all others and numeric S).
        level: level of the confidence intervals.
    """

    formulas: tuple[FormulaText, ...] = Field(
        default=(), description="models (default: each confidential column on all others and numeric S)",
        json_schema_extra={"texts": "formulas"},
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(default=0.95, description="level of the confidence intervals")

    def worst_value(self, original: Microdata, released: Microdata) -> float:
        return 2.0

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        if self.formulas:
            return [formula(text).columns for text in self.formulas]
        outcomes = original.numeric(original.confidential)
        every = [*outcomes, *original.numeric(common_non_confidential(original, released))]
        return [(o, x) for o in outcomes for x in every if x != o] or [(o,) for o in outcomes]

    def restrict_to(self, parts: Sequence[tuple[str, ...]]) -> Self:
        return self.model_copy(update={"formulas": tuple(t for t in self.formulas if formula(t).columns in parts)})

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        models, matrices = (
            self._asked(original, release.data) if self.formulas else _default(original, release.data, names)
        )
        moments = [_moments(data, own) for data, own in zip((original, release.data), matrices, strict=True)]
        whole = [_total(m) for m in moments]
        rows = [row for model in models for row in self._rows(model, *whole)]
        if not rows:
            raise UtilityError(
                "no coefficient of any model can be estimated from the original (too few complete records, "
                "or columns that do not vary). Choose other models with formulas = [\"y ~ x\"].",
                subject="regression_overlap",
            )
        groups: list[Row] = []
        for name, a, b in common_groups(original, release.data):
            inside = [row for model in models for row in self._rows(model, moments[0][a], moments[1][b])]
            if inside:
                groups.append({"sub_group": name, "records": original.groups.sizes[a], "value": mean_of(inside)})
        outcomes = dict.fromkeys(m.outcome for m in models)
        own = {o: [r for r in rows if r["variable"] == o] for o in outcomes}
        return Score(
            "regression_overlap", "loss", mean_of(rows),
            "mean difference between the confidence intervals of coefficients: 0 equal, 1 touching, 2 far apart",
            self.settings(), by_group=Rows.of(groups),
            by_variable=Rows.of({"variable": o, "loss": mean_of(r), "coefficients": len(r)} for o, r in own.items() if r),
            details={"coefficients": Rows.of(rows)},
            notes=(*self._fixed(original, release.data, names), *_notes(original, release.data, whole)),
        )

    def _fixed(self, original: Microdata, released: Microdata, names: Sequence[str]) -> list[str]:
        from larvatus.stats.linear.moments import SampleMoments

        columns = [*names, *original.numeric(common_non_confidential(original, released))]
        fixed = [] if self.formulas else _unvaried(SampleMoments.total(moments_by_group(original, columns)), columns)
        return [f"{n} does not vary in the original and is in no model" for n in fixed]

    def _asked(self, original: Microdata, released: Microdata) -> tuple[list[_Model], list[list[ModelTerms]]]:
        models: list[_Model] = []
        matrices: list[list[ModelTerms]] = [[], []]
        for i, text in enumerate(self.formulas):
            asked = formula(text)
            try:
                check_formula_columns(asked, [n for n in original.released if n in released.table.columns], "formulas:")
                levels = {n: original.table.columns[n].levels for n in asked.columns}
                made = [model_terms(asked, data.table.columns, levels) for data in (original, released)]
            except StudyError as error:
                raise UtilityError(error.problems[0], subject="regression_overlap") from None
            if made[0].names != made[1].names:
                raise UtilityError(
                    f"{text!r}: a column is categorical in one file and numeric in the other.",
                    subject="regression_overlap",
                )
            for side, terms in zip(matrices, made, strict=True):
                side.append(terms)
            on = tuple(range(1, 1 + len(made[0].terms)))
            models.append(_Model(text, asked.outcome.column, i, 0, on, made[0].names, asked.intercept))
        return models, matrices

    def _rows(self, model: _Model, before: Sequence[SampleMoments | None], after: Sequence[SampleMoments | None]) -> list[Row]:
        """One row per coefficient that can be estimated from the original."""
        from larvatus.stats.estimates.intervals import LEAST_OVERLAP, overlaps

        one, other = (_fit(model, side[model.matrix]) for side in (before, after))
        if one is None:
            return []
        known = np.isfinite(one.estimate)
        there = known & np.isfinite(other.estimate) if other else np.zeros_like(known)
        ends = [fit.interval(self.level) if fit else (np.full(len(known), np.nan),) * 2 for fit in (one, other)]
        j = np.full(len(known), LEAST_OVERLAP)  # a coefficient that cannot be estimated from the release has the largest loss
        before_ends, after_ends = ((low[there], high[there]) for low, high in ends)
        j[there] = overlaps(before_ends, after_ends, one.unit[there])
        out: list[Row] = []
        for i in np.flatnonzero(known).tolist():
            made = bool(there[i]) and other is not None
            out.append({
                "variable": model.outcome, "model": model.label, "coefficient": model.names[i], "loss": 1.0 - float(j[i]),
                "original": float(one.estimate[i]), "original_low": float(ends[0][0][i]), "original_high": float(ends[0][1][i]),
                "released": float(other.estimate[i]) if made and other else None,
                "released_low": float(ends[1][0][i]) if made else None,
                "released_high": float(ends[1][1][i]) if made else None, "overlap": float(j[i]) if made else None,
            })
        return out


def _default(
    original: Microdata, released: Microdata, names: Sequence[str]
) -> tuple[list[_Model], list[list[ModelTerms]]]:
    """Regressions of every confidential column on the others and numeric S, from one matrix."""
    columns = [*names, *original.numeric(common_non_confidential(original, released))]
    from larvatus.stats.linear.moments import SampleMoments

    fixed = _unvaried(SampleMoments.total(moments_by_group(original, columns)), columns)
    kept = [n for n in columns if n not in fixed]
    models = []
    for i, outcome in enumerate(n for n in kept if n in names):
        on = [j for j in range(len(kept)) if j != i]
        coefficients = ("intercept", *(kept[j] for j in on))
        models.append(_Model(f"{outcome} on all others", outcome, 0, i, tuple(on), coefficients))
    if not models:
        return [], [[], []]
    asked = Formula("", FormulaPart(kept[0]), tuple((FormulaPart(n),) for n in kept[1:]))
    return models, [[model_terms(asked, data.table.columns, {})] for data in (original, released)]


def _unvaried(whole: SampleMoments, columns: Sequence[str]) -> list[str]:
    """Columns of the original with at most one distinct value, which cannot be separated from an intercept."""
    return [n for j, n in enumerate(columns) if whole.present[j] == 0 or whole.constant[j]]


def _moments(data: Microdata, matrices: Sequence[ModelTerms]) -> list[list[SampleMoments | None]]:
    """Moments over complete records, sub-groups × matrices."""
    from larvatus.stats.linear.moments import SampleMoments

    def of(group: int, block: Block) -> list[SampleMoments | None]:
        return [SampleMoments.of(x) if len(x) else None for x in (m.matrix(block) for m in matrices)]

    columns = list(dict.fromkeys(c for m in matrices for c in m.formula.columns))
    return reduce_groups(data, columns, of, _merged) if matrices else [[] for _ in data.groups.sizes]


def _merged(one: list[SampleMoments | None], other: list[SampleMoments | None]) -> list[SampleMoments | None]:
    from larvatus.stats.linear.moments import SampleMoments

    return [SampleMoments.merge(a, b) if a and b else a or b for a, b in zip(one, other, strict=True)]


def _total(parts: Sequence[list[SampleMoments | None]]) -> list[SampleMoments | None]:
    out = list(parts[0])
    for part in parts[1:]:
        out = _merged(out, part)
    return out


def _fit(model: _Model, moments: SampleMoments | None) -> LeastSquaresFit | None:
    from larvatus.stats.linear.regression import least_squares

    return None if moments is None else least_squares(moments, model.place, model.on, model.intercept)


def _notes(original: Microdata, released: Microdata, whole: Sequence[Sequence[SampleMoments | None]]) -> tuple[str, ...]:
    """A note on the largest number of records left out of a model, for each file."""
    out = []
    for what, data, side in zip(("original", "release"), (original, released), whole, strict=True):
        left = data.rows - min((int(m.count[0, 0]) if m is not None else 0 for m in side), default=data.rows)
        if left:
            out.append(f"{left:,} of {data.rows:,} records of the {what} have a missing value in a model and are left out")
    return tuple(out)
