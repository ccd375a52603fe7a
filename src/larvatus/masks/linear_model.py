"""Replace X by a linear model of S and X plus fresh noise (Muralidhar, Parsa and Sarathy 1999, 2001; 000 §3.2).

    Y = β₀ + β₁ S + β₂ X + ε,      Cov(ε) = Σ_X|S − β₂ Σ_X|S β₂ᵀ
    β₁ = (I − β₂) Σ_XS Σ_SS⁻¹,      β₀ = (I − β₂) μ_X − β₁ μ_S

with β₂ the similarity. The moments of (S, Y) equal those of (S, X) in expectation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Mask, Masked
from larvatus.data.design import design_of
from larvatus.data.laws import Law
from larvatus.data.microdata import Microdata
from larvatus.masks.linear.model_draws import draw_from_model, in_part
from larvatus.masks.linear.models import linear_law, similarity_matrix

_Share = Annotated[float, Field(ge=0, lt=1)]
_Entry = Annotated[float, Field(ge=-1, le=1)]


class LinearModel(Mask):
    """Replace X by draws around its regression on S, with the means and covariances of X and S preserved in expectation.

    Linear relations among X and with S are preserved on average, more closely in larger sub-groups. Distribution shapes and
    non-linear relations are lost. At similarity 0 the values tell an intruder nothing beyond S and the fitted model. A larger
    similarity reveals more of each record's own deviation. The fit of a record that S holds in place (the only one of a
    category, or with an extreme value of S) is its own value, so it is treated like a sub-group that is too small.

    Use it for large files with roughly normal columns, if moments need to hold on average only. Do not use it for skewed
    columns or columns with zeros. For exact moments use `sufficiency_based`.

    Parameters:
        similarity: share of a record's own deviation from its fit on S that Y keeps; one value, a list in role order, by
            column name, or a matrix in nested lists.
        noise: distribution of the independent draws (normal, uniform, laplace, mixture), which are mixed to the covariance.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask, with the model fitted to all records: a condition on columns, a list of record ids, or @FILE
            (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"similarity", "noise"})
    nemesis: ClassVar[tuple[str, ...]] = ("posterior_match", "optimal_assignment", "value_disclosure", "simulated_release")

    similarity: _Share | tuple[_Share, ...] | tuple[tuple[_Entry, ...], ...] | dict[str, _Share] = Field(
        default=0.0, description="share of a record's own deviation from its fit on S that Y keeps"
    )
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(
        default="normal", description="distribution of the independent draws that make the noise"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(similarity=0.5, noise="laplace"), cls(similarity=0.9, scope="file")

    def smallest(self, data: Microdata) -> int:
        return len(design_of(data, data.non_confidential).terms) + 3

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        similarities = in_part(self._beta(names), names)
        return draw_from_model(current, random, self.name(), self.smallest(current), self.noise, similarities)

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        return linear_law(original, self._beta(original.confidential), shape=self.noise)

    def change_clause(self) -> str:
        return ""

    def forgets_pairing(self) -> bool:
        return self.where is None and all(v == 0 for v in _entries(self.similarity))

    def public_sentence(self) -> str:
        return (
            "Confidential values were replaced by values from a linear model. On average their means, variances and "
            "correlations, with each other and with the unmasked columns, equal those of the original."
        )

    def _beta(self, names: Sequence[str]) -> NDArray[np.float64]:
        return similarity_matrix("linear_model.similarity", self.similarity, names)


def _entries(similarity: object) -> Iterator[float]:
    """Every number of the setting."""
    if isinstance(similarity, Mapping):
        similarity = tuple(similarity.values())
    if isinstance(similarity, tuple):
        for part in similarity:
            yield from _entries(part)
    elif isinstance(similarity, int | float):
        yield float(similarity)
