"""A law of released given original values, learnt from known pairs, for releases whose mask states none:

    y = a + B x + e,   e normal   →   −log f(y | x) = ½ ‖W (y − a − B x)‖² + constant,   Wᵀ W = Cov(e)⁻¹

The pairs are split in two halves. The cost of a record comes from a law fitted to the half that it is not in, so that no
record identifies itself. The law is also learnt on a logarithmic scale, t(v) = arsinh(v / s), for multiplicative noise. For
values that move between records, the distribution of the moves in rank is learnt instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from larvatus.stats.linkage.assignment import Costs

_POINT, _LEAST_SHARE = 1e-4, 1e-3  # half the span of a single rank, and the least share of ranks within reach
Ranks: TypeAlias = Sequence[tuple[Floats, Floats]]
_THIN = 1e-9  # share of a column's variance that a residual has at least
_BINS, _FINE = 80, 4000  # classes of moves, for their distribution and for the largest one
_SMOOTH, _FEWEST = 0.05, 40  # what a class counts at least, and the fewest pairs to learn from
_NEVER = -20.0
_LOW = 10  # percentile of the absolute values, not zero, that separates the linear from the logarithmic part


def learnt_costs(x: Floats, y: Floats, known: Ints, half: Ints | None = None) -> Costs | None:
    """Costs of pairs of rows of x and y, learnt from the true pairs at the known rows; None if there are too few of them.

    Also None if a value is missing, which the law could not use. `half` is that of `halves_of_pairs`, if it is at hand.
    """
    width = x.shape[1] + y.shape[1]
    if len(known) < 4 * (width + 1) or not np.isfinite(x[known]).all() or not np.isfinite(y).all():
        return None
    half = halves_of_pairs(x, y, known) if half is None else half
    sides = []
    for side in (0, 1):
        fitted = known[half[known] != side]
        design = np.hstack([np.ones((len(x), 1)), np.where(np.isfinite(x), x, 0.0)])
        slope = np.linalg.lstsq(design[fitted], y[fitted], rcond=None)[0]
        expected = design @ slope
        error = y[fitted] - expected[fitted]
        covariance = error.T @ error / max(len(fitted) - design.shape[1], 1)
        covariance += np.diag(np.maximum(_THIN * y.var(axis=0), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(covariance)
        turn = vectors / np.sqrt(np.maximum(values, _THIN * values.max(initial=0.0) + np.finfo(float).tiny))
        sides.append((expected @ turn, y @ turn))

    def costs(a: Ints, b: Ints) -> Floats:
        from larvatus.stats.linkage.missing_patterns import squared_distances

        out = np.empty((len(a), len(b)))
        for side, (expected, shown) in enumerate(sides):
            rows = np.flatnonzero(half[a] == side)
            out[rows] = squared_distances(expected[a[rows]], shown[b]) / 2
        return out

    return costs


def halves_of_pairs(x: Floats, y: Floats, known: Ints) -> Ints:
    """0 or 1 for each record, alternately in an order of the known pairs that does not depend on that of the rows."""
    from larvatus.stats.linkage.paired_points import canonical_order

    out = np.zeros(len(x), dtype=np.int64)
    out[known[canonical_order(np.nan_to_num(np.hstack([x[known], y[known]])))]] = np.arange(len(known)) % 2
    return out


def log_scale(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Both sides on a scale that is linear near zero and logarithmic beyond, column by column."""
    out = []
    for u, v in zip(x.T, y.T, strict=True):
        size = np.abs(v[np.isfinite(v) & (v != 0)])
        unit = float(np.percentile(size, _LOW)) if len(size) else 1.0
        out.append((np.arcsinh(u / unit), np.arcsinh(v / unit)))
    return np.array([u for u, _ in out]).T, np.array([v for _, v in out]).T


def ranks_of_pairs(x: Floats, y: Floats) -> Ranks:
    """For each column, the ranks of the values of x and of y among those of y, as shares; any number for missing ones."""
    out = []
    for u, v in zip(x.T, y.T, strict=True):
        there = np.sort(v[np.isfinite(v)])
        out.append((_rank_shares(there, u), _rank_shares(there, v)))
    return out


def _rank_shares(ordered: Floats, values: Floats) -> Floats:
    """Ranks of values among ordered ones, as shares; tied values share the middle of their ranks."""
    given = np.nan_to_num(values)
    order = np.argsort(given)  # in order, a search finds its way in the cache
    first, last = (np.searchsorted(ordered, given[order], side) for side in ("left", "right"))
    out = np.empty(len(values))
    out[order] = (first + last) / (2 * max(len(ordered), 1))
    return out


