"""Add noise, then shrink the values towards their mean so that variances stay (Tendick and Matloff 1994; 000 §3.1).

    Y = μ + (X − μ + ε) / √(1 + d),      E ε = 0,      Cov(ε) = d Σ_XX

so that E Y = μ and Cov(Y) = Σ_XX in expectation. With independent noise, Cov(ε) is the diagonal of d Σ_XX.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from larvatus.core.arrays import Matrix
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.laws import GroupLaw, Law, without_zeros
from larvatus.data.microdata import Microdata
from larvatus.data.per_column import per_column
from larvatus.data.verbs import as_one_group, map_rows
from larvatus.masks.noise.drawing import RowChoice, column_matrix, noisy, refuse_negatives, root_notes, roots_of
from larvatus.masks.noise.last_digits import spread_of
from larvatus.stats.linear.portable_algebra import product, total

if TYPE_CHECKING:
    from larvatus.stats.linear.covariance_factors import Root

_Share = Annotated[float, Field(gt=0, le=1e6)]


class VariancePreservingNoise(Mask):
    """Release X plus noise, shrunk towards the mean of the sub-group so that means and variances are preserved in expectation.

    With correlated noise the covariances among X are also preserved in expectation, and linear identities among the columns
    still hold. With independent noise correlations shrink. In both cases correlations with S shrink by the factor 1/√(1 + d).
    The shrinkage is linear, so an intruder who knows the fraction can undo it: only the noise protects.

    Use it if variances must keep their size although noise is added. Do not use it if records are to be followed one by one:
    every value is pulled towards the mean.

    Parameters:
        variance: noise variance as a fraction of the column's variance, before shrinking; one value, or, with independent
            noise, a list in role order or by column name.
        correlated: give the noise the correlations of X; false makes it independent between columns.
        noise: distribution of the independent draws (normal, uniform, laplace, mixture), which correlated noise then mixes.
        zeros: "mask" masks zeros too; "keep" releases zeros unchanged, which breaks identities among the columns, and uses the
            mean and covariance of the other values.
        positive: redraw until masked values are above zero, which changes means and variances; the columns must have no
            negative values.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"variance", "correlated", "noise", "zeros", "positive"})
    nemesis: ClassVar[tuple[str, ...]] = ("posterior_match", "optimal_assignment", "simulated_release")

    variance: _Share | tuple[_Share, ...] | dict[str, _Share] = Field(
        default=0.25, description="noise variance as a fraction of the column's variance, before shrinking"
    )
    correlated: bool = Field(default=True, description="give the noise the correlations of the confidential columns")
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(
        default="normal", description="distribution of the independent draws that make the noise"
    )
    zeros: Literal["mask", "keep"] = Field(default="mask", description="mask zeros, or release them unchanged")
    positive: bool = Field(default=False, description="redraw until masked values are above zero")

    @model_validator(mode="after")
    def _one_fraction(self) -> Self:
        if self.correlated and not isinstance(self.variance, float):
            raise ValueError("correlated noise takes one variance for all columns; set correlated = false for several")
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(), cls(variance=0.5, correlated=False, noise="uniform"), cls(zeros="keep", noise="mixture"),
            cls(variance=1.0, scope="file"),
        )

    def smallest(self, data: Microdata) -> int:
        return 2

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        used = without_zeros(current, self.zeros)
        roots = roots_of(used)
        maps = [self._map(r, names) for r in roots]
        if self.positive:
            refuse_negatives(self.name(), current)

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            y = self._noisy(column_matrix(block, names), maps[group], block.record, random)
            return dict(zip(names, y, strict=True))

        return Masked(map_rows(current, mask_block, names), root_notes(current, used, roots, self.correlated))

    def law(self, original: Microdata) -> Law | None:
        if self.positive or self.where is not None:
            return None
        names, p = original.confidential, len(original.confidential)
        used = without_zeros(original, self.zeros)
        roots = roots_of(as_one_group(used) if self.scope == "file" else used)
        maps = [self._map(r, names) for r in roots] * (len(original.groups) if self.scope == "file" else 1)
        groups = [
            GroupLaw(m.shift, np.diag(m.shrink), np.zeros((p, 0)), product(m.weights.T, m.weights), self.noise, m.weights)
            for m in maps
        ]
        return Law(names, (), tuple(groups), zeros_kept=self.zeros == "keep")

    def change_clause(self) -> str:
        which = "relations with unmasked columns" if self.correlated else "correlations and regression slopes"
        return f"{which} are weaker than in the collected data"

    def public_sentence(self) -> str:
        return (
            "Random noise was added to the confidential values, which were then shrunk towards their mean so that means "
            "and variances are those of the original on average."
        )

    def _map(self, root: Root, names: Sequence[str]) -> _Map:
        share = per_column("variance_preserving_noise.variance", self.variance, names)
        shrink = np.where(root.constant, 1.0, 1 / np.sqrt(1 + share))
        weights = root.weights if self.correlated else np.diag(np.sqrt(total(root.weights**2)))
        return _Map(shrink, (1 - shrink) * root.mean, weights * (np.sqrt(share) * shrink))

    def _noisy(self, x: Matrix, to: _Map, record: NDArray[np.int64], random: RecordRandom) -> Matrix:
        from larvatus.stats.noise.laws import coloured_noise

        def drawn(rows: RowChoice, attempt: int) -> Matrix:
            e = coloured_noise(self.noise, random, record[rows], to.weights, attempt)
            return np.asarray(x[:, rows] * to.shrink[:, None] + to.shift[:, None] + e)

        still = np.abs(to.weights).sum(axis=0)[:, None] == 0
        return noisy(self.name(), x, drawn, spread_of(to.weights), still, self.zeros, self.positive, jointly=self.correlated)


@dataclass(frozen=True, slots=True)
class _Map:
    """Y = shrink · X + shift + weightsᵀ · (independent draws)."""

    shrink: Matrix
    shift: Matrix
    weights: Matrix
