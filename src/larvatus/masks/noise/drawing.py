"""Shared by masks that add noise: covariance factors, redrawing until positive, and notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.core.errors import MaskError
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.steps import TAKEN
from larvatus.data.verbs import count_present, reduce_groups
from larvatus.masks.noise.last_digits import on_grid

if TYPE_CHECKING:
    from larvatus.stats.linear.covariance_factors import Root

RowChoice = NDArray[np.int64] | slice
DrawNoise = Callable[[RowChoice, int], Matrix]
Zeros = Literal["mask", "keep"]
_MOST_DRAWS, MOST_JOINT_DRAWS = 1000, 10_000
_NOTABLE = 1e-6


def roots_of(data: Microdata) -> list[Root]:
    """Mean and covariance factor of the confidential columns in each sub-group; pairwise if values are missing."""
    from larvatus.stats.linear.covariance_factors import CentredRows, repaired_root, root_of
    from larvatus.stats.linear.moments import SampleMoments

    names = data.confidential
    rows = reduce_groups(data, names, lambda g, b: CentredRows.of(b.matrix(names)), CentredRows.merge)
    patchy = {g for g, found in enumerate(rows) if found is None}

    def pairwise(group: int, block: Block) -> SampleMoments | None:
        return SampleMoments.of(block.matrix(names)) if group in patchy else None

    def merged(one: SampleMoments | None, other: SampleMoments | None) -> SampleMoments | None:
        return SampleMoments.merge(one, other) if one is not None and other is not None else None

    pairs = reduce_groups(data, names, pairwise, merged) if patchy else [None] * len(rows)
    out: list[Root] = []
    for whole, part in zip(rows, pairs, strict=True):
        if whole is not None:
            out.append(root_of(whole))
        elif part is not None:
            out.append(repaired_root(part))
    return out


def column_matrix(block: Block, names: Sequence[str]) -> Matrix:
    """Columns × rows."""
    return np.array([block[n] for n in names], dtype=np.float64).reshape(len(names), len(block))


def noisy(
    method: str, x: Matrix, drawn: DrawNoise, spread: Matrix, still: NDArray[np.bool_], zeros: Zeros, positive: bool,
    jointly: bool = False,
) -> Matrix:
    """Masked values from `drawn(rows, attempt)`; redrawn until positive if `positive`, zeros unchanged if `zeros` is "keep".

    `spread` is the standard deviation of the noise in each column: digits far below it would tell something about x.
    Values marked in `still` (one mark per column, or one per value) cannot change and are not redrawn. Negative values are
    not redrawn either: only records that are not selected have them.
    """
    def rounded(rows: RowChoice, attempt: int) -> Matrix:
        return on_grid(drawn(rows, attempt), spread[:, None])

    y = rounded(slice(None), 0)
    kept = (x == 0) & (zeros == "keep")
    if positive:
        redraw(method, y, kept | still | (x < 0), rounded, jointly)
    return np.where(kept, x, y) if zeros == "keep" else y


def redraw(
    method: str, y: Matrix, held: NDArray[np.bool_], drawn: DrawNoise, jointly: bool = False
) -> None:
    """Redraw values that are not positive, in place: each value alone, or the whole record if noise is joint.

    Values marked in `held` are neither checked nor replaced.
    """
    most = MOST_JOINT_DRAWS if jointly else _MOST_DRAWS
    for attempt in range(1, most):
        low = (y <= 0) & ~held
        rows = np.flatnonzero(low.any(axis=0))
        if len(rows) == 0:
            return
        replaced = ~held[:, rows] if jointly else low[:, rows]
        y[:, rows] = np.where(replaced, drawn(rows, attempt), y[:, rows])
    raise MaskError(f"{method}: some values were still not positive after {most} draws. Reduce the variance.")


def refuse_negatives(method: str, data: Microdata) -> None:
    """Raise an error if a record to be masked has a negative value: it cannot be kept positive."""
    names = data.confidential
    marks = [TAKEN] if TAKEN in data.table.columns else []

    def negative(group: int, block: Block) -> NDArray[np.int64]:
        chosen = block[TAKEN] == 1 if marks else np.ones(len(block), dtype=bool)
        return np.array([np.count_nonzero((block[n] < 0) & chosen) for n in names])

    below = sum(reduce_groups(data, [*names, *marks], negative, np.add))
    for name, count in zip(names, np.atleast_1d(below), strict=True):
        if count:
            raise MaskError(
                f"{method}: positive = true, but {name!r} has {count} negative values. "
                "Set positive = false, or mask the column in a separate step."
            )


def constant_notes(data: Microdata, constant: NDArray[np.bool_]) -> list[Note]:
    """Notes on columns released as they are because they are constant; `constant` is sub-groups × columns."""
    return [
        Note(f"{data.confidential[j]} does not vary in sub-group ({data.groups.name(g)}) and is released as it is", "status")
        for g, j in zip(*np.nonzero(constant), strict=True)
    ]


def root_notes(data: Microdata, used: Microdata, roots: Sequence[Root], correlated: bool = True) -> list[Note]:
    """Notes on constant columns, and on pairwise correlations that had to be repaired."""
    constant = np.array([r.constant for r in roots]) & (count_present(used) > 0)
    return [*constant_notes(data, constant), *(_repair_notes(data, roots) if correlated else [])]


def _repair_notes(data: Microdata, roots: Sequence[Root]) -> list[Note]:
    repaired = [(r.repaired, g) for g, r in enumerate(roots) if r.repaired > _NOTABLE]
    if not repaired:
        return []
    worst, group = max(repaired)
    return [Note(
        f"missing values: the pairwise correlations of {len(repaired)} sub-groups do not form a correlation matrix; the noise "
        f"uses the nearest one that does (smallest eigenvalue -{worst:.2g}, in {data.groups.name(group)})",
    )]
