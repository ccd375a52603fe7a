"""Matching by a normal law of (X, Y) given S: coordinates in which the most probable record is the nearest one.

    −2 log f(x | y) = (x − By)ᵀ V⁻¹ (x − By) + const,   B = Σ_xy Σ_yy⁻¹,   V = Σ_xx − B Σ_yx

and likewise with x and y exchanged for f(y | x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from larvatus.core.arrays import Floats

THINNEST = 1e-9
SURE = 1e-10  # share of the total variance below which a direction counts as known exactly
UNRELATED = 1e-9


@dataclass(frozen=True, slots=True)
class Joint:
    """Covariances of the intruder's values (x) and the released values (y), given S."""

    xx: Floats
    xy: Floats
    yy: Floats

    @classmethod
    def condition_on(cls, covariance: Floats, x: slice, y: slice, s: slice) -> Joint:
        """From the joint covariance, with S removed by regression."""
        left = after(covariance, s)
        return cls(left[x, x], left[x, y], left[y, y])


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Multipliers of x and y that make squared distance equal to −2 log density, up to a constant."""

    of_x: Floats
    of_y: Floats


def after(covariance: Floats, s: slice) -> Floats:
    """The conditional covariance matrix given the columns S."""
    return np.asarray(covariance - slope(covariance, s) @ covariance[s, :])


def slope(covariance: Floats, s: slice) -> Floats:
    """Coefficients of every column on the columns S, without thin directions."""
    inner = covariance[s, s]
    sd = _scale(inner)
    return np.asarray((covariance[:, s] / sd) @ np.linalg.pinv(inner / np.outer(sd, sd), rcond=THINNEST, hermitian=True) / sd)


def coordinates(joint: Joint, rule: Literal["posterior", "likelihood"]) -> Coordinates:
    """Coordinates for f(x | y) or f(y | x); correlations that are only rounding count as zero."""
    a, b = _scale(joint.xx), _scale(joint.yy)
    xx, xy, yy = joint.xx / np.outer(a, a), joint.xy / np.outer(a, b), joint.yy / np.outer(b, b)
    xy = np.where(np.abs(xy) > UNRELATED, xy, 0.0)
    if rule == "posterior":
        on_y = xy @ np.linalg.pinv(yy, rcond=THINNEST, hermitian=True)
        turn = _whitening(xx - on_y @ xy.T, xx)
        return Coordinates((turn / a[:, None]), (on_y.T @ turn) / b[:, None])
    on_x = xy.T @ np.linalg.pinv(xx, rcond=THINNEST, hermitian=True)
    turn = _whitening(yy - on_x @ xy, yy)
    return Coordinates((on_x.T @ turn) / a[:, None], turn / b[:, None])


def _whitening(left: Floats, whole: Floats) -> Floats:
    """A matrix that turns the covariance `left` into the identity, in the directions in which `whole` varies."""
    values, vectors = np.linalg.eigh((whole + whole.T) / 2) if len(whole) else (np.zeros(0), np.zeros((0, 0)))
    kept = values > THINNEST * values.max(initial=0.0)
    first = vectors[:, kept] / np.sqrt(values[kept])
    inner = first.T @ left @ first
    share, turn = np.linalg.eigh((inner + inner.T) / 2) if inner.size else (np.zeros(0), np.zeros((0, 0)))
    return np.asarray(first @ turn / np.sqrt(np.maximum(share, SURE)))


def _scale(covariance: Floats) -> Floats:
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return np.where(sd > 0, sd, 1.0)


def semi_definite(covariance: Floats) -> Floats:
    """The nearest valid covariance on the correlation scale, for one estimated from different records."""
    sd = _scale(covariance)
    values, vectors = np.linalg.eigh(covariance / np.outer(sd, sd))
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T * np.outer(sd, sd))


def complete_cells(rows: Floats, covariance: Floats) -> Floats:
    """Deviations with missing ones replaced by their conditional expectation."""
    missing = np.isnan(rows)
    if not missing.any():
        return rows
    out = rows.copy()
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    for i, gone in enumerate(patterns):
        if not gone.any():
            continue
        inside = np.flatnonzero(which.reshape(-1) == i)
        there = covariance[np.ix_(~gone, ~gone)]
        sd = _scale(there)
        inverse = np.linalg.pinv(there / np.outer(sd, sd), rcond=THINNEST, hermitian=True) / np.outer(sd, sd)
        out[np.ix_(inside, np.flatnonzero(gone))] = rows[np.ix_(inside, np.flatnonzero(~gone))] @ (
            covariance[np.ix_(gone, ~gone)] @ inverse
        ).T
    return out
