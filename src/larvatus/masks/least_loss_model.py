"""Replace X by the linear model that loses least for the information it gives away about a record.

    Y = β₀ + β₁ S + β₂ X + ε,      Cov(ε) = Σ_X|S − β₂ Σ_X|S β₂ᵀ
    β₂ minimises   2 tr M (I − B) + c tr M (I − B)(I − B)ᵀ
    subject to     −½ log₂ det(I − B Bᵀ) ≤ bits

with Σ_X|S = L Lᵀ for columns in units of their standard deviation, B = L⁻¹ β₂ L and M = Lᵀ L. The minimum is
B = U diag(b) Uᵀ with U the eigenvectors of M (`stats/linear/least_loss`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Matrix
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Mask, Masked
from larvatus.data.design import design_of
from larvatus.data.laws import Law
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import count_present
from larvatus.masks.linear.model_draws import draw_from_model
from larvatus.masks.linear.models import design_of_model, fits_of, linear_law

if TYPE_CHECKING:
    from larvatus.stats.linear.fit_on_s import FitOnS


class LeastLossModel(Mask):
    """Replace X by the linear model of S and X with the least error by record for a stated amount of information.

    Means and covariances of X and S are preserved on average, as by `linear_model`. `linear_model` keeps the same share of each
    column's deviation. This mask keeps more of what many columns share and less of what only one has, in each sub-group. So it
    has the least error for the same information about a record. The amount is exact for normal columns. Distribution shapes
    and non-linear relations are lost. With `domains` above 0, errors of means and regressions in parts of the file that the
    mask does not know count too. A record that S holds in place is treated like a sub-group that is too small.

    Use it for several correlated columns, if values must stay near the original ones and a limit on links is stated:
    `lv.linear_frontier` gives the bits for it. Do not use it for skewed columns or columns with zeros.

    Parameters:
        bits: information about a record beyond S, for normal columns; 0 keeps nothing of a record's own deviation.
        domains: weight of errors in unknown parts of the file, beside the error by record.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask, with the model fitted to all records: a condition on columns, a list of record ids, or @FILE
            (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"bits", "domains"})
    nemesis: ClassVar[tuple[str, ...]] = ("posterior_match", "optimal_assignment", "value_disclosure", "simulated_release")

    bits: Annotated[float, Field(ge=0, le=60)] = Field(
        default=1.0, description="information about a record beyond S, for normal columns"
    )
    domains: Annotated[float, Field(ge=0, le=1000)] = Field(
        default=0.0, description="weight of errors in unknown parts of the file, beside the error by record"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(bits=4.0, domains=2.0), cls(bits=2.0, scope="file")

    def smallest(self, data: Microdata) -> int:
        return len(design_of(data, data.non_confidential).terms) + 3

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        return draw_from_model(current, random, self.name(), self.smallest(current), "normal", self._similarities)

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        names = original.confidential
        if (count_present(original) < np.array(original.groups.sizes)[:, None]).any():
            return None
        present = [names] * len(original.groups)
        fits = fits_of(original, present, design_of_model(original))
        return linear_law(original, self._similarities(fits, present))

    def change_clause(self) -> str:
        return ""

    def forgets_pairing(self) -> bool:
        return self.where is None and self.bits == 0

    def public_sentence(self) -> str:
        return (
            "Confidential values were replaced by values from a linear model. On average their means, variances and "
            "correlations, with each other and with the unmasked columns, equal those of the original."
        )

    def _similarities(self, fits: Sequence[FitOnS], present: Sequence[tuple[str, ...]]) -> list[Matrix]:
        """The best β₂ of each sub-group, in the columns' own units."""
        from larvatus.stats.linear.least_loss import least_loss_matrix

        out = []
        for fit, names in zip(fits, present, strict=True):
            scale = fit.scale[len(fit.scale) - len(names) :]
            standard = least_loss_matrix(np.ascontiguousarray(fit.rest.T), self.bits, self.domains)[0]
            out.append(standard * scale[:, None] / scale)
        return out
