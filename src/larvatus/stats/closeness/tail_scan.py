"""Test whether the smallest values of two samples come too often from the first one.

    T = min over j of P(K_j ≥ k_j),   k_j = number among the j smallest that are of the first sample,  K_j hypergeometric

The p-value compares T with its distribution if all orders of the two samples are equally likely, with the first sample counted
as (1 + excess) times its size: so much more often its values may be small. Only the smallest fifth is scanned, because the
samples may differ elsewhere.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from larvatus.core.arrays import Floats, Ints

_DRAWS = 1999
_FEWEST, _PLACES, _SCANNED = 3, 25, 5


def tail_scan(first: Floats, second: Floats, seed: int, excess: float = 0.0) -> float:
    """The p-value; ties count as if the second sample came first."""
    values, own = np.concatenate([second, first]), np.concatenate([np.zeros(len(second)), np.ones(len(first))])
    sorted_own = own[np.argsort(values, kind="stable")].astype(np.int64)
    at = _places(len(values))
    marked = round((1 + excess) * len(first))
    total = len(second) + marked
    tables = [_log_tail(total, marked, int(j)) for j in at]
    seen = _smallest(np.cumsum(sorted_own)[at - 1][None], tables)[0]
    drawn = _smallest(_drawn_counts(total, marked, at, np.random.Generator(np.random.Philox(seed))), tables)
    return float((1 + np.sum(drawn <= seen + 1e-12)) / (_DRAWS + 1))


def _places(total: int) -> Ints:
    last = max(total // _SCANNED, _FEWEST)
    ends = np.geomspace(12, max(last, 12), _PLACES).astype(np.int64)
    at = np.unique(np.concatenate([np.arange(_FEWEST, 12), ends]))
    return np.asarray(at[at <= max(last, _FEWEST)])


def _log_tail(total: int, marked: int, drawn: int) -> Floats:
    """log P(K ≥ k) for k = 0 … drawn."""
    k = np.arange(drawn + 1)
    out = np.full(drawn + 1, -np.inf)
    there = (k <= marked) & (drawn - k <= total - marked)
    out[there] = (_log_choose(marked, k[there]) + _log_choose(total - marked, drawn - k[there])
                  - _log_choose(total, np.array(drawn)))
    return np.asarray(np.logaddexp.accumulate(out[::-1])[::-1])


def _log_choose(n: int, k: Ints) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _smallest(counts: Ints, tables: list[Floats]) -> Floats:
    return np.asarray(np.min([table[counts[:, i]] for i, table in enumerate(tables)], axis=0))


def _drawn_counts(total: int, marked: int, at: Ints, draws: np.random.Generator) -> Ints:
    """Counts at all places if every order is equally likely, draws × places."""
    out = np.zeros((_DRAWS, len(at)), dtype=np.int64)
    left, before, count = np.full(_DRAWS, marked), 0, np.zeros(_DRAWS, dtype=np.int64)
    for i, j in enumerate(at):
        more = draws.hypergeometric(left, total - before - left, int(j) - before)
        left, count, before = left - more, count + more, int(j)
        out[:, i] = count
    return out
