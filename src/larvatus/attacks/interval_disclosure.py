"""How many originals lie in a narrow interval around the released value (Domingo-Ferrer and Torra 2001)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.joined_releases import with_average
from larvatus.attacks.scoring.credits import Credits, distance_from_centre, outlying_tenth, outlyingness, risk_score
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.alignment import common_numbers
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.design import Design, design_of
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.ranks.windows import WindowScale, close_limits, share_between

Window = Annotated[float, Field(gt=0, le=1)]
_STEPS = 2001
_KINDS = ("success", "chance", "s alone")
_FAR = scratch("far")


class IntervalDisclosure(Attack):
    """The intruder takes the released value for the original, give or take a little, and is right when it is that close.

    The value is the share of originals inside the interval around their released value, its mean over the columns that a
    record has. Chance is what the released value of another record of the sub-group would give, S alone what the prediction
    from S gives. A value that does not vary is disclosed; one that was blanked is not.

    Parameters:
        windows: how far the interval reaches to each side; the first is the headline.
        measured: in shares of the "rank"s of the sub-group, "relative" to the released value, or in "standard_deviation"s.
    """

    assumes: ClassVar[str] = (
        "Already knows which released record is the target's, and takes its released values for the true ones, give or take "
        "the window."
    )

    windows: tuple[Window, ...] | Window = Field(
        default=(0.01, 0.02, 0.05, 0.1), description="how far the interval reaches to each side"
    )
    measured: WindowScale = Field(default="rank", description="what the windows are measured in")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(windows=0.05, measured="relative")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        original, release = with_average(original, release)
        windows = (self.windows,) if isinstance(self.windows, float) else self.windows
        names = common_numbers(original, release.data)
        beside = _Beside.of(original, release.data, names, self.measured)
        data, sums = beside.data, beside.sums(windows)
        made = [scratch(kind, str(w)) for kind in _KINDS for w in windows]
        originals = [scratch("original", n) for n in names]
        centres = outlyingness(data, originals)

        def credit(group: int, block: Block) -> Mapping[str, Array]:
            cells = beside.cells(group, block, windows)
            present = ~np.isnan(cells[0, 0])
            count = present.sum(axis=0)
            mean = np.where(present, np.nan_to_num(cells), 0.0).sum(axis=2) / np.maximum(count, 1)
            mean[:, :, count == 0] = np.nan
            out = dict(zip(made, mean.reshape(len(made), len(block)), strict=True))
            return {**out, _FAR: distance_from_centre(*centres[group], block, originals)}

        held = data.map_rows(credit, beside.columns, [Column(n, "number") for n in (*made, _FAR)])
        _, group, values = collect(held, [*made, _FAR])
        has = ~np.isnan(values[made[0]])
        table = np.array([values[n][has] for n in made]).reshape(3, len(windows), -1).transpose(0, 2, 1)
        credits = Credits(group[has], table[0], table[1], table[2], table[0], outlying_tenth(values[_FAR])[has])
        score = risk_score("interval_disclosure", "share of originals close to their released value", self.settings(),
                           data.groups, windows, credits,
                           intruder.unused("known", "keys", "file", "error", "presence", "guesses"))
        details = {name: Rows.of(_without_x_alone(r) for r in rows) for name, rows in score.details.items()}
        by_variable = Rows.of(_variable(n, sums[:, :, j], windows) for j, n in enumerate(names))
        return replace(score, by_record=values[made[0]], by_variable=by_variable, details=details)


@dataclass(frozen=True, slots=True)
class _Beside:
    """Originals and released values on the scale of the windows, and what predicts them: a grid of the release, and S."""

    data: Microdata
    originals: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    scale: WindowScale
    design: Design
    sd: Floats
    grid: Sequence[Floats]
    present: Floats
    fits: Sequence[tuple[Floats, Floats]]

    @classmethod
    def of(cls, original: Microdata, released: Microdata, names: Sequence[str], scale: WindowScale) -> _Beside:
        from larvatus.stats.linear.regression import slopes

        p = len(names)
        originals = {scratch("original", n): n for n in names}
        data = released.holding(released.table.pair(original.table, originals))
        before, after = list(originals), list(names)
        if scale == "rank":
            data = _positions(data, [*before, *after])
            before, after = [scratch("position", n) for n in before], [scratch("position", n) for n in after]
        design = design_of(data, data.known)
        columns = list(dict.fromkeys([*before, *after, *design.columns]))
        parts = data.reduce(columns, _matrix([*before, *after], design), SampleMoments.merge)
        given = list(range(2 * p, 2 * p + len(design.terms)))
        fits = []
        for m in parts:
            b = slopes(m.covariance, list(range(p)), given)
            fits.append((np.nan_to_num(m.mean[:p]) - np.nan_to_num(m.mean[given]) @ b, b))
        sizes = np.array(data.groups.sizes, dtype=np.float64)[:, None]
        return cls(
            data, tuple(originals), tuple(before), tuple(after), scale, design,
            np.array([np.sqrt(np.nan_to_num(m.variance[:p])) for m in parts]),
            [data.table.quantiles(n, np.linspace(0, 1, _STEPS).tolist()) for n in after],
            np.array([m.present[p : 2 * p] for m in parts]) / sizes, fits,
        )

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.before, *self.after, *self.originals, *self.design.columns]))

    def cells(self, group: int, block: Block, windows: Sequence[float]) -> Floats:
        """Success, chance and S alone × windows × columns × records, NaN where there is no original."""
        centre, slope = self.fits[group]
        guess = centre + self.design.matrix(group, block) @ slope
        out = np.full((3, len(windows), len(self.before), len(block)), np.nan)
        for j, (was, now) in enumerate(zip(self.before, self.after, strict=True)):
            for i, w in enumerate(windows):
                low, high = close_limits(block[was], w, self.scale, float(self.sd[group, j]))
                share = share_between(low, high, self.grid[j][group]) * self.present[group, j]
                hits = [(v >= low) & (v <= high) for v in (block[now], guess[:, j])]
                for kind, values in enumerate((hits[0], share, hits[1])):
                    out[kind, i, j] = np.where(np.isnan(block[was]), np.nan, values)
        return out

    def sums(self, windows: Sequence[float]) -> Floats:
        """Success, chance and S alone × windows × columns, means over all originals there are."""
        def add(group: int, block: Block) -> Floats:
            cells = self.cells(group, block, windows)
            return np.array([np.nan_to_num(cells).sum(axis=3), (~np.isnan(cells)).sum(axis=3)])

        total, count = np.sum(self.data.reduce(self.columns, add, np.add), axis=0)
        return np.asarray(np.divide(total, count, out=np.zeros_like(total), where=count > 0))


def _positions(data: Microdata, names: Sequence[str]) -> Microdata:
    """Average ranks as shares of the values present in the sub-group."""
    ranked = data.ranks({scratch("position", n): n for n in names})
    count = ranked.reduce(names, lambda g, b: (~np.isnan(b.matrix(names))).sum(axis=0).astype(np.float64), np.add)

    def scale(group: int, block: Block) -> Mapping[str, Array]:
        n = np.maximum(count[group], 1.0)
        return {scratch("position", name): (block[scratch("position", name)] - 0.5) / n[j] for j, name in enumerate(names)}

    return ranked.map_rows(scale, [scratch("position", n) for n in names])


def _matrix(names: Sequence[str], design: Design) -> Callable[[int, Block], SampleMoments]:
    return lambda group, block: SampleMoments.of(np.hstack([block.matrix(names), design.matrix(group, block)]))


def _without_x_alone(row: Row) -> Row:
    return {k: v for k, v in row.items() if k != "x_alone"}


def _variable(name: str, figures: Floats, windows: Sequence[float]) -> Row:
    more = {f"within {w:g}": float(figures[0, i]) for i, w in enumerate(windows)} if len(windows) > 1 else {}
    return {"variable": name, "value": float(figures[0, 0]), "chance": float(figures[1, 0]), "s_alone": float(figures[2, 0]),
            **more}
