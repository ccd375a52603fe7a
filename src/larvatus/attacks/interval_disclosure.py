"""Count the original values that lie in a narrow interval around the released value (Domingo-Ferrer and Torra 2001).

    Success for record i and column j:  |x_ij − y_ij| ≤ w,  averaged over the columns present.
    Baselines:  chance  the share of released values y_kj of the sub-group with |x_ij − y_kj| ≤ w;
                S alone  |x_ij − x̂_ij| ≤ w  with x̂ the regression of X on S, fitted without record i.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.joined_releases import with_average
from larvatus.attacks.scoring.credits import (
    CHANCE,
    S_ALONE,
    SUCCESS,
    Credits,
    distance_from_centre,
    outlying_tenth,
    outlyingness,
    risk_score,
)
from larvatus.attacks.values.decoded_labels import with_decoded_labels
from larvatus.core.arrays import Bools, Floats
from larvatus.core.number_format import exact_number
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.alignment import common_numbers
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.design import Design, design_of
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.sub_groups import Groups
from larvatus.data.verbs import add_ranks, map_rows, reduce_groups, with_table
from larvatus.stats.linear.leave_one_out import LeaveOneOut
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.ranks.windows import WindowScale, close_limits, share_between

Window = Annotated[float, Field(gt=0, le=1)]
_STEPS = 2001
_MOST_JACKKNIFED = 20_000  # records; beyond, ranks move together by less than half a window of 1 %, as a standard error
_FIGURES = (SUCCESS, CHANCE, S_ALONE)
_FAR = scratch("far")
WindowFigures = Mapping[str, Floats]  # an array for each of _FIGURES


class IntervalDisclosure(Attack):
    """The intruder uses the released value, plus or minus a window, as an interval for the original value.

    The value is the share of original values inside the interval around their released value: a mean over the columns present
    in a record, then over records. Chance is the success of the released value of another record of the sub-group. S alone is
    the success of the prediction from S, by a regression fitted without the record. A value that does not vary counts as
    disclosed; a blanked value does not. On the scale of ranks, the interval of the value allows for ranks that move together;
    those of sub-groups and of further windows do not (docs/guides/intervals.md). Labels of classes are read as the values
    that they stand for.

    Look at it if a released value near the true one already does harm. It assumes that the record is found; look at linkage
    attacks for that.

    Parameters:
        windows: half-widths of the interval; the first decides the value.
        measured: unit of the windows: "rank" (fraction of the ranks of the sub-group), "relative" (to the released value) or
            "standard_deviation".
    """

    assumes: ClassVar[str] = (
        "The intruder already knows which released record belongs to the target, and takes the true values to lie within the "
        "window around the released ones."
    )

    windows: tuple[Window, ...] | Window = Field(default=(0.01, 0.02, 0.05, 0.1), description="half-widths of the interval")
    measured: WindowScale = Field(default="rank", description="unit of the windows")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(windows=0.05, measured="relative")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        release, decoded = with_decoded_labels(original, release, random)
        original, release = with_average(original, release)
        windows = (self.windows,) if isinstance(self.windows, float) else self.windows
        names = common_numbers(original, release.data)
        made = {figure: [f"{figure} {w}" for w in windows] for figure in _FIGURES}
        held, sums, groups = self._figures(original, release.data, names, windows, made)
        _, group, values = collect(held, [made[SUCCESS][0], _FAR])
        own, outlying = values.pop(made[SUCCESS][0]), outlying_tenth(values.pop(_FAR))
        has = ~np.isnan(own)
        success, chance, s_alone = (_matrix_of(held, made[figure], has) for figure in _FIGURES)
        del held
        credits = Credits(group[has], success, chance=chance, s_alone=s_alone, x_alone=success, outlying=outlying[has])
        score = risk_score("interval_disclosure", "share of original values close to their released value", self.settings(),
                           groups, windows, credits,
                           [*decoded,
                            *intruder.fields_without_effect("known", "keys", "file", "error", "presence", "guesses")])
        details = {name: Rows.of(_without_x_alone(r) for r in rows) for name, rows in score.details.items()}
        by_variable = Rows.of(
            _variable(n, {figure: sums[figure][:, j] for figure in _FIGURES}, windows) for j, n in enumerate(names)
        )
        return replace(score, by_record=own, by_variable=by_variable, details=details,
                       interval=self._interval(original, release.data, names, windows[0], score, int(has.sum())))

    def _figures(
        self, original: Microdata, released: Microdata, names: Sequence[str], windows: Sequence[float],
        made: Mapping[str, Sequence[str]],
    ) -> tuple[Microdata, Mapping[str, Array], Groups]:
        """Figures by record as new columns, their sums by column, and the sub-groups.

        The columns that the figures come from are as large as these; they go when this function returns.
        """
        beside = _Beside.of(original, released, names, self.measured)
        data, sums = beside.data, beside.sums(windows)
        originals = [scratch("original", n) for n in names]
        centres = outlyingness(data, originals)

        def credit(group: int, block: Block) -> Mapping[str, Array]:
            cells = beside.cells(group, block, windows)
            present = ~np.isnan(cells[SUCCESS][0])
            count = present.sum(axis=0)
            out: dict[str, Array] = {_FAR: distance_from_centre(*centres[group], block, originals)}
            for figure in _FIGURES:
                mean = np.where(present, np.nan_to_num(cells[figure]), 0.0).sum(axis=1) / np.maximum(count, 1)
                mean[:, count == 0] = np.nan
                out |= dict(zip(made[figure], mean, strict=True))
            return out

        columns = [*(n for own in made.values() for n in own), _FAR]
        return map_rows(data, credit, beside.columns, [Column(n, "number") for n in columns]), sums, data.groups

    def _interval(
        self, original: Microdata, released: Microdata, names: Sequence[str], window: float, score: Score, n: int
    ) -> tuple[float, float] | None:
        """Wilson's interval with as many records as give the variance of the value, at most n.

        Values that a mask leaves unchanged keep or lose their rank together, and so do equal values that it moves to one value,
        so that fewer than n successes are independent.
        This does not happen if the mask only permutes the values. In a large file the ranks are known well enough, and on
        another scale than ranks the records do not share anything.
        """
        from scipy.special import stdtrit

        from larvatus.stats.estimates.intervals import wilson
        from larvatus.stats.estimates.jackknife import PARTS
        from larvatus.stats.ranks.window_variance import close_share_variance, tied_share_variance

        if self.measured != "rank" or released.rows > _MOST_JACKKNIFED:
            return score.interval
        data = with_table(released, released.table.pair(original.table, {scratch("original", m): m for m in names}))
        _, group, values = collect(data, [*(scratch("original", m) for m in names), *names])
        before, after = np.array([values[scratch("original", m)] for m in names]), np.array([values[m] for m in names])
        if all(np.array_equal(a[np.lexsort((a, group))], b[np.lexsort((b, group))], equal_nan=True)
               for a, b in zip(before, after, strict=True)):
            return score.interval
        variance = max(close_share_variance(before, after, group, window),
                       tied_share_variance(before, after, group, score.value))
        spread = score.value * (1 - score.value)
        if variance * n <= spread:
            return score.interval
        return wilson(score.value, max(spread / variance, 1.0), float(stdtrit(PARTS - 1, 0.975)))


@dataclass(frozen=True, slots=True)
class _Beside:
    """Original and released values on the scale of the windows, with the two baselines: quantiles of the release, and S."""

    data: Microdata
    originals: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    scale: WindowScale
    design: Design
    sd: Floats
    grid: Sequence[Sequence[Floats]]
    present: Floats
    fits: Sequence[LeaveOneOut]

    @classmethod
    def of(cls, original: Microdata, released: Microdata, names: Sequence[str], scale: WindowScale) -> _Beside:
        p = len(names)
        originals = {scratch("original", n): n for n in names}
        data = with_table(released, released.table.pair(original.table, originals))
        before, after = list(originals), list(names)
        if scale == "rank":
            data = _positions(data, [*before, *after])
            before, after = [scratch("position", n) for n in before], [scratch("position", n) for n in after]
        design = design_of(data, data.known, frequent=True)
        columns = list(dict.fromkeys([*before, *after, *design.columns]))
        parts = reduce_groups(data, columns, _matrix([*before, *after], design), SampleMoments.merge)
        given = list(range(2 * p, 2 * p + len(design.terms)))
        fits = [LeaveOneOut.of(m, list(range(p)), given) for m in parts]
        sizes = np.array(data.groups.sizes, dtype=np.float64)[:, None]
        return cls(
            data, tuple(originals), tuple(before), tuple(after), scale, design,
            np.array([np.sqrt(np.nan_to_num(m.variance[:p])) for m in parts]),
            _released(data, after),
            np.array([m.present[p : 2 * p] for m in parts]) / sizes, fits,
        )

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.before, *self.after, *self.originals, *self.design.columns]))

    def cells(self, group: int, block: Block, windows: Sequence[float]) -> WindowFigures:
        """Success, chance and S alone, each windows × columns × records; NaN if there is no original value."""
        predicted = self.fits[group].predict(block.matrix(self.before), self.design.matrix(group, block))
        out = {figure: np.full((len(windows), len(self.before), len(block)), np.nan) for figure in _FIGURES}
        for j, (was, now) in enumerate(zip(self.before, self.after, strict=True)):
            missing, order = np.isnan(block[was]), np.argsort(block[was])
            for i, w in enumerate(windows):
                low, high = close_limits(block[was], w, self.scale, float(self.sd[group, j]))
                share = share_between(low, high, self.grid[j][group], order) * self.present[group, j]
                released, by_s = ((v >= low) & (v <= high) for v in (block[now], predicted[:, j]))
                out[SUCCESS][i, j] = np.where(missing, np.nan, released)
                out[CHANCE][i, j] = np.where(missing, np.nan, share)
                out[S_ALONE][i, j] = np.where(missing, np.nan, by_s)
        return out

    def sums(self, windows: Sequence[float]) -> WindowFigures:
        """Success, chance and S alone, each windows × columns: means over all original values present."""
        def add(group: int, block: Block) -> Floats:
            found = self.cells(group, block, windows)
            cells = np.array([found[figure] for figure in _FIGURES])
            return np.array([np.nan_to_num(cells).sum(axis=3), (~np.isnan(cells)).sum(axis=3)])

        total, count = np.sum(reduce_groups(self.data, self.columns, add, np.add), axis=0)
        mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
        return dict(zip(_FIGURES, mean, strict=True))


def _matrix_of(data: Microdata, names: Sequence[str], where: Bools) -> Floats:
    """Columns of the marked records in record order, collected one by one, so that few copies are held at once."""
    out = np.empty((len(names), int(where.sum())))
    for row, name in zip(out, names, strict=True):
        row[:] = collect(data, [name])[2][name][where]
    return out.T


def _released(data: Microdata, names: Sequence[str]) -> list[list[Floats]]:
    """Released values of each column and sub-group in order: all of them, or their quantiles in a large sub-group."""
    small = [k <= _STEPS for k in data.groups.sizes]
    grid = [list(data.table.quantiles(n, np.linspace(0, 1, _STEPS).tolist())) for n in names]
    if not any(small):
        return grid

    def values(group: int, block: Block) -> Floats:
        return block.matrix(names).T if small[group] else np.zeros((len(names), 0))

    exact = reduce_groups(data, names, values, lambda a, b: np.hstack([a, b]))
    for j in range(len(names)):
        for g in np.flatnonzero(small):
            there = exact[g][j][~np.isnan(exact[g][j])]
            grid[j][g] = np.sort(there) if len(there) else grid[j][g]
    return grid


def _positions(data: Microdata, names: Sequence[str]) -> Microdata:
    """Average ranks as fractions of the number of values present in the sub-group."""
    ranked = add_ranks(data, {scratch("position", n): n for n in names})
    count = reduce_groups(ranked, names, lambda g, b: (~np.isnan(b.matrix(names))).sum(axis=0).astype(np.float64), np.add)

    def scale(group: int, block: Block) -> Mapping[str, Array]:
        n = np.maximum(count[group], 1.0)
        return {scratch("position", name): (block[scratch("position", name)] - 0.5) / n[j] for j, name in enumerate(names)}

    return map_rows(ranked, scale, [scratch("position", n) for n in names])


def _matrix(names: Sequence[str], design: Design) -> Callable[[int, Block], SampleMoments]:
    return lambda group, block: SampleMoments.of(np.hstack([block.matrix(names), design.matrix(group, block)]))


def _without_x_alone(row: Row) -> Row:
    return {k: v for k, v in row.items() if k != "x_alone"}


def _variable(name: str, figures: WindowFigures, windows: Sequence[float]) -> Row:
    every = {f"within {exact_number(w)}": float(v) for w, v in zip(windows, figures[SUCCESS], strict=True)}
    more = every if len(windows) > 1 else {}
    return {"variable": name, "value": float(figures[SUCCESS][0]), "chance": float(figures[CHANCE][0]),
            "s_alone": float(figures[S_ALONE][0]), **more}
