"""The probability of each link over all one-to-one matchings, by belief propagation (Huang and Jebara 2009):

    P(π) ∝ Π_i w(i, π(i)),    odds(i, r) = w(i, r) · m(i, r),    m → 1 / Σ_{k ≠ i} w(k, r) / Σ_{s ≠ r} w(k, s) m(k, s)

Two rows cannot belong to one record, nor two records to one row. The best single matching uses that too, but it follows chance
where many matchings are almost as good.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

_ROUNDS, _LOOK = 60, 10  # rounds at most; every ten it is seen whether any best row has changed
_LOWEST = 60.0
_SMALL, _LARGE = 1e-100, 1e100
_SAME = 1e-9


def link_odds(scores: Floats) -> Floats:
    """Odds of every pair in a random one-to-one matching with weights exp(scores); as many rows as records, or more.

    The odds of each record are up to a factor.
    """
    scores = scores - scores.max(axis=1, keepdims=True)  # constants of a record or a row change no probability
    scores -= scores.max(axis=0, keepdims=True)
    scores -= scores.max(axis=1, keepdims=True)
    np.clip(scores, -_LOWEST, 0.0, out=scores)
    weight = np.exp(scores, out=scores)
    message, claim = np.ones_like(weight), np.empty_like(weight)
    best = np.full(len(scores), -1)
    for _ in range(_ROUNDS // _LOOK):
        _pass_messages(weight, message, claim, _LOOK)
        before, best = best, np.argmax(np.multiply(weight, message, out=claim), axis=1)
        if (before == best).all():
            break
    weight *= message
    return weight


@kernel(fastmath={"contract", "arcp"})
def _pass_messages(weight: Floats, message: Floats, claim: Floats, rounds: Any) -> None:
    """Rounds of messages in place; `claim` is room for what records send."""
    n, m = weight.shape
    total = np.empty(m)
    for _ in range(rounds):
        total[:] = 0.0
        for i in range(n):
            row = 0.0
            for r in range(m):
                row += weight[i, r] * message[i, r]
            for r in range(m):
                claim[i, r] = weight[i, r] / max(row - weight[i, r] * message[i, r], _SMALL)
                total[r] += claim[i, r]
        for i in range(n):
            for r in range(m):
                message[i, r] = np.sqrt(message[i, r] / min(max(total[r] - claim[i, r], _SMALL), _LARGE))


def best_row_credit(odds: Floats, own: Ints) -> Floats:
    """1 for records whose own row has the largest odds, shared among ties; 0 for others, and for an own row of -1."""
    best = odds >= odds.max(axis=1, keepdims=True) * (1 - _SAME)
    right = best[np.arange(len(own)), np.maximum(own, 0)] & (own >= 0)
    return np.where(right, 1.0 / best.sum(axis=1), 0.0)
