"""Replace the survey weight by the mean of a group of similar weights, so that at least k units share each weight.

    w′_i = Σ_{j ∈ g(i)} w_j / |g(i)|,     g: neighbours in the order of w, at least k units; equal weights stay together
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.masks.weighting.weight_units import weight_units, with_weights


class WeightGrouping(Mask):
    """Replace survey weights by the means of groups of similar weights.

    Every released weight is shared by at least k records, or k households if households share their weight. The total is
    kept, within each sub-group or over the file. Sub-groups with fewer than k units get one weight.

    Use it if the survey weight singles out records. Do not use it if estimates for small domains depend on exact weights.

    Parameters:
        k: smallest number of records (or households) with the same weight.
        classes: number of classes of about equal size, instead of k.
        columns: without effect: only the weight is changed.
        where: records to change: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: form groups within each sub-group, which keeps its total, or over the whole file.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    random: ClassVar[bool] = False
    keeps_promises: ClassVar[bool] = True
    keeps_households: ClassVar[bool] = True
    masks_weight: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset()
    publishable: ClassVar[frozenset[str]] = frozenset({"k", "classes"})
    nemesis: ClassVar[tuple[str, ...]] = ("uniqueness", "exact_match", "nearest_record")

    k: Annotated[int, Field(ge=2)] = Field(default=10, description="smallest number of records with the same weight")
    classes: Annotated[int, Field(ge=1)] | None = Field(default=None, description="number of classes, instead of k")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(classes=5, scope="file")

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        before = weight_units(current, self.name())
        after = before.weight.copy()
        for g in np.unique(before.group):
            own = np.flatnonzero(before.group == g)
            after[own] = self._means(before.weight[own], before.size[own])
        count = np.unique(after, return_counts=True)[1]
        what = "households" if before.are_households else "records"
        said = Note(f"{len(count):,} different weights remain, each of {int(count.min()):,} {what} or more")
        few = int(count.min()) < self.k and self.classes is None
        return with_weights(current, before, after, [said, *([_TOO_FEW] if few else [])])

    def change_clause(self) -> str:
        return "weighted estimates vary a little less with the weight than in the collected data"

    def public_sentence(self) -> str:
        return "Survey weights were replaced by means of groups of similar weights."

    def _means(self, weight: Floats, size: Ints) -> Floats:
        from larvatus.stats.grouping.equal_groups import equal_groups

        k = self.k if self.classes is None else max(1, -(-len(weight) // self.classes))
        group = equal_groups(weight, k)
        return np.asarray((np.bincount(group, weight * size) / np.bincount(group, size))[group])


_TOO_FEW = Note("some sub-groups have fewer units than k, and each of them has one weight: use scope = \"file\"", "warning")


