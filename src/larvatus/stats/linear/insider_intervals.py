"""How near a few insiders come to the values of others, if means and covariances are exact.

    z_l = the part of X_l outside span D, known to lie on a sphere: |z_l|² = xᵀ P x      D = [1, S, Y, records of the insiders]
    x_jl = known + |w_j| |z_l| u,      |w_j|² = P_jj,      u: a coordinate of a uniform direction in t = trace P dimensions

P projects on the complement of D. Y is left out of D if residuals were rotated, because X is not tied to Y then. Given what
the insiders know, every direction of z_l is as probable as any other, so the 95 % interval of x_jl is 2 |w_j| |z_l| u.975 wide.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from larvatus.core.arrays import Floats, Ints

_LEAST = 1e-9


def share_pinned(x: Floats, s: Floats, y: Floats | None, insiders: int, narrow: float, weight: Floats | None = None) -> float:
    """Share of values of others whose interval is under `narrow` standard deviations given S, over sets of insiders.

    x, s and y are records × columns; y is None after a rotation. The sets are runs of records, next to each other and every
    second one. Values that S determines do not count.
    """
    n = len(x)
    root = np.ones(n) if weight is None else np.sqrt(weight / weight.mean())
    scaled = [root[:, None] * v for v in (np.ones((n, 1)), s, x)]
    given = _complement(np.hstack(scaled[:2]))
    base = given if y is None else _complement(np.hstack([*scaled[:2], root[:, None] * y]))
    sets = _sets(n, insiders)
    corner = base[sets[:, :, None], sets[:, None, :]]
    usable = np.linalg.cond(corner) < 1 / _LEAST
    t = round(float(np.trace(base))) - insiders
    if t < 1 or not usable.any():
        return 1.0
    sets, corner = sets[usable], corner[usable]
    reach = np.linalg.solve(corner, base[sets])  # sets × insiders × records
    spread = np.maximum(np.diag(base) - (base[sets] * reach).sum(axis=1), 0.0)
    rest = base @ scaled[2]
    left = (scaled[2] * rest).sum(axis=0) - (rest[sets] * np.linalg.solve(corner, rest[sets])).sum(axis=1)
    quantile = 1.0 if t == 1 else float(np.sqrt(betaincinv(0.5, (t - 1) / 2, 0.95)))
    wide = 2 * quantile * np.sqrt(spread / root**2)[:, :, None] * np.sqrt(np.maximum(left, 0.0))[:, None, :]
    outside = np.ones((len(sets), n), dtype=bool)
    np.put_along_axis(outside, sets, values=False, axis=1)
    residual = (given @ scaled[2]) ** 2
    sd = np.sqrt(outside @ residual / outside.sum(axis=1, keepdims=True))
    moves = sd > _LEAST * np.sqrt(((scaled[2] - scaled[2].mean(axis=0)) ** 2).mean(axis=0))
    counted = outside[:, :, None] & moves[:, None, :]
    return float((wide < narrow * sd[:, None, :])[counted].mean()) if counted.any() else 0.0


def _complement(columns: Floats) -> Floats:
    """The projection on the complement of the columns."""
    scale = np.linalg.norm(columns, axis=0)
    basis, size, _ = np.linalg.svd(columns / np.where(scale > 0, scale, 1.0), full_matrices=False)
    basis = basis[:, size > _LEAST * size.max(initial=0.0)]
    return np.asarray(np.eye(len(columns)) - basis @ basis.T)


def _sets(n: int, insiders: int) -> Ints:
    """Sets of insiders: runs that start at every record, with steps of one and two."""
    first, further = np.arange(n)[:, None], np.arange(insiders)
    return np.concatenate([(first + further * step) % n for step in ((1, 2) if 2 * insiders < n else (1,))])
