"""How many links an intruder with limited information can expect: the largest p with  d(p ‖ q) ≤ I  (Fano).

    d(p ‖ q) = p log(p/q) + (1 − p) log((1 − p)/(1 − q)),      q the share that a random guess links

Whether a guess is right is a function of what the intruder sees, so it cannot have more information than that. d is convex in
(p, q) together, so the inequality holds for means over records and cells too.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from larvatus.core.arrays import Ints


def largest_share(chance: float, nats: float) -> float:
    """The largest p ≥ chance with d(p ‖ chance) ≤ nats."""
    if chance >= 1 or nats >= -np.log(chance):
        return 1.0
    low, high = chance, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(middle, chance) <= nats else (low, middle)
    return high


def divergence(p: float, q: float) -> float:
    """d(p ‖ q) in nats."""
    one = p * np.log(p / q) if p > 0 else 0.0
    other = (1 - p) * (np.log1p(-p) - np.log1p(-q)) if p < 1 else 0.0
    return float(one + other)


def pairing_nats(sizes: Ints) -> float:
    """Σ log n! over cells: what it takes to know the pairing of all records."""
    return float(gammaln(np.asarray(sizes, dtype=np.float64) + 1).sum())


def single_nats(sizes: Ints) -> float:
    """Σ n log n over cells: what it takes to know the row of every record, one record at a time."""
    n = np.asarray(sizes, dtype=np.float64)
    return float((n * np.log(np.maximum(n, 1.0))).sum())
