"""Draw the columns one after another from the leaves of classification and regression trees (Reiter 2005).

This is the synthesis of synthpop (Nowok, Raab and Dibben 2016):

    y_ij = x_dj,      d drawn from the records in the leaf of (s_i, y_i1, …, y_i,j−1)

in the tree of x_j on (s, x_1, …, x_{j−1}), within each sub-group. Every leaf has at least k records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.errors import MaskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Column, Mask, Masked
from larvatus.data.exposure.kinds_of_missing import code_columns
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import map_groups, reduce_groups

_NOTABLE, _NAMED = 0.5, 5


class SequentialTrees(Mask):
    """Replace the confidential columns, one after another, by values of records that are alike in S and in the columns before.

    This is the synthesis that synthpop made common. Each column gets a classification or regression tree on S and the columns
    before it. A record finds its leaf by S and by the values already drawn for it, and takes the value of a record of that
    leaf. Distributions keep their shape, and relations that trees can express are preserved, also non-linear ones and those
    with categories. Zeros and missing values (with their codes) are drawn first. Exact identities, such as a total that is the
    sum of its parts, are lost unless a rule restores them.

    Columns declared non-confidential are released as they are: the file is partially synthetic. If every column is
    confidential, the file is fully synthetic, and its records have nothing to do with persons. In both cases results from
    several copies are combined by the rule for partially synthetic data, because each record replaces one of the sample.
    Released values are original values of some record. In a leaf whose records all have the same value, S gives the value away.
    A note counts such values.

    Use it if analysts need a file that looks and behaves like the original in many mixed columns. Do not use it if single
    values must not be seen, such as that of the largest firm, or set smoothing.

    Parameters:
        smallest_leaf: k, the smallest number of records in a leaf.
        order: columns in the order in which they are drawn; "given" for that of the roles, "fewest_levels" for categories with
            few levels first and numbers last.
        smoothing: "none" releases values of the leaf; "density" draws near them, with the mean and variance of the leaf.
        semicontinuous: values that are drawn first, by column, such as {income = [0]} (default: zero in every numeric column in
            which at least 5 % of the values are zero).
        missing: "draw" makes new missing values and codes, as likely as in the leaf; "keep" leaves them where they are.
        complexity: share of the impurity of the whole that a branch must remove for each of its divisions.
        copies: number of copies; with two or more, analysts can estimate the variance that masking adds.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once, with the sub-group columns as part of S.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "sub_group"
    record_wise: ClassVar[bool] = True
    scale_free: ClassVar[bool] = True
    draws_missing: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})
    publishable: ClassVar[frozenset[str]] = frozenset({"smallest_leaf", "smoothing", "copies"})
    nemesis: ClassVar[tuple[str, ...]] = (
        "simulated_release", "attribute_inference", "mixed_linkage", "exact_match", "probabilistic_linkage", "value_disclosure",
        "category_disclosure", "shared_values",
    )

    smallest_leaf: Annotated[int, Field(ge=1, le=10_000)] = Field(default=5, description="smallest number of records in a leaf")
    order: Literal["given", "fewest_levels"] | tuple[str, ...] = Field(
        default="given", description="columns in the order in which they are drawn, \"given\" or \"fewest_levels\""
    )
    smoothing: Literal["none", "density"] = Field(
        default="none", description="release values of the leaf, or values near them"
    )
    semicontinuous: dict[str, tuple[float, ...]] | None = Field(
        default=None, description="values that are drawn first, by column (default: zero, where there are many)"
    )
    missing: Literal["draw", "keep"] = Field(default="draw", description="draw missing values, or leave them where they are")
    complexity: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=1e-8, description="share of the impurity that a branch must remove for each of its divisions"
    )
    copies: Annotated[int, Field(ge=1, le=100)] = Field(default=1, description="number of copies")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        smooth = cls(smoothing="density", missing="keep", order="fewest_levels")
        return cls(), smooth, cls(copies=2, scope="file", smallest_leaf=10)

    @property
    def copy_count(self) -> int:
        return self.copies

    def smallest(self, data: Microdata) -> int:
        return max(self.smallest_leaf, 2)

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        from larvatus.masks.trees.columns import tree_columns
        from larvatus.masks.trees.synthesis import TreeSettings, mark_name, synthesise

        names = self._ordered(current)
        outside = self.scope == "file"
        kept = [n for n in (*(current.sub_groups.columns if outside else ()), *current.non_confidential)
                if n in current.table.columns]
        predictors = tree_columns(current, kept, None)
        drawn = tree_columns(current, names, self.semicontinuous)
        settings = TreeSettings(self.smallest_leaf, self.complexity, self.smoothing == "density", self.missing == "draw")

        def replace_values(group: int, block: Block) -> Mapping[str, Array]:
            return synthesise(block, predictors, drawn, settings, random)

        made = [Column(mark_name(n), "number", missing=False) for n in names]
        codes = code_columns(current.table, names) if settings.draw_missing else []
        made += [replace(current.table.columns[c], replaced=True) for c in codes]
        masked = map_groups(current, replace_values, list(dict.fromkeys([*kept, *names, *codes])), made)
        return Masked(masked, [*self._notes(kept, names), *_determined(masked, names, [mark_name(n) for n in names], kept)])

    def change_clause(self) -> str:
        return "relations that trees with small leaves cannot express, exact identities between columns and tails may differ"

    def public_sentence(self) -> str:
        near = "values near those" if self.smoothing == "density" else "values"
        said = (f"Confidential values were replaced, column by column, by {near} of records drawn at random from groups of at "
                f"least {self.smallest_leaf} that are alike in other columns")
        if self.copies == 1:
            return f"{said}."
        return f"{said}, in {self.copies} copies. Analyse each copy separately and combine the results."

    def _ordered(self, data: Microdata) -> tuple[str, ...]:
        """The columns in the order in which they are drawn."""
        names, columns = data.confidential, data.table.columns
        for field, told in (("semicontinuous", self.semicontinuous or {}), ("order", self.order)):
            for name in told if not isinstance(told, str) else ():
                if name not in names:
                    near = nearest_names(name, names)
                    raise MaskError(f"{self.name()}.{field}: {name!r} is not a column of this step; {near}")
        if self.order == "given":
            return names
        if self.order == "fewest_levels":
            return tuple(sorted(names, key=lambda n: (columns[n].kind == "number", len(columns[n].levels))))
        left_out = [n for n in names if n not in self.order]
        if left_out or len(set(self.order)) < len(self.order):
            raise MaskError(f"{self.name()}.order: needs every column of the step once; {', '.join(left_out) or 'one'} is "
                            f"{'not listed' if left_out else 'listed twice'}.")
        return tuple(self.order)

    def _notes(self, kept: Sequence[str], names: Sequence[str]) -> list[Note]:
        drawn = f"columns were drawn in the order {', '.join(names)}"
        notes = [Note(f"{drawn}, given {', '.join(kept)}" if kept else f"{drawn}, given nothing but those before")]
        if self.copies == 1:
            notes.append(Note("one copy: analysts cannot estimate the variance that masking adds", "warning"))
        return notes


def _determined(data: Microdata, names: Sequence[str], marks: Sequence[str], kept: Sequence[str]) -> list[Note]:
    """A note on values drawn from leaves in which all records have the same value."""
    def count(group: int, block: Block) -> Array:
        return np.array([int(block[m].sum()) for m in marks], dtype=np.int64)

    sure = dict(zip(names, np.sum(reduce_groups(data, list(marks), count, np.add), axis=0).tolist(), strict=True))
    if not any(sure.values()):
        return []
    most = [n for n in sorted(names, key=lambda n: -sure[n]) if sure[n] > _NOTABLE * data.rows]
    named = f", more than half of those of {', '.join(most[:_NAMED])}{' …' if len(most) > _NAMED else ''}" if most else ""
    by = "S and the columns before determine" if kept else "the columns before determine"
    return [Note(f"{sum(sure.values()):,} of {len(names) * data.rows:,} values come from leaves in which all records have the "
                 f"same value{named}: there, {by} it", "warning" if most and kept else "information")]
