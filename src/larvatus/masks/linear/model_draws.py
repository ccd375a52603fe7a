"""Values drawn around the regression of X on S, with a similarity for each sub-group: what masks by linear models share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Masked
from larvatus.data.design import Design
from larvatus.data.laws import NoiseLaw
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import map_rows
from larvatus.masks.grouping.cell_patterns import by_missing_pattern, omission_notes
from larvatus.masks.linear.leverage import movable_records
from larvatus.masks.linear.models import feasible, fits_of, unmoved_notes
from larvatus.masks.noise.drawing import column_matrix
from larvatus.masks.noise.last_digits import on_grid, spread_of

if TYPE_CHECKING:
    from larvatus.stats.linear.fit_on_s import FitOnS

Similarities = Callable[[Sequence["FitOnS"], Sequence[tuple[str, ...]]], list[Matrix]]


def draw_from_model(
    current: Microdata, random: RecordRandom, name: str, smallest: int, noise: NoiseLaw, similarities: Similarities
) -> Masked:
    """The masked data of one step; `similarities` gives the matrix of each sub-group for the columns present there."""
    from larvatus.stats.noise.laws import standard_noise

    names = current.confidential
    split, present = by_missing_pattern(current, names, smallest, name)
    data, design, held_notes = movable_records(split, present, name, smallest)
    fits = fits_of(data, present, design)
    betas = similarities(fits, present)
    weights: list[Matrix] = []
    for g, fit in enumerate(fits):
        _refuse_determined(fit, data, g, design, name)
        with feasible(name, present[g], data.groups.name(g)):
            weights.append(fit.noise_weights(betas[g]))

    def mask_block(group: int, block: Block) -> Mapping[str, Array]:
        same = {n: block[n] for n in names}
        if not present[group]:
            return same
        draws = standard_noise(noise, random, block.record, len(present[group]))
        x, s = column_matrix(block, present[group]), design.matrix(group, block).T
        y = fits[group].masked(s, x, betas[group], weights[group], draws)
        y = on_grid(y, (spread_of(weights[group]) * fits[group].scale[-len(x) :])[:, None], x)
        return same | dict(zip(present[group], y, strict=True))

    masked = map_rows(data, mask_block, list(dict.fromkeys([*names, *design.columns])))
    fixed = {g: [n for n, moves in zip(present[g], f.free, strict=True) if not moves] for g, f in enumerate(fits)}
    notes = [*unmoved_notes(data, fixed), Note("means and covariances are preserved on average, not exactly")]
    return Masked(masked, [*notes, *omission_notes(current, split, "missing"), *held_notes])


def _refuse_determined(fit: FitOnS, data: Microdata, group: int, design: Design, name: str) -> None:
    """Raise an error if S determines every confidential column: the model would return the original values."""
    if fit.varies.any() and not fit.free.any():
        raise MaskError(
            f"{name}: in sub-group ({data.groups.name(group)}) the {len(design.terms)} non-confidential terms determine "
            f"every confidential column over its {data.groups.sizes[group]} records, so the model would return the original "
            "values. Pool small sub-groups (small = \"pool\"), drop a sub-group column, or leave out a non-confidential column "
            "that determines the confidential ones."
        )


def in_part(beta: Matrix, names: Sequence[str]) -> Similarities:
    """The same similarity in every sub-group, for the columns that are present."""
    def of(fits: Sequence[FitOnS], present: Sequence[tuple[str, ...]]) -> list[Matrix]:
        del fits
        return [beta[np.ix_(rows, rows)] for rows in ([list(names).index(n) for n in there] for there in present)]

    return of
