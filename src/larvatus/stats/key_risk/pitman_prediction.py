"""Population uniques given the sample under the Ewens–Pitman model, by the sequential law of the model.

    After n persons in k classes, s_1 of them of one person, the next person is in a new class with probability
    (θ + k α) / (θ + n), and in a class of size j with probability (j − α) / (θ + n). M = N − n persons follow.
    Their order does not matter, so that

    r given classes of one person get none of M    S_r(n, M) = Π_{i<M} (θ + n + i − r (1 − α)) / (θ + n + i)
    one given new person is alone in the end       q_1 S_1(n + 1, M − 1),              q_1 = (θ + k α) / (θ + n)
    two given new persons are                      q_1 q_2 S_2(n + 2, M − 2),          q_2 = (θ + (k + 1) α) / (θ + n + 1)

    E U        = s_1 S_1(n, M) + M q_1 S_1(n + 1, M − 1)
    E U(U − 1) = s_1 (s_1 − 1) S_2(n, M) + 2 s_1 M q_1 S_2(n + 1, M − 1) + M (M − 1) q_1 q_2 S_2(n + 2, M − 2)

The mean depends little on θ, which a single sample determines badly. So its slopes, and not those of the unconditional mean,
say how much the fitted parameters add to the error of prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class SampleClasses:
    """Persons, classes and classes of one person in the sample."""

    persons: float
    classes: float
    alone: float


def predicted_uniques(alpha: float, theta: float, sample: SampleClasses, population: float) -> tuple[float, float]:
    """Mean and variance of the number of population uniques given the sample."""
    n, k, alone, left = sample.persons, sample.classes, sample.alone, max(population - sample.persons, 0.0)

    def spared(given: int, after: int) -> float:
        return _spared(theta + n + after, given * (1 - alpha), left - after)

    new = (theta + k * alpha) / (theta + n)
    second = new * (theta + (k + 1) * alpha) / (theta + n + 1)
    mean = alone * spared(1, 0) + left * new * spared(1, 1)
    pairs = alone * (alone - 1) * spared(2, 0) + 2 * alone * left * new * spared(2, 1)
    pairs += left * max(left - 1, 0.0) * second * spared(2, 2)
    return mean, max(pairs + mean - mean**2, 0.0)


def _spared(first: float, less: float, steps: float) -> float:
    """Π_{i<steps} (first + i − less) / (first + i)."""
    from scipy.special import gammaln

    if steps <= 0:
        return 1.0
    return float(np.exp(gammaln(first - less + steps) - gammaln(first - less) - gammaln(first + steps) + gammaln(first)))
