"""Replace X by draws from one normal distribution with the same means and covariances (Woo and others 2009: 003 §3.1).

    y_i ~ N(μ_X, Σ_XX)

in each sub-group. Paper 003 uses it as an example of incorrectly simulated data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.design import Design
from larvatus.data.laws import ExactNoise, GroupLaw, Law
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import count_present, map_rows
from larvatus.masks.grouping.cell_patterns import by_missing_pattern, omission_notes
from larvatus.masks.linear.insiders import (
    insiders_notes,
    insiders_reason,
    pinned_shares,
    refuse_pinned,
    smallest_for,
)
from larvatus.masks.linear.models import rotate_residuals
from larvatus.masks.noise.drawing import column_matrix, constant_notes, root_notes, roots_of

_ALONE = Note("relations with the non-confidential columns are not preserved inside sub-groups", "warning")


class NormalModel(Mask):
    """Replace X by multivariate normal draws with the same means and covariances, in every sub-group.

    Means, variances and correlations among X are preserved, exactly or on average. Distribution shapes, tails, bounds and all
    relations with S inside a sub-group are lost. No released value depends on the record's own values, so an intruder learns
    the moments only. If they are exact, persons in a small sub-group who know their own records can solve the equations for the
    records of the others. The smallest sub-group follows from `insiders`, as in `random_orthogonal`.

    Use it for comparison, as an example of simulated data that look right in means and covariances. Do not use it for a
    release: relations with S and the shapes of distributions are lost.

    Parameters:
        moments: "exact" makes the sample means and covariances of the draws equal those of X; "random" preserves them on
            average.
        insiders: number of persons in a sub-group who, with their own records, must not be able to compute those of the
            others, if moments are exact. 0 sets no such limit.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "sub_group"
    publishable: ClassVar[frozenset[str]] = frozenset({"moments", "insiders"})
    checks: ClassVar[frozenset[str]] = frozenset({"insiders"})
    nemesis: ClassVar[tuple[str, ...]] = (
        "exact_equations", "value_disclosure", "aggregate_disclosure", "simulated_release",
    )

    moments: Literal["exact", "random"] = Field(
        default="exact", description="preserve means and covariances exactly, or on average"
    )
    insiders: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=3, description="number of persons in a sub-group who must not be able to compute the records of the others"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(moments="random"), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        return smallest_for(data, self.insiders, rotated=True, with_s=False) if self.moments == "exact" else 2

    def smallest_reason(self) -> str:
        return insiders_reason(self.insiders) if self.moments == "exact" else ""

    def exact_noise(self, names: Sequence[str]) -> ExactNoise | None:
        return ExactNoise(with_s=False) if self.moments == "exact" else None

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        masked = self._exact(current, random) if self.moments == "exact" else self._random(current, random)
        return Masked(masked.data, [*masked.notes, _ALONE] if current.non_confidential else masked.notes)

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        if (count_present(original) < np.array(original.groups.sizes)[:, None]).any():
            return None
        p = len(original.confidential)
        groups = [GroupLaw(r.mean, np.zeros((p, p)), np.zeros((p, 0)), r.covariance) for r in roots_of(original)]
        return Law(original.confidential, (), tuple(groups))

    def change_clause(self) -> str:
        return (
            "shapes, tails and bounds are those of a normal distribution, and inside sub-groups relations with "
            "unmasked columns are lost"
        )

    def forgets_pairing(self) -> bool:
        return self.where is None

    def public_sentence(self) -> str:
        how = "exactly" if self.moments == "exact" else "on average"
        return (
            "Confidential values were replaced by random draws from a normal distribution. After this step their means, "
            f"variances and correlations equal those of the original {how}."
        )

    def _random(self, data: Microdata, random: RecordRandom) -> Masked:
        from larvatus.stats.noise.laws import coloured_noise

        names = data.confidential
        roots = roots_of(data)

        def draw(group: int, block: Block) -> Mapping[str, Array]:
            root, x = roots[group], column_matrix(block, names)
            y = root.mean[:, None] + coloured_noise("normal", random, block.record, root.weights)
            return dict(zip(names, np.where(np.isnan(x) | root.constant[:, None], x, y), strict=True))

        return Masked(map_rows(data, draw, names), root_notes(data, data, roots))

    def _exact(self, current: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        data, present = by_missing_pattern(current, names, self.smallest(current), self.name(), self.smallest_reason())
        masked, outcomes = rotate_residuals(data, present, Design(()), random)
        constant = np.zeros((len(data.groups), len(names)), dtype=bool)
        for g, (status, fixed) in sorted(outcomes.items()):
            if status not in ("rotated", "constant"):
                raise MaskError(
                    f"normal_model: sub-group ({data.groups.name(g)}) has {data.groups.sizes[g]} records, too few to preserve "
                    "its means and covariances exactly. Pool small sub-groups (small = \"pool\"), or set moments = \"random\"."
                )
            constant[g] = [n in fixed for n in names]
        refuse_pinned(data, pinned_shares(data, present, Design(()), self.insiders), self.insiders, self.name())
        return Masked(masked, [*constant_notes(data, constant), *omission_notes(current, data, "missing"),
                               *insiders_notes(self.insiders)])
