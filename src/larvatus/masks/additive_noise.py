"""Add independent noise to every confidential column, within each sub-group (the simplest of 000 §3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.law import GroupLaw, Law
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.parameters import per_column

Share = Annotated[float, Field(gt=0, le=1e6)]
MOST_DRAWS = 1000


class AdditiveNoise(Mask):
    """Release X plus independent noise whose variance is a fraction of the column's own in the sub-group.

    Means are kept in expectation; variances grow by the fraction, and correlations shrink. Records far from the others
    stay far from them, so an intruder who knows the originals links outliers easily.

    Parameters:
        variance: noise variance as a fraction of the column's variance; one value, a list in role order, or by name.
        noise: law of the noise: normal, uniform, laplace, or a mixture of narrow and wide normals.
        zeros: "mask" adds noise to zeros too; "keep" leaves them and takes the variance of the other values.
        positive: draw again until the masked value is above zero; needs columns without negative values.
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, or a list of record ids.
        scope: run within each sub-group, or over the whole file at once.
    """

    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"variance", "noise", "zeros", "positive"})

    variance: Share | tuple[Share, ...] | dict[str, Share] = Field(
        default=0.25, description="noise variance as a fraction of the column's variance"
    )
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(default="normal", description="law of the noise")
    zeros: Literal["mask", "keep"] = Field(default="mask", description="whether zeros are masked or left as they are")
    positive: bool = Field(default=False, description="draw again until the masked value is above zero")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(variance=0.5, noise="laplace", zeros="keep"), cls(noise="mixture"), cls(noise="uniform", scope="file")

    def smallest(self, data: Microdata) -> int:
        return 2

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        spread, constant = self._spread(current)
        self._refuse_negatives(current)

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            x = np.array([block[n] for n in names]).reshape(len(names), len(block))
            return dict(zip(names, self._noisy(x, spread[group], block.record, random), strict=True))

        notes = [
            Note(f"{names[j]} does not vary in sub-group ({current.groups.name(g)}) and is released as it is", "status")
            for g, j in zip(*np.nonzero(constant), strict=True)
        ]
        return Masked(current.map_rows(mask_block, names), notes)

    def law(self, original: Microdata) -> Law | None:
        if self.positive or self.zeros == "keep" or self.where is not None:
            return None
        names = original.confidential
        p = len(names)
        spread, _ = self._spread(original.ungrouped() if self.scope == "file" else original)
        spread = np.repeat(spread, len(original.groups), axis=0) if self.scope == "file" else spread
        groups = [GroupLaw(np.zeros(p), np.eye(p), np.zeros((p, 0)), np.diag(s**2)) for s in spread]
        return Law(names, (), tuple(groups))

    def public_sentence(self) -> str:
        return "Random noise, independent of everything else, was added to each confidential value."

    def _spread(self, data: Microdata) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Noise SD per sub-group and column, and which columns do not vary there."""
        names = data.confidential
        share = per_column("additive_noise.variance", self.variance, names)
        counted = data
        if self.zeros == "keep":
            counted = data.map_rows(lambda g, b: {n: np.where(b[n] == 0, np.nan, b[n]) for n in names}, names)
        moments = counted.moments(names)
        constant = np.array([m.constant & (m.present > 0) for m in moments])
        variance = np.array([np.where(m.constant, 0.0, m.variance) for m in moments])
        return np.sqrt(share * variance), constant

    def _noisy(
        self, x: NDArray[np.float64], spread: NDArray[np.float64], record: NDArray[np.int64], random: RecordRandom
    ) -> NDArray[np.float64]:
        from larvatus.stats.noise import standard_noise

        y = x + spread[:, None] * standard_noise(self.noise, random, record, len(x))
        if self.positive:
            self._redraw(x, y, spread, record, random)
        return np.where(x == 0, x, y) if self.zeros == "keep" else y

    def _redraw(
        self, x: NDArray[np.float64], y: NDArray[np.float64], spread: NDArray[np.float64],
        record: NDArray[np.int64], random: RecordRandom,
    ) -> None:
        from larvatus.stats.noise import standard_noise

        left = (x == 0) & (self.zeros == "keep") | (spread[:, None] == 0)
        for attempt in range(1, MOST_DRAWS):
            rows = np.flatnonzero(((y <= 0) & ~left).any(axis=0))
            if len(rows) == 0:
                return
            again = x[:, rows] + spread[:, None] * standard_noise(self.noise, random, record[rows], len(x), attempt)
            y[:, rows] = np.where((y[:, rows] <= 0) & ~left[:, rows], again, y[:, rows])
        raise MaskError(f"additive_noise: some values were still not positive after {MOST_DRAWS} draws. Lower the variance.")

    def _refuse_negatives(self, data: Microdata) -> None:
        if not self.positive:
            return
        names = data.confidential
        below = sum(data.reduce(names, lambda g, b: np.array([int((b[n] < 0).sum()) for n in names]), np.add))
        for name, count in zip(names, np.atleast_1d(below), strict=True):
            if count:
                raise MaskError(
                    f"additive_noise: positive = true, but {name!r} has {count} negative values. "
                    "Leave that option off, or mask the column in a step of its own."
                )
