"""How far apart the joint distribution functions of original and release are at the worst point (U_m, 003 §2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.measures.joint_ecdf.differences import JointDistributions


class EcdfMax(Measure):
    """Take the largest difference between the two joint distribution functions over the points of both files.

    It sees where a share of records moved from, not what became of a relation between columns that few records carry, and
    has little power with many columns. A missing value counts as larger than every value, so that blanks show too. Names
    enter as indicators where their column is named.

    Parameters:
        columns: compare these columns, non-confidential ones too; all numeric confidential ones where none is named.
        sample: with three columns and more, at most about this many records of each file, drawn at random.
    """

    columns: tuple[str, ...] | None = Field(
        default=None, description="columns to compare; all numeric confidential ones where none is named"
    )
    sample: Annotated[int, Field(ge=100)] = Field(
        default=100_000, description="most records of each file with three columns and more"
    )

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        return super().parts(original, released) or [(n,) for n in original.confidential]

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        found = JointDistributions.of(original, release.data, self.columns, self.sample, random, self.name())
        return found.score(
            self.name(), "largest", "largest difference between the joint distribution functions", self.settings(),
        )
