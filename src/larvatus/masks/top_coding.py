"""Cut the tail of every confidential column: replace values beyond a bound by the bound or by their mean (Winkler 2007: 004).

    y = b  if x > b,  else x            (replacement = "bound")
    y = mean(x | x > b)  if x > b,  else x      (replacement = "mean")

and likewise below a lower bound. With a period column the same share is cut in every period (Burkhauser and others 2007).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import by_period
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.dates.date_settings import NumberOrDate, in_days
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.per_column import per_column
from larvatus.data.verbs import count_present, map_rows
from larvatus.masks.coarsening.tails import SHARED_BY, Tail, cut_name, largest_shares, mark_by_bounds, mark_by_shares, tail_of

_Share = Annotated[float, Field(gt=0, lt=0.5)]
_REPLACED_BY = {"bound": "a bound", "mean": "their mean"}
_SIDES: Mapping[str, tuple[int, ...]] = {"top": (1,), "bottom": (-1,), "both": (1, -1)}
USUAL_TAIL = 0.03
FEWEST_LISTED, _MOST_LISTED = 10, 30


class TopCoding(Mask):
    """Replace the largest values of each column, a stated share of them or all above a bound, by one value.

    Replacement by the mean preserves the total of every column (with a survey weight, the weighted total, unless weighted =
    false). Replacement by the bound lowers it. Values below the cut and their order do not change. Spread and inequality
    shrink, and relations among large values are lost. An intruder still knows which records are in the tail, and every other
    value is released unchanged.

    Use it as the last step, if extreme values identify records. Do not use it alone: all values below the bound are original.

    Parameters:
        tail: share of the values to cut at each side without a bound; one value, a list in role order, or by column name
            (default: 0.03 if no bound is given).
        side: which tail is cut: "top", "bottom" or "both"; a bound always cuts its own side.
        bound: replace all values above this number, or all dates after this date ("1940-01-01"), instead of a tail share; one
            value, a list, or by column name.
        lower_bound: replace all values below this number, or all dates before this date, instead of a tail share.
        replacement: "bound" uses the bound (for a tail share: the outermost value not cut), "mean" the mean of the values cut.
        weighted: weight the mean by the survey weight (default: true if there is a weight and replacement = "mean").
        period: a column of periods; the same share is cut in each: the tail, or the largest share that a bound cuts in any.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records); shares and
            means are computed over these records.
        scope: take the tails of the whole file at once, or of each sub-group.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    keeps_ranks: ClassVar[bool] = True
    random: ClassVar[bool] = False
    publishable: ClassVar[frozenset[str]] = frozenset({"tail", "side", "replacement", "period"})
    nemesis: ClassVar[tuple[str, ...]] = ("rerun", "interval_match", "nearest_record", "aggregate_disclosure")

    tail: _Share | tuple[_Share, ...] | dict[str, _Share] | None = Field(
        default=None, description="share of the values to cut at each side (default: 0.03 if no bound is given)"
    )
    side: Literal["top", "bottom", "both"] = Field(default="top", description="which tail is cut")
    bound: NumberOrDate | tuple[NumberOrDate, ...] | dict[str, NumberOrDate] | None = Field(
        default=None, description="replace all values above this number or date, instead of a tail share"
    )
    lower_bound: NumberOrDate | tuple[NumberOrDate, ...] | dict[str, NumberOrDate] | None = Field(
        default=None, description="replace all values below this number or date, instead of a tail share"
    )
    replacement: Literal["bound", "mean"] = Field(
        default="bound", description="replace the values cut by the bound, or by their mean"
    )
    weighted: bool | None = Field(
        default=None, description="weight the mean of the values cut by the survey weight (default: if there is one)"
    )
    period: str | None = Field(default=None, description="a column of periods; the same share is cut in each")
    scope: Literal["sub_group", "file"] = Field(
        default="file", description="take the tails of the whole file at once, or of each sub-group"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        bounded = {s for s, v in ((1, self.bound), (-1, self.lower_bound)) if v is not None}
        free = [s for s in _SIDES[self.side] if s not in bounded]
        if bounded and self.tail is not None and not free:
            raise ValueError(
                "tail and a bound are given for the same side. Leave one of them out, or set side to the other side for "
                "tail to cut"
            )
        if bounded and self.tail is None and free and self.side != "top":
            lacking = "bound" if free[0] == 1 else "lower_bound"
            raise ValueError(
                f"side = \"{self.side}\", but one side has neither a bound nor a tail. Give {lacking} or tail too, or leave "
                "side out"
            )
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(), cls(tail=0.1, side="both", replacement="mean"), cls(bound=20_000, replacement="mean"),
            cls(tail=0.1, scope="sub_group"), cls(bound=20_000, tail=0.05, side="both"),
        )

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        data = current if self.period is None else by_period(current, self.period, "top_coding.period")
        marked, sides = self._marked(data, names)
        weight = self._weight(current)
        new, replaced, notes = {}, np.zeros(len(names), dtype=np.int64), []
        for side in sides:
            tail = tail_of(marked, names, side, weight)
            _check_weights(marked, names, tail, weight)
            new[side], cut = self._values(marked, names, side, tail)
            replaced += cut.sum(axis=0)
            notes += _left(marked, names, side, tail, cut)
            notes += _tail_notes(marked, names, side, tail, self._edge(marked, names, side, tail), cut, weight)
        if not replaced.any():
            raise MaskError(
                "top_coding: no value lies beyond the bounds, or the outermost values are all equal, so nothing would be "
                "masked. Cut a larger tail, or set a bound inside the values."
            )

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            out = {}
            for j, n in enumerate(names):
                out[n] = block[n].copy()
                for side, values in new.items():
                    if not np.isnan(values[group, j]):
                        out[n][block[cut_name(n)] == side] = values[group, j]
            return out

        made = [replace(current.table.columns[n], integer=False) for n in names] if self.replacement == "mean" else []
        after = map_rows(marked, mask_block, [*names, *map(cut_name, names)], made)
        return Masked(after, [*self._said(current, names, replaced, weight), *notes])

    def change_clause(self) -> str:
        total = "" if self.replacement == "mean" else "; totals may have moved"
        return f"tails are cut: spread and inequality are smaller, and relations among values of the tails are lost{total}"

    def public_sentence(self) -> str:
        what = {"top": "largest", "bottom": "smallest", "both": "largest and smallest"}[self._cut()]
        return f"The {what} values of each confidential column were replaced by {_REPLACED_BY[self.replacement]}."

    def public_settings(self, kinds: Collection[str] = ("number", "nominal")) -> dict[str, Any]:
        settings = {**super().public_settings(kinds), "side": self._cut()}
        settings.pop("tail", None)
        return {**settings, "tail": next(iter(self._tails().values()))} if self._tails() else settings

    def _tails(self) -> dict[int, Any]:
        """The share to cut, by side, for sides without a bound."""
        bounded = {s for s, v in ((1, self.bound), (-1, self.lower_bound)) if v is not None}
        tail = USUAL_TAIL if self.tail is None and not bounded else self.tail
        return {s: tail for s in _SIDES[self.side] if s not in bounded and tail is not None}

    def _cut(self) -> str:
        """The sides that are cut, by a bound or a tail share."""
        top, bottom = self.bound is not None or 1 in self._tails(), self.lower_bound is not None or -1 in self._tails()
        return "both" if top and bottom else "top" if top else "bottom"

    def _marked(self, data: Microdata, names: Sequence[str]) -> tuple[Microdata, tuple[int, ...]]:
        """The data with a mark for every value to be cut, and the sides that are cut."""
        given = ((1, "bound", self.bound), (-1, "lower_bound", self.lower_bound))
        columns = {n: data.table.columns[n] for n in names}
        bounds = {s: per_column(f"top_coding.{field}", in_days(f"top_coding.{field}", v, columns), names)
                  for s, field, v in given if v is not None}
        if len(bounds) == 2 and (bounds[-1] >= bounds[1]).any():
            name = names[int(np.argmax(bounds[-1] >= bounds[1]))]
            raise MaskError(f"top_coding: lower_bound is not below bound for {name!r}. Choose a smaller lower_bound.")
        shares = {s: per_column("top_coding.tail", v, names) for s, v in self._tails().items()}
        shared = self.replacement == "mean"
        if self.period is not None:
            shares = {**largest_shares(data, names, bounds), **shares}
            return mark_by_shares(data, names, shares, shared), tuple(shares)
        marked = mark_by_bounds(data, names, bounds) if bounds else data
        return mark_by_shares(marked, names, shares, shared) if shares else marked, (*bounds, *shares)

    def _values(
        self, data: Microdata, names: Sequence[str], side: int, tail: Tail
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The replacement value of each tail (NaN if the tail is not cut), and how many values it replaces."""
        if self.replacement == "mean":
            few = (tail.count > 0) & (tail.shared < SHARED_BY)
            for g, j in zip(*np.nonzero(few), strict=True):
                raise MaskError(
                    f"top_coding: the mean would replace only {tail.shared[g, j]} values of {names[j]!r} in "
                    f"({data.groups.name(int(g))}) and so disclose them; at least {SHARED_BY} are needed. Cut "
                    "more, use scope = \"file\", or replacement = \"bound\"."
                )
            value = np.where(tail.alike, np.nan, tail.mean)
        else:
            value = self._edge(data, names, side, tail)
        value = np.where(tail.count > 0, value, np.nan)
        return value, np.where(np.isnan(value), 0, tail.count)

    def _edge(self, data: Microdata, names: Sequence[str], side: int, tail: Tail) -> NDArray[np.float64]:
        """The bound of each tail: the one given, else the outermost value not cut."""
        field = in_days("top_coding.bound", self.bound if side == 1 else self.lower_bound,
                        {n: data.table.columns[n] for n in names})
        given = per_column("top_coding.bound", field, names) if field is not None and self.period is None else np.nan
        return np.where(np.isnan(given), tail.kept, given)

    def _weight(self, data: Microdata) -> str | None:
        """The survey weight for means, or None: used if asked for, or by default if there is one."""
        name = data.roles.weight
        if not (self.weighted or (self.weighted is None and name is not None and self.replacement == "mean")):
            return None
        if name is None or name not in data.table.columns:
            raise MaskError(
                "top_coding: weighted = true, but no column has the role weight. Name one (roles.weight), or remove weighted."
            )
        if data.table.columns[name].kind != "number":
            raise MaskError(f"top_coding: the weight {name!r} is not numeric. Name another column, or set weighted = false.")
        return name

    def _said(self, data: Microdata, names: Sequence[str], replaced: Array, weight: str | None) -> list[Note]:
        there = count_present(data).sum(axis=0)
        kept = "; the weighted total is preserved, the unweighted total is not" if weight else ""
        if data.roles.weight is not None and not weight:
            kept = "; the unweighted total is preserved, the weighted total is not"
        what = f"their {'weighted ' if weight else ''}mean{kept}" if self.replacement == "mean" else "a bound"
        return [
            Note(f"{r:,} of {n:,} values of {name} are replaced by {what}")
            for name, r, n in zip(names, replaced.tolist(), there.tolist(), strict=True) if r
        ]


def _check_weights(data: Microdata, names: Sequence[str], tail: Tail, weight: str | None) -> None:
    """Raise an error if the weights allow no weighted mean."""
    if weight is None:
        return
    way_out = "Leave these records out, or set weighted = false."
    for g, j in zip(*np.nonzero(tail.wrong), strict=True):
        raise MaskError(
            f"top_coding: {tail.wrong[g, j]:,} weights in {weight!r} of values cut from {names[j]!r} in "
            f"({data.groups.name(int(g))}) are missing or negative. {way_out}"
        )
    for g, j in zip(*np.nonzero((tail.count > 0) & (tail.shared == 0)), strict=True):
        raise MaskError(
            f"top_coding: the weights in {weight!r} of all values cut from {names[j]!r} in ({data.groups.name(int(g))}) are "
            f"zero, so they have no weighted mean. {way_out}"
        )


def _tail_notes(
    data: Microdata, names: Sequence[str], side: int, tail: Tail, edge: Array, cut: Array, weight: str | None
) -> list[Note]:
    """Public notes on bound, count and mean of each tail of at least ten values, which users need to model the tail.

    With weights, the effective number of values must be at least ten: a mean dominated by one weight is that record's value.
    There are no notes if there are too many tails.

    The notes are promises: a later step that changes the data withdraws them, since they would disclose what it hides.
    """
    where, kind = {1: "above", -1: "below"}[side], f"mean weighted by {weight}" if weight else "mean"
    places = [(int(g), int(j)) for g, j in zip(*np.nonzero((cut > 0) & (tail.even >= FEWEST_LISTED)), strict=True)]

    def shown(j: int, value: float) -> str:
        dates = data.table.columns[names[j]].dates
        return f"{value:.10g}" if dates is None else dates.text(value)

    if len(places) > _MOST_LISTED:
        return [Note(f"the means of {len(places):,} tails are too many to list for the public")]
    return [
        Note(
            f"{cut[g, j]:,} values of {names[j]}{f' in ({data.groups.name(g)})' if len(data.groups.names) > 1 else ''} {where} "
            f"{shown(j, edge[g, j])} were replaced; their {kind} is {shown(j, tail.mean[g, j])}", public=True, promise=True,
            figures=(shown(j, edge[g, j]), shown(j, tail.mean[g, j])),
        )
        for g, j in places
    ]


def _left(data: Microdata, names: Sequence[str], side: int, tail: Tail, cut: Array) -> list[Note]:
    """Notes on tails that could not be cut: no value beyond the bound, or all values equal."""
    where = {1: "largest", -1: "smallest"}[side]
    there = count_present(data.with_confidential(names))
    notes = []
    for g, j in zip(*np.nonzero((cut == 0) & (there > 0)), strict=True):
        why = "they are all equal" if tail.count[g, j] else "none lies beyond the bound, or too many are equal"
        group = data.groups.name(int(g))
        notes.append(Note(f"the {where} values of {names[j]} in ({group}) are released as they are: {why}", "status"))
    return notes
