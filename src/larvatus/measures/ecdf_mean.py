"""How far apart the joint distribution functions of original and release are on average (U_s, 003 §2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.measures.joint_ecdf.differences import JointDistributions


class EcdfMean(Measure):
    """Take the mean squared difference between the two joint distribution functions over the points of both files.

    It looks at every point, so that it tells releases apart more clearly than the largest difference does; like that one it
    has little power with many columns. A missing value counts as larger than every value, so that blanks show too. Names
    enter as indicators where their column is named.

    Parameters:
        columns: compare these columns, non-confidential ones too; all numeric confidential ones where none is named.
        sample: with three columns and more, at most about this many records of each file, drawn at random.
    """

    square_root_scale: ClassVar[bool] = True

    columns: tuple[str, ...] | None = Field(
        default=None, description="columns to compare; all numeric confidential ones where none is named"
    )
    sample: Annotated[int, Field(ge=100)] = Field(
        default=100_000, description="most records of each file with three columns and more"
    )

    def worst_value(self, original: Microdata, released: Microdata) -> float:
        return 1 / 3  # that of two files in one column, every value of one below those of the other

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        return super().parts(original, released) or [(n,) for n in original.confidential]

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        found = JointDistributions.of(original, release.data, self.columns, self.sample, random, self.name())
        return found.score(
            self.name(), "mean_square", "mean squared difference between the joint distribution functions", self.settings(),
        )
