"""What masks that add noise share: whose variance counts, coloured noise, redrawing until positive, and what is said."""

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
from larvatus.data.step_columns import TAKEN

if TYPE_CHECKING:
    from larvatus.stats.linear.covariance_factors import Root

RowChoice = NDArray[np.int64] | slice
DrawNoise = Callable[[RowChoice, int], Matrix]
Zeros = Literal["mask", "keep"]
_MOST_DRAWS, MOST_JOINT_DRAWS = 1000, 10_000
_NOTABLE = 1e-6




def roots_of(data: Microdata) -> list[Root]:
    """Per sub-group, mean and covariance factor of the confidential columns; pairwise where values are missing."""
    from larvatus.stats.linear.covariance_factors import CentredRows, repaired_root, root_of
    from larvatus.stats.linear.moments import SampleMoments

    names = data.confidential
    rows = data.reduce(names, lambda g, b: CentredRows.of(b.matrix(names)), CentredRows.merge)
    patchy = {g for g, found in enumerate(rows) if found is None}

    def pairwise(group: int, block: Block) -> SampleMoments | None:
        return SampleMoments.of(block.matrix(names)) if group in patchy else None

    def merged(one: SampleMoments | None, other: SampleMoments | None) -> SampleMoments | None:
        return SampleMoments.merge(one, other) if one is not None and other is not None else None

    pairs = data.reduce(names, pairwise, merged) if patchy else [None] * len(rows)
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
    method: str, x: Matrix, drawn: DrawNoise, still: NDArray[np.bool_], zeros: Zeros, positive: bool, jointly: bool = False
) -> Matrix:
    """Masked values from `drawn` (rows, attempt): positive where asked, zeros left where they are kept.

    Values that are `still` (one per column, or one each) cannot move and are not drawn again; nor are negative ones, which
    only records that are not chosen have.
    """
    y = drawn(slice(None), 0)
    kept = (x == 0) & (zeros == "keep")
    if positive:
        redraw(method, y, kept | still | (x < 0), drawn, jointly)
    return np.where(kept, x, y) if zeros == "keep" else y


def redraw(
    method: str, y: Matrix, held: NDArray[np.bool_], drawn: DrawNoise, jointly: bool = False
) -> None:
    """Replace values that are not positive by later draws: each by itself, or with the whole record where noise is joint.

    Values that are held are neither looked at nor replaced.
    """
    most = MOST_JOINT_DRAWS if jointly else _MOST_DRAWS
    for attempt in range(1, most):
        low = (y <= 0) & ~held
        rows = np.flatnonzero(low.any(axis=0))
        if len(rows) == 0:
            return
        replaced = ~held[:, rows] if jointly else low[:, rows]
        y[:, rows] = np.where(replaced, drawn(rows, attempt), y[:, rows])
    raise MaskError(f"{method}: some values were still not positive after {most} draws. Lower the variance.")


def refuse_negatives(method: str, data: Microdata) -> None:
    """Values cannot be kept positive in a column that has negative ones, in records that are to be masked."""
    names = data.confidential
    marks = [TAKEN] if TAKEN in data.table.columns else []

    def negative(group: int, block: Block) -> NDArray[np.int64]:
        chosen = block[TAKEN] == 1 if marks else np.ones(len(block), dtype=bool)
        return np.array([np.count_nonzero((block[n] < 0) & chosen) for n in names])

    below = sum(data.reduce([*names, *marks], negative, np.add))
    for name, count in zip(names, np.atleast_1d(below), strict=True):
        if count:
            raise MaskError(
                f"{method}: positive = true, but {name!r} has {count} negative values. "
                "Leave that option off, or mask the column in a step of its own."
            )


def constant_notes(data: Microdata, constant: NDArray[np.bool_]) -> list[Note]:
    """Which columns leave as they are because they do not vary: sub-groups × columns."""
    return [
        Note(f"{data.confidential[j]} does not vary in sub-group ({data.groups.name(g)}) and is released as it is", "status")
        for g, j in zip(*np.nonzero(constant), strict=True)
    ]


def root_notes(data: Microdata, used: Microdata, roots: Sequence[Root], correlated: bool = True) -> list[Note]:
    """Columns that do not vary, and where correlations over pairs of present values did not fit together."""
    constant = np.array([r.constant for r in roots]) & (used.present() > 0)
    return [*constant_notes(data, constant), *(_repair_notes(data, roots) if correlated else [])]


def _repair_notes(data: Microdata, roots: Sequence[Root]) -> list[Note]:
    repaired = [(r.repaired, g) for g, r in enumerate(roots) if r.repaired > _NOTABLE]
    if not repaired:
        return []
    worst, group = max(repaired)
    return [Note(
        f"correlations over the pairs of values that are present do not fit together in {len(repaired)} sub-groups; the noise "
        f"has the nearest that do (smallest eigenvalue -{worst:.2g} in the worst, {data.groups.name(group)})",
    )]
