"""The variance of a quantity estimated from a noisy release: sampling of records plus noise.

    Var = Var ψ + 2 Cov(h, k) − Var k,   h = b′v + v′Av,   k = r′Dr,   D = diag(A) c² / (1 + φ² + c²)

v is a record's deviation from the mean, r that from its sub-group's mean. b and A are the gradients of the quantity with
respect to the means and covariances. ψ is its influence in an ordinary sample. φ is the SD of the factor and c² the relative
variance of the added noise. Given the original, ψ lacks k, because the noise variance is taken from the same sample. The
moments of the original in h and k come from powers of released values that are unbiased given the original. Correlated noise
has a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.analysis.published_noise import Noise, power_map
from larvatus.core.arrays import Floats

LEAST_WEIGHT = 1e-8


@dataclass(frozen=True, slots=True)
class Influence:
    """The ingredients of variances: deviations from the mean and from the sub-group's mean, released values, and the noise.

    `noise` is the estimated noise covariance and `inside` the original's, per sub-group, over all columns.
    """

    w: Floats
    r: Floats
    z: Floats
    group: NDArray[np.int64]
    share: Floats
    noise: Floats
    inside: Floats
    added: Floats
    factor: Floats
    law: Noise
    powers: Floats | None

    def variance(self, b: Floats, a: Floats) -> float:
        """Variance of one record's influence on a quantity with gradient b in the means and a in the covariances."""
        return self._closed(b, a) if self.powers is None else self._by_powers(b, a, self.powers)

    def _closed(self, b: Floats, a: Floats) -> float:
        q = self.w @ b + np.einsum("ij,jk,ik->i", self.w, a, self.w) - np.einsum("jk,gkj->g", a, self.noise)[self.group]
        kept = np.where(np.outer(self.added, self.added) > 0, 1 / (1 + self.added.max()), 1.0)
        total = float(q.var(ddof=1))
        for share, noise, inside in zip(self.share, self.noise, self.inside, strict=True):
            root = _root(noise)
            for c, sign in ((a * kept, 1.0), (a, -1.0)):
                core = root.T @ c @ root
                quadratic = 2 * np.sum(core * core) + (self.law.fourth - 3) * np.sum(np.diag(core) ** 2)
                total += float(sign * share * (4 * np.trace(c @ inside @ c @ noise) + quadratic))
        return total

    def _by_powers(self, b: Floats, a: Floats, t: Floats) -> float:
        own = np.diag(a)
        whole = 1 + self.factor**2 + self.added
        psi = self.w @ b + np.einsum("ij,jk,ik->i", self.w, a, self.w)
        psi -= (self.z**2 * self.factor**2 + self.r**2 * self.added) @ (own / whole)
        d = own * self.added / whole
        if not d.any():
            return float(psi.var(ddof=1))
        t1, t2, t3, t4 = t
        shift = self.w - self.r
        once = b + 2 * shift @ a + 2 * t1 @ (a - np.diag(own))
        h = shift @ b + np.einsum("ij,jk,ik->i", shift, a, shift)
        h = h + ((b + 2 * shift @ a + t1 @ (a - np.diag(own))) * t1).sum(axis=1) + t2 @ own
        k = t2 @ d
        both = h * k + ((once * (t3 - t1 * t2) + own * (t4 - t2**2)) * d).sum(axis=1)
        square = k * k + (t4 - t2**2) @ d**2
        count = np.bincount(self.group)
        level = [np.bincount(self.group, v) / count for v in (h, k)]
        covariance = both.mean() - self.share @ (level[0] * level[1])
        return float(psi.var(ddof=1) + 2 * covariance - (square.mean() - self.share @ level[1] ** 2))


def powers_of(
    noise: Noise, added: Floats, factor: Floats, inside: Floats, centre: Floats, z: Floats, group: NDArray[np.int64]
) -> Floats:
    """Unbiased first to fourth powers of every original deviation from the sub-group's mean: 4 × records × columns."""
    out = np.array([(z - centre[group]) ** e for e in range(1, 5)])
    for g, j in np.ndindex(centre.shape):
        if added[j] == 0 and factor[j] == 0:
            continue
        scale = float(np.sqrt(max(float(inside[g, j, j]), 0.0))) or 1.0
        rows = group == g
        u = (z[rows, j] - centre[g, j]) / scale
        m = power_map(noise, float(factor[j]), float(centre[g, j] / scale), float(np.sqrt(added[j])))
        found = np.linalg.solve(m, np.array([u**e for e in range(5)]))
        out[:, rows, j] = found[1:] * scale ** np.arange(1, 5)[:, None]
    return out


def _root(noise: Floats) -> Floats:
    """Lower triangular root of a covariance that is zero for columns without noise."""
    out = np.zeros_like(noise)
    there = np.flatnonzero(np.diag(noise) > 0)
    part = noise[np.ix_(there, there)]
    scale = np.sqrt(np.diag(part))
    safe = part / np.outer(scale, scale) + LEAST_WEIGHT * np.eye(len(there))
    out[np.ix_(there, there)] = np.linalg.cholesky(safe) * scale[:, None]
    return out
