"""Coverage of the intervals of key risk, by simulation: `python benchmarks/key_risk_coverage.py [samples] [--save]`.

Two laws are simulated. In the first, the sizes of population classes have probabilities proportional to 1 / F, as individual
risk assumes; classes are sampled with a fraction π, and the interval of the global risk must cover the share of right
matches, Σ f / F over Σ f. In the second, cells of four keys are Poisson under independence, and the intervals of τ₁ and τ₂
must cover the numbers of the population. The rows with an interaction are such that the search must find it. The interval of
the mean risk of all records under the model (the value of `key_risk`) is that of its own, without the larger upper end. In the
third, populations of classes follow the Pitman and the slide negative binomial model, and the law of the first, under which
classes of the sample are distributed like those of the population, as Zayatz assumes. The intervals of these models must cover
the number of population uniques. `--save` keeps the table in benchmarks/key_risk_coverage.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from larvatus.attacks.keys.class_risk import mean_with_interval
from larvatus.stats.key_risk.individual_risk import global_risk
from larvatus.stats.key_risk.model_risk import model_risk
from larvatus.stats.key_risk.superpopulation import PITMAN, SLIDE, ZAYATZ, population_uniques

LEVELS = (6, 8, 5, 4)
CELLS = np.array(np.unravel_index(np.arange(int(np.prod(LEVELS))), LEVELS)).T


def scale_free_classes(rng: np.random.Generator, classes: int, largest: int) -> np.ndarray:
    """Sizes of classes with probabilities proportional to one over the size."""
    size = np.arange(1, largest + 1)
    total = np.cumsum(1 / size) / (1 / size).sum()
    return size[np.searchsorted(total, rng.random(classes))]


def individual(samples: int, classes: int, fraction: float, largest: int = 20_000) -> float:
    """Share of samples whose interval of the global risk covers the share of right matches."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(samples):
        population = scale_free_classes(rng, classes, largest)
        f = rng.binomial(population, fraction)
        seen = f > 0
        found = global_risk(f[seen], np.full(int(seen.sum()), fraction))
        hits += found.low <= (f[seen] / population[seen]).sum() / f.sum() <= found.high
    return hits / samples


def log_linear(samples: int, records: float, fraction: float, interaction: float, model: str) -> tuple[float, ...]:
    """Shares of samples whose intervals of the mean risk, τ₁ and τ₂ cover the truth."""
    rng = np.random.default_rng(2)
    eta = sum(rng.normal(0, 0.6, n).reshape([-1 if i == j else 1 for j in range(4)]) for i, n in enumerate(LEVELS))
    rate = np.exp(eta + interaction * rng.normal(size=(6, 8, 1, 1))).reshape(-1)
    rate *= records / fraction / rate.sum()
    hits = np.zeros(3)
    for _ in range(samples):
        population = rng.poisson(rate)
        f = rng.binomial(population, fraction)
        seen, alone = f > 0, f == 1
        models = model_risk(CELLS[seen], f[seen], None, fraction, model)
        found, risk = models.path[-1], models.risk
        truth = np.array([(population[alone] == 1).sum(), (1 / population[alone]).sum()])
        hits[1:] += [low <= t <= high for t, (low, high) in zip(truth, (found.interval1, found.interval2), strict=True)]
        if risk is not None:
            _, low, high = mean_with_interval(f[seen], risk.risk, risk.spread, float(f.sum()), risk.doubt)
            hits[0] += low <= (f[seen] / population[seen]).sum() / f.sum() <= high
    return tuple(float(h / samples) for h in hits)


def pitman_classes(rng: np.random.Generator, persons: int, alpha: float, theta: float) -> np.ndarray:
    """Class of each person, in the order of a Chinese restaurant process."""
    size, out = np.zeros(persons), np.empty(persons, dtype=int)
    classes = 0
    draws, kept = rng.random(persons), rng.integers(0, 1 << 62, persons)
    for i in range(persons):
        if draws[i] < (theta + classes * alpha) / (theta + i):
            out[i], size[classes], classes = classes, 1, classes + 1
            continue
        while True:  # a class with probability (size − α): that of an earlier person, refused with probability α / size
            at = out[kept[i] % i]
            if rng.random() < 1 - alpha / size[at]:
                break
            kept[i] = rng.integers(0, 1 << 62)
        out[i] = at
        size[at] += 1
    return out


def superpopulation(samples: int, model: str, fraction: float) -> float:
    """Share of samples whose interval of the population uniques covers their number."""
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(samples):
        if model == PITMAN:
            population = np.bincount(pitman_classes(rng, 8_000, 0.5, 60.0))
        elif model == ZAYATZ:
            population = scale_free_classes(rng, 1_500, 20_000)
        else:
            population = 1 + rng.negative_binomial(0.4, 0.04, 1_500)
        f = rng.binomial(population, fraction)
        found = next(e for e in population_uniques(f[f > 0], fraction) if e.model == model)
        low, high = found.ends or (np.nan, np.nan)
        hits += bool(low <= (population == 1).sum() <= high)
    return hits / samples


def main(samples: int, save: bool) -> None:
    kept: dict[str, list[list[object]]] = {"mean risk by weights": [], "log-linear": [], "superpopulation": []}
    print("global risk by weights (95 % interval)\n| classes | π | coverage |\n|---|---|---|")
    for classes in (300, 1500, 5000):
        for fraction in (0.02, 0.1, 0.5):
            kept["mean risk by weights"].append([classes, fraction, individual(samples, classes, fraction)])
            print("| {:,} | {} | {:.3f} |".format(*kept["mean risk by weights"][-1]), flush=True)
    print("\nlog-linear models (95 % intervals)\n| records | π | interaction | model | mean risk | τ₁ | τ₂ |"
          "\n|---|---|---|---|---|---|---|")
    for records, fraction, interaction, model in (
        (400, 0.1, 0.0, "independence"), (2000, 0.1, 0.0, "independence"), (2000, 0.3, 0.0, "independence"),
        (400, 0.1, 0.0, "search"), (2000, 0.1, 0.0, "search"), (400, 0.1, 0.9, "search"), (2000, 0.1, 0.9, "search"),
        (2000, 0.3, 0.9, "search"),
    ):
        found = log_linear(samples, records, fraction, interaction, model)
        kept["log-linear"].append([records, fraction, interaction, model, *found])
        print("| {:,} | {} | {} | {} | {:.3f} | {:.3f} | {:.3f} |".format(*kept["log-linear"][-1]), flush=True)
    print("\npopulation uniques (95 % intervals)\n| model | π | coverage |\n|---|---|---|")
    for name in (PITMAN, ZAYATZ, SLIDE):
        for fraction in (0.1, 0.3):
            kept["superpopulation"].append([name, fraction, superpopulation(samples, name, fraction)])
            print("| {} | {} | {:.3f} |".format(*kept["superpopulation"][-1]), flush=True)
    if save:
        table = json.dumps({"samples": samples, **kept}, indent=1)
        Path(__file__).with_suffix(".json").write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(next((a for a in sys.argv[1:] if a != "--save"), 400)), "--save" in sys.argv)
