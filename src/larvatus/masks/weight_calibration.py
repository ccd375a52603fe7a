"""Calibrate the survey weight, so that weighted totals of the release are published totals (Deville and Särndal 1992).

    w′ = w · g(xᵀλ)   with   Σ w′ x = t,      x: indicators of categories, numeric columns, or 1
    raking: g = exp,  linear: g = 1 + u,  both also within bounds L ≤ w′ / w ≤ U      (stats/estimates/calibration.py)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Floats
from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.masks.weighting.margins import add_by_unit, check_margins, margin_variables, totals_of
from larvatus.masks.weighting.weight_units import WeightUnits, weight_units, with_weights


class WeightCalibration(Mask):
    """Change the survey weight as little as possible, so that weighted totals agree with known ones.

    For a release whose weights were masked, or of which records were sampled or suppressed. Totals are stated, or they are
    those of the original. If households share a weight, they still do (integrated weighting). Calibrated weights are as
    different from each other as the categories of the margins: margins with many categories make records rare again, which
    the notes show.

    Use it if weights were masked, or records were dropped, and weighted totals must agree with published ones. Do not use it
    with margins of many categories: the weights become as rare as the categories.

    Parameters:
        margins: whose weighted totals of the original are kept: columns such as "sex", crossed columns such as
            "region * sex", numeric columns, or "" for the population.
        totals: stated totals by margin, for example { sex = { 1 = 5000, 2 = 5200 }, income = 3.1e9 }.
        distance: "raking" (factors are positive) or "linear" (generalised regression; factors may be negative).
        lower: smallest factor (default: none); needs upper.
        upper: largest factor (default: none); needs lower.
        columns: without effect: only the weight is changed.
        where: records whose weight may change: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: without effect: totals are those of the file.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    random: ClassVar[bool] = False
    keeps_promises: ClassVar[bool] = True
    keeps_households: ClassVar[bool] = True
    masks_weight: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset()
    publishable: ClassVar[frozenset[str]] = frozenset({"margins", "distance", "lower", "upper"})
    nemesis: ClassVar[tuple[str, ...]] = ("uniqueness", "exact_match", "nearest_record")

    margins: tuple[str, ...] = Field(default=(), description="margins whose totals of the original are kept")
    totals: dict[str, float | dict[str, float]] = Field(default_factory=dict, description="stated totals by margin")
    distance: Literal["raking", "linear"] = Field(default="raking", description="raking, or linear (generalised regression)")
    lower: Annotated[float, Field(ge=0, lt=1)] | None = Field(default=None, description="smallest factor of a weight")
    upper: Annotated[float, Field(gt=1)] | None = Field(default=None, description="largest factor of a weight")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(margins=("",)), cls(margins=("",), distance="linear", lower=0.5, upper=2.0)

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        before = weight_units(current, self.name())
        if not (self.margins or self.totals):
            raise MaskError("state margins or totals, for example margins = [\"sex\"].", subject=self.name())
        if (self.lower is None) != (self.upper is None):
            raise MaskError("lower and upper belong together. Give both, or neither.", subject=self.name())
        check_margins(self.name(), [*self.margins, *self.totals], current)
        wanted: Mapping[str, float | Mapping[str, float]] = {**totals_of(self.margins, original), **self.totals}
        variables = margin_variables(wanted, current, self.name())
        x = add_by_unit(before.units.unit, variables.x, len(before.size))
        factor = self._factors(x, before, variables.totals, variables.names)
        after = before.weight * factor
        return with_weights(current, before, after, self._notes(factor, variables.names, after, before))

    def change_clause(self) -> str:
        return ""

    def public_sentence(self) -> str:
        return "Survey weights were calibrated to known totals."

    def _factors(self, x: Floats, before: WeightUnits, totals: Floats, names: Sequence[str]) -> Floats:
        from larvatus.stats.estimates.calibration import CalibrationError, calibrate

        bounds = None if self.lower is None or self.upper is None else (self.lower, self.upper)
        cells, place = np.unique(x, axis=0, return_inverse=True)
        place = place.reshape(-1)
        weight = np.asarray(np.bincount(place, before.weight, minlength=len(cells)), dtype=np.float64)
        try:
            return calibrate(cells, weight, totals, self.distance, bounds)[place]
        except CalibrationError as error:
            why = ("Widen the bounds, or use fewer margins." if bounds else
                   "Margins may contradict each other (their totals differ), or need a negative weight. Check that all margins "
                   "add up to the same population, or use fewer.")
            raise MaskError(f"the weights do not reach the totals: {names[error.worst]} stays {abs(error.error):.3g} of its "
                            f"total away. {why}", subject=self.name()) from None

    def _notes(self, factor: Floats, names: Sequence[str], after: Floats, before: WeightUnits) -> list[Note]:
        notes = [Note(f"{len(names):,} totals hold; factors of the weights are from {factor.min():.4g} to {factor.max():.4g}")]
        if (after < 0).any():
            notes.append(Note(f"{int((after[before.units.unit] < 0).sum()):,} weights are negative: use raking or bounds",
                              "warning"))
        return notes
