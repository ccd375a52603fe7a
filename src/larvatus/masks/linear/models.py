"""Shared by masks with a linear model: the similarity as a matrix, the fit of X on S, rotations, the law of Y, errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block
from larvatus.data.design import Design, design_of
from larvatus.data.exposure.leverage import with_pooled_levels
from larvatus.data.laws import GroupLaw, Law, NoiseLaw
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.per_column import per_column
from larvatus.data.verbs import count_present, map_groups, reduce_groups
from larvatus.masks.noise.drawing import column_matrix
from larvatus.masks.noise.last_digits import on_grid_of_group

if TYPE_CHECKING:
    from larvatus.stats.linear.fit_on_s import FitOnS

MOST_BLUR = 0.3  # change of the draws, in SDs, above which their distribution is taken as normal


def similarity_matrix(what: str, value: Any, names: Sequence[str]) -> Matrix:
    """The similarity β₂ as a matrix over these columns, from one value, a list, a table by name, or nested lists."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        rows = [row for row in value if isinstance(row, tuple)]
        if {len(row) for row in rows} != {len(names)} or len(rows) != len(names):
            raise MaskError(
                f"{what}: needs {len(names)} rows of {len(names)} values, in the order of the "
                f"confidential columns ({', '.join(names)})."
            )
        return np.array(rows, dtype=np.float64)
    flat = tuple(v for v in value if not isinstance(v, tuple)) if isinstance(value, tuple) else value
    return np.diag(per_column(what, flat, names))


@contextmanager
def feasible(method: str, names: Sequence[str], group: str) -> Iterator[None]:
    """Raise an error that names the direction if the similarity would need noise of negative or no variance."""
    from larvatus.stats.linear.sufficiency import Infeasible

    try:
        yield
    except Infeasible as problem:
        needs = f"needs noise of negative variance ({problem.eigenvalue:.3g})" if problem.eigenvalue < 0 else "leaves no noise"
        raise MaskError(
            f"{method}: in sub-group ({group}) this similarity {needs} in the direction "
            f"{direction_text(problem.direction, names)} of the standardised columns. Use one similarity for all columns, or "
            "bring the values of correlated columns closer together and below 1."
        ) from None


def direction_text(direction: Matrix, names: Sequence[str]) -> str:
    """A combination of standardised columns as text, largest coefficients first."""
    order = [j for j in np.argsort(-np.abs(direction))[:4] if abs(direction[j]) > 0.05]
    return " ".join(f"{direction[j]:+.2f}·{names[j]}" for j in order)


def fits_of(data: Microdata, present: Sequence[tuple[str, ...]], design: Design) -> list[FitOnS]:
    """In each sub-group, the fit on S of the columns present there; these have no missing values."""
    from larvatus.stats.linear.covariance_factors import CentredRows
    from larvatus.stats.linear.fit_on_s import fit_of

    def rows(group: int, block: Block) -> CentredRows | None:
        return CentredRows.of(np.hstack([design.matrix(group, block), block.matrix(present[group])]))

    columns = list(dict.fromkeys([*data.confidential, *design.columns]))
    out = []
    for found in reduce_groups(data, columns, rows, CentredRows.merge):
        assert found is not None, "columns that are present have no missing values"
        out.append(fit_of(found, len(design.terms)))
    return out


def rotate_residuals(
    data: Microdata, present: Sequence[tuple[str, ...]], design: Design, random: RecordRandom
) -> tuple[Microdata, dict[int, tuple[str, tuple[str, ...]]]]:
    """X with its residuals on the design rotated at random; for each sub-group, the status and the unchanged columns."""
    from larvatus.stats.linear.sufficiency import mask_group

    names = data.confidential
    outcomes: dict[int, tuple[str, tuple[str, ...]]] = {}

    def rotate(group: int, block: Block) -> Mapping[str, Array]:
        there = present[group]
        same = {n: block[n] for n in names}
        if not there:
            return same
        p = len(there)
        x, s, w = column_matrix(block, there), design.matrix(group, block).T, random.normal(block.record, p)
        y, found = mask_group(x, s, w, np.zeros((p, p)), rotate=True)
        y = on_grid_of_group(y, x)
        status, free = found.status, found.free
        outcomes[group] = (status, tuple(n for n, moved in zip(there, free, strict=True) if not moved))
        return same | dict(zip(there, y, strict=True))

    return map_groups(data, rotate, list(dict.fromkeys([*names, *design.columns]))), outcomes


