"""Add noise with the covariance that earlier steps removed (Woo and others 2009: microaggregation with noise, 003 §3.1).

    Z = Y + ε,      Cov(ε) = Σ_XX − Σ_YY

in each sub-group, with Y the values after the earlier steps and X the original ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.design import design_of
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import map_groups, map_rows, moments_by_group, with_table
from larvatus.masks.linear.models import direction_text
from larvatus.masks.noise.drawing import column_matrix
from larvatus.masks.noise.last_digits import on_grid, spread_of
from larvatus.stats.linear.portable_algebra import product
from larvatus.stats.linear.portable_algebra import total as sum_of

if TYPE_CHECKING:
    from larvatus.stats.linear.covariance_restoration import Loss
    from larvatus.stats.linear.moments import SampleMoments

_ROUNDING, PAIRWISE = -1e-9, -0.01
_MOVED = 1e-6


class RestoreCovariance(Mask):
    """Add noise whose covariance is the covariance that earlier steps removed, in every sub-group.

    After microaggregation to means, the variances and correlations among X equal those of the original again, exactly or on
    average. The distribution shapes are those of the step before. The noise also separates groups of equal values, so an
    intruder no longer sees which records were averaged, and no minimum group size holds any more. Steps that added variance
    in some direction (rounding always, medians sometimes) raise an error: noise cannot remove variance. Means that earlier
    steps changed, for example medians or top coding, are not restored.

    Use it after microaggregation by means, if variances and covariances have to be those of the original. Do not use it after
    steps that do not reduce variance, such as rounding: it refuses.

    Parameters:
        moments: "exact" makes the noise orthogonal to the data, so that covariances equal those of the original; "random"
            restores them on average.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "sub_group"
    follows: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"moments"})
    takes_dates: ClassVar[bool] = False
    nemesis: ClassVar[tuple[str, ...]] = ("posterior_match", "optimal_assignment", "simulated_release")

    moments: Literal["exact", "random"] = Field(
        default="exact", description="restore covariances exactly, or on average"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(moments="random"), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        if self.moments == "random":
            return 2
        return len(design_of(data, data.non_confidential).terms) + 2 * len(data.confidential) + 1

    def check_order(self, before: Sequence[Mask]) -> None:
        """Raise an error if no step comes before this one."""
        if not before:
            raise MaskError(
                "restore_covariance: no step before it masks the same columns, so there is nothing to restore. Put a mask "
                "that reduces variance, such as microaggregation, before it."
            )

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        moments = self._both(current, original)
        losses = self._losses(current, moments)
        done = self._exact(current, losses, random) if self.moments == "exact" else self._random(current, losses, random)
        return Masked(done, [*_notes(current, losses, self.moments == "exact"), *_moved_means(current, moments)])

    def change_clause(self) -> str:
        return "variances and correlations among masked columns are restored; shapes and relations with other columns are not"

    def public_sentence(self) -> str:
        limited = self.columns is not None or self.where is not None
        how = "on average" if self.moments == "random" else "nearly" if limited else "exactly"
        return (
            "Random noise was added to restore the variances and correlations that an earlier step had reduced; they are "
            f"{how} those of the original again."
        )

    def _both(self, current: Microdata, original: Microdata) -> Sequence[SampleMoments]:
        """Moments of the original columns followed by the current ones, in each sub-group."""
        before = {scratch("original", n): n for n in current.confidential}
        paired = with_table(current, current.table.pair(original.table, before))
        return moments_by_group(paired, [*before, *current.confidential])

    def _losses(self, current: Microdata, moments: Sequence[SampleMoments]) -> list[Loss]:
        """The covariance lost in each sub-group; an error if it is indefinite, or if nothing was lost."""
        from larvatus.stats.linear.covariance_restoration import covariance_loss

        names = current.confidential
        losses = [covariance_loss(m) for m in moments]
        for g, loss in enumerate(losses):
            if loss.smallest < (PAIRWISE if loss.patchy else _ROUNDING):
                raise MaskError(
                    f"restore_covariance: in sub-group ({current.groups.name(g)}) the earlier steps added variance in the "
                    f"direction {direction_text(loss.direction, names)} of the standardised columns: the lost covariance has "
                    f"the eigenvalue {loss.smallest:.3g} on the correlation scale, and noise cannot remove variance. This mask "
                    "restores what group means lose. Leave it out after rounding, medians or noise, or microaggregate all "
                    "columns in the same groups."
                )
        if all(loss.nothing for loss in losses):
            raise MaskError(
                "restore_covariance: the earlier steps preserved every covariance, so nothing needs restoring. Leave it out."
            )
        return losses

    def _random(self, data: Microdata, losses: Sequence[Loss], random: RecordRandom) -> Microdata:
        from larvatus.stats.linear.row_maps import rows_times_weights

        names = data.confidential

        def add(group: int, block: Block) -> Mapping[str, Array]:
            draws = random.normal(block.record, len(names))[losses[group].lanes]
            x, weights = column_matrix(block, names), losses[group].weights
            y = on_grid(x + rows_times_weights(draws, weights), spread_of(weights)[:, None])
            return dict(zip(names, y, strict=True))

        return map_rows(data, add, names)

    def _exact(self, data: Microdata, losses: Sequence[Loss], random: RecordRandom) -> Microdata:
        from larvatus.stats.linear.covariance_restoration import orthonormal_noise

        names, design = data.confidential, design_of(data, data.non_confidential)

        def add(group: int, block: Block) -> Mapping[str, Array]:
            weights, x = losses[group].weights, column_matrix(block, names)
            if len(weights) == 0:
                return dict(zip(names, x, strict=True))
            given = np.vstack([design.matrix(group, block).T, _filled(x)])
            noise = orthonormal_noise(given, random.normal(block.record, len(names))[losses[group].lanes])
            if noise is None:
                raise MaskError(
                    f"restore_covariance: sub-group ({data.groups.name(group)}) has {len(block)} records, too few for noise "
                    "that is orthogonal to every column. Pool small sub-groups (small = \"pool\"), or set moments = \"random\"."
                )
            y = x + product(weights.T * np.sqrt(len(block) - 1), noise)
            return dict(zip(names, on_grid(y, spread_of(weights)[:, None]), strict=True))

        return map_groups(data, add, list(dict.fromkeys([*names, *design.columns])))


def _filled(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns with missing values replaced by the column mean, or by 0 if all are missing."""
    there = ~np.isnan(x)
    total = sum_of(np.where(there, x, 0.0), axis=1)
    return np.where(there, x, (total / np.maximum(there.sum(axis=1), 1))[:, None])


def _notes(data: Microdata, losses: Sequence[Loss], exact: bool) -> list[Note]:
    notes = [
        Note(f"no covariance was lost in sub-group ({data.groups.name(g)}), so no values are changed there", "status")
        for g, loss in enumerate(losses) if loss.nothing
    ]
    patchy = sum(loss.patchy for loss in losses)
    if patchy and exact:
        notes.append(Note(
            f"values are missing in {patchy} sub-groups: their pairwise covariances are restored approximately, not "
            "exactly", "warning",
        ))
    worst = min((loss.smallest for loss in losses if loss.patchy), default=0.0)
    if worst < _ROUNDING:
        notes.append(Note(f"missing values: the lost pairwise covariance is slightly indefinite (eigenvalue {worst:.2g})"))
    return notes


def _moved_means(data: Microdata, moments: Sequence[SampleMoments]) -> list[Note]:
    """A note on columns whose mean the earlier steps changed in some sub-group by more than rounding error."""
    names, moved = data.confidential, np.zeros(len(data.confidential), dtype=bool)
    for m in moments:
        was, now = np.split(np.nan_to_num(m.mean), 2)
        spread = np.sqrt(np.nan_to_num(np.split(m.variance, 2)[0]))
        moved |= np.abs(now - was) > _MOVED * spread + _MOVED**2 * np.abs(was)
    changed = ", ".join(n for n, far in zip(names, moved, strict=True) if far)
    return [Note(f"earlier steps changed the means of {changed}; these are not restored", "warning")] if changed else []
