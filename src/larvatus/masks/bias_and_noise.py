"""Multiply every value by a random factor and add noise (Trottini, Fienberg, Makov and Meyer 2004: paper 002).

    Y_ij = θ_ij X_ij + ε_ij,      E θ_ij = 1,      sd(θ_ij) = φ_j,      E ε_ij = 0,      sd(ε_ij) = c_j sd(X_j)

with φ the setting bias_sd and c the setting noise_ratio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from larvatus.core.arrays import Matrix
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.laws import FactorLaw, spreads, without_zeros
from larvatus.data.microdata import Microdata
from larvatus.data.per_column import per_column
from larvatus.data.verbs import map_rows, moments_by_group
from larvatus.masks.noise.drawing import RowChoice, column_matrix, constant_notes, noisy, refuse_negatives
from larvatus.masks.noise.last_digits import in_significant_digits

Spread = Annotated[float, Field(ge=0, le=1)]
Ratio = Annotated[float, Field(ge=0, le=1000)]


class BiasAndNoise(Mask):
    """Release X times a random factor with mean one, plus noise; both are drawn independently for every value.

    Means are preserved in expectation, variances grow, and correlations shrink. The factor changes large values most; the noise
    changes all values alike. Values near zero are protected by the noise only. An intruder who knows bias_sd and noise_ratio
    knows the distribution of every released value and can compute the probability of each record. Such links succeed most
    often when records differ a lot.

    Use it if large values need more protection than small ones, and if you want to publish the settings of the noise. Do not
    use it if analysts need exact means or totals, or if values near zero must change: a factor hardly moves them.

    Parameters:
        bias_sd: standard deviation of the factor, whose mean is one; one value, a list in role order, or by column name.
        noise_ratio: noise standard deviation as a multiple of the column's in the sub-group; one value, a list, or by name.
        bias: distribution of the factor: normal, or lognormal or gamma, which keep the sign of a value.
        noise: distribution of the noise: normal, uniform, laplace, or a mixture of narrow and wide normals.
        zeros: "mask" adds noise to zeros too; "keep" releases zeros unchanged and uses the SD of the other values.
        positive: redraw until the masked value is above zero; the columns must have no negative values.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"bias_sd", "noise_ratio", "bias", "noise", "zeros", "positive"})
    takes_dates: ClassVar[bool] = False
    nemesis: ClassVar[tuple[str, ...]] = ("bayesian_intruder", "posterior_match", "optimal_assignment", "simulated_release")

    bias_sd: Spread | tuple[Spread, ...] | dict[str, Spread] = Field(
        default=0.1, description="standard deviation of the factor, whose mean is one"
    )
    noise_ratio: Ratio | tuple[Ratio, ...] | dict[str, Ratio] = Field(
        default=0.25, description="noise standard deviation as a multiple of the column's"
    )
    bias: Literal["normal", "lognormal", "gamma"] = Field(default="normal", description="distribution of the factor")
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(default="normal", description="distribution of the noise")
    zeros: Literal["mask", "keep"] = Field(default="mask", description="mask zeros, or release them unchanged")
    positive: bool = Field(default=False, description="redraw until the masked value is above zero")

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if self.bias_sd == 0 and self.noise_ratio == 0:
            raise ValueError("bias_sd and noise_ratio are both 0, so nothing would be masked; set one of them above 0")
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(), cls(bias_sd=0.2, noise_ratio=0, bias="gamma"), cls(bias="lognormal", zeros="keep", noise="laplace"),
            cls(bias_sd=0, noise_ratio=1.0, scope="file"),
        )

    def smallest(self, data: Microdata) -> int:
        return 1 if self.noise_ratio == 0 else 2

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        factor = per_column("bias_and_noise.bias_sd", self.bias_sd, names)
        ratio = per_column("bias_and_noise.noise_ratio", self.noise_ratio, names)
        moments = moments_by_group(without_zeros(current, self.zeros), names)
        spread = [ratio * np.sqrt(np.where(m.constant, 0.0, m.variance)) for m in moments]
        if self.positive:
            refuse_negatives(self.name(), current)

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            y = self._masked(column_matrix(block, names), factor, spread[group], block.record, random)
            return dict(zip(names, y, strict=True))

        still = np.array([m.constant & (m.present > 0) & ((factor == 0) | (np.nan_to_num(m.mean) == 0)) for m in moments])
        return Masked(map_rows(current, mask_block, names), constant_notes(current, still))

    def factor_law(self, original: Microdata) -> Mapping[str, FactorLaw] | None:
        names = original.confidential
        factor = per_column("bias_and_noise.bias_sd", self.bias_sd, names)
        noise_sd = spreads(original, per_column("bias_and_noise.noise_ratio", self.noise_ratio, names), self.zeros, self.scope)
        kept = self.zeros == "keep"
        return {n: FactorLaw(self.bias, self.noise, float(factor[j]), noise_sd[:, j], kept) for j, n in enumerate(names)}

    def change_clause(self) -> str:
        return "variances are larger than in the collected data, above all for large values, and correlations are weaker"

    def public_sentence(self) -> str:
        return "Each confidential value was multiplied by a random factor close to one, and random noise was added."

    def _masked(
        self, x: Matrix, factor: Matrix, spread: Matrix, record: NDArray[np.int64], random: RecordRandom
    ) -> Matrix:
        from larvatus.stats.noise.laws import factors, standard_noise

        def drawn(rows: RowChoice, attempt: int) -> Matrix:
            y = np.array(x[:, rows])
            if factor.any():
                y = in_significant_digits(y * factors(self.bias, factor, random, record[rows], attempt))
            if spread.any():
                y += spread[:, None] * standard_noise(self.noise, random, record[rows], len(x), attempt)
            return y

        still = (spread == 0)[:, None] & ((factor == 0)[:, None] | (x == 0))
        return noisy(self.name(), x, drawn, spread, still, self.zeros, self.positive)
