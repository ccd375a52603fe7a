"""Variance of the share of values whose rank moved by at most w: a jackknife that leaves out a tenth of the records at a time.

    Var S  =  (K − 1)/K · Σ_k (S₍₋ₖ₎ − S̄)²,  K = 10 random parts;  ranks are computed again without part k

A mask that changes some values moves the ranks of all others together, so that successes depend on each other. An ordinary
jackknife fails for such a share; leaving out a fixed part of the records works (Shao and Wu 1989).
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.estimates.jackknife import PARTS, jackknife_variance
from larvatus.stats.ranks.grouped_ranks import grouped_average_ranks


def close_share(x: Floats, y: Floats, group: Ints, window: float) -> float:
    """Share of values (columns × records, sorted by sub-group) whose rank moved by at most the window: mean over records."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(group)) + 1, [len(group)]])
    close = np.array([
        np.abs(_positions(was, starts) - _positions(now, starts)) <= window + 1e-12 for was, now in zip(x, y, strict=True)
    ])
    present = (~np.isnan(x)).sum(axis=0)
    return float((close.sum(axis=0)[present > 0] / present[present > 0]).mean()) if present.any() else 0.0


def close_share_variance(x: Floats, y: Floats, group: Ints, window: float) -> float:
    """Variance of that share, for values in record order."""
    part = np.random.default_rng(0).permutation(len(group)) % PARTS
    order = np.argsort(group, kind="stable")
    x, y, group, part = x[:, order], y[:, order], group[order], part[order]
    shares = np.array([
        close_share(x[:, part != k], y[:, part != k], group[part != k], window) for k in range(PARTS) if (part != k).any()
    ])
    return jackknife_variance(shares)


def tied_share_variance(x: Floats, y: Floats, group: Ints, share: float) -> float:
    """Variance of that share if values that are equal before and after keep or lose their rank together.

        Var S  =  S(1 − S) Σ_b m_b² / (Σ_b m_b)²,   b: values of one column and sub-group with the same x and the same y

    A jackknife does not see this: all zeros of a column are near their rank in one file, and none of them in the next.
    """
    sizes = []
    for was, now in zip(x, y, strict=True):
        there = ~np.isnan(was)
        _, m = np.unique(np.column_stack([group[there], was[there], np.nan_to_num(now[there], nan=np.inf)]), axis=0,
                         return_counts=True)
        sizes.append(m)
    m = np.concatenate(sizes).astype(np.float64)
    return float(share * (1 - share) * (m**2).sum() / m.sum() ** 2) if len(m) else 0.0


def _positions(values: Floats, starts: Ints) -> Floats:
    """Average ranks as fractions of the values present in the sub-group; NaN if missing."""
    count = np.add.reduceat((~np.isnan(values)).astype(np.float64), starts[:-1])
    ranks = grouped_average_ranks(np.ascontiguousarray(values), starts)
    return np.asarray((ranks - 0.5) / np.repeat(np.maximum(count, 1.0), np.diff(starts)))
