"""The law of masks that release X times a factor plus noise, column by column: what a Bayesian intruder reckons with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from larvatus.data.contracts import Mask
    from larvatus.data.microdata import Microdata
    from larvatus.data.release import Release

Floats = NDArray[np.float64]
Bias = Literal["normal", "lognormal", "gamma"]
Noise = Literal["normal", "uniform", "laplace", "mixture"]


@dataclass(frozen=True, slots=True)
class FactorLaw:
    """One column: laws of factor and noise, the SD of the factor, and that of the noise in each sub-group."""

    bias: Bias
    noise: Noise
    bias_sd: float
    noise_sd: Floats
    zeros_kept: bool = False


def spreads(data: Microdata, ratio: Floats, zeros: Literal["mask", "keep"], scope: str) -> Floats:
    """Sub-groups × columns: so many standard deviations of each column, in the sub-group or over the file."""
    from larvatus.data.noise import counted

    whole = data.ungrouped() if scope == "file" else data
    moments = counted(whole, zeros).moments(whole.confidential)
    out = np.array([ratio * np.sqrt(np.where(m.constant, 0.0, np.nan_to_num(m.variance))) for m in moments])
    return np.repeat(out, len(data.groups), axis=0) if scope == "file" else out


def factor_laws(release: Release, original: Microdata) -> dict[str, FactorLaw] | None:
    """The law of each released column, where every step is of this kind and masks columns that no other does.

    `original` is in the release's sub-groups; columns of other releases of the same records have theirs.
    """
    if release.averaged > 1:
        return None
    base = dict(release.joined)
    mine = _of_steps(release.steps, original)
    if mine is None or any(r.data.groups.labels != release.data.groups.labels for r in release.others):
        return None
    out = {n: mine[n] for n in release.data.confidential if n not in base and n in mine}
    for other in release.others:
        theirs = _of_steps(other.steps, original)
        if theirs is None:
            return None
        out |= {n: theirs[base[n]] for n in base if other.joined.get(n) == base[n] and base[n] in theirs}
    return out


def _of_steps(steps: Sequence[Mask], original: Microdata) -> dict[str, FactorLaw] | None:
    from larvatus.data.steps import seen_by

    out: dict[str, FactorLaw] = {}
    for step in steps:
        found = None if step.drops or step.where is not None else step.factor_law(seen_by(step, original))
        if found is None or set(found) & set(out):
            return None
        out |= found
    return out or None


def with_error(law: FactorLaw, error: float) -> FactorLaw:
    """The law as it looks to one who remembers X with a relative error."""
    return replace(law, bias_sd=float(np.hypot(law.bias_sd, error))) if error else law
