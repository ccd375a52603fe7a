"""The linear law of a whole release: its steps composed, averaged over copies, and joined with other releases.

    E(Y | X, S) = B [X, S] + constant,  Cov(Y | X, S) = Σ_noise, in each sub-group.
    A second step with E(Z | Y, S) = A Y + C S and covariance N gives  E(Z | X, S) = A B [X, S] + C S,  A Σ_noise Aᵀ + N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.core.errors import RolesError
from larvatus.data.copies import copies_of_steps
from larvatus.data.design import Design, design_of
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.step_columns import view_of_step


@dataclass(frozen=True, slots=True)
class ReleaseLaw:
    """For every sub-group, the coefficients of released columns on original columns and terms of S, and the noise covariance.

    `noise` is None if several steps mask the same column: the noise of a later step is scaled by the output of an earlier
    one, so the covariance of the released values, which the intruder can compute, is used instead.
    """

    released: tuple[str, ...]
    original: tuple[str, ...]
    design: Design
    on_both: tuple[Matrix, ...]
    noise: tuple[Matrix, ...] | None


def law_of(release: Release, original: Microdata) -> ReleaseLaw | None:
    """The law, or None if a step has no linear law; `original` must be grouped as the release."""
    base = dict(release.internals.original_columns)
    first = tuple(n for n in original.numeric(original.confidential) if n not in base)
    whole = original.with_confidential(first)
    try:
        design = design_of(whole, whole.non_confidential)
    except RolesError:
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
    return ReleaseLaw(tuple(n for names in columns for n in names), first, design, on, noise)


def _alone(release: Release, original: Microdata, design: Design) -> tuple[list[Matrix], list[Matrix] | None] | None:
    """Coefficients [on X, on S] of one release per sub-group, and its noise covariance (None: see `ReleaseLaw`)."""
    if not release.steps:
        return None
    names, terms = original.confidential, design.names
    p, q = len(names), len(terms)
    groups = len(original.groups)
    on = [np.hstack([np.eye(p), np.zeros((p, q))]) for _ in range(groups)]
    noise: list[Matrix] | None = [np.zeros((p, p)) for _ in range(groups)]
    start = copies_of_steps(release.steps)[1]
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
    return on, noise


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
