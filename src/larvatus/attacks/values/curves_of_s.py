"""What S says about numbers by interactions and curves, which a linear regression does not see.

    left   Σ (x − x̂)² / Σ (x − x̄₍₋ᵢ₎)²,  x̂ predicted by cells of S of at least 100 records, without the record
    ratio  Var(x − x̂ | y − ŷ) / Var(x − x̂),  the part of it that the released columns leave

Deviations from the mean of the sub-group are predicted. A column counts only if its cells clearly predict better than the
regression, and a sub-group only if the sample has 100 records of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.attacks.values.cells_of_s import SampleOfS
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Block
from larvatus.data.design import Design
from larvatus.data.microdata import Microdata
from larvatus.stats.estimates.predictive_cells import LEAST_CELL, clear_gain, predict_by_others
from larvatus.stats.linear.leave_one_out import LeaveOneOut
from larvatus.stats.linear.moments import SampleMoments


@dataclass(frozen=True, slots=True)
class CurvesOfS:
    """Sub-groups × columns: the shares left by cells of S, and of these by the release; NaN if the regression counts."""

    left: Floats
    ratio: Floats

    @classmethod
    def of(
        cls, data: Microdata, names: Sequence[str], released: Sequence[str], design: Design, fits: Sequence[LeaveOneOut],
        random: RecordRandom, divided_by_size: bool = False,
    ) -> CurvesOfS:
        left = np.full((len(data.groups), len(names)), np.nan)
        ratio = left.copy()
        if not design.terms or data.rows < 2 * LEAST_CELL:
            return cls(left, ratio)
        sample = SampleOfS.of(data, [*names, *released, *design.columns], random)
        size = np.array(data.groups.sizes, dtype=np.float64)[sample.group, None] if divided_by_size else 1.0
        x, y = sample.block.matrix(names), sample.block.matrix(released)
        linear = (_predict(sample, fits, names, design) - sample.means_of_others(x)) / size
        away, other = ((v - sample.means_of_others(v)) / size for v in (x, y))
        cells = [sample.cells(code) for code in sample.codes]
        for j in range(len(names)):
            own = away[:, j : j + 1]
            zero = np.zeros_like(own)
            best = clear_gain(own, linear[:, j : j + 1], cells, zero, sample.fold)
            if best is not None:
                error = own - predict_by_others(own, cells[best], zero, LEAST_CELL)
                beside = other - predict_by_others(other, cells[best], np.zeros_like(other), LEAST_CELL)
                left[:, j], ratio[:, j] = _by_group(sample, len(left), own[:, 0], error[:, 0], beside)
        return cls(left, ratio)


def _predict(sample: SampleOfS, fits: Sequence[LeaveOneOut], names: Sequence[str], design: Design) -> Floats:
    """Predictions by the regressions of the sub-groups, without the record."""
    out = np.full((len(sample.group), len(names)), np.nan)
    for g in np.unique(sample.group):
        here = np.flatnonzero(sample.group == g)
        block = Block(sample.block.record[here], {n: v[here] for n, v in sample.block.values.items()})
        out[here] = fits[g].predict(block.matrix(names), design.matrix(int(g), block))
    return out


def _by_group(sample: SampleOfS, groups: int, away: Floats, error: Floats, beside: Floats) -> tuple[Floats, Floats]:
    from larvatus.stats.linear.regression import unexplained_variance

    left, ratio = np.full((2, groups), np.nan)
    for g in np.flatnonzero(np.bincount(sample.group, minlength=groups) >= LEAST_CELL):
        here = (sample.group == g) & ~np.isnan(error)
        whole = float((away[here] ** 2).sum())
        if whole > 0:
            moments = SampleMoments.of(np.column_stack([error[here], beside[here]]))
            covariance = np.nan_to_num(moments.covariance) * ~np.logical_or.outer(moments.constant, moments.constant)
            rest = unexplained_variance(covariance, [0], list(range(1, len(covariance))))[0]
            left[g] = float((error[here] ** 2).sum()) / whole
            ratio[g] = float(rest / covariance[0, 0]) if covariance[0, 0] > 0 else 1.0
    return left, ratio
