"""Propensity score measure: how well a model separates released from original records (Woo and others: 003 §2.1).

    U_p = (1/N) Σ_i (p_i − c)²

p_i is the estimated probability that record i of the two stacked files is a released one, c the share of released records. U_p
lies between 0 (the files cannot be separated) and c(1 − c) (every record is classified with certainty). Snoke and others 2018
call it pMSE and derive what to expect by chance for synthetic files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

if TYPE_CHECKING:
    from larvatus.measures.propensity_models.models import ModelResult

Which = Literal["both", "logit", "spline", "cart", "boosting", "model_i", "model_ii"]


class Propensity(Measure):
    """Stack both files, model the probability p of being a released record, and average (p − c)².

    U_p = (1/N) Σ (p_i − c)², where c is the share of released records. U_p is 0 if the model cannot separate the files, and
    c(1 − c), a quarter for files of equal size, if it separates them perfectly. By default a logistic regression with powers
    and products and a classification tree are fitted, and the value is the larger U_p: up to chance, each is a lower bound
    for the best possible model. Columns that are not released are left out; non-confidential columns enter only in products
    with masked ones. A missing value enters as the mean with an indicator, a categorical column as indicators. The expected
    U_p by chance is that of a resample of the original. Released records resemble their own originals, so a smaller U_p is
    normal; a fresh sample of the population would give about twice the expected value. Identities that hold in every
    original record, such as a total that is the sum of its parts, are also checked: a released record that breaks one is
    recognised with certainty, even if the difference is small. The tree cuts midway between original values, so it does not
    detect smaller changes.

    Look at it first, as one figure for the whole file: can a model tell the files apart? It depends on the model: a weak one
    misses what it cannot express, so several are fitted.

    Parameters:
        model: "logit" (powers and products), "spline" (splines instead of powers), "cart" (a classification tree), "both"
            (logit and cart), "boosting" (needs scikit-learn), or the paper's "model_i" and "model_ii".
        degree: highest power of a masked numeric column in the logit.
        interactions: products in the logit and the spline: "none", "first" (pairs) or "full" (all up to the degree).
        columns: columns to compare (default: all columns in both files).
        smallest_leaf: smallest number of records in a leaf of the tree.
        complexity: chi-square that a split of the tree must gain, in multiples of log N.
        sample: largest number of records of either file used by trees and boosting.
        resamples: number of resamples of the original for the chance level of trees and boosting.
    """

    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})

    model: Which = Field(default="both", description="model of the probability of being a released record")
    degree: Annotated[int, Field(ge=1, le=3)] = Field(
        default=3, description="highest power of a masked numeric column in the logit"
    )
    interactions: Literal["none", "first", "full"] = Field(
        default="first", description="products of columns in the logit and the spline"
    )
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
        default=50_000, description="largest number of records of either file used by trees and boosting"
    )
    resamples: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=10, description="resamples of the original for the chance level of trees and boosting"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(), cls(model="logit", degree=2), cls(model="logit", interactions="full"), cls(model="spline"),
            cls(model="cart", resamples=3), cls(model="model_ii"),
        )

    def worst_value(self, original: Microdata, released: Microdata) -> float:
        c = released.rows / max(original.rows + released.rows, 1)
        return c * (1 - c)

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        from larvatus.measures.propensity_models.files import two_files
        from larvatus.measures.propensity_models.models import by_boosting, by_identities, by_logit, by_tree

        files = two_files(original, release.data, self.columns, self.model == "spline")
        groups = common_groups(original, release.data)
        found: list[ModelResult] = []
        if self.model not in ("cart", "boosting"):
            found.append(by_logit(files, groups, self._degree, self.interactions, self.model))
        if self.model in ("both", "cart"):
            found.append(by_tree(files, groups, self.smallest_leaf, self.complexity, self.sample, self.resamples, random))
        if self.model == "boosting":
            found.append(by_boosting(files, self.sample, self.resamples, random))
        whole = list(found)
        if self.model == "both" and (broken := by_identities(files, groups)):
            whole.append(broken)
        worst = max(whole, key=lambda f: f.value)
        return Score(
            "propensity", "loss", worst.value,
            "mean squared distance of propensity scores from the share of released records, "
            f"{files.share * (1 - files.share):.3g} if the files are separated perfectly",
            self.settings(), by_group=_groups(original, groups, whole), by_variable=_variables(found),
            details=_details(whole), notes=(*files.notes, *(n for f in whole for n in f.notes)),
            sampled=any(f.sampled for f in found),
        )

    @property
    def _degree(self) -> int:
        return {"model_i": 2, "model_ii": 3, "spline": 1}.get(self.model, self.degree)


def _groups(original: Microdata, groups: Sequence[tuple[str, int, int]], found: Sequence[ModelResult]) -> Rows:
    """For each sub-group in which every model could be fitted: the largest U_p, and the U_p of each model."""
    rows: list[Row] = []
    for name, a, _ in groups:
        if all(name in f.by_group for f in found) and found[0].by_group:
            own = {f.model: f.by_group[name] for f in found}
            extra = {k: v for f in found for k, v in f.group_figures.get(name, {}).items()}
            rows.append({
                "sub_group": name, "records": original.groups.sizes[a], "value": max(own.values()),
                **(own if len(own) > 1 else {}), **extra,
            })
    return Rows.of(rows)


def _variables(found: Sequence[ModelResult]) -> Rows:
    """For each masked column alone: the largest U_p, and the U_p of each model."""
    names = [n for n in found[0].by_variable if all(n in f.by_variable for f in found)]
    rows: list[Row] = []
    for name in names:
        own = {f.model: f.by_variable[name] for f in found}
        rows.append({"variable": name, "loss": max(own.values()), **(own if len(own) > 1 else {})})
    return Rows.of(rows)


def _details(found: Sequence[ModelResult]) -> dict[str, Rows]:
    models: list[Row] = [
        {
            "model": f.model, "U_p": f.value, "N_U_p": f.value * f.rows, "expected_N_U_p": f.expected,
            "ratio": f.ratio, "terms": f.terms, "told_apart_for_certain": f.apart,
        }
        for f in found
    ]
    out = {"models": Rows.of(models)}
    for name in ("percentiles", "scores", "terms"):
        rows = [{"model": f.model, **r} for f in found for r in f.tables.get(name, ())]
        if rows:
            out[name] = Rows.of(rows)
    return out

