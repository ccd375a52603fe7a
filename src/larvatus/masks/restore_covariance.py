"""Add noise with the covariance that the steps before took away (microaggregation plus noise of 003 §3.1)."""

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
from larvatus.masks.linear.models import direction_text
from larvatus.masks.noise.drawing import column_matrix

if TYPE_CHECKING:
    from larvatus.stats.linear.covariance_restoration import Loss
    from larvatus.stats.linear.moments import SampleMoments

_ROUNDING, PAIRWISE = -1e-9, -0.01
_MOVED = 1e-6


class RestoreCovariance(Mask):
    """Add noise whose covariance is what the steps before took from that of the original, in every sub-group.

    After microaggregation to means, variances and correlations among X are those of the original again, exactly or on
    average, while the shape of the data comes from the step before. The noise also breaks up the groups of equal values, so
    an intruder no longer sees who was averaged with whom, and no rule on their number holds any more. Steps that added
    variance in some direction, as rounding does and medians may, are refused: noise cannot take it away. Means that the steps
    before moved, such as by medians or top coding, are not restored.

    Parameters:
        moments: "exact" makes the noise orthogonal to the data, so that covariances equal the original's; "random" leaves
            them to chance.
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, a list of record ids, or @FILE with one.
        scope: run within each sub-group, or over the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "sub_group"
    follows: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"moments"})

    moments: Literal["exact", "random"] = Field(
        default="exact", description="whether covariances equal the original's exactly or on average"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(moments="random"), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        if self.moments == "random":
            return 2
        return len(design_of(data, data.non_confidential).terms) + 2 * len(data.confidential) + 1

    def check_order(self, before: Sequence[Mask]) -> None:
        """Refuse to stand first."""
        if not before:
            raise MaskError(
                "restore_covariance: no step before it masks the same columns, so there is nothing to restore. Put a mask "
                "that takes variance away, such as microaggregation, before it."
            )

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        moments = self._both(current, original)
        losses = self._losses(current, moments)
        done = self._exact(current, losses, random) if self.moments == "exact" else self._random(current, losses, random)
        return Masked(done, [*_notes(current, losses, self.moments == "exact"), *_moved_means(current, moments)])

    def altered(self) -> str:
        return "variances and correlations among masked columns are put back; shapes and relations with other columns are not"

    def public_sentence(self) -> str:
        limited = self.columns is not None or self.where is not None
        how = "on average" if self.moments == "random" else "nearly" if limited else "exactly"
        return (
            "Random noise was added so that the variances and correlations that the step before had reduced are "
            f"{how} those of the original again."
        )

    def _both(self, current: Microdata, original: Microdata) -> Sequence[SampleMoments]:
        """Moments of the original columns and, after them, the current ones, in each sub-group."""
        before = {scratch("original", n): n for n in current.confidential}
        paired = current.holding(current.table.pair(original.table, before))
        return paired.moments([*before, *current.confidential])

    def _losses(self, current: Microdata, moments: Sequence[SampleMoments]) -> list[Loss]:
        """What was lost in each sub-group, refused where it is not a covariance, or where nothing was."""
        from larvatus.stats.linear.covariance_restoration import covariance_loss

        names = current.confidential
        losses = [covariance_loss(m) for m in moments]
        for g, loss in enumerate(losses):
            if loss.smallest < (PAIRWISE if loss.patchy else _ROUNDING):
                raise MaskError(
                    f"restore_covariance: in sub-group ({current.groups.name(g)}) the steps before added variance in the "
                    f"direction {direction_text(loss.direction, names)} of the standardised columns: what was lost has the "
                    f"eigenvalue {loss.smallest:.3g} on the correlation scale, and noise cannot take variance away. It "
                    "restores what means of groups lose; leave it out after rounding, medians or noise, or microaggregate all "
                    "columns in the same groups."
                )
        if all(loss.nothing for loss in losses):
            raise MaskError(
                "restore_covariance: the steps before kept every covariance, so there is nothing to restore. Leave it out."
            )
        return losses

    def _random(self, data: Microdata, losses: Sequence[Loss], random: RecordRandom) -> Microdata:
        from larvatus.stats.linear.row_maps import mapped_rows

        names = data.confidential

        def add(group: int, block: Block) -> Mapping[str, Array]:
            draws = random.normal(block.record, len(names))[losses[group].lanes]
            y = column_matrix(block, names) + mapped_rows(draws, losses[group].weights)
            return dict(zip(names, y, strict=True))

        return data.map_rows(add, names)

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
            return dict(zip(names, x + (weights.T * np.sqrt(len(block) - 1)) @ noise, strict=True))

        return data.map_groups(add, list(dict.fromkeys([*names, *design.columns])))


def _filled(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns with their mean where a value is missing, 0 where all are."""
    there = ~np.isnan(x)
    total = np.where(there, x, 0.0).sum(axis=1)
    return np.where(there, x, (total / np.maximum(there.sum(axis=1), 1))[:, None])


def _notes(data: Microdata, losses: Sequence[Loss], exact: bool) -> list[Note]:
    notes = [
        Note(f"no covariance was lost in sub-group ({data.groups.name(g)}), and no values are changed there", "status")
        for g, loss in enumerate(losses) if loss.nothing
    ]
    patchy = sum(loss.patchy for loss in losses)
    if patchy and exact:
        notes.append(Note(
            f"values are missing in {patchy} sub-groups: covariances over the pairs that are present are restored nearly, not "
            "exactly", "warning",
        ))
    worst = min((loss.smallest for loss in losses if loss.patchy), default=0.0)
    if worst < _ROUNDING:
        notes.append(Note(f"what was lost over pairs of present values is not quite a covariance (eigenvalue {worst:.2g})"))
    return notes


def _moved_means(data: Microdata, moments: Sequence[SampleMoments]) -> list[Note]:
    """Columns whose mean the steps before moved in some sub-group by more than rounding does."""
    names, moved = data.confidential, np.zeros(len(data.confidential), dtype=bool)
    for m in moments:
        was, now = np.split(np.nan_to_num(m.mean), 2)
        spread = np.sqrt(np.nan_to_num(np.split(m.variance, 2)[0]))
        moved |= np.abs(now - was) > _MOVED * spread + _MOVED**2 * np.abs(was)
    told = ", ".join(n for n, far in zip(names, moved, strict=True) if far)
    return [Note(f"the steps before moved the means of {told}, and these are not restored", "warning")] if told else []
