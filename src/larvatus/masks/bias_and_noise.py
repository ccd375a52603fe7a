"""Multiply every value by a random factor and add noise (Trottini, Fienberg, Makov and Meyer 2004: paper 002)."""

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
from larvatus.masks.noise.drawing import RowChoice, column_matrix, constant_notes, noisy, refuse_negatives

Spread = Annotated[float, Field(ge=0, le=1)]
Ratio = Annotated[float, Field(ge=0, le=1000)]


class BiasAndNoise(Mask):
    """Release X times a factor around one, plus noise, both drawn afresh for every value.

    Means are kept in expectation, variances grow, and correlations shrink. The factor moves large values most,
    where noise moves all alike; values near zero are hidden by the noise only. Given the two spreads an intruder knows
    the law of every released value and can weigh all records by it, which links best where records differ much.

    Parameters:
        bias_sd: standard deviation of the factor, whose mean is one; one value, a list in role order, or by name.
        noise_ratio: standard deviation of the noise over that of the column in the sub-group; one value, a list, or by name.
        bias: law of the factor: normal, or lognormal or gamma, which keep the sign of a value.
        noise: law of the noise: normal, uniform, laplace, or a mixture of narrow and wide normals.
        zeros: "mask" adds noise to zeros too; "keep" leaves them and takes the deviation of the other values.
        positive: draw again until the masked value is above zero; needs columns without negative values.
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, a list of record ids, or @FILE with one.
        scope: run within each sub-group, or over the whole file at once.
    """

    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"bias_sd", "noise_ratio", "bias", "noise", "zeros", "positive"})

    bias_sd: Spread | tuple[Spread, ...] | dict[str, Spread] = Field(
        default=0.1, description="standard deviation of the factor, whose mean is one"
    )
    noise_ratio: Ratio | tuple[Ratio, ...] | dict[str, Ratio] = Field(
        default=0.25, description="standard deviation of the noise over that of the column"
    )
    bias: Literal["normal", "lognormal", "gamma"] = Field(default="normal", description="law of the factor")
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(default="normal", description="law of the noise")
    zeros: Literal["mask", "keep"] = Field(default="mask", description="whether zeros are masked or left as they are")
    positive: bool = Field(default=False, description="draw again until the masked value is above zero")

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if self.bias_sd == 0 and self.noise_ratio == 0:
            raise ValueError("bias_sd and noise_ratio are both 0, so nothing would be masked; make one of them larger")
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
        moments = without_zeros(current, self.zeros).moments(names)
        spread = [ratio * np.sqrt(np.where(m.constant, 0.0, m.variance)) for m in moments]
        if self.positive:
            refuse_negatives(self.name(), current)

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            y = self._masked(column_matrix(block, names), factor, spread[group], block.record, random)
            return dict(zip(names, y, strict=True))

        still = np.array([m.constant & (m.present > 0) & ((factor == 0) | (np.nan_to_num(m.mean) == 0)) for m in moments])
        return Masked(current.map_rows(mask_block, names), constant_notes(current, still))

    def factor_law(self, original: Microdata) -> Mapping[str, FactorLaw] | None:
        names = original.confidential
        factor = per_column("bias_and_noise.bias_sd", self.bias_sd, names)
        noise_sd = spreads(original, per_column("bias_and_noise.noise_ratio", self.noise_ratio, names), self.zeros, self.scope)
        kept = self.zeros == "keep"
        return {n: FactorLaw(self.bias, self.noise, float(factor[j]), noise_sd[:, j], kept) for j, n in enumerate(names)}

    def altered(self) -> str:
        return "variances are larger than in the collected data, most where values are large, and correlations are weaker"

    def public_sentence(self) -> str:
        return "Each confidential value was multiplied by a random factor close to one, and random noise was added."

    def _masked(
        self, x: Matrix, factor: Matrix, spread: Matrix, record: NDArray[np.int64], random: RecordRandom
    ) -> Matrix:
        from larvatus.stats.noise.laws import factors, standard_noise

        def drawn(rows: RowChoice, attempt: int) -> Matrix:
            y = np.array(x[:, rows])
            if factor.any():
                y *= factors(self.bias, factor, random, record[rows], attempt)
            if spread.any():
                y += spread[:, None] * standard_noise(self.noise, random, record[rows], len(x), attempt)
            return y

        still = (spread == 0)[:, None] & ((factor == 0)[:, None] | (x == 0))
        return noisy(self.name(), x, drawn, still, self.zeros, self.positive)