def design_of_model(original: Microdata, rare: int = 2) -> Design:
    """The design of S as masks use it: if the study pools, categories with up to `rare` records are joined to others."""
    plain = design_of(original, original.non_confidential)
    return with_pooled_levels(original, plain, rare)[0] if original.sub_groups.pools else plain


def linear_law(
    original: Microdata, beta: Matrix | Sequence[Matrix], weight: str | None = None, shape: NoiseLaw = "normal",
    orthogonal: bool = False, rare: int = 2,
) -> Law | None:
    """The law of Y = β₀ + β₁S + β₂X + ε with the (weighted) moments of (X, S) preserved; None if values are missing.

    `beta` is one matrix, or one for each sub-group.

    `shape` is the distribution of the draws that make ε. If they are made `orthogonal` to [1, S, X] and to each other, each
    draw changes by about √(m / n), with m the number of directions; where that is much, the noise counts as normal. If the
    study pools, categories of S with up to `rare` records are joined to others.
    """
    from larvatus.stats.linear.moments import SampleMoments

    names = original.confidential
    if (count_present(original) < np.array(original.groups.sizes)[:, None]).any():
        return None
    design = design_of_model(original, rare)
    p = len(names)
    betas = [beta] * len(original.groups) if isinstance(beta, np.ndarray) else list(beta)

    def moments(group: int, block: Block) -> SampleMoments:
        by = None if weight is None else block[weight]
        return SampleMoments.of(np.hstack([block.matrix(names), design.matrix(group, block)]), by)

    out = []
    used = list(dict.fromkeys([*names, *design.columns, *([weight] if weight else [])]))
    found = reduce_groups(original, used, moments, SampleMoments.merge)
    for g, (m, n) in enumerate(zip(found, original.groups.sizes, strict=True)):
        if n < 2:
            return None
        covariance = m.covariance if weight is None else m.scatter / m.count
        fit = covariance[:p, p:] @ np.linalg.pinv(covariance[p:, p:])
        inside = covariance[:p, :p] - fit @ covariance[p:, :p]
        own = betas[g]
        on_s = (np.eye(p) - own) @ fit
        intercept = (np.eye(p) - own) @ m.mean[:p] - on_s @ m.mean[p:]
        out.append(GroupLaw(intercept, own, _on_single_levels(on_s, design, g), inside - own @ inside @ own.T))
    if shape != "normal":
        out = _with_roots(original, betas, design, out, shape, orthogonal)
    return Law(names, design.names, tuple(out))


def _with_roots(
    original: Microdata, betas: Sequence[Matrix], design: Design, laws: Sequence[GroupLaw], shape: NoiseLaw, orthogonal: bool
) -> list[GroupLaw]:
    """The laws with the distribution of the draws and the factor that mixes them."""
    names, q = original.confidential, len(design.terms)
    out = []
    fits = fits_of(original, [names] * len(laws), design)
    for law, fit, n, beta in zip(laws, fits, original.groups.sizes, betas, strict=True):
        blur = np.sqrt((1 + q + 2 * len(names)) / n) if orthogonal else 0.0
        root = fit.noise_weights(beta) * fit.scale[q:]
        out.append(replace(law, shape=shape, root=root, blur=float(blur)) if blur <= MOST_BLUR else law)
    return out


def _on_single_levels(on_s: Matrix, design: Design, group: int) -> Matrix:
    """Coefficients of the indicators of single levels, from those of pooled levels: each level has that of its pool."""
    out = on_s.copy()
    for j, term in enumerate(design.terms):
        if term.pooled:
            own = -1 if term.missing else term.level
            holders = [i for i, t in enumerate(design.terms) if t.column == term.column and t.pooled
                       and own in t.pooled[group] and t.missing == term.missing]
            out[:, j] = on_s[:, holders[0]] if holders else 0.0
    return out


def unmoved_notes(data: Microdata, fixed: Mapping[int, Sequence[str]]) -> list[Note]:
    """Notes on columns that are constant, or determined by S, in a sub-group."""
    why = "does not vary beyond what S determines"
    return [
        Note(f"{n} {why} in sub-group ({data.groups.name(g)}) and is released as it is", "status")
        for g, names in sorted(fixed.items()) for n in names
    ]
