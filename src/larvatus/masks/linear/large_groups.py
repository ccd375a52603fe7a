"""Sufficiency-based masking of sub-groups too large for memory: three reductions and one map over rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.data.contracts import Array, Block
from larvatus.data.design import Design
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import map_rows, reduce_groups
from larvatus.masks.linear.models import feasible
from larvatus.masks.noise.last_digits import on_grid
from larvatus.stats.linear.portable_algebra import total as sum_of

if TYPE_CHECKING:
    from larvatus.stats.linear.sufficiency import MaskedGroup

_T = TypeVar("_T")
DrawBlocks = Callable[[NDArray[np.int64], int], Matrix]


@dataclass(frozen=True, slots=True)
class Large:
    """The large sub-groups to mask, their columns and similarity, and the source of the noise."""

    groups: Collection[int]
    names: Mapping[int, tuple[str, ...]]
    beta: Mapping[int, Matrix]
    design: Design
    draws: DrawBlocks
    weight: str | None = None

    def reduced(
        self, data: Microdata, columns: Sequence[str], function: Callable[[int, Block], _T], combine: Callable[[_T, _T], _T]
    ) -> dict[int, _T]:
        """A reduction over the large sub-groups only."""

        def chosen(group: int, block: Block) -> list[_T]:
            return [function(group, block)] if group in self.groups else []

        def both(one: list[_T], other: list[_T]) -> list[_T]:
            return [combine(a, b) for a, b in zip(one, other, strict=True)]

        found = reduce_groups(data, columns, chosen, both)
        return {g: found[g][0] for g in self.groups}


def masked_large(data: Microdata, job: Large) -> tuple[Microdata, dict[int, MaskedGroup]]:
    """The data with its large sub-groups masked, and the outcome for each."""
    from larvatus.stats.linear import sufficiency_chunks as blocks
    from larvatus.stats.linear.moments import SampleMoments
    from larvatus.stats.linear.row_maps import rows_times_weights
    from larvatus.stats.linear.sufficiency import FAR, MaskedGroup, basis_of, in_units, weight_root

    every = tuple(dict.fromkeys(n for names in job.names.values() for n in names))
    columns = list(dict.fromkeys([*every, *job.design.columns, *([job.weight] if job.weight else [])]))
    level = _mean_weights(data, job)
    given = 1 + len(job.design.terms)

    def raw(group: int, block: Block) -> Matrix:
        names = job.names[group]
        a = np.empty((given + len(names), len(block)))
        a[0] = 1.0
        a[1:given] = job.design.matrix(group, block).T
        for j, name in enumerate(names):
            a[given + j] = block[name]
        return a

    def root(group: int, block: Block) -> Matrix | None:
        """√(weight / mean weight), the factor of each row."""
        return None if job.weight is None else weight_root(block[job.weight], level[group])

    def moments_of(group: int, block: Block) -> SampleMoments:
        return SampleMoments.of(raw(group, block)[1:].T, None if job.weight is None else block[job.weight])

    def noise_of(group: int, block: Block) -> Matrix:
        by = root(group, block)
        drawn = job.draws(block.record, len(job.names[group]))
        return drawn if by is None else drawn * by

    moments = job.reduced(data, columns, moments_of, SampleMoments.merge)
    centre = {g: m.mean for g, m in moments.items()}
    spreads = {g: m.variance if job.weight is None else m.spread for g, m in moments.items()}
    scale = {g: np.where(m.constant, 1.0, np.sqrt(spreads[g])) for g, m in moments.items()}

    def scaled(group: int, block: Block) -> Matrix:
        a = raw(group, block)
        a[1:] -= centre[group][:, None]
        a[1:] /= scale[group][:, None]
        by = root(group, block)
        return a if by is None else a * by

    r = job.reduced(data, columns, lambda g, b: blocks.triangle(scaled(g, b)), blocks.merged_triangle)
    basis = {g: basis_of(r[g], given, data.groups.sizes[g]) for g in job.groups}

    def first(group: int, block: Block) -> Matrix:
        a = scaled(group, block)
        return blocks.gram(basis[group].rows(a), a[given:], noise_of(group, block))

    g1 = job.reduced(data, columns, first, np.add)
    changes = {}
    for g in job.groups:
        spread = scale[g][given - 1 :]
        with feasible("sufficiency_based", job.names[g], data.groups.name(g)):
            beta = in_units(job.beta[g], spread)
            changes[g] = blocks.change_of(basis[g], g1[g], len(spread), beta, data.groups.sizes[g])
    weights = {g: changes[g].weights * scale[g][given - 1 :] for g in job.groups}

    def mask_block(group: int, block: Block) -> Mapping[str, Array]:
        if group not in job.groups:
            return {n: block[n] for n in every}
        names = job.names[group]
        rows = basis[group].rows(scaled(group, block))
        noise = noise_of(group, block)[: len(weights[group]) - len(rows)]
        change = rows_times_weights(np.vstack([rows, noise]), weights[group])
        by = root(group, block)
        change = change if by is None else change / by
        x = np.array([block[n] for n in names])
        y = on_grid(x + change, scale[group][given - 1 :, None], x)
        return {**{n: block[n] for n in every}, **dict(zip(names, y, strict=True))}

    flat = {g for g in job.groups if moments[g].constant[given - 1 :].all()}
    outcomes = {}
    for g, s in changes.items():
        far = ~moments[g].constant & (np.abs(centre[g]) > FAR * scale[g])
        outcomes[g] = MaskedGroup("constant" if g in flat else s.status, s.free, far[given - 1 :])
    return map_rows(data, mask_block, columns), outcomes


def _mean_weights(data: Microdata, job: Large) -> dict[int, float]:
    """Mean weight of each large sub-group; empty without a weight."""
    name = job.weight
    if name is None:
        return {}
    total = job.reduced(data, [name], lambda g, b: float(sum_of(b[name])), float.__add__)
    return {g: total[g] / data.groups.sizes[g] for g in job.groups}
