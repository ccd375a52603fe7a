"""Round the survey weight to a multiple of a base, so that rare weights become common ones.

    w′ = base · round(w / base),      at least one base for a positive weight
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.masks.weighting.weight_units import weight_units, with_weights


class WeightRounding(Mask):
    """Round the survey weight to a multiple of a base.

    A weight such as 118.3 may belong to one record only; rounded to 10 it is shared by many. Halves are rounded up. A positive
    weight never becomes zero. Totals change a little; `weight_calibration` restores them, with weights that are less round.

    Use it if a coarser weight is enough to make records share it. Do not use it if most weights are far apart: each keeps a
    value of its own.

    Parameters:
        base: weights become multiples of this number.
        columns: without effect: only the weight is changed.
        where: records to change: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: without effect.
    """

    alone: ClassVar[bool] = True
    random: ClassVar[bool] = False
    keeps_promises: ClassVar[bool] = True
    keeps_households: ClassVar[bool] = True
    masks_weight: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset()
    publishable: ClassVar[frozenset[str]] = frozenset({"base"})
    nemesis: ClassVar[tuple[str, ...]] = ("uniqueness", "exact_match", "nearest_record")

    base: Annotated[float, Field(gt=0, le=1e12)] = Field(default=1.0, description="weights become multiples of this number")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(base=10.0)

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        before = weight_units(current, self.name())
        rounded = np.floor(before.weight / self.base + 0.5) * self.base
        return with_weights(current, before, np.where(before.weight > 0, np.maximum(rounded, self.base), 0.0))

    def change_clause(self) -> str:
        return "weighted totals differ a little from those of the collected data"

    def public_sentence(self) -> str:
        return f"The survey weight was rounded to multiples of {self.base:g}."
