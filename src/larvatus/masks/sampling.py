"""Release a random sample of the records (Winkler 2007: 004).

    n' = rate · n records drawn without replacement,      w'_i = w_i · n / n'

in each sub-group or in the whole file: simple, stratified, without outliers, or redrawn until stated means hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import MaskError, nearest_names
from larvatus.core.number_format import exact_number
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Column, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.sub_groups import GroupLabel
from larvatus.data.verbs import add_ranks, as_one_group, map_rows, moments_by_group, reduce_groups, take_rows
from larvatus.masks.grouping.outlyingness import DISTANCE, with_distance

DRAW, _PLACE, _FAR = scratch("draw"), scratch("place"), scratch("distance rank")
_MOST_DRAWS = 500


class Sampling(Mask):
    """Release a random sample of the records with unchanged values.

    Every record has the same probability of being drawn, so means and relations are preserved in expectation, with larger
    errors. Rare combinations and the largest values are often lost, but an outlier that is drawn is as exposed as before. An
    intruder no longer knows whether the target is in the file. A survey weight is divided by the share of records that are
    kept.

    Use it if the file is large and analysts do not need all of it: who was sampled is then uncertain. Do not use it alone if
    the intruder knows who is in the sample: all values are original.

    Parameters:
        rate: share of the records to keep, in the whole file or, with scope = "sub_group", in each sub-group (stratified).
        outliers: share of the records that is never drawn: those farthest from the centre (Mahalanobis distance over the
            numeric columns of this step).
        hold: columns whose sample mean (for categories: share of each level) must be close to that of all records; otherwise
            the sample is redrawn.
        tolerance: how close, in standard deviations of the column.
        columns: confidential columns used to find outliers (default: all).
        where: draw only among these records and keep all others: a condition on columns, a list of record ids, or @FILE
            (default: all records).
        scope: draw from each sub-group, or from the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    keeps_ranks: ClassVar[bool] = True
    drops: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})
    publishable: ClassVar[frozenset[str]] = frozenset({"rate", "outliers", "hold", "tolerance"})
    nemesis: ClassVar[tuple[str, ...]] = ("exact_match", "uniqueness", "nearest_record", "simulated_release")

    rate: Annotated[float, Field(gt=0, lt=1)] = Field(default=0.5, description="share of the records to keep")
    outliers: Annotated[float, Field(ge=0, lt=0.5)] = Field(
        default=0.0, description="share of the records, farthest from the centre, that is never drawn"
    )
    hold: tuple[str, ...] = Field(default=(), description="columns whose mean must hold; otherwise the sample is redrawn")
    tolerance: Annotated[float, Field(gt=0, le=10)] = Field(
        default=0.05, description="how close the means must be, in standard deviations"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(rate=0.25, scope="file"), cls(outliers=0.1)

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        eligible = self._eligible(current, random)
        wanted = self._sizes(eligible.groups.sizes, random)
        if not wanted.any():
            raise MaskError(f"sampling: rate {exact_number(self.rate)} of {current.rows:,} records keeps none. Increase rate.")
        goal = self._goal(current)
        for attempt in range(_MOST_DRAWS):
            taken = _drawn(eligible, wanted, random, attempt)
            if not self.hold or _apart(taken, self.hold, goal) <= self.tolerance:
                break
        else:
            raise MaskError(
                f"sampling: in {_MOST_DRAWS} samples of {int(wanted.sum()):,} records the means of {', '.join(self.hold)} were "
                f"never all within {exact_number(self.tolerance)} standard deviations. Increase tolerance or rate, or hold "
                "fewer columns."
            )
        sizes = dict(zip(taken.groups.labels, taken.groups.sizes, strict=True))
        share = {label: sizes.get(label, 0) / n for label, n in zip(current.groups.labels, current.groups.sizes, strict=True)}
        return Masked(_reweighted(taken, share), self._notes(current, taken, share, attempt + 1))

    def change_clause(self) -> str:
        return "there are fewer records, so estimates are less precise, and rare or large values may be missing"

    def public_sentence(self) -> str:
        without = ", without the most outlying ones" if self.outliers else ""
        return f"The file is a random sample of the records{without}."

    def _eligible(self, data: Microdata, random: RecordRandom) -> Microdata:
        """The records that may be drawn."""
        names = data.numeric(data.confidential)
        if not self.outliers:
            return data
        if not names:
            raise MaskError("sampling: outliers needs a numeric confidential column. Set outliers = 0, or add one to columns.")
        far = add_ranks(with_distance(data, names), {_FAR: DISTANCE}, random)
        kept = [n - int(np.ceil(round(self.outliers * n, 9))) for n in data.groups.sizes]
        return take_rows(far, lambda g, b: b[_FAR] <= kept[g], [_FAR])

    def _sizes(self, sizes: Sequence[int], random: RecordRandom) -> NDArray[np.int64]:
        """Sample size of each sub-group: on average over secrets it is rate times the size of the sub-group."""
        start = random.uniform(np.zeros(1, dtype=np.int64), 1, purpose="sample sizes")[0, 0]
        ends = np.floor(np.round(self.rate * np.cumsum([0, *sizes]), 9) + start)
        return np.asarray(np.diff(ends), dtype=np.int64)

    def _goal(self, data: Microdata) -> dict[str, _Figures]:
        for name in self.hold:
            if name not in data.table.columns:
                raise MaskError(f"sampling.hold: no column {name!r}; {nearest_names(name, data.table.columns)}")
        return {name: _figures(data, name) for name in self.hold}

    def _notes(self, before: Microdata, after: Microdata, share: Mapping[GroupLabel, float], draws: int) -> list[Note]:
        left = f"{after.rows:,} of {before.rows:,} records are in the sample; their values are the original ones"
        notes = [Note(left, "warning")]
        weight = before.roles.weight
        notes.append(Note(
            f"{weight} was divided by the share of records kept" if weight else
            "there is no weight: divide totals of the sample by the share of records kept"
        ))
        if draws > 1:
            notes.append(Note(f"{draws} samples were drawn until the means of {', '.join(self.hold)} held"))
        gone = [before.groups.name(g) for g, label in enumerate(before.groups.labels) if not share[label]]
        if gone:
            named = "; ".join(gone[:5]) + (" …" if len(gone) > 5 else "")
            notes.append(Note(f"{len(gone)} sub-groups have no record in the sample: {named}", "warning"))
        return notes


_Figures = tuple[NDArray[np.float64], NDArray[np.float64]]


def _drawn(data: Microdata, wanted: Array, random: RecordRandom, attempt: int) -> Microdata:
    """The wanted number of records of each sub-group, those with the smallest random draws."""
    drawn = add_ranks(map_rows(
        data, lambda g, b: {DRAW: random.uniform(b.record, 1, purpose="sample", attempt=attempt)[0]}, (),
        [Column(DRAW, "number")]
    ), {_PLACE: DRAW}, random)
    return take_rows(drawn, lambda g, b: b[_PLACE] <= wanted[g], [_PLACE])


def _figures(data: Microdata, name: str) -> _Figures:
    """Mean and standard deviation of a column, or of the indicator of each level, over the whole file."""
    column = data.table.columns[name]
    if column.kind == "number":
        m = moments_by_group(as_one_group(data), [name])[0]
        return m.mean, np.sqrt(np.nan_to_num(m.variance))
    size = len(column.levels) + 1
    counts = np.sum(reduce_groups(data, [name], lambda g, b: np.bincount(b[name] + 1, minlength=size), np.add), axis=0)
    share = counts / max(counts.sum(), 1)
    return share, np.sqrt(share * (1 - share))


def _apart(data: Microdata, hold: Sequence[str], goal: Mapping[str, _Figures]) -> float:
    """The largest distance of a mean from its goal, in standard deviations; 0 for constant columns."""
    worst = 0.0
    for name in hold:
        mean, spread = goal[name]
        off = np.abs(_figures(data, name)[0] - mean)
        off = np.where(np.isnan(off) & ~np.isnan(mean), np.inf, np.nan_to_num(off))
        worst = max(worst, float(np.max(np.divide(off, spread, out=np.zeros_like(off), where=spread > 0), initial=0.0)))
    return worst


def _reweighted(data: Microdata, share: Mapping[GroupLabel, float]) -> Microdata:
    """The sample with its weight, if any, divided by the share of the sub-group that was kept."""
    weight = data.roles.weight
    if weight is None:
        return data
    if data.table.columns[weight].kind != "number":
        raise MaskError(f"sampling: the weight {weight!r} is not numeric and cannot be updated. Remove its role as weight.")
    by = [share[label] for label in data.groups.labels]
    made = replace(data.table.columns[weight], integer=False, replaced=True)
    return map_rows(data, lambda g, b: {weight: b[weight] / by[g]}, [weight], [made])
