"""Draw X from its regression on S, with coefficients drawn from their posterior, in several copies (Rubin 1993; 000 §3.4).

    (B, Σ) ~ p(B, Σ | X, S),      y_i ~ N(B s_i, Σ)

once for each copy, within each sub-group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.design import design_of
from larvatus.data.laws import GroupLaw, Law
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import map_rows
from larvatus.masks.imputation.regressions import (
    draw_coefficients,
    expected_values,
    fit_notes,
    regressions,
    with_missing_unchanged,
)
from larvatus.masks.linear.leverage import design_without_rare_levels


class MultipleImputation(Mask):
    """Replace every confidential value by a draw from the normal regression of X on S, in several copies of the file.

    Means and covariances of X, also with S, are preserved in expectation over copies, and so are linear analyses. Results
    combined over copies have valid intervals (larvatus.analysis). Distribution shapes and non-linear relations are lost. Given
    S the draws are independent of the original values, so an intruder learns only S and the fitted moments, even from all
    copies.

    Use it if analysts can work with several copies and need valid standard errors. Do not use it if the regression of X on S is
    poor and relations among the confidential columns are not linear.

    Parameters:
        copies: number of copies; with two or more, analysts can estimate the variance that masking adds.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    publishable: ClassVar[frozenset[str]] = frozenset({"copies"})
    nemesis: ClassVar[tuple[str, ...]] = ("posterior_match", "optimal_assignment", "value_disclosure", "simulated_release")

    copies: Annotated[int, Field(ge=1, le=100)] = Field(default=5, description="number of copies")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(copies=1), cls(copies=2, scope="file")

    @property
    def copy_count(self) -> int:
        return self.copies

    def smallest(self, data: Microdata) -> int:
        return len(design_of(data, data.non_confidential).terms) + len(data.confidential) + 3

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        from larvatus.stats.linear.row_maps import rows_times_weights

        names = current.confidential
        design, pooling = design_without_rare_levels(current, self.name())
        fits = regressions(current, names, design)
        draws = draw_coefficients(fits, current, random, self.name())

        def impute(group: int, block: Block) -> Mapping[str, Array]:
            draw, fixed = draws[group], fits[group].fixed
            y = expected_values(draw, design, group, block)
            if len(draw.root):
                y = y + rows_times_weights(random.normal(block.record, len(draw.root), purpose="imputation"), draw.root)
            return with_missing_unchanged(block, names, [block[n] if fixed[j] else y[j] for j, n in enumerate(names)])

        columns = list(dict.fromkeys([*names, *design.columns]))
        least = min((fit.freedom for fit in fits if not fit.fixed.all()), default=0.0)
        fitted = f"regressions on {len(design.terms)} terms of S in {len(fits)} sub-groups, residual degrees of freedom from"
        notes = [Note(f"{fitted} {least:,.0f}"), *fit_notes(current, names, fits), *self._notes(), *pooling]
        return Masked(map_rows(current, impute, columns), notes)

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        names = original.confidential
        design, _ = design_without_rare_levels(original, self.name())
        groups = []
        for fit in regressions(original, names, design):
            p, (_, r) = len(names), fit.factor.shape
            count = min(line.count for line in fit.lines)
            if fit.freedom <= r + 1 or count == 0:
                return None
            more = fit.freedom / (fit.freedom - r - 1) * (1 + (1 + fit.basis.shape[1]) / count)
            groups.append(GroupLaw(fit.intercept, np.zeros((p, p)), fit.slope.T, more * fit.factor @ fit.factor.T))
        return Law(names, design.names, tuple(groups))

    def change_clause(self) -> str:
        return ""

    def forgets_pairing(self) -> bool:
        return self.where is None

    def public_sentence(self) -> str:
        said = "Confidential values were replaced by random draws from a statistical model fitted to the original data"
        if self.copies == 1:
            return f"{said}."
        return f"{said}, in {self.copies} copies. Analyse each copy separately and combine the results."

    def _notes(self) -> list[Note]:
        if self.copies > 1:
            return []
        return [Note("one copy: analysts cannot estimate the variance that masking adds", "warning")]
