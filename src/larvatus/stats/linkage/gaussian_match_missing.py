"""Matching by a normal law with missing cells: missing coordinates are integrated out, pattern by pattern."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Bools, Floats
from larvatus.stats.linkage.gaussian_match import SURE, THINNEST, UNRELATED, Joint, complete_cells
from larvatus.stats.linkage.missing_patterns import PatternedPoints, patterns_of

_MOST = 40_000_000  # largest size of the matrices of all pairs of patterns; beyond it, missing cells of targets are imputed


def by_pattern(
    joint: Joint, rule: Literal["posterior", "likelihood"], x: Floats, y: Floats, wanted: Bools
) -> tuple[PatternedPoints, Bools, Bools]:
    """Both sides, as deviations with NaN for missing, prepared for linkage by f(x | y) or f(y | x) of the present cells.

    The patterns of known and of released cells are returned too, for the use of missingness itself.
    """
    a, b = (np.where(d > 0, np.sqrt(np.maximum(d, 0.0)), 1.0) for d in (np.diag(joint.xx), np.diag(joint.yy)))
    xx, xy, yy = joint.xx / np.outer(a, a), joint.xy / np.outer(a, b), joint.yy / np.outer(b, b)
    xy = np.where(np.abs(xy) > UNRELATED, xy, 0.0)
    here = np.where(wanted[:, None], ~np.isnan(x), True)
    held, mine = patterns_of(here)
    shown, theirs = patterns_of(~np.isnan(y))
    width = len(xx) if rule == "posterior" else len(yy)
    few = len(held) * len(shown) * width**2 <= _MOST
    x, y = np.where(wanted[:, None], x, 0.0) / a, y / b
    used = held if few else np.ones((1, len(xx)), dtype=bool)
    if not few:
        x = complete_cells(x, xx)
    code = mine if few else np.zeros_like(mine)
    if rule == "posterior":
        right, left_of = _expected(y, theirs, shown, xy, yy, xx)
        left = np.nan_to_num(x)
        pairs = np.broadcast_to(left_of[None], (len(used), *left_of.shape))
        turn, constant = _whitened(pairs, np.broadcast_to(xx, pairs.shape), used[:, None, :])
    else:
        left, left_of = _expected(x, code, used, xy.T, xx, yy)
        right = np.nan_to_num(y)
        pairs = np.broadcast_to(left_of[:, None], (len(used), len(shown), *yy.shape))
        turn, constant = _whitened(pairs, np.broadcast_to(yy, pairs.shape), shown[None, :, :])
    whole = constant if few else np.repeat(constant, len(held), axis=0)
    return PatternedPoints(left, right, mine, theirs, turn, whole), held, shown


def _expected(
    rows: Floats, code: NDArray[np.int64], patterns: Bools, cross: Floats, inner: Floats, outer: Floats
) -> tuple[Floats, Floats]:
    """Conditional expectation of the other side given the present cells, and its conditional covariance per pattern."""
    out = np.zeros((len(rows), len(outer)))
    left = np.empty((len(patterns), *outer.shape))
    for i, there in enumerate(patterns):
        on = cross[:, there] @ np.linalg.pinv(inner[np.ix_(there, there)], rcond=THINNEST, hermitian=True)
        inside = np.flatnonzero(code == i)
        out[inside] = rows[np.ix_(inside, np.flatnonzero(there))] @ on.T
        left[i] = outer - on @ cross[:, there].T
    return out, left


def _whitened(left: Floats, whole: Floats, there: Bools) -> tuple[Floats, Floats]:
    """For every pair of patterns, the whitening matrix of differences, and the log ratio of conditional to total variance.

    Missing coordinates and directions without variance do not count. Each direction also subtracts 1, the mean of its
    contribution for the target's own record, so that fewer cells are no advantage.
    """
    mask = there[..., :, None] & there[..., None, :]
    values, vectors = np.linalg.eigh(np.where(mask, (whole + whole.swapaxes(-1, -2)) / 2, 0.0))
    kept = values > THINNEST * np.maximum(values.max(axis=-1, keepdims=True), 1e-300)
    first = np.where(kept[..., None, :], vectors / np.sqrt(np.where(kept, values, 1.0))[..., None, :], 0.0)
    inner = first.swapaxes(-1, -2) @ left @ first
    share, turn = np.linalg.eigh((inner + inner.swapaxes(-1, -2)) / 2)
    bounded = np.maximum(share, SURE)
    dropped = (~kept).sum(axis=-1)
    constant = np.log(bounded).sum(axis=-1) - dropped * np.log(SURE) - kept.sum(axis=-1)
    return np.ascontiguousarray((first @ turn / np.sqrt(bounded)[..., None, :]).swapaxes(-1, -2)), np.asarray(constant)
