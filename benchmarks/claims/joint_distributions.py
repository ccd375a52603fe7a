"""Joint distribution functions against one sort of the same points, and in bounded memory."""

from __future__ import annotations

import numpy as np

from larvatus.stats.ranks.joint_ecdf import RankedPoints
from run import Claim, MemoryClaim


def _points(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return x, x + 0.3 * rng.normal(size=(n, d))


def claim_joint_distributions_of_pairs() -> Claim:
    x, y = _points(1_000_000, 2)
    both = np.concatenate([x[:, 0], y[:, 0]])
    return Claim(
        "joint distribution functions, exact, 2 × 1,000,000 × 2", lambda: np.argsort(both),
        lambda: RankedPoints.of(x, y).gap([0, 1]), 12.0, "one argsort of 2,000,000", repeats=5,
    )


def claim_joint_distributions_of_five() -> Claim:
    x, y = _points(100_000, 5)
    return Claim(
        "joint distribution functions, exact, 2 × 100,000 × 5", lambda: [np.argsort(c) for c in np.concatenate([x, y]).T],
        lambda: RankedPoints.of(x, y).gap(range(5)), 40.0, "5 argsorts of 200,000", repeats=3,
    )


def claim_memory_joint_distributions() -> MemoryClaim:
    return MemoryClaim(
        "joint distribution functions, exact, 2 × 100,000 × 5, peak memory", 8.0, "the input",
        """
from claims.joint_distributions import _points
from larvatus.stats.ranks.joint_ecdf import Ranked
Ranked.of(*_points(2000, 5)).gap(range(5))
x, y = _points(100_000, 5)
INPUT = x.nbytes + y.nbytes
def work():
    return Ranked.of(x, y).gap(range(5))
""",
    )
