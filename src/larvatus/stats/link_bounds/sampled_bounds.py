"""Both bounds by sampling from the law of the mask: the mean over draws, with a limit that holds with a stated false alarm.

    score rules    mean over random records t and draws Y_t of the dual bound (`score_rules`) within blocks of similar records
    power          the same at single levels: the power to tell the target's row from the others, for the limit in one release
    pairings       mean over random blocks and draws of their rows of Σ max π (`matchings`): everything outside is revealed
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.link_bounds.matchings import MOST_MATCHED, expected_links
from larvatus.stats.link_bounds.record_laws import JointLaw
from larvatus.stats.link_bounds.score_rules import (
    constant_part,
    level_means,
    level_without_rivals,
    log_ratios,
    part_of_draws,
    thresholds,
)
from larvatus.stats.link_bounds.similar_blocks import similar_blocks
from larvatus.stats.link_bounds.tails import upper_mean

_PILOT, _FEW, _MANY = 12, 8, 64  # similar records whose draws set thresholds together; draws of each; draws of one alone
_ROWS = 256  # released rows compared at once
_BATCH = 200  # blocks matched at once


@dataclass(frozen=True, slots=True)
class SampledMean:
    """The mean share of records linked: the estimate of its bound, the bound with sampling error, and the blocks used."""

    estimate: float
    upper: float
    blocks: int
    largest: int


def score_rule_bound(cells: Sequence[JointLaw], size: int, draws: int, false_alarm: float, seed: int) -> SampledMean:
    """The bound on score rules over cells of records with the same S (two or more each), in blocks of at most `size`."""
    return _sampled(cells, size, draws, [level_means], false_alarm, seed)[0]


def power_bounds(
    cells: Sequence[JointLaw], size: int, draws: int, rivals: Sequence[float], false_alarm: float, seed: int
) -> list[SampledMean]:
    """For each a in `rivals`, the mean power of the best tests at the level where no rival is above with probability e^(−a).

    All limits hold together with the false alarm.
    """
    return _sampled(cells, size, draws, [partial(level_without_rivals, a) for a in rivals], false_alarm, seed)


def _sampled(
    cells: Sequence[JointLaw], size: int, draws: int, levels: Sequence[Callable[[int], Floats]], false_alarm: float, seed: int
) -> list[SampledMean]:
    """The mean over random records of the bound at each list of levels, which depend on the number of candidates."""
    random = np.random.default_rng(seed)
    blocks = [(cell, rows) for cell in cells for rows in similar_blocks(cell.points, size)]
    sizes = np.array([len(rows) for _, rows in blocks])
    times = random.multinomial(max(1, draws), sizes / sizes.sum())
    found = [_score_block(cell, rows, int(k), [of(len(rows)) for of in levels], random)
             for (cell, rows), k in zip(blocks, times, strict=True) if k]
    values = np.concatenate(found)
    means = [float(v) for v in values.mean(axis=0)]
    part = false_alarm / len(levels)
    return [SampledMean(m, min(1.0, 2 * upper_mean(m / 2, len(values), part)), len(blocks), int(sizes.max())) for m in means]


def _score_block(cell: JointLaw, rows: Ints, times: int, levels: Sequence[Floats], random: np.random.Generator) -> Floats:
    """For random records of a block, unbiased draws of a bound on the chance that each is linked, at each list of levels.

    Other draws set the thresholds: those of records like the target if most of the block are targets, else its own.
    """
    c = len(rows)
    if c == 1:
        return np.ones((times, len(levels)))
    targets = np.sort(random.integers(c, size=times))
    drawn = _own_ratios(cell, rows, targets, random)
    distinct, which = np.unique(targets, return_inverse=True)
    if times * 4 >= c:
        pilot = _own_ratios(cell, rows, np.repeat(np.arange(c), _FEW), random).reshape(c, _FEW)
        pilots = [pilot[like].ravel() for like in _alike(cell.points[rows], distinct)]
    else:
        pilots = list(_own_ratios(cell, rows, np.repeat(distinct, _MANY), random).reshape(len(distinct), _MANY))
    out = np.empty((times, len(levels)))
    for i, pilot_ratios in enumerate(pilots):
        mine = which == i
        for k, some in enumerate(levels):
            tau = thresholds(pilot_ratios, some)
            out[mine, k] = constant_part(tau, some) + part_of_draws(drawn[mine], tau, some)
    return out


def _own_ratios(cell: JointLaw, rows: Ints, targets: Ints, random: np.random.Generator) -> Floats:
    """For each target a draw of its released row, and its log ratio of densities."""
    out = np.empty(len(targets))
    for first in range(0, len(targets), _ROWS):
        part = targets[first : first + _ROWS]
        out[first : first + _ROWS] = log_ratios(cell.log_density(cell.draw(rows[part], random), rows), part)
    return out


def _alike(points: Floats, targets: Ints) -> Sequence[Ints]:
    """For each target, the records most like it, itself among them."""
    from scipy.spatial import cKDTree

    k = min(_PILOT, len(points))
    if not points.shape[1] or k < 2:
        return [np.arange(k)] * len(targets)
    return list(np.asarray(cKDTree(points).query(points[targets], k=k)[1]).reshape(len(targets), k))


def pairing_bound(cells: Sequence[JointLaw], size: int, draws: int, false_alarm: float, seed: int) -> SampledMean:
    """The bound on whole-file intruders: similar records in blocks of at most `size`, with all links outside revealed."""
    random = np.random.default_rng(seed)
    blocks = [(cell, rows) for cell in cells for rows in similar_blocks(cell.points, min(size, MOST_MATCHED))]
    sizes = np.array([len(rows) for _, rows in blocks])
    drawn = random.choice(len(blocks), max(1, draws), p=sizes / sizes.sum())
    values = []
    for k in np.unique(sizes[drawn]):
        mine = drawn[sizes[drawn] == k]
        for first in range(0, len(mine), _BATCH):
            batch = [blocks[b] for b in mine[first : first + _BATCH]]
            density = np.array([cell.log_density(cell.draw(rows, random), rows).T for cell, rows in batch])
            values.append(expected_links(density) / k)
    mean = float(np.concatenate(values).mean())
    return SampledMean(mean, upper_mean(mean, max(1, draws), false_alarm), len(blocks), int(sizes.max()))
