"""Leverage in the joint design of several files whose totals are exact, each in its own groups and with its own S.

    H = A (AᵀA)⁻ Aᵀ,   A = [A₁, A₂, …],   A_k = one column for each group of file k and each of its terms [1, S]

Aᵀx is public. A record with H_ii = 1 is a combination of these totals: its value is known, although no file tells it alone.
The design falls apart into blocks of groups that share records, directly or through others. Records with the same row of A
have the same leverage; if there are two and it is ½, their sum is known. Other pairs have a known combination if the largest
eigenvalue of their block of H is 1: of two records that changed places between two groups, the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints, Matrix

_HELD = 0.99  # as for one file: the rest then has less than a tenth of the standard deviation of others
_RANK = 1e-8  # singular values below this share of the largest are rounding
_EXACT, _WORTH = 1e-9, 0.05  # of pairs: how near to 1, and the least leverage of a row that may belong to one
_AT_ONCE = 500
_MOST_CELLS = 4_000_000  # distinct rows × columns of a block


@dataclass(frozen=True, slots=True)
class ExactDesign:
    """One file: the group of each record (-1 if the file has no total with it), and the terms of S, records × terms."""

    group: Ints
    terms: Matrix

    def without(self, groups: Sequence[int]) -> ExactDesign:
        """The design without the totals of these groups."""
        return ExactDesign(np.where(np.isin(self.group, list(groups)), -1, self.group), self.terms)

    def inexact_groups(self, difference: Floats, scale: float, most: float) -> list[int]:
        """Groups in which some total of released minus original values is above `most` standard errors."""
        out = []
        for g, rows in _parts(self.group):
            basis = _standardised(self.terms[rows])
            size = np.sqrt((basis**2).sum(axis=0)) * scale
            if (np.abs(difference[rows] @ basis) > most * size).any():
                out.append(g)
        return out


@dataclass(frozen=True, slots=True)
class JointLeverage:
    """Rows that are known alone, pairs of rows whose sum is known, and rows in blocks that are too large to compute."""

    known: Ints
    pairs: tuple[tuple[int, int], ...]
    skipped: int


def joint_leverage(designs: Sequence[ExactDesign]) -> JointLeverage:
    """The rows that the totals of all files determine together."""
    n = len(designs[0].group)
    known: list[int] = []
    pairs: list[tuple[int, int]] = []
    skipped = 0
    for rows in _blocks([d.group for d in designs], n):
        compact = np.hstack([np.column_stack([d.group[rows], d.terms[rows]]) for d in designs])
        _, one, code, count = np.unique(compact, axis=0, return_index=True, return_inverse=True, return_counts=True)
        width = sum(len(np.unique(d.group[rows])) * (1 + d.terms.shape[1]) for d in designs)
        if len(one) * width > _MOST_CELLS:
            skipped += len(rows)
            continue
        basis = _basis(np.hstack([_columns(d, rows[one]) for d in designs]) * np.sqrt(count)[:, None])
        leverage = (basis**2).sum(axis=1)
        held = leverage > _HELD
        order = np.argsort(code.ravel(), kind="stable")
        first = np.cumsum(count) - count
        known += rows[order[first[held & (count == 1)]]].tolist()
        pairs += [(int(rows[order[k]]), int(rows[order[k + 1]])) for k in first[held & (count == 2)]]
        open_rows = np.flatnonzero(~held & (count == 1) & (leverage > _WORTH))
        pairs += [(int(rows[one[a]]), int(rows[one[b]])) for a, b in _fixed_pairs(basis[open_rows], open_rows)]
    return JointLeverage(np.array(sorted(known), dtype=np.int64), tuple(pairs), skipped)


def _basis(rows: Matrix) -> Matrix:
    """An orthonormal basis of the columns; the sum of squares of a row is its leverage."""
    u, s, _ = np.linalg.svd(rows / np.maximum(np.linalg.norm(rows, axis=0), 1e-300), full_matrices=False)
    return np.asarray(u[:, s > _RANK * s.max(initial=0.0)])


def _fixed_pairs(basis: Matrix, names: Ints) -> list[tuple[int, int]]:
    """Pairs of rows, by name, of which a combination is known: the largest eigenvalue of their block of H is 1."""
    h = (basis**2).sum(axis=1)
    out = []
    for start in range(0, len(h), _AT_ONCE):
        mine = slice(start, start + _AT_ONCE)
        largest = (h[mine, None] + h) / 2 + np.sqrt(((h[mine, None] - h) / 2) ** 2 + (basis[mine] @ basis.T) ** 2)
        first, second = np.nonzero(largest > 1 - _EXACT)
        out += [(int(names[a + start]), int(names[b])) for a, b in zip(first, second, strict=True) if a + start < b]
    return out


def _blocks(groups: Sequence[Ints], n: int) -> list[Ints]:
    """Rows in blocks of groups that share records."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    starts = np.cumsum([0, *(int(g.max(initial=-1)) + 1 for g in groups)])
    nodes = int(starts[-1])
    edges = [(np.arange(n)[g >= 0], start + g[g >= 0] + n) for g, start in zip(groups, starts, strict=False)]
    left, right = (np.concatenate([e[side] for e in edges]) for side in (0, 1))
    graph = coo_array((np.ones(len(left)), (left, right)), shape=(n + nodes, n + nodes))
    label = connected_components(graph, directed=False)[1][:n]
    used: Bools = np.any([g >= 0 for g in groups], axis=0)
    order = np.flatnonzero(used)[np.argsort(label[used], kind="stable")]
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    return [rows.astype(np.int64) for rows in np.split(order, cuts) if len(rows)]


def _columns(design: ExactDesign, rows: Ints) -> Matrix:
    """The columns of the design for these rows: terms centred and scaled in each group, and 0 in the others."""
    group = design.group[rows]
    parts = []
    for _, inside in _parts(group):
        basis = _standardised(design.terms[rows[inside]])
        part = np.zeros((len(rows), basis.shape[1]))
        part[inside] = basis
        parts.append(part)
    return np.hstack(parts) if parts else np.zeros((len(rows), 0))


def _parts(group: Ints) -> list[tuple[int, Ints]]:
    """Each group from 0 on, and its rows."""
    order = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    return [(int(group[rows[0]]), rows) for rows in np.split(order, cuts) if len(rows) and group[rows[0]] >= 0]


def _standardised(terms: Matrix) -> Matrix:
    """[1, S] with the columns of S centred and scaled, without those that do not vary."""
    centred = terms - terms.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0))
    vary = scale > 1e-12 * np.maximum(np.abs(terms).max(axis=0, initial=0.0), 1e-300)
    return np.hstack([np.ones((len(terms), 1)), centred[:, vary] / scale[vary]])
