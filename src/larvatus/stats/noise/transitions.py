"""Transition matrices between levels, plain and invariant, and draws from them.

    plain      P_ii = stay,   P_ij = (1 − stay) / (levels − 1)
    invariant  R = P Q,   Q_ji = λᵢ P_ij / Σ_k λ_k P_kj,   so that λ R = λ

λ are the frequencies of the levels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.stats.linear.portable_algebra import product, total


def plain_transitions(stay: float, there: NDArray[np.bool_]) -> Matrix:
    """Stay with one probability, otherwise move to any other present level; a single level stays."""
    n = int(there.sum())
    out = np.eye(len(there))
    if n > 1:
        inside = np.full((n, n), (1 - stay) / (n - 1))
        np.fill_diagonal(inside, stay)
        out[np.ix_(there, there)] = inside
    return out


def invariant(first: Matrix, counts: NDArray[Any]) -> Matrix:
    """The invariant matrix: a move by the first matrix, then back by Bayes' rule to a possible origin.

    The frequencies λ of the counts satisfy λ R = λ exactly, so the expected frequencies do not change.
    """
    joint = counts[:, None] * first
    reached = total(joint)
    back = np.divide(joint.T, reached[:, None], out=np.zeros_like(first), where=reached[:, None] > 0)
    both = product(first, back)
    lost = total(both, axis=1) <= 0
    both[lost] = np.eye(len(first))[lost]
    return np.asarray(both / total(both, axis=1)[:, None])


def draw_codes(codes: NDArray[np.int32], moves: Matrix, draws: NDArray[np.float64]) -> NDArray[np.int32]:
    """A new code for every code, drawn from its row of probabilities; missing (-1) stays missing."""
    upper = np.cumsum(moves, axis=1)[:, :-1]
    upper[np.cumsum(moves[:, ::-1], axis=1)[:, -2::-1] == 0] = np.inf  # no level of probability 0, despite rounding
    there = codes >= 0
    out = codes.copy()
    out[there] = (draws[there, None] >= upper[codes[there]]).sum(axis=1)
    return out
