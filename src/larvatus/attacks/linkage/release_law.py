"""The linear law of a whole release: its steps composed, averaged over copies, and joined with other releases.

    E(Y | X, S) = B [X, S] + constant,  Cov(Y | X, S) = Σ_noise, in each sub-group.
    A second step with E(Z | Y, S) = A Y + C S and covariance N gives  E(Z | X, S) = A B [X, S] + C S,  A Σ_noise Aᵀ + N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.core.errors import RolesError
from larvatus.data.copies import copies_of_steps
from larvatus.data.design import Design, design_of
from larvatus.data.laws import GroupLaw, NoiseLaw, keeps_zeros
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.steps import view_of_step


@dataclass(frozen=True, slots=True)
class NoiseDraws:
    """In one sub-group: the constant of E(Y | X, S), and noise rootᵀ u with independent draws u.

    `shapes` and `blur` hold the distribution of each draw and the SD of small changes to it; see `GroupLaw`.
    """

    constant: Matrix
    root: Matrix
    shapes: tuple[NoiseLaw, ...]
    blur: Matrix


@dataclass(frozen=True, slots=True)
class ReleaseLaw:
    """For every sub-group, the coefficients of released columns on original columns and terms of S, and the noise covariance.

    `noise` is None if several steps mask the same column: the noise of a later step is scaled by the output of an earlier
    one, so the covariance of the released values, which the intruder can compute, is used instead. `draws` tells how the
    noise was drawn; it is None in the same case, and if copies were averaged or releases joined.
    """

    released: tuple[str, ...]
    original: tuple[str, ...]
    design: Design
    on_both: tuple[Matrix, ...]
    noise: tuple[Matrix, ...] | None
    draws: tuple[NoiseDraws, ...] | None = None

    @property
    def normal(self) -> bool:
        """Whether all noise is normal, as far as the law states it."""
        return self.draws is None or all(shape == "normal" for d in self.draws for shape in d.shapes)


def law_of(release: Release, original: Microdata, without_zeros: bool = False) -> ReleaseLaw | None:
    """The law, or None if a step has no linear law; `original` must be grouped as the release.

    If zeros are kept, the law holds for the other cells only. It is given to callers that ask for one `without_zeros`.
    """
    base = dict(release.internals.original_columns)
    first = tuple(n for n in original.numeric(original.confidential) if n not in base)
    whole = original.with_confidential(first)
    try:
        design = design_of(whole, whole.non_confidential)
    except RolesError:
        return None
    if not without_zeros and any(keeps_zeros(s) for r in (release, *release.internals.other_releases) for s in r.steps):
        return None
    if any(r.data.groups.labels != release.data.groups.labels for r in release.internals.other_releases):
        return None
    found = [_alone(r, whole, design) for r in (release, *release.internals.other_releases)]
    laws = [f for f in found if f is not None]
    if len(laws) < len(found):
        return None
    mine = release.data.numeric(release.data.confidential)
    columns = [[n for n in mine if n not in base]]
    for i in range(len(release.internals.other_releases)):
        columns.append([n for n in mine if n in base
                        and release.internals.other_releases[i].internals.original_columns.get(n) == base[n]])
    rows = [[first.index(base.get(n, n)) for n in names] for names in columns]
    on = tuple(np.vstack([law[0][g][r] for law, r in zip(laws, rows, strict=True)]) for g in range(len(whole.groups)))
    noise: tuple[Matrix, ...] | None = None
    if all(law[1] is not None for law in laws):
        noise = tuple(
            _beside([law[1][g][np.ix_(r, r)] for law, r in zip(laws, rows, strict=True) if law[1] is not None])
            for g in range(len(whole.groups))
        )
    draws: tuple[NoiseDraws, ...] | None = None
    if noise is not None and len(laws) == 1 and laws[0][2] is not None:
        draws = tuple(replace(d, constant=d.constant[rows[0]], root=d.root[:, rows[0]]) for d in laws[0][2])
    return ReleaseLaw(tuple(n for names in columns for n in names), first, design, on, noise, draws)


def _alone(
    release: Release, original: Microdata, design: Design
) -> tuple[list[Matrix], list[Matrix] | None, list[NoiseDraws] | None] | None:
    """Coefficients [on X, on S] of one release per sub-group, its noise covariance, and its draws (see `ReleaseLaw`)."""
    if not release.steps:
        return None
    names, terms = original.confidential, design.names
    p, q = len(names), len(terms)
    groups = len(original.groups)
    on = [np.hstack([np.eye(p), np.zeros((p, q))]) for _ in range(groups)]
    noise: list[Matrix] | None = [np.zeros((p, p)) for _ in range(groups)]
    start = copies_of_steps(release.steps)[1]
    draws = [NoiseDraws(np.zeros(p), np.zeros((0, p)), (), np.zeros(0)) for _ in range(groups)]
    for i, step in enumerate(release.steps):
        if step.drops or step.where is not None:
            return None
        law = step.law(view_of_step(step, original))
        if law is None or len(law.groups) != groups or not set(law.given) <= set(terms):
            return None
        at = [names.index(n) for n in law.confidential]
        s = _places(law.given, terms)
        copies = release.internals.copies_averaged if i >= start else 1
        for g, here in enumerate(law.groups):
            draws[g] = _drawn(draws[g], here, at)
            x, own = np.eye(p), np.zeros((p, q))
            x[np.ix_(at, at)] = here.on_x
            own[np.ix_(at, s)] = here.on_s
            on[g] = x @ on[g] + np.hstack([np.zeros((p, p)), own])
            if noise is not None:
                added = np.zeros((p, p))
                added[np.ix_(at, at)] = here.covariance / copies
                noise[g] = x @ noise[g] @ x.T + added
        if i > 0 and {n for s in release.steps[:i] for n in view_of_step(s, original).confidential} & set(law.confidential):
            noise = None
    return on, noise, draws if noise is not None and release.internals.copies_averaged == 1 else None


def _drawn(before: NoiseDraws, law: GroupLaw, at: Sequence[int]) -> NoiseDraws:
    """The draws with those of a further step, which masks the columns `at`; none of them was masked before."""
    from larvatus.stats.linkage.noise_coordinates import root_of_covariance

    part = law.root if law.root is not None else root_of_covariance(law.covariance)
    constant, root = before.constant.copy(), np.zeros((len(part), len(before.constant)))
    constant[at], root[:, at] = law.intercept, part
    return NoiseDraws(constant, np.vstack([before.root, root]), (*before.shapes, *[law.shape] * len(part)),
                 np.concatenate([before.blur, np.full(len(part), law.blur)]))


def _places(given: Sequence[str], terms: Sequence[str]) -> list[int]:
    """Where each term stands among all; terms of the same name, which follow each other in the same order, one by one."""
    found = {n: [i for i, t in enumerate(terms) if t == n] for n in set(given)}
    return [found[n].pop(0) for n in given]


def _beside(parts: list[Matrix]) -> Matrix:
    """A block-diagonal matrix."""
    size = sum(len(p) for p in parts)
    out, at = np.zeros((size, size)), 0
    for part in parts:
        out[at : at + len(part), at : at + len(part)] = part
        at += len(part)
    return out
