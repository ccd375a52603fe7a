"""Add independent noise to every confidential column, within each sub-group (Traub and others 1984; 000 §3.1).

    Y_j = X_j + ε_j,      E ε_j = 0,      Var(ε_j) = d_j Var(X_j)

with ε independent over columns and records. With a stated scale s, Var(ε_j) = s_j² whatever the data. Values outside
of stated bounds are moved to them before. With both, Laplace and normal noise are differentially private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from larvatus.core.errors import MaskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.laws import FactorLaw, GroupLaw, Law, spreads, without_zeros
from larvatus.data.microdata import Microdata
from larvatus.data.per_column import per_column
from larvatus.data.privacy.privacy_loss import ColumnPrivacy
from larvatus.data.verbs import as_one_group, map_rows, moments_by_group, reduce_groups
from larvatus.masks.noise.drawing import RowChoice, column_matrix, constant_notes, noisy, refuse_negatives

_Share = Annotated[float, Field(gt=0, le=1e6)]
_Scale = Annotated[float, Field(gt=0, le=1e300)]
_Bound = Annotated[float, Field(ge=-1e300, le=1e300)]


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
        scale: standard deviation of the noise in units of the column, instead of variance; it does not depend on the data.
        bounds: lowest and highest value by column, stated without looking at the data; values outside are moved to them.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"variance", "noise", "zeros", "positive", "scale", "bounds"})
    added_later: ClassVar[frozenset[str]] = frozenset({"scale", "bounds"})
    has_privacy: ClassVar[str] = "Laplace or normal noise, scale and bounds stated for every column"
    nemesis: ClassVar[tuple[str, ...]] = ("posterior_match", "optimal_assignment", "bayesian_intruder", "simulated_release")

    variance: _Share | tuple[_Share, ...] | dict[str, _Share] = Field(
        default=0.25, description="noise variance as a fraction of the column's variance"
    )
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(default="normal", description="distribution of the noise")
    zeros: Literal["mask", "keep"] = Field(default="mask", description="mask zeros, or release them unchanged")
    positive: bool = Field(default=False, description="redraw until the masked value is above zero")

    scale: _Scale | tuple[_Scale, ...] | dict[str, _Scale] | None = Field(
        default=None, description="standard deviation of the noise in units of the column, instead of variance"
    )
    bounds: dict[str, tuple[_Bound, _Bound]] | None = Field(
        default=None, description="lowest and highest value by column, stated without looking at the data"
    )

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        wrong = [n for n, (low, high) in (self.bounds or {}).items() if not low < high]
        if wrong:
            raise ValueError(f"bounds of {wrong[0]!r}: the first must be below the second")
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(), cls(variance=0.5, noise="laplace", zeros="keep"), cls(noise="mixture"), cls(noise="uniform", scope="file"),
            cls(scale=1.5, noise="laplace"),
        )

    def smallest(self, data: Microdata) -> int:
        return 2

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        spread, constant = self._spread(current)
        limits = self._limits(names)
        if self.positive:
            refuse_negatives(self.name(), current)

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            x = _moved_into(column_matrix(block, names), limits)
            return dict(zip(names, self._noisy(x, spread[group], block.record, random), strict=True))

        return Masked(map_rows(current, mask_block, names), constant_notes(current, constant))

    def law(self, original: Microdata) -> Law | None:
        if self.positive or self.where is not None:
            return None
        names = original.confidential
        if self.bounds and not _all_inside(original, names, self._limits(names)):
            return None
        p = len(names)
        spread, _ = self._spread(as_one_group(original) if self.scope == "file" else original)
        spread = np.repeat(spread, len(original.groups), axis=0) if self.scope == "file" else spread
        groups = [GroupLaw(np.zeros(p), np.eye(p), np.zeros((p, 0)), np.diag(s**2), self.noise, np.diag(s)) for s in spread]
        return Law(names, (), tuple(groups), zeros_kept=self.zeros == "keep")

    def factor_law(self, original: Microdata) -> Mapping[str, FactorLaw] | None:
        names = original.confidential
        if self.bounds and not _all_inside(original, names, self._limits(names)):
            return None
        ratio = np.sqrt(per_column("additive_noise.variance", self.variance, names))
        noise_sd = spreads(original, ratio, self.zeros, self.scope) if self.scale is None else self._spread(original)[0]
        return {n: FactorLaw("normal", self.noise, 0.0, noise_sd[:, j], self.zeros == "keep") for j, n in enumerate(names)}

    def privacy(self, original: Microdata) -> Sequence[ColumnPrivacy] | str:
        names = original.confidential
        if self.scale is None:
            return "the variance of the noise is a fraction of that of the column, so it depends on the data"
        if self.noise not in ("laplace", "normal"):
            return f"{self.noise} noise has no ε"
        if self.positive or self.zeros == "keep":
            return "draws are repeated until values are positive" if self.positive else "zeros are released as they are"
        if self.where is not None:
            return "it masks some records only"
        unbounded = [n for n in names if n not in (self.bounds or {})]
        if unbounded:
            return f"no bounds are stated for {unbounded[0]}"
        from larvatus.stats.privacy.privacy_losses import laplace_epsilon, normal_rho

        low, high = self._limits(names)
        sd = per_column("additive_noise.scale", self.scale, names)
        if self.noise == "laplace":
            return [ColumnPrivacy(n, "Laplace noise", float(e), float(e) ** 2 / 2)
                    for n, e in zip(names, laplace_epsilon(high - low, sd), strict=True)]
        return [ColumnPrivacy(n, "normal noise", float("inf"), float(r), normal=True)
                for n, r in zip(names, normal_rho(high - low, sd), strict=True)]

    def change_clause(self) -> str:
        return "variances are larger than in the collected data, and correlations and regression slopes are weaker"

    def public_sentence(self) -> str:
        return "Random noise, independent of everything else, was added to each confidential value."

    def _limits(self, names: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The stated bounds of each column; infinite without any."""
        for name in self.bounds or {}:
            if name not in names:
                raise MaskError(f"additive_noise.bounds: {name!r} is not a column of this step; {nearest_names(name, names)}")
        found = np.array([(self.bounds or {}).get(n, (-np.inf, np.inf)) for n in names]).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def _spread(self, data: Microdata) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Noise SD per sub-group and column, and which columns are constant there."""
        names = data.confidential
        if self.scale is not None:  # the same whatever the data
            stated = np.tile(per_column("additive_noise.scale", self.scale, names), (len(data.groups), 1))
            return stated, np.zeros(stated.shape, dtype=bool)
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


def _moved_into(x: NDArray[np.float64], limits: tuple[NDArray[np.float64], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Values outside of the bounds moved to them; columns × records."""
    low, high = limits
    return np.asarray(np.clip(x, low[:, None], high[:, None]))


def _all_inside(
    data: Microdata, names: Sequence[str], limits: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> bool:
    """Whether no value is outside of the bounds: only then is the noise added to the values themselves."""
    low, high = limits

    def outside(group: int, block: Block) -> int:
        x = column_matrix(block, names)
        return int(((x < low[:, None]) | (x > high[:, None])).sum())

    return sum(reduce_groups(data, names, outside, int.__add__)) == 0
