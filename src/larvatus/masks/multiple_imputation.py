"""Draw X anew from its regression on S, coefficients drawn from their posterior, in several copies (000 §3.4; Rubin 1993)."""

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
from larvatus.masks.imputation.regressions import (
    draw_coefficients,
    expected_values,
    fit_notes,
    kept_where_missing,
    regressions,
)


class MultipleImputation(Mask):
    """Replace every confidential value by a draw from the normal regression of X on S, in several copies of the file.

    Means and covariances of X, and with S, are kept in expectation over copies, and so are linear analyses; combined over
    copies they have honest intervals (larvatus.analysis). Shapes and relations that are not linear are lost. Given S the
    draws are independent of the originals, so an intruder learns S and the fitted moments, from all copies together too.

    Parameters:
        copies: number of copies; two or more let analysts see what masking adds to the variance.
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, a list of record ids, or @FILE with one.
        scope: run within each sub-group, or over the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    publishable: ClassVar[frozenset[str]] = frozenset({"copies"})

    copies: Annotated[int, Field(ge=1, le=100)] = Field(default=5, description="number of copies")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(copies=1), cls(copies=2, scope="file")

    @property
    def copies_made(self) -> int:
        return self.copies

    def smallest(self, data: Microdata) -> int:
        return len(design_of(data, data.non_confidential).terms) + len(data.confidential) + 3

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        from larvatus.stats.linear.row_maps import mapped_rows

        names = current.confidential
        design = design_of(current, current.non_confidential)
        fits = regressions(current, names, design)
        draws = draw_coefficients(fits, current, random, self.name())

        def impute(group: int, block: Block) -> Mapping[str, Array]:
            draw, fixed = draws[group], fits[group].fixed
            y = expected_values(draw, design, group, block)
            if len(draw.root):
                y = y + mapped_rows(random.normal(block.record, len(draw.root), purpose="imputation"), draw.root)
            return kept_where_missing(block, names, [block[n] if fixed[j] else y[j] for j, n in enumerate(names)])

        columns = list(dict.fromkeys([*names, *design.columns]))
        least = min((fit.freedom for fit in fits if not fit.fixed.all()), default=0.0)
        fitted = f"regressions on {len(design.terms)} terms of S in {len(fits)} sub-groups, residual degrees of freedom from"
        notes = [Note(f"{fitted} {least:,.0f}"), *fit_notes(current, names, fits), *self._notes()]
        return Masked(current.map_rows(impute, columns), notes)

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        names = original.confidential
        design = design_of(original, original.non_confidential)
        groups = []
        for fit in regressions(original, names, design):
            p, (_, r) = len(names), fit.factor.shape
            count = min(line.count for line in fit.lines)
            if fit.freedom <= r + 1 or count == 0:
                return None
            more = fit.freedom / (fit.freedom - r - 1) * (1 + (1 + fit.basis.shape[1]) / count)
            groups.append(GroupLaw(fit.intercept, np.zeros((p, p)), fit.slope.T, more * fit.factor @ fit.factor.T))
        return Law(names, design.names, tuple(groups))

    def altered(self) -> str:
        return ""

    def public_sentence(self) -> str:
        said = "Confidential values were replaced by random draws from a statistical model fitted to the original data"
        if self.copies == 1:
            return f"{said}."
        return f"{said}, in {self.copies} copies that are to be analysed one by one and combined."

    def _notes(self) -> list[Note]:
        if self.copies > 1:
            return []
        return [Note("one copy: analysts cannot tell what masking adds to the variance of their estimates", "warning")]
