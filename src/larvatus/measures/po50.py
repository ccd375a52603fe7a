"""PO50: how many more than half of the records a model assigns to the right file (Raab, Nowok and Dibben 2021).

    PO50 = ½ [share of released records with p > c + share of original records with p ≤ c] − ½

c is the share of released records. For files of equal size it is the share of records that are assigned rightly, less one half.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score


class Po50(Measure):
    """Count how many more records than half are assigned to the right file by their propensity score.

    Both files are stacked, and a model estimates for each record the probability that it is a released one. The loss is 0 if
    the model does no better than chance, and .5 if it assigns every record rightly. Users of synthpop know it as PO50, in per
    cent. It counts only on which side of the middle a score lies, so it is coarser than propensity, which decides.

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

    def worst_value(self, original: Microdata, released: Microdata) -> float:
        return 0.5

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        from larvatus.measures.propensity_models.record_scores import ScoreSettings, record_scores, right_above_half

        settings = ScoreSettings(self.model, self.columns, self.smallest_leaf, self.complexity, self.sample)
        found = record_scores(original, release.data, settings, random)
        alone = found.by_variable.items()
        rows: list[Row] = [{"variable": n, "loss": right_above_half(s, found.released)} for n, s in alone]
        return Score(
            self.name(), "loss", right_above_half(found.score, found.released),
            "share of records assigned to the right file, less one half", self.settings(),
            by_variable=Rows.of(rows), notes=found.notes, sampled=found.sampled,
        )