def learnt_rank_costs(
    x: Floats, y: Floats, known: Ints, window: bool = False, half: Ints | None = None, ranks: Ranks | None = None
) -> Costs | None:
    """Costs of pairs by how far values moved in rank, column by column: −Σ log g_j(move), with g_j learnt from known pairs.

    With `window`, every move up to the largest known one is as probable as any other, and farther ones nearly impossible. Of
    tied values each has one of their ranks: a move counts from the nearest of them, and less if few of them are near enough.

    Ranks are those among the released values, so a known value has one even if few records are known. A value that stayed
    the same is an event of its own: a mask may move every value, or leave most alone. A missing value says nothing. `half`
    and `ranks` are those of `halves_of_pairs` and `ranks_of_pairs`, if they are at hand.
    """
    if len(known) < _FEWEST or not y.shape[1]:
        return None
    bins, learn = (_FINE, _within) if window else (_BINS, _log_shares)
    half = halves_of_pairs(x, y, known) if half is None else half
    columns = []
    for u, v, (before, after) in zip(x.T, y.T, ranks_of_pairs(x, y) if ranks is None else ranks, strict=True):
        gone = np.isnan(u), np.isnan(v)
        spans = _half_spans(u, v) if window else (np.zeros(len(u)), np.zeros(len(v)))
        move = _nearest_move(after[known] - before[known], spans[0][known] + spans[1][known])
        moved = _move_codes(move, u[known] == v[known], gone[0][known] | gone[1][known], bins)
        others = [half[known] != side for side in (0, 1)]
        weights = [learn(moved[other], bins) for other in others]
        tied = window and any(span.any() for span in spans)
        reach = [float(np.abs(move[other & (moved > 0)]).max(initial=0.0)) if tied else np.inf for other in others]
        columns.append((before, after, *spans, u, v, *gone, weights, reach))

    def costs(a: Ints, b: Ints) -> Floats:
        out = np.zeros((len(a), len(b)))
        for side in (0, 1):
            rows = np.flatnonzero(half[a] == side)
            for before, after, span_u, span_v, u, v, no_u, no_v, weights, reach in columns:
                i = a[rows]
                same = u[i][:, None] == v[b][None]
                middle = after[b][None] - before[i][:, None]
                move = _nearest_move(middle, span_u[i][:, None] + span_v[b][None]) if window else middle
                code = _move_codes(move, same, no_u[i][:, None] | no_v[b][None], bins)
                out[rows] -= weights[side][code]
                if np.isfinite(reach[side]):
                    within = _log_share_within(reach[side], middle, span_u[i][:, None], span_v[b][None])
                    out[rows] -= np.where(code > 0, within, 0.0)
        return out

    return costs


def _half_spans(u: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Half the share of the ranks that values of u and of v span beyond one, among those of v: tied values span several."""
    there = np.sort(v[np.isfinite(v)])
    counts = (np.searchsorted(there, np.nan_to_num(w), "right") - np.searchsorted(there, np.nan_to_num(w)) for w in (u, v))
    before, after = (np.maximum(c - 1, 0) / (2 * max(len(there), 1)) for c in counts)
    return before, after


def _nearest_move(move: Floats, spans: Floats) -> Floats:
    """The move between the nearest ranks of two sets of tied values, of which `move` is between the middles."""
    return np.asarray(np.sign(move) * np.maximum(np.abs(move) - spans, 0.0))


def _log_share_within(reach: float, middle: Floats, span_u: Floats, span_v: Floats) -> Floats:
    """Logarithm of the share of pairs of ranks, of two sets of tied values, that are at most `reach` apart.

    The ranks of a set are spread evenly over its span, so that their difference has the density of a trapezium.
    """
    a, b = np.maximum(span_u, _POINT), np.maximum(span_v, _POINT)

    def below(limit: float) -> Floats:
        at = limit - middle
        corner = [np.maximum(at + c, 0.0) ** 2 for c in (a + b, a - b, b - a, -a - b)]
        return np.asarray((corner[0] - corner[1] - corner[2] + corner[3]) / (8 * a * b))

    return np.asarray(np.log(np.clip(below(reach) - below(-reach), _LEAST_SHARE, 1.0)))


def _move_codes(move: Floats, same: Bools, gone: Bools, bins: int) -> Ints:
    """The class of a move of rank: 0 without a value, 1 for an equal value, and then the moves from -1 to 1."""
    code = np.minimum(((move + 1) * (bins / 2)).astype(np.int64), bins - 1) + 2
    return np.where(gone, 0, np.where(same, 1, code))


def _within(codes: Ints, bins: int) -> Floats:
    """0 for the classes between the smallest and the largest move, and for an equal value if there was one."""
    moves = codes[codes > 1]
    out = np.full(bins + 2, _NEVER)
    out[0] = 0.0
    out[moves.min(initial=bins + 2) : moves.max(initial=0) + 1] = 0.0
    out[1] = 0.0 if (codes == 1).any() else _NEVER
    return out


def _log_shares(codes: Ints, bins: int) -> Floats:
    """Logarithms of densities of the classes; missing values count nothing."""
    counts = np.bincount(codes, minlength=bins + 2).astype(np.float64)
    counts[0] = 0.0
    shares = (counts + _SMOOTH) / (counts.sum() + _SMOOTH * (bins + 1))
    shares[0] = 1.0
    return np.asarray(np.log(shares))
