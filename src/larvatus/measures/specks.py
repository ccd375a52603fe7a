"""SPECKS: the largest distance between the distributions of the propensity scores of both files (Bowen, Liu and Su 2021).

    SPECKS = max_p |F_original(p) − F_released(p)|
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score


class Specks(Measure):
    """Compare the propensity scores of original and released records by the distance of Kolmogorov and Smirnov.

    Both files are stacked, and a model estimates for each record the probability that it is a released one. The loss is 0 if
    the distributions of these scores are equal, and 1 if the model separates the files. It is the figure that users of synthpop
    know as SPECKS. The measure propensity looks at the same scores by their mean square, and decides.

    Look at it to compare a release with figures of other tools. A tree that finds no split gives 0.

    Parameters:
        model: "cart" (a classification tree) or "logit" (a logistic regression with products of pairs of columns).
        columns: columns to compare (default: all columns in both files).
        smallest_leaf: smallest number of records in a leaf of the tree.
        complexity: chi-square that a split of the tree must gain, in multiples of log N.
        sample: largest number of records of either file used by the tree.
    """

    decides: ClassVar[bool] = False
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})

    model: Literal["cart", "logit"] = Field(default="cart", description="model of the probability of being a released record")
    columns: tuple[str, ...] | None = Field(
        default=None, description="columns to compare (default: all columns in both files)"
    )
    smallest_leaf: Annotated[int, Field(ge=1)] = Field(
        default=20, description="smallest number of records in a leaf of the tree"
    )
    complexity: Annotated[float, Field(ge=0)] = Field(
        default=1.0, description="chi-square that a split of the tree must gain, in multiples of log N"
    )
    sample: Annotated[int, Field(ge=100)] = Field(
        default=50_000, description="largest number of records of either file used by the tree"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(model="logit")

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        from larvatus.measures.propensity_models.record_scores import ScoreSettings, record_scores, separation

        settings = ScoreSettings(self.model, self.columns, self.smallest_leaf, self.complexity, self.sample)
        found = record_scores(original, release.data, settings, random)
        alone = found.by_variable.items()
        rows: list[Row] = [{"variable": n, "loss": separation(s, found.released)} for n, s in alone]
        return Score(
            self.name(), "loss", separation(found.score, found.released),
            "largest distance between the distributions of propensity scores", self.settings(),
            by_variable=Rows.of(rows), notes=found.notes, sampled=found.sampled,
        )
