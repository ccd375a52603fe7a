"""Values of one column that the records of a cell share: how well a release tells them, and the figures of a score.

For categories, an error is 1 if the prediction is wrong and 0 if it is right, and it is 1 without any prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.data.score import Row, Rows
from larvatus.data.sub_groups import Groups
from larvatus.stats.estimates.cell_predictions import FEWEST_CELLS
from larvatus.stats.estimates.shared_cells import Cells

_SIZES = ((2, 2), (3, 9), (10, 99), (100, None))


@dataclass(frozen=True, slots=True)
class Sharing:
    """One column with values that records share: its cells, and the errors with the release, without it, and by S alone."""

    name: str
    given: tuple[str, ...]
    cells: Cells
    shared: Bools
    weight: Floats
    rule: str
    error: Floats
    mean_error: Floats
    s_error: Floats
    chance: float
    near: float

    @property
    def value(self) -> float:
        return share_of_variance(self.weight, self.error, self.mean_error)

    @property
    def s_alone(self) -> float:
        return share_of_variance(self.weight, self.s_error, self.mean_error)

    def of_records(self, per_cell: Floats) -> Floats:
        """A figure of the cells for each record; NaN for records in other cells."""
        full = np.full(len(self.cells), np.nan)
        full[self.shared] = per_cell
        return np.asarray(full[self.cells.of_record])

    def is_close(self, error: Floats) -> Floats:
        """1 for each cell whose value is found to within a tenth of a standard deviation, else 0."""
        return np.asarray(np.abs(error) <= self.near).astype(np.float64)

    def interval(self) -> tuple[float, float] | None:
        return mean_interval([self])

    def spread(self) -> float:
        """The jackknife standard error of the value, with the cells as units; at least that of a normal law.

        Chance is added, because the choice of the best rule has luck in it.
        """
        part, total = self.weight * self.error**2, self.weight * self.mean_error**2
        k, r2, whole = len(part), self.value, float(total.sum())
        if whole <= 0:
            return self.chance
        rest = np.maximum(whole - total, 1e-12 * whole)
        away = (part.sum() - part) / rest - part.sum() / whole
        normal = (4 * r2 / k + 1 / k**2) * (1 - r2) ** 2
        return float(np.sqrt(max((1 - 1 / k) * float((away**2).sum()), normal) + (self.chance * (1 - r2)) ** 2))

    def note(self) -> str:
        """What the figures leave out; empty if nothing."""
        return ""

    def above_baseline(self) -> tuple[bool, float, float, float]:
        """For the choice between columns of S: by the lower end of the interval, then by the value and the records."""
        interval, base = self.interval(), max(self.chance, self.s_alone)
        low = interval[0] if interval else 0.0
        return interval is not None, max(low - base, 0.0), max(self.value - base, 0.0), float(self.weight.sum())

    def row(self) -> Row:
        close, by_s = (float(np.average(self.is_close(e), weights=self.weight)) for e in (self.error, self.s_error))
        return {"variable": self.name, "equal": ", ".join(self.given), "cells": int(self.shared.sum()),
                "records": int(self.weight.sum()), "rule": self.rule, "value": self.value, "found": close,
                "found by S alone": by_s}


def share_of_variance(weight: Floats, error: Floats, without: Floats) -> float:
    """1 − Σ w e² / Σ w d², between 0 and 1."""
    total = float((weight * without**2).sum())
    return float(np.clip(1 - float((weight * error**2).sum()) / total, 0.0, 1.0)) if total > 0 else 0.0


def mean_interval(found: Sequence[Sharing]) -> tuple[float, float] | None:
    """The interval of the mean over columns, whose errors are taken to move together; none if a column has few cells."""
    from scipy.special import stdtrit

    if not found:
        return 0.0, 0.0
    fewest = min(len(f.weight) for f in found)
    if fewest < FEWEST_CELLS:
        return None
    value = mean_figure([f.value for f in found])
    half = float(stdtrit(fewest - 1, 0.975)) * mean_figure([f.spread() for f in found])
    return max(0.0, value - half), min(1.0, value + half)


def sharing_by_group(groups: Groups, group: Ints, found: Sequence[Sharing]) -> Rows:
    """The figures in each sub-group, from its records in cells with shared values; 0 if it has none."""
    figures: dict[str, list[Floats]] = {"value": [], "s_alone": []}
    for f in found:
        without = _sums(group, f.of_records(f.mean_error**2), len(groups))
        for figure, error in (("value", f.error), ("s_alone", f.s_error)):
            left = _sums(group, f.of_records(error**2), len(groups))
            share = 1 - np.divide(left, without, out=np.ones_like(left), where=without > 0)
            figures[figure].append(np.where(without > 0, np.clip(share, 0.0, 1.0), np.nan))
    value, s_alone = (_mean_present(v, len(groups)) for v in figures.values())
    return Rows.of(
        {"sub_group": groups.name(g), "records": size, "value": float(value[g]),
         "chance": mean_figure([f.chance for f in found]), "s_alone": float(s_alone[g])}
        for g, size in enumerate(groups.sizes)
    )


def sharing_by_size(found: Sequence[Sharing]) -> Rows:
    """By number of records in a cell: the cells of all columns, the mean of their values, and the share found."""
    rows: list[Row] = []
    for low, high in _SIZES:
        parts = [(f, (f.weight >= low) & (f.weight <= (high or np.inf))) for f in found]
        parts = [(f, p) for f, p in parts if p.any()]
        if parts:
            size = f"{low}" if low == high else f"{low} to {high}" if high else f"{low} or more"
            rows.append({
                "records": size, "cells": sum(int(p.sum()) for _, p in parts),
                "value": mean_figure([share_of_variance(f.weight[p], f.error[p], f.mean_error[p]) for f, p in parts]),
                "found": mean_figure([float(np.average(f.is_close(f.error)[p], weights=f.weight[p])) for f, p in parts]),
            })
    return Rows.of(rows)


def sharing_by_record(found: Sequence[Sharing], n: int) -> Floats | None:
    """For each record, the share of its shared values found to within the tolerance; NaN if it shares none."""
    return _mean_present([f.of_records(f.is_close(f.error)) for f in found], n, np.nan) if found else None


def _sums(group: Ints, values: Floats, groups: int) -> Floats:
    return np.asarray(np.bincount(group, weights=np.nan_to_num(values), minlength=groups))


def _mean_present(values: Sequence[Floats], n: int, otherwise: float = 0.0) -> Floats:
    """The mean of the values that are not NaN, place by place."""
    table = np.array(values).reshape(len(values), n)
    count = (~np.isnan(table)).sum(axis=0)
    return np.asarray(np.where(count > 0, np.nansum(table, axis=0) / np.maximum(count, 1), otherwise))


def mean_figure(values: Sequence[float]) -> float:
    """The mean; 0 if there is nothing to average."""
    return float(np.mean(values)) if len(values) else 0.0
