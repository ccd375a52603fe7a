"""Coverage of the intervals of key risk, by simulation: `python benchmarks/key_risk_coverage.py [samples]`.

Two laws are simulated. In the first, the sizes of population classes have probabilities proportional to 1 / F, as individual
risk assumes; classes are sampled with a fraction π, and the interval of the global risk must cover the share of right
matches, Σ f / F over Σ f. In the second, cells of four keys are Poisson under independence, and the intervals of τ₁ and τ₂
must cover the numbers of the population. The last rows add an interaction that the search must find.
"""

from __future__ import annotations

import sys

import numpy as np

from larvatus.stats.key_risk.individual_risk import global_risk
from larvatus.stats.key_risk.population_uniques import search_models

LEVELS = (6, 8, 5, 4)
CELLS = np.array(np.unravel_index(np.arange(int(np.prod(LEVELS))), LEVELS)).T


def individual(samples: int, classes: int, fraction: float, largest: int = 20_000) -> float:
    """Share of samples whose interval of the global risk covers the share of right matches."""
    rng = np.random.default_rng(1)
    size = np.arange(1, largest + 1)
    total = np.cumsum(1 / size) / (1 / size).sum()
    hits = 0
    for _ in range(samples):
        population = size[np.searchsorted(total, rng.random(classes))]
        f = rng.binomial(population, fraction)
        seen = f > 0
        found = global_risk(f[seen], np.full(int(seen.sum()), fraction))
        hits += found.low <= (f[seen] / population[seen]).sum() / f.sum() <= found.high
    return hits / samples


def log_linear(samples: int, records: float, fraction: float, interaction: float, model: str) -> tuple[float, float]:
    """Shares of samples whose intervals of τ₁ and τ₂ cover the truth."""
    rng = np.random.default_rng(2)
    eta = sum(rng.normal(0, 0.6, n).reshape([-1 if i == j else 1 for j in range(4)]) for i, n in enumerate(LEVELS))
    rate = np.exp(eta + interaction * rng.normal(size=(6, 8, 1, 1))).reshape(-1)
    rate *= records / fraction / rate.sum()
    hits = np.zeros(2)
    for _ in range(samples):
        population = rng.poisson(rate)
        f = rng.binomial(population, fraction)
        seen, alone = f > 0, f == 1
        found = search_models(CELLS[seen], f[seen], LEVELS, fraction, model)[-1]
        truth = np.array([(population[alone] == 1).sum(), (1 / population[alone]).sum()])
        error = np.array([found.tau1, found.tau2]) - truth
        hits += np.abs(error) <= 1.96 * np.array([found.error1, found.error2])
    return float(hits[0] / samples), float(hits[1] / samples)


def main(samples: int = 400) -> None:
    print("global risk (95 % interval)\n| classes | π | coverage |\n|---|---|---|")
    for classes in (300, 1500, 5000):
        for fraction in (0.02, 0.1, 0.5):
            print(f"| {classes:,} | {fraction} | {individual(samples, classes, fraction):.3f} |", flush=True)
    print("\nτ₁ and τ₂ (95 % intervals)\n| records | π | interaction | model | τ₁ | τ₂ |\n|---|---|---|---|---|---|")
    for records, fraction, interaction, model in (
        (400, 0.1, 0.0, "independence"), (2000, 0.1, 0.0, "independence"), (2000, 0.3, 0.0, "independence"),
        (400, 0.1, 0.0, "search"), (400, 0.1, 0.9, "search"), (2000, 0.1, 0.9, "search"),
    ):
        first, second = log_linear(samples, records, fraction, interaction, model)
        print(f"| {records:,} | {fraction} | {interaction} | {model} | {first:.3f} | {second:.3f} |", flush=True)


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:2]))
