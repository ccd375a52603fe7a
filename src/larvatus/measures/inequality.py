"""Relative change of the Gini index and of the ratio P90/P10, by period if there are periods (Winkler 2007: 004).

    loss of an index = |b − a| / max(|a|, |b|),  with a its value in the original and b in the release
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Floats
from larvatus.core.errors import MaskError, UtilityError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import by_period, common_numbers
from larvatus.data.contracts import Block, Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.data.sub_groups import GroupLabel
from larvatus.data.verbs import as_one_group, fold_in_order, reduce_groups
from larvatus.data.weights import weight_column

if TYPE_CHECKING:
    from larvatus.stats.estimates.lorenz import Lorenz

INDICES = ("gini", "p90_p10")


class Inequality(Measure):
    """Compare the Gini index and the ratio of the 90th to the 10th percentile, column by column.

    The loss of an index is its absolute change divided by the larger of the two figures. The loss of a column is the mean
    over both indices; the value is the mean over columns. The Gini index needs a positive total and, in the original, at
    most a tenth of negative values (with negative values it may exceed 1). P90/P10 needs a positive 10th percentile. An
    index that is undefined in the original is not counted; one that is undefined only in the release is lost, with a loss
    of 1. Missing values are left out. A percentile is the smallest value that reaches its share.

    Look at it if users study income distributions. It says nothing about relations between columns.

    Parameters:
        columns: columns to compare (default: all numeric confidential columns; dates have no such index).
        period: column with the period; indices are then compared in each period, and losses are means over periods.
        weighted: use the survey weight.
    """

    columns: tuple[str, ...] | None = Field(
        default=None, description="columns to compare (default: all numeric confidential columns)"
    )
    period: str | None = Field(default=None, description="column with the period; indices are compared in each period")
    weighted: bool = Field(default=False, description="use the survey weight")

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        return [p for p in super().parts(original, released) if original.table.columns[p[0]].dates is None]

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        released = release.data
        names = tuple(n for n in common_numbers(original, released) if original.table.columns[n].dates is None)
        if not names:
            raise UtilityError("the release has no numeric confidential column apart from dates.", subject="inequality")
        for name in self.columns or ():
            if name not in names:
                raise UtilityError(f"{name!r} is not a masked numeric column; {nearest_names(name, names)}",
                                   subject="inequality")
        names = self.columns or names
        weights = [weight_column(d, self.name(), UtilityError, zeros=True) if self.weighted else None
                   for d in (original, released)]
        files = list(zip((original, released), weights, strict=True))
        whole = [self._in_periods(as_one_group(data), names, weight) for data, weight in files]
        series = [_row(name, label, *(w[name].get(label) for w in whole)) for name in names for label in whole[0][name]]
        rows = [_over_periods(name, [r for r in series if r["variable"] == name]) for name in names]
        inside = [self._in_periods(data, names, weight) for data, weight in files]
        groups: list[Row] = []
        for g, label in enumerate(original.groups.labels):
            if label not in released.groups.labels:
                continue
            own = [
                _over_periods(name, [_row(name, found, *(i[name].get(found) for i in inside))
                                     for found in inside[0][name] if _part(found, label, self.period)])
                for name in names
            ]
            groups.append({
                "sub_group": original.groups.name(g), "records": original.groups.sizes[g], "value": mean_of(own),
            })
        return Score(
            self.name(), "loss", mean_of(rows), "relative change of the Gini index and of P90/P10, mean over columns",
            self.settings(), by_variable=Rows.of(rows), by_group=Rows.of(groups), notes=tuple(_notes(names, series)),
            details={"series": Rows.of({**r, "period": str(r["period"])} for r in series)} if self.period else {},
        )

    def _in_periods(self, data: Microdata, names: Sequence[str], weight: str | None) -> dict[str, dict[GroupLabel, Lorenz]]:
        if self.period is not None:
            try:
                data = by_period(data, self.period, f"{self.name()}.period")
            except MaskError as error:
                raise UtilityError(str(error)) from None
        return {name: _lorenz(data, name, weight) for name in names}


class _Sums(NamedTuple):
    weight: float
    records: int

    def joined(self, other: _Sums) -> _Sums:
        return _Sums(self.weight + other.weight, self.records + other.records)


def _lorenz(data: Microdata, name: str, weight: str | None) -> dict[GroupLabel, Lorenz]:
    """The Lorenz curve of a column in every group that has a value."""
    from larvatus.stats.estimates.lorenz import Lorenz

    used = list(dict.fromkeys([name, weight] if weight else [name]))

    def heavy(block: Block) -> Floats:
        return np.asarray(block[weight] if weight else np.ones(len(block[name])), dtype=np.float64)

    def sums(group: int, block: Block) -> _Sums:
        there = ~np.isnan(block[name])
        return _Sums(float(heavy(block)[there].sum()), int(there.sum()))

    whole = reduce_groups(data, used, sums, _Sums.joined)

    def step(group: int, carry: Lorenz, block: Block) -> Lorenz:
        return carry.after(block[name], heavy(block), whole[group].weight)

    found = fold_in_order(data, name, used, Lorenz(), step)
    return {label: f for label, f, w in zip(data.groups.labels, found, whole, strict=True) if w.records}


def _part(found: GroupLabel, label: GroupLabel, period: str | None) -> bool:
    """Whether a group (of a period, if there are periods) is part of a sub-group."""
    return found == label if period is None else found[:-1] == label


def _row(name: str, label: GroupLabel, before: Lorenz | None, after: Lorenz | None) -> Row:
    """Both indices in both files, and the mean of their losses; no loss if the original has neither index."""
    was = (np.nan, np.nan) if before is None or before.low < 0 else (before.gini, before.ratio)
    now = (after.gini, after.ratio) if after is not None else (np.nan, np.nan)
    losses = [_loss(a, b) for a, b in zip(was, now, strict=True) if not np.isnan(a)]
    shown = {
        f"{index}_{file}": None if np.isnan(v) else float(v)
        for i, index in enumerate(INDICES) for file, v in (("original", was[i]), ("released", now[i]))
    }
    level = label[-1] if label else None
    return {"variable": name, "period": level, "loss": float(np.mean(losses)) if losses else None, **shown}


def _loss(before: float, after: float) -> float:
    if np.isnan(after):
        return 1.0
    largest = max(abs(before), abs(after))
    return abs(after - before) / largest if largest > 0 else 0.0


def _over_periods(name: str, rows: Sequence[Row]) -> Row:
    """The mean loss over periods; with one period, also the indices."""
    value = mean_of(rows)
    head: Row = {"variable": name, "loss": None if np.isnan(value) else value}
    return {**head, **{k: v for k, v in rows[0].items() if k not in ("variable", "period", "loss")}} if len(rows) == 1 else head


def _notes(names: Sequence[str], series: Sequence[Row]) -> list[str]:
    """Notes on columns without an index, and on columns that lost one."""
    titles = (
        "Gini index (the total is zero or less, or more than a tenth of the values are negative)",
        "P90/P10 (the 10th percentile is zero or less)",
    )
    out = []
    for index, title in zip(INDICES, titles, strict=True):
        none = [n for n in names if any(r[f"{index}_original"] is None for r in series if r["variable"] == n)]
        lost = [n for n in names if any(
            r[f"{index}_original"] is not None and r[f"{index}_released"] is None for r in series if r["variable"] == n
        )]
        out += [f"no {title} in the original: {', '.join(none)}"] if none else []
        out += [f"{title.partition(' (')[0]} lost in the release: {', '.join(lost)}"] if lost else []
    return out
