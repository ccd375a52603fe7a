"""Costs of missing cells in a distance: how missingness in known and released values is related, and what a cell is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Bools, Floats
from larvatus.data.contracts import Block
from larvatus.data.exposure.kinds_of_missing import is_missing
from larvatus.data.verbs import moments_by_group, reduce_groups

if TYPE_CHECKING:
    from larvatus.attacks.linkage.linkage_keys import Keys
    from larvatus.stats.linkage.missing_patterns import PatternedPoints

_EDGES = np.linspace(-12, 2, 141)  # log10 of squared differences
MEDIAN = 0.455  # median of a squared standard normal variable
_LEAST, _MOST, MATRICES = 1e-6, 1.0, 40_000_000


@dataclass(frozen=True, slots=True)
class MissingCells:
    """For each linking column, the cost of a known cell being missing or present, given whether the released cell is missing.

    `spread` is the typical squared difference between known and released values of a record, in variances of the released
    values. A cell that cannot be compared costs as much as a comparison at that spread would contribute on average.
    """

    costs: tuple[Floats, ...]
    spread: float

    @classmethod
    def of(cls, keys: Keys, used: Sequence[str], target: str) -> MissingCells | None:
        """The costs estimated from all targets of the file; None if no cell is missing."""
        from larvatus.stats.linkage.missing_patterns import missing_cost

        if not sum(_gaps(keys, used, target)):
            return None
        numbers = [n for n in used if n not in keys.codes]
        scale = [np.sqrt(np.maximum(np.nan_to_num(m.variance), 0.0))
                 for m in moments_by_group(keys.joined, numbers)] if numbers else []

        def count(group: int, block: Block) -> tuple[Floats, Floats]:
            chosen = block[target] == 1
            table, far = np.zeros((len(used), 2, 2)), np.zeros(len(_EDGES) + 1)
            for j, n in enumerate(used):
                a, b = (v[chosen] for v in keys.both(n, block))
                code = 2 * is_missing(a) + is_missing(b)
                table[j] = np.bincount(code, minlength=4).reshape(2, 2)
                if n in numbers and scale[group][numbers.index(n)] > 0:
                    off = ((a - b) / scale[group][numbers.index(n)])[code == 0] ** 2
                    far += np.bincount(np.searchsorted(_EDGES, np.log10(np.maximum(off, 1e-300))), minlength=len(far))
            return table, far

        parts = reduce_groups(keys.joined, list(keys.columns), count, lambda a, b: (a[0] + b[0], a[1] + b[1]))
        table, far = (np.sum([p[i] for p in parts], axis=0) for i in (0, 1))
        middle = int(np.searchsorted(np.cumsum(far), far.sum() / 2)) if far.sum() else len(_EDGES) - 20
        spread = 10 ** float(_EDGES[min(middle, len(_EDGES) - 1)]) / MEDIAN
        return cls(tuple(missing_cost(t) for t in table), float(np.clip(spread, _LEAST, _MOST)))

    def link(
        self, left: Floats, right: Floats, column: Sequence[int], gone: tuple[Bools, Bools], wanted: Bools, distance: str,
        ranges: Floats,
    ) -> PatternedPoints | None:
        """Points of both sides grouped by pattern of missing cells, with the cost of each pair of patterns.

        `column` gives the column of each coordinate, `gone` the missing cells (records × columns) of both sides, `ranges` the
        range of each column in standard deviations (for Gower's distance). None if there are too many patterns.
        """
        from larvatus.stats.linkage.missing_patterns import PatternedPoints, patterns_of

        held, mine = patterns_of(~gone[0] | ~wanted[:, None])
        shown, theirs = patterns_of(~gone[1])
        if len(held) * len(shown) * max(left.shape[1], gone[1].shape[1]) > MATRICES:
            return None
        both = held[:, None, :] & shown[None, :, :]
        there = both[:, :, list(column)]
        mine_gone, theirs_gone = (~held).astype(np.int64), (~shown).astype(np.int64)
        missing = np.sum(
            [self.costs[j][np.ix_(mine_gone[:, j], theirs_gone[:, j])] for j in range(held.shape[1])], axis=0
        )
        lost = (~both).sum(axis=2)
        if distance == "gower":
            unit = 0.8 * np.sqrt(self.spread) / np.maximum(ranges, 1e-12)
            each = unit * np.log(1 / np.minimum(2 * unit, 1.0))
            return PatternedPoints(left, right, mine, theirs, there.astype(np.float64),
                             (~both) @ each + float(unit.mean()) * missing / 2, 1)
        if distance == "euclidean" or not left.shape[1]:
            return PatternedPoints(left, right, mine, theirs, there.astype(np.float64),
                                   self._constant(self.spread, lost, missing))
        if both.shape[0] * both.shape[1] * left.shape[1] ** 2 > MATRICES:
            return None
        turn, inverse = _whitening(right, np.repeat(gone[1], np.bincount(column, minlength=gone[1].shape[1]), axis=1), there)
        return PatternedPoints(left, right, mine, theirs, turn,
                         self._constant(min(self.spread * inverse, _MOST), lost, missing))

    @staticmethod
    def _constant(spread: float, lost: NDArray[np.int64], missing: Floats) -> Floats:
        if spread <= 0:  # values that did not move: the limit of the line below
            return np.zeros(np.broadcast_shapes(lost.shape, missing.shape))
        return np.asarray(spread * np.log(2 / spread) * lost + spread * missing)


def _gaps(keys: Keys, used: Sequence[str], target: str) -> list[int]:
    """Missing cells of targets and of released records, per sub-group."""
    def count(group: int, block: Block) -> int:
        pairs = [keys.both(n, block) for n in used]
        chosen = block[target] == 1
        return int(sum((is_missing(a) & chosen).sum() + is_missing(b).sum() for a, b in pairs))

    return reduce_groups(keys.joined, list(keys.columns), count, int.__add__)


def _whitening(right: Floats, gone: Bools, there: Bools) -> tuple[Floats, float]:
    """For every two patterns the matrix that whitens their common coordinates, and the mean diagonal of the inverse."""
    from larvatus.stats.linear.moments import SampleMoments
    from larvatus.stats.linkage.gaussian_match import THINNEST, semi_definite

    covariance = semi_definite(np.nan_to_num(SampleMoments.of(np.where(gone, np.nan, right)).covariance))
    values, vectors = np.linalg.eigh(np.where(there[..., :, None] & there[..., None, :], covariance, 0.0))
    kept = values > THINNEST * np.maximum(values.max(axis=-1, keepdims=True), 1e-300)
    turn = np.where(kept[..., None, :], vectors / np.sqrt(np.where(kept, values, 1.0))[..., None, :], 0.0)
    inverse = np.diag(np.linalg.pinv(covariance, rcond=THINNEST, hermitian=True))
    return np.ascontiguousarray(turn.swapaxes(-1, -2)), float(inverse.mean())
