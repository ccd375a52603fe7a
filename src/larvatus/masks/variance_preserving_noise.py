"""Add noise, then draw the values back to their mean so that variances stay (Tendick and Matloff 1994; 000 §3.1)."""

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
from larvatus.masks.noise.drawing import RowChoice, column_matrix, noisy, refuse_negatives, root_notes, roots_of

if TYPE_CHECKING:
    from larvatus.stats.linear.covariance_factors import Root

_Share = Annotated[float, Field(gt=0, le=1e6)]


class VariancePreservingNoise(Mask):
    """Release X plus noise, shrunk towards the mean of the sub-group so that means and variances are kept in expectation.

    With correlated noise the covariances among X are kept in expectation too, and sums that hold among columns still hold;
    with independent noise correlations shrink. Correlations with S shrink either way, by the root of one plus the fraction.
    The shrinking is linear, so an intruder who knows the fraction undoes it: the protection is that of the noise alone.

    Parameters:
        variance: noise variance as a fraction of the column's variance, before shrinking; one value, or, with independent
            noise, a list in role order or by name.
        correlated: give the noise the correlations of X; false makes it independent between columns.
        noise: law of the independent draws (normal, uniform, laplace, mixture), which correlated noise then mixes.
        zeros: "mask" masks zeros too; "keep" leaves them, breaking sums, and takes mean and covariance of the others.
        positive: draw again until masked values are above zero, which moves means and variances; needs columns without
            negative values.
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, a list of record ids, or @FILE with one.
        scope: run within each sub-group, or over the whole file at once.
    """

    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"variance", "correlated", "noise", "zeros", "positive"})

    variance: _Share | tuple[_Share, ...] | dict[str, _Share] = Field(
        default=0.25, description="noise variance as a fraction of the column's variance, before shrinking"
    )
    correlated: bool = Field(default=True, description="give the noise the correlations of the confidential columns")
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(
        default="normal", description="law of the independent draws that make the noise"
    )
    zeros: Literal["mask", "keep"] = Field(default="mask", description="whether zeros are masked or left as they are")
    positive: bool = Field(default=False, description="draw again until masked values are above zero")

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

        return Masked(current.map_rows(mask_block, names), root_notes(current, used, roots, self.correlated))

    def law(self, original: Microdata) -> Law | None:
        if self.positive or self.zeros == "keep" or self.where is not None:
            return None
        names, p = original.confidential, len(original.confidential)
        roots = roots_of(original.ungrouped() if self.scope == "file" else original)
        maps = [self._map(r, names) for r in roots] * (len(original.groups) if self.scope == "file" else 1)
        groups = [GroupLaw(m.shift, np.diag(m.shrink), np.zeros((p, 0)), m.weights.T @ m.weights) for m in maps]
        return Law(names, (), tuple(groups))

    def altered(self) -> str:
        which = "relations with columns left as they are" if self.correlated else "correlations and regression slopes"
        return f"{which} are weaker than in the collected data"

    def public_sentence(self) -> str:
        return (
            "Random noise was added to the confidential values, which were then drawn back towards their mean so that means "
            "and variances are those of the original on average."
        )

    def _map(self, root: Root, names: Sequence[str]) -> _Map:
        share = per_column("variance_preserving_noise.variance", self.variance, names)
        shrink = np.where(root.constant, 1.0, 1 / np.sqrt(1 + share))
        weights = root.weights if self.correlated else np.diag(np.sqrt((root.weights**2).sum(axis=0)))
        return _Map(shrink, (1 - shrink) * root.mean, weights * (np.sqrt(share) * shrink))

    def _noisy(self, x: Matrix, to: _Map, record: NDArray[np.int64], random: RecordRandom) -> Matrix:
        from larvatus.stats.noise.laws import coloured_noise

        def drawn(rows: RowChoice, attempt: int) -> Matrix:
            e = coloured_noise(self.noise, random, record[rows], to.weights, attempt)
            return np.asarray(x[:, rows] * to.shrink[:, None] + to.shift[:, None] + e)

        still = np.abs(to.weights).sum(axis=0)[:, None] == 0
        return noisy(self.name(), x, drawn, still, self.zeros, self.positive, jointly=self.correlated)


@dataclass(frozen=True, slots=True)
class _Map:
    """Y = shrink X + shift + noise of independent draws times weights."""

    shrink: Matrix
    shift: Matrix
    weights: Matrix
