"""The distance of each record from the centre of its sub-group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import map_rows, moments_by_group
from larvatus.stats.linear.portable_algebra import symmetric_eigen

DISTANCE = scratch("distance")
_THINNEST = 1e-8


def with_distance(data: Microdata, names: Sequence[str]) -> Microdata:
    """Add the squared Mahalanobis distance (x − μ)ᵀ Σ⁻¹ (x − μ); missing values count as μ, thin directions are dropped."""
    figures = [_whitening(np.nan_to_num(m.mean), np.nan_to_num(m.covariance)) for m in moments_by_group(data, names)]

    def distance(group: int, block: Block) -> Mapping[str, Array]:
        from larvatus.stats.linear.row_maps import rows_times_weights

        centre, whitening = figures[group]
        away = np.array([np.nan_to_num(block[n] - centre[j]) for j, n in enumerate(names)]).reshape(len(names), len(block))
        out = np.zeros(len(block))
        for part in rows_times_weights(away, whitening):
            out += part * part
        return {DISTANCE: out}

    return map_rows(data, distance, names, [Column(DISTANCE, "number")])


def _whitening(centre: NDArray[np.float64], covariance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The centre, and the map that makes the columns uncorrelated with variance one."""
    spread = np.sqrt(np.diag(covariance))
    scale = np.where(spread > 0, spread, 1.0)
    values, vectors = symmetric_eigen(covariance / np.outer(scale, scale))
    good = values > _THINNEST * max(float(values.max(initial=0.0)), 1e-300)
    return centre, (vectors[:, good] / np.sqrt(values[good])) / scale[:, None]
