"""The law of a mask, for attacks that know it: E(Y | X, S) and Cov(Y | X, S), or Y = X · factor + noise for each column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from larvatus.data.contracts import Mask
    from larvatus.data.microdata import Microdata
    from larvatus.data.release import Release
from typing import TYPE_CHECKING

from larvatus.core.arrays import Floats, Matrix
from larvatus.data.alignment import released_records
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import as_one_group, map_rows, moments_by_group

BiasLaw = Literal["normal", "lognormal", "gamma"]
NoiseLaw = Literal["normal", "uniform", "laplace", "mixture"]


@dataclass(frozen=True, slots=True)
class FactorLaw:
    """One column: laws of factor and noise, the SD of the factor, and the SD of the noise in each sub-group."""

    bias: BiasLaw
    noise: NoiseLaw
    bias_sd: float
    noise_sd: Floats
    zeros_kept: bool = False


@dataclass(frozen=True, slots=True)
class ExactNoise:
    """Masked values whose means and covariances with each other and with S are those of X exactly, in every sub-group.

    If `similarity` β is given, the noise is also orthogonal to X: given S, Cov(Y, X) = β Cov(X). If not, the residuals of X on
    S are rotated at random. With `weighted`, sums are weighted by the survey weight. If the study pools, categories of S
    with up to `rare` records are joined to others. Without `with_s` covariances with S are not exact.
    """

    similarity: Matrix | None = None
    weighted: bool = False
    rare: int = 2
    with_s: bool = True


def spreads(data: Microdata, ratio: Floats, zeros: Literal["mask", "keep"], scope: str) -> Floats:
    """Sub-groups × columns: `ratio` times the standard deviation of each column, in the sub-group or over the file."""

    whole = as_one_group(data) if scope == "file" else data
    moments = moments_by_group(without_zeros(whole, zeros), whole.confidential)
    out = np.array([ratio * np.sqrt(np.where(m.constant, 0.0, np.nan_to_num(m.variance))) for m in moments])
    return np.repeat(out, len(data.groups), axis=0) if scope == "file" else out


def factor_laws(release: Release, original: Microdata) -> dict[str, FactorLaw] | None:
    """The law of each released column, if every step has such a law and no two steps mask the same column.

    `original` is in the release's sub-groups. Columns of other releases of the same records have their own law. A sampling step
    changes no values, but steps after it took standard deviations from the sample, and steps before it from the whole file.
    """
    if release.internals.copies_averaged > 1:
        return None
    base = dict(release.internals.original_columns)
    mine = _of_steps(release, original)
    if mine is None or any(r.data.groups.labels != release.data.groups.labels for r in release.internals.other_releases):
        return None
    out = {n: mine[n] for n in release.data.confidential if n not in base and n in mine}
    for other in release.internals.other_releases:
        theirs = _of_steps(other, original)
        if theirs is None:
            return None
        out |= {n: theirs[base[n]] for n in base if other.internals.original_columns.get(n) == base[n] and base[n] in theirs}
    return out


def _of_steps(release: Release, original: Microdata) -> dict[str, FactorLaw] | None:
    from larvatus.data.steps import view_of_step

    out: dict[str, FactorLaw] = {}
    sampled = [i for i, step in enumerate(release.steps) if step.drops]
    if sampled and any(not step.drops for step in release.steps[sampled[0] : sampled[-1]]):
        return None  # the file masked between two sampling steps is not available
    for i, step in enumerate(release.steps):
        if step.drops:
            continue
        data = released_records(original, release.data) if sampled and i > sampled[-1] else original
        found = None if step.where is not None else step.factor_law(view_of_step(step, data))
        if found is None or set(found) & set(out):
            return None
        out |= found
    return out or None


def with_error(law: FactorLaw, error: float) -> FactorLaw:
    """The law as seen by an intruder who knows X with a relative error."""
    return replace(law, bias_sd=float(np.hypot(law.bias_sd, error))) if error else law




@dataclass(frozen=True, slots=True)
class GroupLaw:
    """In one sub-group: E(Y | X, S) = intercept + on_x X + on_s S, and Cov(Y | X, S).

    The noise is rootᵀ u, with independent draws u of variance 1 and distribution `shape`; `root` is draws × columns. It is
    needed unless the draws are normal. `blur` is the SD of small changes to the draws, for masks that make them orthogonal.
    """

    intercept: Matrix
    on_x: Matrix
    on_s: Matrix
    covariance: Matrix
    shape: NoiseLaw = "normal"
    root: Matrix | None = None
    blur: float = 0.0


@dataclass(frozen=True, slots=True)
class Law:
    """The law in every sub-group, over these confidential and design columns.

    With `zeros_kept` it holds for the cells that are not zero; a zero is released as zero, and no other value becomes zero.
    """

    confidential: tuple[str, ...]
    given: tuple[str, ...]
    groups: tuple[GroupLaw, ...]
    zeros_kept: bool = False


def without_zeros(data: Microdata, zeros: Literal["mask", "keep"]) -> Microdata:
    """The data whose variance sets the scale of the noise: without zeros if zeros are not masked."""
    if zeros == "mask":
        return data
    names = data.confidential
    return map_rows(data, lambda g, b: {n: np.where(b[n] == 0, np.nan, b[n]) for n in names}, names)


def keeps_zeros(step: Mask) -> bool:
    """Whether a step states that zeros are released as zeros, and that no other value becomes zero."""
    return getattr(step, "zeros", None) == "keep"
