"""Multiply the survey weight by random factors, and keep its total.

    w′_i = c_g · w_i · exp(sd · z_i),     z normal, one per unit;     c_g restores Σ w in each sub-group g

What weights give away about strata, and noise against it: De Waal and Willenborg 1997.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.portable.portable_functions import exp
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.masks.noise.last_digits import in_significant_digits
from larvatus.masks.weighting.weight_units import weight_units, with_weights


class WeightNoise(Mask):
    """Multiply survey weights by random factors, and scale them so that the total is kept.

    Weights stay positive. An intruder who knows the original weight of a record compares it with the released ones by distance.
    Group or round the weights afterwards to make them common. Members of a household who share a weight get one factor; a
    household counts in the sub-group of its first record.

    Use it if weights must differ from those in another file and their total must stay. Do not use it if the weight shows the
    stratum: noise leaves weights near those of their stratum.

    Parameters:
        sd: standard deviation of the logarithm of the factors; 0.1 changes weights by about 10 %.
        columns: without effect: only the weight is changed.
        where: records to change: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: keep the total of each sub-group, or only that of the file.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    keeps_promises: ClassVar[bool] = True
    keeps_households: ClassVar[bool] = True
    masks_weight: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset()
    publishable: ClassVar[frozenset[str]] = frozenset({"sd"})
    nemesis: ClassVar[tuple[str, ...]] = ("uniqueness", "exact_match", "nearest_record")

    sd: Annotated[float, Field(gt=0, le=2)] = Field(default=0.1, description="standard deviation of the log factors")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(sd=0.5, scope="file")

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        before = weight_units(current, self.name())
        z = random.normal(before.units.reference, 1, purpose="weight")[0]
        drawn = in_significant_digits(before.weight * exp(self.sd * z))
        groups = int(before.group.max(initial=0)) + 1
        was, now = (np.bincount(before.group, w * before.size, minlength=groups) for w in (before.weight, drawn))
        scale = np.divide(was, now, out=np.ones(groups), where=now > 0)
        return with_weights(current, before, drawn * scale[before.group], noisy=True)

    def change_clause(self) -> str:
        return "weighted estimates differ a little from those of the collected data"

    def public_sentence(self) -> str:
        return "Survey weights were multiplied by random factors that keep their total."
