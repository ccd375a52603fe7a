"""Make categories coarser: join levels, collect rare ones under one label, put numbers into classes (Winkler 2007: 004).

    y = g(x)      for categories,      y = mean(x | class of x)      for numbers (or a midpoint, or a label)
    y = ancestor of x in a taxonomy, or its class of a stated width    for levels of a hierarchy
    y = first day of the week, month, quarter or year of x            for dates
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.errors import MaskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Column, Mask, Masked
from larvatus.data.dates.date_settings import NumberOrDate, in_days
from larvatus.data.dates.periods import Period, first_day, period_name
from larvatus.data.hierarchies.key_ladders import ALL_VALUES, CategoryLadder, ladder_of, range_of_values
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import as_one_group, map_rows, reduce_groups
from larvatus.masks.categories.joined_levels import level_counts, recode_levels, rename_levels, without_rare
from larvatus.masks.coarsening.number_classes import Classes, by_counts, by_cuts, interval_name, interval_names
from larvatus.masks.coarsening.tails import SHARED_BY

Cuts = tuple[NumberOrDate, ...]
_Level = Annotated[int, Field(ge=0, le=64)]


class Recoding(Mask):
    """Join levels of categorical columns, and put numbers into classes that are released as a mean, a midpoint or a label.

    Frequencies of the new categories are exact. With the mean of each class the totals of a numeric column are preserved
    (weighted if there is a weight). Differences inside a category are lost. An intruder knows the category of every record
    with certainty. Joined categories are protected by the number of records that share them; rare categories that
    are not joined stay rare.

    Use it for keys and for published classes, if analysts work with groups anyway. Do not use it alone for confidential numbers
    in many columns: the classes together still identify records.

    Parameters:
        levels: new labels of levels, by column: {job = {baker = "food", cook = "food"}}; other levels keep their label.
        rare: join the levels with fewer records than this under the label `other`; 1 joins none.
        other: label of the joined rare levels.
        cuts: cut points between classes of numbers, ascending; for all numeric columns, or by column name.
        bins: without cuts, the number of classes of about equal counts.
        replacement: released value of a class of numbers: "mean" of its values, "mid" point of its cuts, or "label".
        level: how far to go up in the hierarchy of a column; one number, or by column name. 0 leaves a column as it is. For
            categories it is the number of levels of its taxonomy (roles.taxonomies) that are cut off; without a taxonomy,
            1 joins all. For numbers it is the place in `widths`, and one more joins all.
        widths: widths of the classes of numbers at levels 1, 2, …, by column name, each a multiple of the one before.
        unit: release dates as the first day of their "week", "month", "quarter" or "year" (or "day", without the time); with
            replacement = "label" as a text such as 2024-03. Without it, dates are put into classes like numbers.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records); counts and
            means are computed over these records.
        scope: count levels and form classes over the whole file at once, or within each sub-group.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    keeps_ranks: ClassVar[bool] = True
    random: ClassVar[bool] = False
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})
    publishable: ClassVar[frozenset[str]] = frozenset(
        {"rare", "other", "cuts", "bins", "replacement", "level", "widths", "unit"}
    )
    nemesis: ClassVar[tuple[str, ...]] = ("exact_match", "interval_match", "probabilistic_linkage", "uniqueness", "rerun")

    levels: dict[str, dict[str, str]] | None = Field(default=None, description="new labels of levels, by column")
    rare: Annotated[int, Field(ge=1)] = Field(default=10, description="join levels with fewer records than this; 1: none")
    other: Annotated[str, Field(min_length=1)] = Field(default="other", description="label of the joined rare levels")
    cuts: Cuts | dict[str, Cuts] | None = Field(default=None, description="cut points between classes of numbers, ascending")
    bins: Annotated[int, Field(ge=2, le=1000)] = Field(default=10, description="number of classes if no cuts are given")
    replacement: Literal["mean", "mid", "label"] = Field(default="mean", description="released value of a class of numbers")
    level: _Level | dict[str, _Level] | None = Field(
        default=None, description="levels to go up in the hierarchy of a column; 0 leaves it as it is"
    )
    widths: dict[str, tuple[Annotated[float, Field(gt=0, le=1e300)], ...]] | None = Field(
        default=None, description="widths of classes of numbers at levels 1, 2, …, by column"
    )
    unit: Period | None = Field(default=None, description="period of which dates are released as the first day")
    scope: Literal["sub_group", "file"] = Field(
        default="file", description="count levels and form classes over the whole file, or within each sub-group"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(rare=5, bins=3, scope="sub_group"), cls(rare=1, bins=25)

    def kind_after(self, kind: str) -> str:
        return "nominal" if self.replacement == "label" else kind

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        self._check(current)
        data, notes = current, list[Note]()
        for name in current.confidential:
            column = current.table.columns[name]
            if (level := self._level(name)) is not None:
                data, said = self._up(data, name, level, original)
            elif self.unit is not None and column.dates is not None and column.kind == "number":
                data, said = self._periods(data, name, self.unit)
            else:
                data, said = self._numbers(data, name) if column.kind == "number" else self._names(data, name)
            notes += said
        return Masked(data, notes)

    def public_settings(self, kinds: Collection[str] = ("number", "nominal")) -> dict[str, Any]:
        """Settings that had an effect, for the public. Labelled classes make a categorical column; only cuts are given."""
        labelled = self.replacement == "label"
        numbers = "number" in kinds or ("date" in kinds and self.unit is None)
        unused = set() if numbers or labelled else {"cuts", "bins", "replacement"}
        if "nominal" not in kinds or labelled or self.rare == 1:
            unused |= {"rare", "other"}
        if self.cuts is not None and not isinstance(self.cuts, Mapping):
            unused.add("bins")
        return {k: v for k, v in super().public_settings(kinds).items() if k not in unused}

    def change_clause(self) -> str:
        return "differences inside a category or a class are lost, and with them some of the spread"

    def public_sentence(self) -> str:
        return "Rare or similar categories of confidential columns were joined, and numbers were put into classes."

    def _check(self, data: Microdata) -> None:
        """Raise an error if a setting refers to a column of the wrong kind, or to none."""
        kinds = {n: data.table.columns[n].kind for n in data.confidential}
        for field, kind, given in (("levels", "nominal", self.levels), ("cuts", "number", self.cuts)):
            known = [n for n, k in kinds.items() if k == kind]
            for name in given if isinstance(given, Mapping) else ():
                if name not in known:
                    near = nearest_names(name, known)
                    raise MaskError(f"recoding.{field}: {name!r} is not a {kind} column of this step; {near}")
        by_column: tuple[tuple[str, Any], ...] = (("level", self.level), ("widths", self.widths))
        for field, stated in by_column:
            for name in stated if isinstance(stated, Mapping) else ():
                if name not in kinds:
                    raise MaskError(f"recoding.{field}: {name!r} is not a column of this step; {nearest_names(name, kinds)}")
        if self.unit is not None and not any(data.table.columns[n].dates for n in kinds):
            raise MaskError("recoding.unit: no column of this step contains dates. Leave unit out, or state how dates are "
                            "written (dates = …).")
        if self.where is not None and self.replacement == "label" and "number" in kinds.values():
            raise MaskError(
                "recoding: where selects some records, but a column cannot hold both numbers and labels of classes. Use "
                "replacement = \"mean\" or \"mid\", or recode all records."
            )

    def _level(self, name: str) -> int | None:
        """The level of a column; None if it is recoded in another way."""
        return self.level.get(name) if isinstance(self.level, Mapping) else self.level

    def _up(self, data: Microdata, name: str, level: int, original: Microdata) -> tuple[Microdata, list[Note]]:
        """A column at a level of its hierarchy."""
        column = data.table.columns[name]
        ladder = ladder_of(data, name, self.widths or {}, original.roles.taxonomies)
        if level > ladder.height:
            raise MaskError(f"recoding.level: {name!r} has levels 0 to {ladder.height}, got {level}.")
        if level == 0:
            return data, [Note(f"{name} is released as it is: its level is 0")]
        if isinstance(ladder, CategoryLadder):
            new = ladder.labels(column.levels, level)
            made, codes = recode_levels(column, [new] * len(data.groups))
            after = map_rows(data, lambda g, b: {name: codes[g][b[name]]}, [name], [made])
            return after, [Note(f"{name} is at level {level} of {ladder.height}: {len(set(new))} of {len(column.levels)} "
                                "categories remain")]
        low, high = range_of_values(data, name)
        cuts = ladder.cuts(low, high, level) if low <= high else ()
        if cuts:
            return self._numbers(data, name, cuts)
        if self.replacement != "label":
            raise MaskError(f"recoding.level: level {level} of {name!r} joins all its values. Use replacement = \"label\", or "
                            "a lower level.")
        one = Column(name, "nominal", levels=(ALL_VALUES,))
        after = map_rows(data, lambda g, b: {name: np.where(np.isnan(b[name]), -1, 0)}, [name], [one])
        return after, [Note(f"all values of {name} are in one class")]

    def _names(self, data: Microdata, name: str) -> tuple[Microdata, list[Note]]:
        column = data.table.columns[name]
        mapped = rename_levels(column, (self.levels or {}).get(name, {}), "recoding.levels")
        counts = level_counts(data, name)
        new = [
            without_rare(mapped, c, self.rare, self.other, f"recoding: {name!r} in ({data.groups.name(g)})")
            if self.rare > 1 and c.sum() else mapped
            for g, c in enumerate(counts)
        ]
        moved = sum(
            int(sum(c[i] for i, (a, b) in enumerate(zip(column.levels, after, strict=True)) if a != b))
            for c, after in zip(counts, new, strict=True)
        )
        there = sum(int(c.sum()) for c in counts)
        if not moved:
            rule = f"no level has fewer than {self.rare} records" if self.rare > 1 else "no level is listed"
            return data, [Note(f"{name} is released as it is: {rule}", "warning")] if there else []
        made, codes = recode_levels(column, new)
        after = map_rows(data, lambda g, b: {name: codes[g][b[name]]}, [name], [made])
        left = len({v for group, c in zip(new, counts, strict=True) for v, k in zip(group, c, strict=True) if k})
        return after, [Note(f"{moved:,} of {there:,} values of {name} get another level; {left} levels remain")]

    def _periods(self, data: Microdata, name: str, unit: Period) -> tuple[Microdata, list[Note]]:
        """Dates as the first day of their period, or as its name."""
        column = data.table.columns[name]

        def count(group: int, block: Block) -> dict[float, int]:
            found, times = np.unique(first_day(block[name], unit), return_counts=True)
            return {float(d): int(n) for d, n in zip(found, times, strict=True) if not np.isnan(d)}

        counted = reduce_groups(as_one_group(data), [name], count,
                                lambda a, b: {d: a.get(d, 0) + b.get(d, 0) for d in a | b})[0]
        if not counted:
            return data, []
        days = np.array(sorted(counted))
        if self.replacement == "label":
            made = Column(name, "nominal", levels=tuple(period_name(d, unit) for d in days))

            def label(group: int, block: Block) -> Mapping[str, Array]:
                first = first_day(block[name], unit)
                return {name: np.where(np.isnan(first), -1, np.searchsorted(days, np.nan_to_num(first)))}

            after = map_rows(data, label, [name], [made])
        else:
            after = map_rows(data, lambda g, b: {name: first_day(b[name], unit)}, [name], [column])
        least = min(counted.values())
        said = f"values of {name} are in {len(counted):,} {unit}s; the smallest number of values in one is {least:,}"
        return after, [Note(said, "warning" if least < SHARED_BY else "information")]

    def _numbers(self, data: Microdata, name: str, cuts: Sequence[float] | None = None) -> tuple[Microdata, list[Note]]:
        if cuts is None:
            given = self.cuts.get(name) if isinstance(self.cuts, Mapping) else self.cuts
            cuts = in_days("recoding.cuts", given, {name: data.table.columns[name]})
        weight = data.roles.weight if self.replacement == "mean" else None
        if cuts is not None and (not cuts or any(a >= b for a, b in pairwise(cuts))):
            raise MaskError(f"recoding.cuts: cuts for {name!r} do not ascend. Give at least one, each above the one before.")
        found = by_cuts(data, name, cuts, weight) if cuts else by_counts(data, name, self.bins, weight)
        if not found.count.any():
            return data, []
        values, column = self._values(found, data.table.columns[name], cuts)

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            at = block[interval_name(name)]
            gone = np.isnan(at)
            new = values[group][np.where(gone, 0, at).astype(np.int64)]
            return {name: np.where(gone, -1 if column.kind == "nominal" else np.nan, new)}

        after = map_rows(found.data, mask_block, [interval_name(name)], [column])
        used = (found.count > 0).sum(axis=1)
        some = f"{used.min()}" if used.min() == used.max() else f"{used.min()} to {used.max()}"
        return after, [Note(f"values of {name} are in {some} classes of {found.count[found.count > 0].min():,} or more values")]

    def _values(self, found: Classes, column: Column, cuts: Sequence[float] | None) -> tuple[Array, Column]:
        """Sub-groups × classes: the released value of each class, and the new column."""
        count, name = found.count, column.name
        if self.replacement == "label":
            if cuts:
                made = Column(name, "nominal", levels=_class_names(cuts, column))
                return np.tile(np.arange(count.shape[1]), (len(count), 1)), made
            used = (count > 0).sum(axis=1)
            labels = list(dict.fromkeys(f"{i + 1} of {m}" for m in sorted(set(used.tolist())) for i in range(m)))
            codes = [[labels.index(f"{i + 1} of {m}") if i < m else -1 for i in range(count.shape[1])] for m in used.tolist()]
            return np.array(codes), Column(name, "nominal", levels=tuple(labels))
        if self.replacement == "mean":
            few = (count > 0) & (count < SHARED_BY)
            if few.any():
                raise MaskError(
                    f"recoding: {int(few.sum())} classes of {name!r} have fewer than {SHARED_BY} values, which their "
                    "mean would disclose. Use fewer classes or cuts, replacement = \"label\", or scope = \"file\"."
                )
            return found.mean, replace(column, integer=False)
        if cuts is None:
            raise MaskError(f"recoding: replacement = \"mid\" needs cuts, but {name!r} has none. Give cuts, or use \"mean\".")
        outside = int(count[:, 0].sum() + count[:, -1].sum())
        if outside:
            raise MaskError(
                f"recoding: {outside:,} values of {name!r} lie below the first cut, or at or above the last, where a class has "
                "no midpoint. Add outer cuts, or use \"mean\" or \"label\"."
            )
        middle = (np.array(cuts[1:]) + np.array(cuts[:-1])) / 2
        return np.tile([np.nan, *middle, np.nan], (len(count), 1)), replace(column, integer=False)


def _class_names(cuts: Sequence[float], column: Column) -> tuple[str, ...]:
    """Labels of the classes between cut points, which are dates in a column of dates."""
    return interval_names(cuts if column.dates is None else [column.dates.text(c) for c in cuts])
