"""Latent normal values of X given S under a copula, and notes on the copula."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.masks.copula.estimate import Copula

_NOTABLE = 1e-6


def latent_values(
    copula: Copula, block: Block, given: Sequence[str], random: RecordRandom, purpose: str
) -> NDArray[np.float64]:
    """Columns × rows: E(u | S) plus fresh noise; columns in perfect rank agreement share one draw."""
    from larvatus.stats.linear.row_maps import rows_times_weights

    noise = random.normal(block.record, len(copula.root), purpose=purpose)
    parts = np.vstack([*(block[s][None] for s in given), noise])
    latent = rows_times_weights(parts, np.vstack([copula.weights, copula.root]))
    return np.asarray(latent[copula.member] * copula.sign[:, None])


def copula_notes(data: Microdata, copulas: Sequence[Copula]) -> list[Note]:
    """A note on rank correlations that fit no normal copula, and how far they were moved."""
    repaired = [(c.repaired, g) for g, c in enumerate(copulas) if c.repaired > _NOTABLE]
    if not repaired:
        return []
    worst, where = max(repaired)
    return [Note(
        f"rank correlations of {len(repaired)} sub-groups do not fit a normal copula and were moved to the nearest that do "
        f"(by {worst:.2g} at most, in {data.groups.name(where)})"
    )]
