"""One scenario of 002: mask by z = xθ + ε, take every record in turn as the target, and count correct links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.stats.link_posteriors.kernels import fill_known
from larvatus.stats.link_posteriors.links import KERNELS, Fill, Links, Pool, link_targets
from larvatus.stats.link_posteriors.priors import (
    BIAS_CENTRE,
    NODES,
    NOISE_CENTRE,
    VARIATION,
    Nodes,
    SpreadPrior,
    fill_unknown,
    nodes_of,
)
from larvatus.stats.noise.laws import factors

LEVELS = ("minimum", "medium", "maximum")
BIAS_SD = dict(zip(LEVELS, (0.01 / 6, 0.2 / 6, 1 / 6), strict=True))
NOISE_RATIO = dict(zip(LEVELS, (1 / 100, 1 / 6, 1.0), strict=True))
# correct links of 100 and their mean probability, by data set, bias and noise (smallest first); None if not printed
TABLE_2 = {
    "DATA1": (((30, 0.4439), (12, 0.2663), (2, 0.0273)), ((1, 0.0214), (1, 0.0178), (0, None)),
              ((1, 0.0152), (0, None), (3, 0.0142))),
    "DATA2": (((71, 0.7687), (12, 0.1823), (2, 0.0223)), ((10, 0.2764), (9, 0.0880), (2, 0.0203)),
              ((2, 0.0373), (3, 0.0248), (4, 0.0217))),
}
TABLE_3 = {
    "DATA1": (((5, 0.0153), (5, 0.0152), (1, 0.0133)), ((3, 0.0131), (0, None), (1, 0.0122)),
              ((2, 0.0132), (3, 0.0131), (0, None))),
    "DATA2": (((42, 0.0196), (10, 0.0213), (2, 0.0196)), ((10, 0.0233), (8, 0.0165), (1, 0.0151)),
              ((4, 0.0137), (3, 0.0151), (1, 0.0222))),
}


@dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """Correct links (ties shared) and the mean and SD of their posterior probability."""

    correct: float
    probability: float
    deviation: float


def mask_columns(x: Floats, bias_sd: float, noise_ratio: float, random: RecordRandom) -> tuple[Floats, Floats]:
    """z = xθ + ε for columns × records, and the SD of the noise in each column."""
    record = np.arange(x.shape[1])
    noise_sd = noise_ratio * x.std(axis=1, ddof=1)
    theta = factors("normal", np.full(len(x), bias_sd), random, record)
    return x * theta + noise_sd[:, None] * random.normal(record, len(x), purpose="noise"), noise_sd


def fill_stated(z: Floats, bias_sd: Floats, noise_sd: Floats) -> Fill:
    """Kernels if the parameters are released: one value for each column, normal laws."""
    normal = np.zeros(len(z), dtype=np.int64)
    bias, noise = (np.repeat(v[:, None], z.shape[1], axis=1) for v in (bias_sd, noise_sd))
    return lambda x, like, paper: fill_known(x, z, bias, noise, normal, normal, like, paper)


def fill_nodes(z: Floats, nodes: Nodes) -> Fill:
    """Kernels if the parameters are unknown: normal laws averaged over the nodes of their priors."""
    normal = np.zeros(len(z), dtype=np.int64)
    return lambda x, like, paper: fill_unknown(x, z, nodes.bias_sd, nodes.noise_sd, nodes.weight, normal, normal, like, paper)


def paper_priors(z: Floats) -> tuple[list[SpreadPrior], list[SpreadPrior]]:
    """The priors that fit Table 3: SDs centred at 1/12 and at a sixth of the range of z, coefficient of variation 1/20."""
    return (
        [SpreadPrior(BIAS_CENTRE, VARIATION) for _ in z],
        [SpreadPrior(float(np.ptp(column)) * NOISE_CENTRE, VARIATION) for column in z],
    )


def scenario(
    x: Floats, bias_sd: float, noise_ratio: float, released: bool, random: RecordRandom, nodes: int = NODES
) -> dict[str, ScenarioOutcome]:
    """The result of each kernel in one of the 36 scenarios, for columns × records; Tables 2 and 3 use "paper"."""
    z, noise_sd = mask_columns(x, bias_sd, noise_ratio, random)
    n = x.shape[1]
    everybody = np.zeros(n, dtype=np.int64)
    pool = Pool(np.ascontiguousarray(x), np.ascontiguousarray(z), everybody, everybody, np.arange(n))
    stated = fill_stated(z, np.full(len(x), bias_sd), noise_sd)
    return outcomes(link_targets(pool, stated if released else fill_nodes(z, nodes_of(*paper_priors(z), nodes))))


def outcomes(links: Links) -> dict[str, ScenarioOutcome]:
    """The result of each kernel at threshold 0."""
    found = {}
    for i, (name, credit) in enumerate(zip(KERNELS, links.credit(), strict=True)):
        right = links.own[i][credit > 0]
        mean = float(right.mean()) if len(right) else float("nan")
        found[name] = ScenarioOutcome(float(credit.sum()), mean, float(right.std(ddof=1)) if len(right) > 1 else float("nan"))
    return found
