"""Add independent noise to every confidential column, within each sub-group (Traub and others 1984; 000 §3.1).

    Y_j = X_j + ε_j,      E ε_j = 0,      Var(ε_j) = d_j Var(X_j)

with ε independent over columns and records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.laws import FactorLaw, GroupLaw, Law, spreads, without_zeros
from larvatus.data.microdata import Microdata
from larvatus.data.per_column import per_column
from larvatus.data.verbs import as_one_group, map_rows, moments_by_group
from larvatus.masks.noise.drawing import RowChoice, column_matrix, constant_notes, noisy, refuse_negatives

_Share = Annotated[float, Field(gt=0, le=1e6)]


class AdditiveNoise(Mask):
    """Release X plus independent noise whose variance is a fraction of the column's variance in the sub-group.

    Means are preserved in expectation. Variances grow by the fraction, and correlations shrink. Outlying records remain
    outlying, so an intruder who knows the original values links them easily.

    Use it if analysts need a simple mask that they can correct for with one published figure. Do not use it if columns are
    skewed and their largest values identify records: noise hides them least.

    Parameters:
        variance: noise variance as a fraction of the column's variance; one value, a list in role order, or by column name.
        noise: distribution of the noise: normal, uniform, laplace, or a mixture of narrow and wide normals.
        zeros: "mask" adds noise to zeros too; "keep" releases zeros unchanged and uses the variance of the other values.
        positive: redraw until the masked value is above zero; the columns must have no negative values.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"variance", "noise", "zeros", "positive"})
    nemesis: ClassVar[tuple[str, ...]] = ("posterior_match", "optimal_assignment", "bayesian_intruder", "simulated_release")

    variance: _Share | tuple[_Share, ...] | dict[str, _Share] = Field(
        default=0.25, description="noise variance as a fraction of the column's variance"
    )
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(default="normal", description="distribution of the noise")
    zeros: Literal["mask", "keep"] = Field(default="mask", description="mask zeros, or release them unchanged")
    positive: bool = Field(default=False, description="redraw until the masked value is above zero")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(variance=0.5, noise="laplace", zeros="keep"), cls(noise="mixture"), cls(noise="uniform", scope="file")

    def smallest(self, data: Microdata) -> int:
        return 2

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        spread, constant = self._spread(current)
        if self.positive:
            refuse_negatives(self.name(), current)

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            x = column_matrix(block, names)
            return dict(zip(names, self._noisy(x, spread[group], block.record, random), strict=True))

        return Masked(map_rows(current, mask_block, names), constant_notes(current, constant))

    def law(self, original: Microdata) -> Law | None:
        if self.positive or self.where is not None:
            return None
        names = original.confidential
        p = len(names)
        spread, _ = self._spread(as_one_group(original) if self.scope == "file" else original)
        spread = np.repeat(spread, len(original.groups), axis=0) if self.scope == "file" else spread
        groups = [GroupLaw(np.zeros(p), np.eye(p), np.zeros((p, 0)), np.diag(s**2), self.noise, np.diag(s)) for s in spread]
        return Law(names, (), tuple(groups), zeros_kept=self.zeros == "keep")

    def factor_law(self, original: Microdata) -> Mapping[str, FactorLaw] | None:
        names = original.confidential
        ratio = np.sqrt(per_column("additive_noise.variance", self.variance, names))
        noise_sd = spreads(original, ratio, self.zeros, self.scope)
        return {n: FactorLaw("normal", self.noise, 0.0, noise_sd[:, j], self.zeros == "keep") for j, n in enumerate(names)}

    def change_clause(self) -> str:
        return "variances are larger than in the collected data, and correlations and regression slopes are weaker"

    def public_sentence(self) -> str:
        return "Random noise, independent of everything else, was added to each confidential value."

    def _spread(self, data: Microdata) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Noise SD per sub-group and column, and which columns are constant there."""
        names = data.confidential
        share = per_column("additive_noise.variance", self.variance, names)
        moments = moments_by_group(without_zeros(data, self.zeros), names)
        constant = np.array([m.constant & (m.present > 0) for m in moments])
        variance = np.array([np.where(m.constant, 0.0, m.variance) for m in moments])
        return np.sqrt(share * variance), constant

    def _noisy(
        self, x: NDArray[np.float64], spread: NDArray[np.float64], record: NDArray[np.int64], random: RecordRandom
    ) -> NDArray[np.float64]:
        from larvatus.stats.noise.laws import standard_noise

        def drawn(rows: RowChoice, attempt: int) -> NDArray[np.float64]:
            return x[:, rows] + spread[:, None] * standard_noise(self.noise, random, record[rows], len(x), attempt)

        return noisy(self.name(), x, drawn, spread, spread[:, None] == 0, self.zeros, self.positive)
