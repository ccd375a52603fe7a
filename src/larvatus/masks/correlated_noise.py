"""Add noise with the same correlations as X, within each sub-group (Kim 1986; 000 §3.1).

    Y = X + ε,      E ε = 0,      Cov(ε) = d Σ_XX,      so that Cov(Y) = (1 + d) Σ_XX
"""

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
from larvatus.data.verbs import as_one_group, map_rows
from larvatus.masks.noise.drawing import RowChoice, column_matrix, noisy, refuse_negatives, root_notes, roots_of
from larvatus.masks.noise.last_digits import spread_of


class CorrelatedNoise(Mask):
    """Release X plus noise whose covariance is a fraction of the covariance of X in the sub-group.

    Correlations among X are preserved in expectation, and linear identities among the columns still hold. Variances grow by the
    fraction d, and correlations with S shrink by the factor 1/√(1 + d). Combinations of columns that vary little also get
    little noise. An intruder who knows the original values therefore links more records than after independent noise of the
    same variance, outliers first.

    Use it if analysts study relations among the confidential columns: their correlations are preserved, and the noise can be
    corrected for. Do not use it at low variance: the noise is small in the same directions as the data, so records remain easy
    to link.

    Parameters:
        variance: noise covariance as a fraction of the covariance of X; one value for all columns, which preserves
            correlations.
        noise: distribution of the independent draws (normal, uniform, laplace, mixture). The triangular factor of the
            covariance mixes them, so only the first column follows a distribution other than normal exactly.
        zeros: "mask" adds noise to zeros too; "keep" releases zeros unchanged, which breaks identities among the columns, and
            uses the covariance of the other values.
        positive: redraw a record's noise until its masked values are above zero; the columns must have no negative values.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"variance", "noise", "zeros", "positive"})
    nemesis: ClassVar[tuple[str, ...]] = ("posterior_match", "optimal_assignment", "simulated_release")

    variance: Annotated[float, Field(gt=0, le=1e6)] = Field(
        default=0.25, description="noise covariance as a fraction of the covariance of the confidential columns"
    )
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(
        default="normal", description="distribution of the independent draws that are mixed into correlated noise"
    )
    zeros: Literal["mask", "keep"] = Field(default="mask", description="mask zeros, or release them unchanged")
    positive: bool = Field(default=False, description="redraw a record until its masked values are above zero")

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

        return Masked(map_rows(current, mask_block, names), root_notes(current, used, roots))

    def law(self, original: Microdata) -> Law | None:
        if self.positive or self.where is not None:
            return None
        p = len(original.confidential)
        used = without_zeros(original, self.zeros)
        roots = roots_of(as_one_group(used) if self.scope == "file" else used)
        roots = roots * len(original.groups) if self.scope == "file" else roots
        groups = [
            GroupLaw(np.zeros(p), np.eye(p), np.zeros((p, 0)), self.variance * r.covariance, self.noise,
                     np.sqrt(self.variance) * r.weights) for r in roots
        ]
        return Law(original.confidential, (), tuple(groups), zeros_kept=self.zeros == "keep")

    def change_clause(self) -> str:
        return "variances are larger than in the collected data, and relations with unmasked columns are weaker"

    def public_sentence(self) -> str:
        return "Random noise with the same correlations as the confidential columns was added to their values."

    def _noisy(
        self, x: NDArray[np.float64], weights: NDArray[np.float64], record: NDArray[np.int64], random: RecordRandom
    ) -> NDArray[np.float64]:
        from larvatus.stats.noise.laws import coloured_noise

        def drawn(rows: RowChoice, attempt: int) -> NDArray[np.float64]:
            return x[:, rows] + coloured_noise(self.noise, random, record[rows], weights, attempt)

        still = np.abs(weights).sum(axis=0)[:, None] == 0
        return noisy(self.name(), x, drawn, spread_of(weights), still, self.zeros, self.positive, jointly=True)
