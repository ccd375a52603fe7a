"""Cut the tail of every confidential column: values beyond a bound become the bound, or their own mean (004)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.per_column import per_column
from larvatus.data.periods import by_period
from larvatus.masks.coarsening.tails import (
    SHARED_BY,
    Tail,
    cut_name,
    largest_shares,
    marked_by_bounds,
    marked_by_shares,
    tail_of,
)

_Share = Annotated[float, Field(gt=0, lt=0.5)]
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
_REPLACED_BY = {"bound": "a bound", "mean": "their mean"}
_SIDES: Mapping[str, tuple[int, ...]] = {"top": (1,), "bottom": (-1,), "both": (1, -1)}
USUAL_TAIL = 0.03
FEWEST_TOLD, MOST_TOLD = 10, 30


class TopCoding(Mask):
    """Replace the largest values of each column, a stated share of them or all above a bound, by one value.

    With the mean as replacement the total of every column is kept (where there is a weight and unless weighted = false, the
    weighted total instead); the bound as replacement lowers it. The order of the other values and everything below the cut
    stay, spread and inequality shrink, and relations among large values are lost. An intruder still knows who was in the
    tail, and every other value leaves as it was.

    Parameters:
        tail: share of the values to cut at each side without a bound; one value, a list in role order, or by name; 0.03 where
            neither a tail nor a bound is given.
        side: which tail is cut: "top", "bottom" or "both"; a bound cuts its own side whatever this says.
        bound: replace all values above this number, in place of a tail share; one value, a list, or by name.
        lower_bound: replace all values below this number, in place of a tail share.
        replacement: "bound" puts the bound (of a tail share: the outermost value kept), "mean" the mean of what it replaces.
        weighted: weigh the mean by the survey weight; done where a weight has its role and the mean is put in place.
        period: a column of periods; the same share is cut in each: the tail, or the largest share that a bound cuts in any.
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, a list of record ids, or @FILE with one; shares and
            means are of these.
        scope: take the tails of the whole file at once, or of each sub-group.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    keeps_ranks: ClassVar[bool] = True
    random: ClassVar[bool] = False
    publishable: ClassVar[frozenset[str]] = frozenset({"tail", "side", "replacement", "period"})

    tail: _Share | tuple[_Share, ...] | dict[str, _Share] | None = Field(
        default=None, description="share of the values to cut at each side; 0.03 where neither tail nor bound is given"
    )
    side: Literal["top", "bottom", "both"] = Field(default="top", description="which tail is cut")
    bound: Number | tuple[Number, ...] | dict[str, Number] | None = Field(
        default=None, description="replace all values above this number, in place of a tail share"
    )
    lower_bound: Number | tuple[Number, ...] | dict[str, Number] | None = Field(
        default=None, description="replace all values below this number, in place of a tail share"
    )
    replacement: Literal["bound", "mean"] = Field(
        default="bound", description="what stands in the place of the values cut: the bound, or their mean"
    )
    weighted: bool | None = Field(
        default=None, description="weigh the mean of what is cut by the survey weight; where there is one, unless false"
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
                "tail and a bound are given for the same side. Leave one of them out, or set side to the other side, which is "
                "then cut by tail"
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
            notes += _told(marked, names, side, tail, self._edge(names, side, tail), cut, weight)
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
        after = marked.map_rows(mask_block, [*names, *map(cut_name, names)], made)
        return Masked(after, [*self._said(current, names, replaced, weight), *notes])

    def altered(self) -> str:
        total = "" if self.replacement == "mean" else "; totals may have moved"
        return f"tails are cut: spread and inequality are smaller, and relations among values of the tails are lost{total}"

    def public_sentence(self) -> str:
        what = {"top": "largest", "bottom": "smallest", "both": "largest and smallest"}[self._cut()]
        return f"The {what} values of each confidential column were replaced by {_REPLACED_BY[self.replacement]}."

    def published(self, kinds: Collection[str] = ("number", "nominal")) -> dict[str, Any]:
        told = {**super().published(kinds), "side": self._cut()}
        told.pop("tail", None)
        return {**told, "tail": next(iter(self._tails().values()))} if self._tails() else told

    def _tails(self) -> dict[int, Any]:
        """The share by which a side is cut, of sides without a bound."""
        bounded = {s for s, v in ((1, self.bound), (-1, self.lower_bound)) if v is not None}
        tail = USUAL_TAIL if self.tail is None and not bounded else self.tail
        return {s: tail for s in _SIDES[self.side] if s not in bounded and tail is not None}

    def _cut(self) -> str:
        """The sides that are cut: by a bound or a tail share."""
        top, bottom = self.bound is not None or 1 in self._tails(), self.lower_bound is not None or -1 in self._tails()
        return "both" if top and bottom else "top" if top else "bottom"

    def _marked(self, data: Microdata, names: Sequence[str]) -> tuple[Microdata, tuple[int, ...]]:
        """The data with a mark for every value to be cut, and the sides that are."""
        given = ((1, "bound", self.bound), (-1, "lower_bound", self.lower_bound))
        bounds = {s: per_column(f"top_coding.{field}", v, names) for s, field, v in given if v is not None}
        if len(bounds) == 2 and (bounds[-1] >= bounds[1]).any():
            name = names[int(np.argmax(bounds[-1] >= bounds[1]))]
            raise MaskError(f"top_coding: lower_bound is not below bound for {name!r}. Give a lower one.")
        shares = {s: per_column("top_coding.tail", v, names) for s, v in self._tails().items()}
        shared = self.replacement == "mean"
        if self.period is not None:
            shares = {**largest_shares(data, names, bounds), **shares}
            return marked_by_shares(data, names, shares, shared), tuple(shares)
        marked = marked_by_bounds(data, names, bounds) if bounds else data
        return marked_by_shares(marked, names, shares, shared) if shares else marked, (*bounds, *shares)

    def _values(
        self, data: Microdata, names: Sequence[str], side: int, tail: Tail
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """What stands in the place of each tail, NaN where it stays as it is; and how many values that replaces."""
        if self.replacement == "mean":
            few = (tail.count > 0) & (tail.shared < SHARED_BY)
            for g, j in zip(*np.nonzero(few), strict=True):
                raise MaskError(
                    f"top_coding: the mean would stand for only {tail.shared[g, j]} of the values of {names[j]!r} in "
                    f"({data.groups.name(int(g))}) and give them away; at least {SHARED_BY} are needed. Cut "
                    "more, use scope = \"file\", or replacement = \"bound\"."
                )
            value = np.where(tail.alike, np.nan, tail.mean)
        else:
            value = self._edge(names, side, tail)
        value = np.where(tail.count > 0, value, np.nan)
        return value, np.where(np.isnan(value), 0, tail.count)

    def _edge(self, names: Sequence[str], side: int, tail: Tail) -> NDArray[np.float64]:
        """Where each tail begins: at the bound that was given, else at the outermost value kept."""
        field = self.bound if side == 1 else self.lower_bound
        given = per_column("top_coding.bound", field, names) if field is not None and self.period is None else np.nan
        return np.where(np.isnan(given), tail.kept, given)

    def _weight(self, data: Microdata) -> str | None:
        """The weight of means: asked for, or there and not refused."""
        name = data.roles.weight
        if not (self.weighted or (self.weighted is None and name is not None and self.replacement == "mean")):
            return None
        if name is None or name not in data.table.columns:
            raise MaskError(
                "top_coding: weighted = true, but no column has the role weight. Name one (roles.weight), or leave it off."
            )
        if data.table.columns[name].kind != "number":
            raise MaskError(f"top_coding: the weight {name!r} does not hold numbers. Name another, or set weighted = false.")
        return name

    def _said(self, data: Microdata, names: Sequence[str], replaced: Array, weight: str | None) -> list[Note]:
        there = data.present().sum(axis=0)
        kept = "; the weighted total is kept, the plain one is not" if weight else ""
        if data.roles.weight is not None and not weight:
            kept = "; the plain total is kept, the weighted one is not"
        what = f"their {'weighted ' if weight else ''}mean{kept}" if self.replacement == "mean" else "a bound"
        return [
            Note(f"{r:,} of {n:,} values of {name} are replaced by {what}")
            for name, r, n in zip(names, replaced.tolist(), there.tolist(), strict=True) if r
        ]


def _check_weights(data: Microdata, names: Sequence[str], tail: Tail, weight: str | None) -> None:
    """Refuse weights by which no mean can be taken."""
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


def _told(
    data: Microdata, names: Sequence[str], side: int, tail: Tail, edge: Array, cut: Array, weight: str | None
) -> list[Note]:
    """Bound, number and mean of each tail of at least ten values, which users need to fill it in; few tails only.

    Weighted, they must count for ten: a mean that one large weight makes is that record's value.

    They are promises: after another step they would no longer be of what is released, and would tell what it hides.
    """
    where, kind = {1: "above", -1: "below"}[side], f"mean weighted by {weight}" if weight else "mean"
    places = [(int(g), int(j)) for g, j in zip(*np.nonzero((cut > 0) & (tail.even >= FEWEST_TOLD)), strict=True)]
    if len(places) > MOST_TOLD:
        return [Note(f"the means of {len(places):,} tails are too many to be listed for the public")]
    return [
        Note(
            f"{cut[g, j]:,} values of {names[j]}{f' in ({data.groups.name(g)})' if len(data.groups.names) > 1 else ''} {where} "
            f"{edge[g, j]:.10g} were replaced; their {kind} is {tail.mean[g, j]:.10g}", public=True, promise=True,
            figures=(f"{edge[g, j]:.10g}", f"{tail.mean[g, j]:.10g}"),
        )
        for g, j in places
    ]


def _left(data: Microdata, names: Sequence[str], side: int, tail: Tail, cut: Array) -> list[Note]:
    """Tails that could not be cut: no value beyond the bound, or none that differs from the others."""
    where = {1: "largest", -1: "smallest"}[side]
    there = data.with_confidential(names).present()
    notes = []
    for g, j in zip(*np.nonzero((cut == 0) & (there > 0)), strict=True):
        why = "they are all equal" if tail.count[g, j] else "none lies beyond the bound, or too many are equal"
        group = data.groups.name(int(g))
        notes.append(Note(f"the {where} values of {names[j]} in ({group}) are released as they are: {why}", "status"))
    return notes
