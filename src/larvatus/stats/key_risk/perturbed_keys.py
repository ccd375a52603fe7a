"""Probability of a right match if the keys were perturbed with known probabilities (Shlomo and Skinner 2010).

    f_k records of the file have true key k, and each is released with key j with probability M_kj, independently of the others.
    If exactly one released record has key j, it has true key k with probability

        P_kj = f_k O_kj / Σ_l f_l O_lj,     O_kj = M_kj / (1 − M_kj)

    because P(record i is the one, and no other is) ∝ M_ij / (1 − M_ij). The intruder does not know who is in the file. He takes
    the most probable key and links the record to one of the F_k persons who have it:

        P(right match) = P_kj r_k,      k = argmax_k M_kj over the keys that persons have,       r_k = E(1 / F_k | f_k)

    with r the individual risk without perturbation. Nearly always k = j. If the file is the population (r = 1 / f), this is the
    form of Shlomo and Skinner for π = 1, [M_jj / (1 − M_jj)] / Σ_k F_k M_kj / (1 − M_kj). Theirs for π < 1 is its mean over
    samples, with F known instead of estimated.

    Of g ≥ 2 released records, A have true key j and B another one: A ~ Bin(f_j, M_jj), B ~ Bin(N, q) with the mean Σ f_k M_kj
    and (nearly) the variance of the sum over k ≠ j. Then P_jj = E(A | A + B = g) / g, exact sums for g ≤ 30 and the linear
    regression of A on A + B above. The others share 1 − P_jj in proportion to f_k M_kj.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints, Matrix

MOST_KEY_PAIRS = 300_000_000
_CERTAIN = 1e-12  # keeps the odds of a certain transition finite
_CHUNK = 2_000_000
_SUMMED = 30  # largest class with exact sums


@dataclass(frozen=True, slots=True)
class TrueKeys:
    """True combinations of keys: codes (−1: missing), sub-groups, records, and the mean and variance of 1 / F."""

    codes: Ints
    group: Ints
    count: Ints
    risk: Floats
    spread: Floats


@dataclass(frozen=True, slots=True)
class MatchRisk:
    """P(right match) of each released combination, and the variance of the share of right matches among its records."""

    risk: Floats
    spread: Floats


def match_risk(
    released: Ints, records: Ints, true: TrueKeys, moves: Sequence[Sequence[Matrix | None]], is_population: bool = False
) -> MatchRisk:
    """The risk of each released combination (codes, combinations × keys); `records` counts its records.

    `moves` has, for each key, its transition matrix in every sub-group, or None if the key does not change there. If the file
    `is_population`, the intruder knows that nobody has a key that does not occur in it.
    """
    risk, spread = np.zeros(len(released)), np.zeros(len(released))
    f = true.count.astype(np.float64)
    groups = np.unique(true.group)
    step = max(1, _CHUNK // max(len(f), 1))
    for start in range(0, len(released), step):
        rows = slice(start, start + step)
        seen, g = released[rows], records[rows]
        move = _moved(true.codes[None, :, :], seen[:, None, :], true.group[None, :], moves)
        own = (true.codes[None, :, :] == seen[:, None, :]).all(axis=2)
        weight = f * np.where((g == 1)[:, None], move / (1 - move + _CERTAIN), move)
        total = weight.sum(axis=1, keepdims=True)
        source = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
        mine = _own_share(own, f, move, source, g)
        held = np.where(own, source, 0.0).sum(axis=1)
        rest = np.divide(1 - mine, 1 - held, out=np.zeros(len(mine)), where=held < 1)
        stay = _moved(seen[:, None, :], seen[:, None, :], groups[None, :], moves).max(axis=1)
        likeliest = np.where(own, 0.0, move).max(axis=1, initial=0.0)
        is_own = (stay >= likeliest) & (own.any(axis=1) | (not is_population))
        tied = ~own & (move >= likeliest[:, None] * (1 - 1e-12))
        best = np.argmax(np.where(tied, source * true.risk, -1.0), axis=1)
        k = np.where(is_own, np.argmax(own, axis=1), best)
        share = np.where(is_own, mine, source[np.arange(len(seen)), best] * rest)
        risk[rows] = share * true.risk[k]
        spread[rows] = share**2 * true.spread[k] + (true.risk[k] ** 2 + true.spread[k]) * share * (1 - share) / g
    return MatchRisk(np.minimum(risk, 1.0), spread)


def _own_share(own: Floats, f: Floats, move: Floats, source: Floats, g: Ints) -> Floats:
    """Expected share of the g released records of a combination whose true key is the released one."""
    inside = np.where(own, f, 0.0).sum(axis=1)
    stays = np.where(own, f * move, 0.0).sum(axis=1)
    coming, squares = (np.where(own, 0.0, f * move**i).sum(axis=1) for i in (1, 2))
    one = np.where(own, source, 0.0).sum(axis=1)
    p = np.divide(stays, inside, out=np.zeros(len(g)), where=inside > 0)
    units = np.ceil(np.divide(coming**2, squares, out=np.zeros(len(g)), where=squares > 0) - 1e-9)
    q = np.minimum(np.divide(coming, units, out=np.zeros(len(g)), where=units > 0), 1.0)
    out = np.where(g == 1, one, _by_regression(inside, p, units, q, g))
    some = (g > 1) & (g <= _SUMMED) & (inside > 0)
    out[some] = _by_sums(inside[some], p[some], units[some], q[some], g[some])
    return np.asarray(np.clip(out, 0.0, 1.0))


def _by_sums(f: Floats, p: Floats, units: Floats, q: Floats, g: Ints) -> Floats:
    """E(A | A + B = g) / g for A ~ Bin(f, p) and B ~ Bin(units, q)."""
    a = np.arange(int(g.max(initial=1)) + 1, dtype=np.float64)
    log_both = _log_binomial(a, f[:, None], p[:, None]) + _log_binomial(g[:, None] - a, units[:, None], q[:, None])
    top = log_both.max(axis=1, keepdims=True)
    both = np.exp(log_both - np.where(np.isfinite(top), top, 0.0))
    total = both.sum(axis=1)
    return np.asarray(np.divide((both * a).sum(axis=1), total, out=np.minimum(f * p, g), where=total > 0) / g)


def _log_binomial(x: Floats, n: Floats, p: Floats) -> Floats:
    from scipy.special import gammaln, xlog1py, xlogy

    inside = (x >= 0) & (x <= n)
    k = np.where(inside, x, 0.0)
    out = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -np.minimum(p, 1 - 1e-15))
    return np.where(inside, out, -np.inf)


def _by_regression(f: Floats, p: Floats, units: Floats, q: Floats, g: Ints) -> Floats:
    """The linear regression of A on A + B at g, within what is possible, as a share of g."""
    mean, own, other = f * p + units * q, f * p * (1 - p), units * q * (1 - q)
    slope = np.divide(own, own + other, out=np.zeros(len(g)), where=own + other > 0)
    return np.asarray(np.clip(f * p + slope * (g - mean), np.maximum(g - units, 0), np.minimum(f, g)) / g)


def _moved(true: Ints, seen: Ints, group: Ints, moves: Sequence[Sequence[Matrix | None]]) -> Floats:
    """M_kj for true combinations k and released combinations j, broadcast against each other."""
    shape = np.broadcast_shapes(true.shape[:2], seen.shape[:2], group.shape)
    out = np.ones(shape)
    for key, by_group in enumerate(moves):
        k, j = np.broadcast_to(true[..., key], shape), np.broadcast_to(seen[..., key], shape)
        same = (k == j).astype(np.float64)
        if all(m is None for m in by_group):
            out *= same
            continue
        tables = np.stack([_padded(m, max(x.shape[0] for x in by_group if x is not None)) for m in by_group])
        present = (k >= 0) & (j >= 0)
        out *= np.where(present, tables[np.broadcast_to(group, shape), np.maximum(k, 0), np.maximum(j, 0)], same)
    return out


def _padded(matrix: Matrix | None, size: int) -> Matrix:
    return np.eye(size) if matrix is None else matrix
