"""Add noise with the correlations of X itself, within each sub-group (Kim 1986; 000 §3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.laws import GroupLaw, Law, without_zeros
from larvatus.data.microdata import Microdata
from larvatus.masks.noise.drawing import RowChoice, column_matrix, noisy, refuse_negatives, root_notes, roots_of


class CorrelatedNoise(Mask):
    """Release X plus noise whose covariance is a fraction of X's own in the sub-group.

    Correlations among X are kept in expectation and sums that hold among the columns still hold; variances grow by the
    fraction, and correlations with S shrink by the root of one plus the fraction. Combinations of columns that vary little get
    little noise, where independent noise would drown them: an intruder who knows the originals links more records than after
    independent noise of the same variance, outliers first.

    Parameters:
        variance: covariance of the noise as a fraction of X's; one value, since several would not keep correlations.
        noise: law of the independent draws (normal, uniform, laplace, mixture), which the triangular root of the covariance
            then mixes: with another law than the normal only the first column has it unmixed.
        zeros: "mask" adds noise to zeros too; "keep" leaves them, breaking sums, and takes the covariance of the other values.
        positive: draw a record's noise again until its masked values are above zero; needs columns without negative values.
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, a list of record ids, or @FILE with one.
        scope: run within each sub-group, or over the whole file at once.
    """

    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"variance", "noise", "zeros", "positive"})

    variance: Annotated[float, Field(gt=0, le=1e6)] = Field(
        default=0.25, description="covariance of the noise as a fraction of the confidential columns' own"
    )
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(
        default="normal", description="law of the independent draws that are mixed into correlated noise"
    )
    zeros: Literal["mask", "keep"] = Field(default="mask", description="whether zeros are masked or left as they are")
    positive: bool = Field(default=False, description="draw a record again until its masked values are above zero")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(variance=0.5, noise="laplace", zeros="keep"), cls(variance=1.0, noise="mixture", scope="file")

    def smallest(self, data: Microdata) -> int:
        return 2

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        used = without_zeros(current, self.zeros)
        roots = roots_of(used)
        if self.positive:
            refuse_negatives(self.name(), current)

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            weights = roots[group].weights * np.sqrt(self.variance)
            return dict(zip(names, self._noisy(column_matrix(block, names), weights, block.record, random), strict=True))

        return Masked(current.map_rows(mask_block, names), root_notes(current, used, roots))

    def law(self, original: Microdata) -> Law | None:
        if self.positive or self.zeros == "keep" or self.where is not None:
            return None
        p = len(original.confidential)
        roots = roots_of(original.ungrouped() if self.scope == "file" else original)
        roots = roots * len(original.groups) if self.scope == "file" else roots
        groups = [GroupLaw(np.zeros(p), np.eye(p), np.zeros((p, 0)), self.variance * r.covariance) for r in roots]
        return Law(original.confidential, (), tuple(groups))

    def altered(self) -> str:
        return "variances are larger than in the collected data, and relations with columns left as they are are weaker"

    def public_sentence(self) -> str:
        return "Random noise, correlated as the confidential columns are among themselves, was added to their values."

    def _noisy(
        self, x: NDArray[np.float64], weights: NDArray[np.float64], record: NDArray[np.int64], random: RecordRandom
    ) -> NDArray[np.float64]:
        from larvatus.stats.noise.laws import coloured_noise

        def drawn(rows: RowChoice, attempt: int) -> NDArray[np.float64]:
            return x[:, rows] + coloured_noise(self.noise, random, record[rows], weights, attempt)

        still = np.abs(weights).sum(axis=0)[:, None] == 0
        return noisy(self.name(), x, drawn, still, self.zeros, self.positive, jointly=True)
