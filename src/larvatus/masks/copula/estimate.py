"""Estimate the normal copula of X given S in every sub-group, from ranks that the engine computes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.design import with_terms
from larvatus.data.exposure.rank_agreement import Pairs, agreeing
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import add_ranks, map_rows, moments_by_group, reduce_groups, remember
from larvatus.masks.linear.leverage import design_without_rare_levels
from larvatus.stats.copula.latent_correlation import (
    Ties,
    conditional,
    conditionals,
    fit_weights,
    inverse,
    latent_matrix,
    latent_of_untied,
    latent_with_indicator,
    tied_runs,
)
from larvatus.stats.copula.within_levels import LevelTable, column_series, inside_covariance, level_effects
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.linear.portable_algebra import nan_total, product, total

_COUNTED = 1000
MOST_PATTERNS, _LOOKED_AT = 4096, 128
_REMEMBERED = 32  # levels: the series of more take much memory
UNTIED = Ties(np.zeros(0), np.zeros(0))


@dataclass(frozen=True, slots=True)
class Copula:
    """The copula of one sub-group: weights of S and of fresh noise, and which columns share a latent value."""

    weights: Matrix
    root: Matrix
    member: NDArray[np.int64]
    sign: Matrix
    repaired: float


@dataclass(frozen=True, slots=True)
class RankedColumns:
    """Data with average ranks of X and of numeric S, normal scores of numeric S, and indicators of categorical S."""

    data: Microdata
    names: tuple[str, ...]
    numeric: tuple[str, ...]
    indicators: tuple[str, ...]
    notes: tuple[Note, ...] = ()

    @property
    def non_confidential(self) -> list[str]:
        """The columns that stand for S."""
        return [*(scratch("score", t) for t in self.numeric), *self.indicators]

    @property
    def ranks(self) -> list[str]:
        """Average ranks of X, then of numeric S."""
        return [scratch("rank", n) for n in (*self.names, *self.numeric)]


def rank_columns(data: Microdata, names: Sequence[str], random: RecordRandom) -> RankedColumns:
    """Add the columns that the copula is estimated and drawn from."""
    design, notes = design_without_rare_levels(data, "copula", by_ranks=True)
    numeric = tuple(t.new_column for t in design.terms if t.level is None and not t.missing)
    indicators = tuple(t.new_column for t in design.terms if t.new_column not in numeric)
    out = RankedColumns(with_terms(data, design), tuple(names), numeric, indicators, tuple(notes))
    terms = {scratch("rank", n): n for n in [*names, *numeric]}
    data = add_ranks(out.data, terms)
    scored = {scratch("score", t): t for t in numeric}
    return RankedColumns(_with_scores(data, scored, random), out.names, numeric, indicators, out.notes)


def _with_scores(data: Microdata, scored: Mapping[str, str], random: RecordRandom) -> Microdata:
    """Normal scores of columns that are already ranked; ties are broken at random, by record keys."""
    if not scored:
        return data
    ranks = {s: scratch("rank", c) for s, c in scored.items()}
    columns = list(ranks.values())
    sums = reduce_groups(data, columns, lambda g, b: np.array([_present_and_squares(b[r]) for r in columns]), np.add)
    counts = [{s: m[i, 0] for i, s in enumerate(ranks)} for m in sums]
    tied = {s for i, s in enumerate(ranks) if any(m[i, 1] < _full(m[i, 0]) - 0.25 for m in sums)}
    if tied:
        data = add_ranks(data, {s: scored[s] for s in tied}, random)

    def score(group: int, block: Block) -> Mapping[str, Array]:
        from larvatus.core.portable.portable_normal import normal_quantile

        source = {s: block[s if s in tied else r] for s, r in ranks.items()}
        return {s: normal_quantile((v - 0.5) / max(counts[group][s], 1.0)) for s, v in source.items()}

    return map_rows(data, score, [s if s in tied else r for s, r in ranks.items()], [Column(s, "number") for s in ranks])


def _present_and_squares(ranks: Array) -> tuple[float, float]:
    return float((~np.isnan(ranks)).sum()), float(nan_total(ranks * ranks))


def _full(n: float) -> float:
    """1² + … + n², the sum of squared ranks without ties."""
    return n * (n + 1) * (2 * n + 1) / 6


def copula_of(source: RankedColumns) -> list[Copula]:
    """The copula of each sub-group, from rank correlations and ties."""
    data, ranks, given = source.data, source.ranks, source.non_confidential
    columns = [*ranks, *given]
    moments = moments_by_group(data, columns)
    tied = _tied(SampleMoments.stack(moments), len(ranks))
    repeats: list[list[dict[float, int]]] = [[{} for _ in ranks] for _ in moments]
    if tied.any():
        repeats = reduce_groups(
            data, ranks, lambda g, b: [_repeated(b[r]) if t else {} for r, t in zip(ranks, tied[g], strict=True)], _joined
        )
    alike = agreeing(data, ranks[: len(source.names)], moments)
    patterns: list[dict[bytes, int] | None] = [None for _ in moments]
    if source.indicators:
        names = given[len(source.numeric) :]
        patterns = reduce_groups(data, names, lambda g, b: _patterns(b, names), _added)
    plain = [not source.indicators and not tied[g].any() and not alike[g] for g in range(len(moments))]
    quick = iter(_plain(source, [m for m, easy in zip(moments, plain, strict=True) if easy]))
    return [
        next(quick) if easy else _copula(source, moments[g], repeats[g], alike[g], patterns[g]) for g, easy in enumerate(plain)
    ]


def _plain(source: RankedColumns, moments: Sequence[SampleMoments]) -> list[Copula]:
    """Copulas of sub-groups without ties, perfect agreement or categorical S, all at once."""
    if not moments:
        return []
    p, q = len(source.names), len(source.numeric)
    every = SampleMoments.stack(moments)
    correlation = every.correlation
    r = np.where(np.isnan(correlation), 0.0, correlation)
    latent = latent_of_untied(r[:, : p + q, : p + q])
    latent[:, np.arange(p), np.arange(p)] = 1.0
    scale = np.where(every.constant, 1.0, np.sqrt(np.abs(every.variance)))[:, p + q :]
    weights, root, repaired = conditionals(latent[:, :p, :p], latent[:, :p, p:], r[:, p + q :, p + q :])
    weights = weights / scale[:, :, None]
    return [
        Copula(weights[g], root[g], np.arange(p), np.ones(p), float(repaired[g])) for g in range(len(moments))
    ]


def _tied(ranks: SampleMoments, count: int) -> NDArray[np.bool_]:
    """Which columns have ties: the sum of their squared ranks is below that of 1, 2, … n."""
    n = ranks.present[..., :count]
    squares = np.diagonal(ranks.square, axis1=-2, axis2=-1)[..., :count]
    return np.asarray((n * n * n - n) / 12 - squares > 0.25)


def _repeated(ranks: Array) -> dict[float, int]:
    """Average ranks that occur more than once, with their counts."""
    there = ranks[~np.isnan(ranks)]
    if len(there) < 2:
        return {}
    ordered = np.sort(there)
    if not (ordered[1:] == ordered[:-1]).any():
        return {}
    values, counts = np.unique(ordered, return_counts=True)
    often = counts > 1
    return dict(zip(values[often].tolist(), counts[often].tolist(), strict=True))


def _joined(one: list[dict[float, int]], other: list[dict[float, int]]) -> list[dict[float, int]]:
    return [
        {v: mine.get(v, 0) + theirs.get(v, 0) for v in mine.keys() | theirs.keys()}
        for mine, theirs in zip(one, other, strict=True)
    ]


def _copula(
    source: RankedColumns, moments: SampleMoments, repeats: Sequence[dict[float, int]], alike: Pairs,
    patterns: Mapping[bytes, int] | None,
) -> Copula:
    p, q = len(source.names), len(source.numeric)
    correlation, constant = moments.correlation, moments.constant
    r = np.where(np.isnan(correlation), 0.0, correlation)
    ties = [_ties(found, float(n)) for found, n in zip(repeats, moments.present[: p + q], strict=True)]
    member, sign, first = _classes(p, alike)
    chosen = [*first, *range(p, p + q)]
    m, start = len(first), p + q
    spearman, kept = r[np.ix_(chosen, chosen)], [ties[j] for j in chosen]
    scale = np.where(constant[start:], 1.0, np.sqrt(np.abs(moments.variance[start:])))
    if not source.indicators:
        latent = latent_matrix(spearman, kept)
        weights, root, repaired = conditional(latent[:m, :m], latent[:m, m:], r[start:, start:])
        return Copula(weights / scale[:, None], root, member, sign, repaired)
    names, apart = r[start + q :, start + q :], scale[q:, None]
    score_at_level = product(inverse(names), r[start + q :, start : start + q])
    given = r[start : start + q, start : start + q] - product(r[start : start + q, start + q :], score_at_level)
    share, observed = moments.mean[start + q :], r[first, start + q :]
    if patterns is None:
        cross = np.array([latent_with_indicator(o, share, t) for o, t in zip(observed, kept, strict=False)])
        at_level, _ = fit_weights(cross, names, np.ones(m))
        both = np.hstack([at_level, score_at_level])
        inside = latent_matrix(spearman, kept) - product(both.T, names, both)
        at_level = at_level / apart
    else:
        rows, shares = _unpacked(patterns, len(source.indicators))
        excess = observed * np.sqrt((1 - share) / np.where(share > 0, share, 1.0))
        at_level = np.array([
            _effects_once(source.data, e * np.sqrt(t.variance), rows, shares, t) for e, t in zip(excess, kept, strict=False)
        ]).T
        mean = np.hstack([product(rows, at_level), product((rows - share) / apart.T, score_at_level)])
        levels = LevelTable(shares, mean, np.concatenate([np.ones(m), np.maximum(np.diag(given), 0.0)]))
        series = [_series_once(source.data, levels, j, kept[j]) for j in range(m)]
        inside = inside_covariance(spearman, moments.count[np.ix_(chosen, chosen)], kept, levels, m, series)
    on_score, root, repaired = conditional(inside[:m, :m], inside[:m, m:], given)
    weights = np.vstack([on_score / scale[:q, None], at_level - product(score_at_level, on_score) / apart])
    return Copula(weights, root, member, sign, repaired)


def _effects_once(data: Microdata, target: Matrix, rows: Matrix, share: Matrix, ties: Ties) -> Matrix:
    """The effects of levels. They do not depend on random draws, so masks that run again on the same data find them."""
    inputs = (target, rows, share, ties.low, ties.high)
    return _once(data, "level effects", inputs, lambda: level_effects(target, rows, share, ties))


def _series_once(data: Microdata, levels: LevelTable, column: int, ties: Ties) -> Matrix:
    """The rank series of a confidential column, which depends on no random draw either."""
    inputs = (levels.mean[:, column], levels.variance[column], levels.share, ties.low, ties.high)
    if len(levels.share) > _REMEMBERED:
        return column_series(levels, column, ties)
    return _once(data, "rank series", inputs, lambda: column_series(levels, column, ties))


def _once(data: Microdata, what: str, inputs: Sequence[Matrix], compute: Callable[[], Matrix]) -> Matrix:
    """The result of a function of small arrays, found again by their content."""
    digest = hashlib.blake2b(digest_size=16)
    for values in inputs:
        digest.update(repr(np.shape(values)).encode() + np.ascontiguousarray(values, dtype=np.float64).tobytes())
    return remember(data, (what, digest.digest()), (), compute)


def _patterns(block: Block, names: Sequence[str]) -> dict[bytes, int] | None:
    """The count of each combination of indicators; None if there are too many to handle one by one."""
    rows = np.packbits(np.array([block[n] > 0 for n in names]), axis=0).T
    seen, times = np.unique(np.ascontiguousarray(rows), axis=0, return_counts=True)
    return None if len(seen) > MOST_PATTERNS else {row.tobytes(): int(t) for row, t in zip(seen, times, strict=True)}


def _added(one: dict[bytes, int] | None, other: dict[bytes, int] | None) -> dict[bytes, int] | None:
    if one is None or other is None:
        return None
    both = {k: one.get(k, 0) + other.get(k, 0) for k in one.keys() | other.keys()}
    return None if len(both) > MOST_PATTERNS else both


def _unpacked(patterns: Mapping[bytes, int], width: int) -> tuple[Matrix, Matrix]:
    """The most frequent combinations of indicators as rows, and their shares."""
    often = sorted(patterns.items(), key=lambda item: (-item[1], item[0]))[:_LOOKED_AT]
    rows = np.unpackbits(np.array([list(k) for k, _ in often], dtype=np.uint8), axis=1)[:, :width]
    count = np.array([float(c) for _, c in often])
    return rows.astype(np.float64), count / total(count)


def _ties(found: Mapping[float, int], n: float) -> Ties:
    """Ties that hold at least a thousandth of the records."""
    if not found:
        return UNTIED
    least = max(2.0, n / _COUNTED)
    kept = [(v, c) for v, c in found.items() if c >= least]
    return tied_runs(np.array([v for v, _ in kept]), np.array([float(c) for _, c in kept]), max(int(n), 1))


def _classes(p: int, alike: Pairs) -> tuple[NDArray[np.int64], Matrix, list[int]]:
    """Columns in perfect rank agreement, or perfect reverse agreement, share the latent value of the first of them."""
    member, sign = np.zeros(p, dtype=np.int64), np.ones(p)
    first: list[int] = []
    for j in range(p):
        for c, i in enumerate(first):
            if (i, j) in alike:
                member[j], sign[j] = c, alike[i, j]
                break
        else:
            member[j] = len(first)
            first.append(j)
    return member, sign, first
