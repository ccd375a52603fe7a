"""Shift of means and standard deviations, in standard deviations of the original.

    loss of a column = √{ ½ [ ((ȳ − x̄) / s_x)² + ((s_y − s_x) / s_x)² ] }
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from larvatus.core.errors import UtilityError
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups, common_numbers
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, mean_of
from larvatus.data.verbs import moments_by_group
from larvatus.data.weights import weight_column, weighted_moments
from larvatus.stats.linear.moments import SampleMoments as Sample


class Moments(Measure):
    """Compare means and standard deviations, column by column, in the file and in each sub-group.

    The loss of a column is the root mean square of the shift of its mean and of its standard deviation, both in standard
    deviations of the original; the value is the mean over columns. The measure does not detect changes beyond these two
    moments. For each sub-group the largest shift of a mean, in standard deviations of the whole file, is also reported.

    Look at it if users publish means and standard deviations. It is 0 for models that preserve moments and nothing else.

    Parameters:
        weighted: use the survey weight; standard deviations are then those of the weighted distribution.
    """

    weighted: bool = Field(default=False, description="use the survey weight")

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        pairs = common_groups(original, release.data)
        before, after = (self._moments(data, names) for data in (original, release.data))
        rows = _variable_rows(names, Sample.total(before), Sample.total(after), self.weighted)
        dated = {n for n in names if original.table.columns[n].dates is not None}
        rows = [{**r, "unit": "days since 1970-01-01"} if r["variable"] in dated else r for r in rows]
        groups: list[Row] = []
        for name, a, b in pairs:
            inside = _variable_rows(names, before[a], after[b], self.weighted)
            groups.append({
                "sub_group": name, "records": original.groups.sizes[a], "value": mean_of(inside),
                "mean_shift": _shift(inside, rows),
            })
        return Score(
            "moments", "loss", mean_of(rows), "shift of means and standard deviations, in standard deviations",
            self.settings(), by_variable=Rows.of(rows), by_group=Rows.of(groups),
        )

    def _moments(self, data: Microdata, names: Sequence[str]) -> list[Sample]:
        if not self.weighted:
            return moments_by_group(data, names)
        return weighted_moments(data, names, weight_column(data, self.name(), UtilityError, zeros=True))


def _shift(inside: Sequence[Row], whole: Sequence[Row]) -> float | None:
    """The largest shift of a mean within a group, in standard deviations of the whole file; blank columns are skipped."""
    scale = {r["variable"]: r["sd_original"] for r in whole}
    found = ((r["mean_original"], r["mean_released"], scale[r["variable"]]) for r in inside)
    shifts = [
        abs(now - was) / (sd if sd > 0 else max(abs(was), 1.0))
        for was, now, sd in found if isinstance(was, float) and isinstance(now, float) and isinstance(sd, float)
    ]
    return max(shifts, default=None)


def _variable_rows(names: Sequence[str], before: Sample, after: Sample, weighted: bool) -> list[Row]:
    """One row per column with original values: means and standard deviations in both files, and the loss."""
    rows: list[Row] = []
    for j, name in enumerate(names):
        if before.present[j] == 0:
            continue
        mean = float(before.mean[j]), float(after.mean[j])
        sd = tuple(0.0 if m.constant[j] else float(np.sqrt((m.spread if weighted else m.variance)[j])) for m in (before, after))
        scale = sd[0] if sd[0] > 0 else max(abs(mean[0]), 1.0)
        gone = after.present[j] == 0
        loss = 1.0 if gone else float(np.hypot((mean[1] - mean[0]) / scale, (sd[1] - sd[0]) / scale) / np.sqrt(2))
        rows.append({
            "variable": name, "loss": loss, "mean_original": mean[0], "mean_released": None if gone else mean[1],
            "sd_original": sd[0], "sd_released": None if gone else sd[1],
        })
    return rows
