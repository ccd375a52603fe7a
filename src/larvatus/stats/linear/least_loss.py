"""The linear mask that loses least for the information it gives away, in closed form up to a root.

Given S, X is standardised with covariance C = L Lᵀ, and Y keeps B of the whitened residual: Y − fit = L (B z + noise), with
covariance C again. For normal columns a released row tells

    i(B) = −½ log₂ det(I − B Bᵀ)      bits about its record, convex in B

and the loss is what depends on B: the error by record, and the error of a mean or a regression in a part of the file that the
mask does not know, with weight c:

    ℓ(B) = 2 tr M (I − B) + c tr M (I − B)(I − B)ᵀ,      M = Lᵀ L

Both stay the same if B is replaced by D B D with D = U diag(±1) Uᵀ, where M = U diag(m) Uᵀ. Both are convex, so the mean over
all signs is no worse, and that is diagonal: the best B is U diag(b) Uᵀ. Its b solves, for one λ that gives the stated bits,

    m_i (2 + 2c (1 − b_i)) (1 − b_i²) = λ b_i
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Matrix
from larvatus.core.portable.portable_functions import exp, log
from larvatus.stats.linear.portable_algebra import product, pseudo_inverse, symmetric_eigen, total

_STEPS = 80  # halvings of an interval: more than double precision has digits
_WIDEST = 60.0  # logarithm of λ over the largest weight
_MOST = 1.0 - 1e-9  # similarity of a direction, so that some noise is left
_LN2 = 0.6931471805599453


def information_in(similarities: Floats) -> float:
    """Bits about a record, for normal columns, if each whitened direction keeps this share of the deviation."""
    return float(-0.5 * total(log(np.asarray(1.0 - similarities**2))) / _LN2) if len(similarities) else 0.0


def loss_of(similarities: Floats, weights: Floats, domains: float = 0.0) -> float:
    """The loss, as a share of that of a mask that keeps nothing."""
    away = 1.0 - similarities
    worst = float(total(weights * (2.0 + domains)))
    return float(total(weights * (2.0 * away + domains * away**2))) / worst if worst > 0 else 0.0


def least_loss_similarities(weights: Floats, bits: float, domains: float = 0.0) -> Floats:
    """b for directions with these weights m, so that the information is `bits` and the loss is least."""
    if len(weights) == 0 or bits <= 0:
        return np.zeros(len(weights))
    top = float(np.max(weights))
    low, high = -_WIDEST, _WIDEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        last = middle in (low, high)
        if information_in(_at(weights / top, float(exp(np.array([middle]))[0]), domains)) > bits:
            low = middle
        else:
            high = middle
        if last:
            break
    return _at(weights / top, float(exp(np.array([high]))[0]), domains)


def _at(weights: Floats, multiplier: float, domains: float) -> Floats:
    """b for a given λ."""
    return np.array([_root(weight, multiplier, domains) for weight in weights.tolist()])


def _root(weight: float, multiplier: float, domains: float) -> float:
    """b of one direction, by halving: the left side falls in b, the right side rises."""
    low, high = 0.0, _MOST
    for _ in range(_STEPS):
        b = (low + high) / 2
        last = b in (low, high)
        if weight * (2.0 + 2.0 * domains * (1.0 - b)) * (1.0 - b) * (1.0 + b) > multiplier * b:
            low = b
        else:
            high = b
        if last:
            break
    return low


def directions_of(root: Matrix) -> tuple[Floats, Matrix]:
    """The weights m and the directions U, from L with the covariance L Lᵀ of the standardised residual."""
    if root.shape[1] == 0:
        return np.zeros(0), np.zeros((0, 0))
    return symmetric_eigen(product(root.T, root))


def least_loss_matrix(root: Matrix, bits: float, domains: float = 0.0) -> tuple[Matrix, Floats]:
    """β with β L = L U diag(b) Uᵀ, for standardised columns, and the b."""
    weights, vectors = directions_of(root)
    b = least_loss_similarities(weights, bits, domains)
    kept = product(vectors * b, vectors.T)
    return np.asarray(product(root, kept, pseudo_inverse(root, 1e-12))), b
