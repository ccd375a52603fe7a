"""Fisher's linear discriminant, and scores that can be compared between parts of a file.

    w = S⁻¹ (m₁ − m₀),    S the pooled covariance of the two classes;      the score of x is w·x

    u_i = share of the others with a smaller score, ties counted half: comparable whatever the scale of the score
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints

_RIDGE = 1e-3  # of the correlation matrix: features may be collinear


def discriminant(seen: Floats, unseen: Floats) -> Floats:
    """The weights of the features; 0 for one that does not vary."""
    centred = np.concatenate([seen - seen.mean(axis=0), unseen - unseen.mean(axis=0)])
    spread = centred.std(axis=0)
    varies = spread > 1e-12 * (1 + np.abs(centred).max(axis=0, initial=0.0))
    scale = np.where(varies, spread, 1.0)
    correlation = (centred / scale).T @ (centred / scale) / len(centred) + _RIDGE * np.eye(len(scale))
    apart = np.where(varies, (seen.mean(axis=0) - unseen.mean(axis=0)) / scale, 0.0)
    return np.asarray(np.where(varies, np.linalg.solve(correlation, apart) / scale, 0.0))


def placements(scores: Floats, others: Ints) -> Floats:
    """u of every record; `others` are the rows that are compared with, each of which counts half for itself."""
    held = np.sort(scores[others])
    below = np.searchsorted(held, scores, "left") + np.searchsorted(held, scores, "right")
    return np.asarray(below / (2 * len(held)))
