"""Mean squared difference between the joint distribution functions of both files (U_s; Woo and others: 003 §2.3).

    U_s = (1/N) Σ_i (F_X(z_i) − F_Y(z_i))²  over the N records z_i of both files,
    with F the multivariate empirical distribution function: the share of records ≤ z in every column.
"""

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
    """The mean squared difference between the two joint empirical distribution functions, over the records of both files.

    It uses every record, and so separates releases more clearly than the largest difference (`ecdf_max`). With many
    columns this measure and `ecdf_max` have little power. A missing value counts as larger than every other value, so blanking
    is detected too. Categorical columns enter as indicators if they are listed in `columns`.

    Look at it for the mean error of joint shares. Large errors in small regions vanish in the mean.

    Parameters:
        columns: columns to compare, confidential or not (default: all numeric confidential columns).
        sample: with three or more columns, approximate largest number of records of each file; larger files are sampled.
    """

    square_root_scale: ClassVar[bool] = True

    columns: tuple[str, ...] | None = Field(
        default=None, description="columns to compare (default: all numeric confidential columns)"
    )
    sample: Annotated[int, Field(ge=100)] = Field(
        default=100_000, description="largest number of records of each file, with three or more columns"
    )

    def worst_value(self, original: Microdata, released: Microdata) -> float:
        return 1 / 3  # U_s of one column if every value of one file lies below every value of the other

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        return super().parts(original, released) or [(n,) for n in original.confidential]

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        found = JointDistributions.of(original, release.data, self.columns, self.sample, random, self.name())
        return found.score(
            self.name(), "mean_square", "mean squared difference between the joint distribution functions", self.settings(),
        )
