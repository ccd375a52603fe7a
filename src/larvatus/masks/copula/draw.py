"""Latent normal values of X given S under a copula, and what to say of it."""

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
    """Columns × rows: what S says of each column plus fresh noise, columns in perfect agreement sharing one draw."""
    from larvatus.stats.linear.row_maps import mapped_rows

    noise = random.normal(block.record, len(copula.root), purpose=purpose)
    parts = np.vstack([*(block[s][None] for s in given), noise])
    latent = mapped_rows(parts, np.vstack([copula.weights, copula.root]))
    return np.asarray(latent[copula.member] * copula.sign[:, None])


def copula_notes(data: Microdata, copulas: Sequence[Copula]) -> list[Note]:
    """How far rank correlations had to be moved where no normal copula has them."""
    repaired = [(c.repaired, g) for g, c in enumerate(copulas) if c.repaired > _NOTABLE]
    if not repaired:
        return []
    worst, where = max(repaired)
    return [Note(
        f"rank correlations of {len(repaired)} sub-groups do not fit one normal copula and were moved to the nearest that do "
        f"(by {worst:.2g} in the worst, {data.groups.name(where)})"
    )]
