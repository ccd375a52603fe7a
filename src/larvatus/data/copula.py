"""The normal copula of X given S in every sub-group, from ranks that the engine makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.design import design_of, term_name, with_terms
from larvatus.data.microdata import Microdata
from larvatus.stats.copula import Ties, conditional, latent_matrix, latent_with_indicator, tied_runs
from larvatus.stats.gaussian import Moments

Matrix = NDArray[np.float64]
COUNTED = 1000
NEARLY = 1e-9
UNTIED = Ties(np.zeros(0), np.zeros(0))


@dataclass(frozen=True, slots=True)
class Copula:
    """In one sub-group: how terms of S and fresh noise become latent values, and which columns share one."""

    weights: Matrix
    root: Matrix
    member: NDArray[np.int64]
    sign: Matrix
    repaired: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """Data with average ranks of X and of numeric S, normal scores of numeric S, and indicators of names."""

    data: Microdata
    names: tuple[str, ...]
    numeric: tuple[str, ...]
    indicators: tuple[str, ...]

    @property
    def given(self) -> list[str]:
        """The columns that stand for S."""
        return [*(f" score {t}" for t in self.numeric), *(term_name(t) for t in self.indicators)]

    @property
    def ranks(self) -> list[str]:
        """Average ranks of X, then of numeric S."""
        return [f" rank {n}" for n in (*self.names, *(term_name(t) for t in self.numeric))]


def ranked(data: Microdata, names: Sequence[str], random: RecordRandom) -> Ranked:
    """Everything the copula is estimated from and drawn with, as columns."""
    design = design_of(data, data.non_confidential)
    numeric = tuple(t.name for t in design.terms if t.level is None and not t.missing)
    indicators = tuple(t.name for t in design.terms if t.name not in numeric)
    out = Ranked(with_terms(data, design), tuple(names), numeric, indicators)
    terms = {f" rank {n}": n for n in [*names, *(term_name(t) for t in numeric)]}
    data = out.data.ranks(terms)
    scored = {f" score {t}": term_name(t) for t in numeric}
    return Ranked(_with_scores(data, scored, random), out.names, numeric, indicators)


def _with_scores(data: Microdata, scored: Mapping[str, str], random: RecordRandom) -> Microdata:
    """Normal scores of columns that are ranked already; ties, where there are any, settled by keyed words."""
    if not scored:
        return data
    ranks = {s: f" rank {c}" for s, c in scored.items()}
    columns = list(ranks.values())
    sums = data.reduce(columns, lambda g, b: np.array([_present_and_squares(b[r]) for r in columns]), np.add)
    counts = [{s: m[i, 0] for i, s in enumerate(ranks)} for m in sums]
    tied = {s for i, s in enumerate(ranks) if any(m[i, 1] < _full(m[i, 0]) - 0.25 for m in sums)}
    if tied:
        data = data.ranks({s: scored[s] for s in tied}, random)

    def score(group: int, block: Block) -> Mapping[str, Array]:
        from scipy.special import ndtri

        source = {s: block[s if s in tied else r] for s, r in ranks.items()}
        return {s: ndtri((v - 0.5) / max(counts[group][s], 1.0)) for s, v in source.items()}

    return data.map_rows(score, [s if s in tied else r for s, r in ranks.items()], [Column(s, "number") for s in ranks])


def _present_and_squares(ranks: Array) -> tuple[float, float]:
    return float((~np.isnan(ranks)).sum()), float(np.nansum(ranks * ranks))


def _full(n: float) -> float:
    """1² + … + n²: what squared ranks sum to without ties."""
    return n * (n + 1) * (2 * n + 1) / 6


def copula_of(source: Ranked) -> list[Copula]:
    """Latent correlations from rank correlations and ties, per sub-group."""
    data, ranks, given = source.data, source.ranks, source.given
    columns = [*ranks, *given]
    moments = data.reduce(columns, lambda g, b: Moments.of(b.matrix(columns)), Moments.merge)
    tied = [_tied(m, len(ranks)) for m in moments]
    repeats: list[list[dict[float, int]]] = [[{} for _ in ranks] for _ in moments]
    if any(t.any() for t in tied):
        repeats = data.reduce(
            ranks, lambda g, b: [_repeated(b[r]) if t else {} for r, t in zip(ranks, tied[g], strict=True)], _joined
        )
    agreeing = _agreeing(source, moments)
    return [_copula(source, *found) for found in zip(moments, repeats, agreeing, strict=True)]


def _agreeing(source: Ranked, moments: Sequence[Moments]) -> list[dict[tuple[int, int], float]]:
    """Per sub-group, pairs of columns of X in perfect rank agreement (1) or perfect reverse (-1), rank by rank."""
    p = len(source.names)
    near = [_nearly(m, p) for m in moments]
    if not any(near):
        return near
    names = source.ranks[:p]

    def differ(group: int, block: Block) -> dict[tuple[int, int], int]:
        total = float(moments[group].present.max(initial=0.0))
        return {
            (i, j): int(np.count_nonzero(_apart(block[names[i]], block[names[j]], sign, total) > 0.25))
            for (i, j), sign in near[group].items()
        }

    found = source.data.reduce(names, differ, lambda a, b: {pair: a[pair] + b[pair] for pair in a})
    return [{pair: sign for pair, sign in near[g].items() if found[g][pair] == 0} for g in range(len(near))]


def _nearly(m: Moments, p: int) -> dict[tuple[int, int], float]:
    """Pairs over the same records whose ranks agree, or reverse, but for rounding."""
    root = np.sqrt(np.diag(m.square)[:p])
    scatter = m.scatter[:p, :p]
    close = np.triu(np.abs(scatter) > (1 - NEARLY) * np.outer(root, root), 1)
    if not close.any():
        return {}
    whole = m.count[:p, :p] == np.maximum.outer(m.present[:p], m.present[:p])
    return {(int(i), int(j)): float(np.sign(scatter[i, j])) for i, j in np.argwhere(close & whole & (scatter != 0))}


def _apart(one: Array, other: Array, sign: float, n: float) -> Array:
    """How far each pair of ranks is from agreement, or from reverse; missing pairs agree."""
    away = one - other if sign > 0 else one + other - (n + 1)
    return np.where(np.isnan(away), 0.0, np.abs(away))


def _tied(ranks: Moments, count: int) -> NDArray[np.bool_]:
    """Columns of ranks whose squares fall short of those of 1, 2, … n: some are shared."""
    n = ranks.present[:count]
    return np.asarray((n**3 - n) / 12 - np.diag(ranks.square)[:count] > 0.25)


def _repeated(ranks: Array) -> dict[float, int]:
    """Average ranks that occur more than once, and how often."""
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
    source: Ranked, moments: Moments, repeats: Sequence[dict[float, int]], agreeing: Mapping[tuple[int, int], float]
) -> Copula:
    p, q = len(source.names), len(source.numeric)
    correlation, constant = moments.correlation, moments.constant
    r = np.where(np.isnan(correlation), 0.0, correlation)
    ties = [_ties(found, float(n)) for found, n in zip(repeats, moments.present[: p + q], strict=True)]
    member, sign, first = _classes(p, agreeing)
    chosen = [*first, *range(p, p + q)]
    latent = latent_matrix(r[np.ix_(chosen, chosen)], [ties[j] for j in chosen])
    m, start = len(first), p + 2 * q
    cross = latent[:m, m:]
    if source.indicators:
        share = moments.mean[start:]
        cross = np.hstack([cross, [latent_with_indicator(r[j, start:], share, ties[j]) for j in first]])
    scale = np.where(constant[p + q :], 1.0, np.sqrt(np.abs(moments.variance[p + q :])))
    weights, root, repaired = conditional(latent[:m, :m], cross, r[p + q :, p + q :])
    return Copula(weights / scale[:, None], root, member, sign, repaired)


def _ties(found: Mapping[float, int], n: float) -> Ties:
    """Runs of equal values that hold at least a thousandth of the records."""
    if not found:
        return UNTIED
    kept = [(v, c) for v, c in found.items() if c >= max(2.0, n / COUNTED)]
    return tied_runs(np.array([v for v, _ in kept]), np.array([float(c) for _, c in kept]), max(int(n), 1))


def _classes(p: int, agreeing: Mapping[tuple[int, int], float]) -> tuple[NDArray[np.int64], Matrix, list[int]]:
    """Columns in perfect rank agreement, or perfect reverse, share the latent value of the first of them."""
    member, sign = np.zeros(p, dtype=np.int64), np.ones(p)
    first: list[int] = []
    for j in range(p):
        for c, i in enumerate(first):
            if (i, j) in agreeing:
                member[j], sign[j] = c, agreeing[i, j]
                break
        else:
            member[j] = len(first)
            first.append(j)
    return member, sign, first
