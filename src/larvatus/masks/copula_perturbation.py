"""Draw X given S from a normal copula and map it back through smoothed marginals (Sarathy, Muralidhar and Parsa 2002).

    u_i ~ N(R_XS R_SS⁻¹ s*_i, R_XX − R_XS R_SS⁻¹ R_SX),      y_ij = F_j⁻¹(v_(rank(u_ij)))

where s* are the normal scores of S, R the latent correlations, F_j the smoothed distribution function of column j, and v_(r)
the r-th smallest of n uniform draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column, Mask, Masked
from larvatus.data.design import design_of
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import count_present, map_rows, place_by_rank, reduce_groups
from larvatus.masks.copula.draw import copula_notes, latent_values
from larvatus.masks.copula.estimate import RankedColumns, copula_of, rank_columns

FREQUENT = 0.01
_Run = dict[float, tuple[float, int]]


class CopulaPerturbation(Mask):
    """Replace X by values drawn given S, with the distribution of each column and the rank correlations of the original.

    Marginal distributions are preserved up to sampling and smoothing; rank correlations among X and with S are preserved in
    expectation. Non-monotone relations are lost. Each value is interpolated between quantiles several records apart, so it
    belongs to no single record, except for values shared by at least one percent of a sub-group (zeros, codes). New values
    stay at least half of the gap away from a lone maximum or minimum. Given S the new values are independent of the original
    ones, so an intruder learns S only.

    Use it if ranks and their relations matter, and if original values themselves must not be released. Do not use it if
    relations are not monotone, or if exact means and covariances are needed.

    Parameters:
        smooth: least number of records between the quantiles used for interpolation; more records smooth the marginal more.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"smooth"})
    nemesis: ClassVar[tuple[str, ...]] = ("value_disclosure", "rank_disclosure", "optimal_assignment", "simulated_release")

    smooth: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=5, description="least number of records between the quantiles used for interpolation"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(smooth=20), cls(scope="file", smooth=1)

    def smallest(self, data: Microdata) -> int:
        terms = len(design_of(data, data.non_confidential).terms)
        return max(len(data.confidential) + terms + 2, 5)

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        from larvatus.stats.copula.quantile_map import knot_probabilities, quantile_map

        names = current.confidential
        source = rank_columns(current, names, random)
        copulas, given = copula_of(source), source.non_confidential
        counts, runs = _counts(current), _frequent(source)
        probability = knot_probabilities()
        quantiles = {n: current.table.quantiles(n, probability.tolist()) for n in names}
        maps = [
            {
                n: quantile_map(probability, quantiles[n][g], counts[g][j], self._atoms(runs[g][j], counts[g][j]), self.smooth)
                for j, n in enumerate(names) if counts[g][j]
            }
            for g in range(len(current.groups))
        ]
        latent, share, drawn = ([scratch(what, n) for n in names] for what in ("latent", "share", "drawn"))

        def draw(group: int, block: Block) -> Mapping[str, Array]:
            y = latent_values(copulas[group], block, given, random, "perturb")
            u = random.uniform(block.record, len(names), purpose="share")
            absent = [np.isnan(block[n]) for n in names]
            out = {into: np.where(gone, np.nan, v) for into, gone, v in zip(latent, absent, y, strict=True)}
            return out | {into: np.where(gone, np.nan, v) for into, gone, v in zip(drawn, absent, u, strict=True)}

        def read_off(group: int, block: Block) -> Mapping[str, Array]:
            out = {}
            for n, u in zip(names, share, strict=True):
                value = maps[group][n].at(block[u]) if n in maps[group] else block[u]
                out[n] = np.rint(value) if n in whole else value
            return out

        whole = {n for n in names if current.table.columns[n].integer}
        data = map_rows(source.data, draw, [*names, *given], [Column(n, "number") for n in (*latent, *drawn)])
        data = place_by_rank(data, {s: (y, u) for s, y, u in zip(share, latent, drawn, strict=True)}, random)
        notes = [*source.notes, *copula_notes(current, copulas), *self._notes(current, runs, counts)]
        return Masked(map_rows(data, read_off, share), notes)

    def change_clause(self) -> str:
        return ""

    def forgets_pairing(self) -> bool:
        return self.where is None

    def public_sentence(self) -> str:
        return (
            "Confidential values were replaced by random values that follow the distribution of each column and preserve the "
            "rank correlations between columns on average."
        )

    def _atoms(self, runs: _Run, n: float) -> NDArray[np.float64]:
        """Rows (lower share, upper share, value) for every frequent value."""
        least = max(FREQUENT * n, self.smooth, 3)
        rows = [
            ((rank - (c - 1) / 2 - 1) / n, (rank + (c - 1) / 2) / n, value) for rank, (value, c) in runs.items() if c >= least
        ]
        return np.array(sorted(rows), dtype=np.float64).reshape(len(rows), 3)

    def _notes(self, data: Microdata, runs: Sequence[Sequence[_Run]], counts: Sequence[NDArray[np.float64]]) -> list[Note]:
        names = data.confidential
        kept = [
            sum(len(self._atoms(here[j], n[j])) for here, n in zip(runs, counts, strict=True) if n[j])
            for j in range(len(names))
        ]
        notes = [
            Note(f"{name}: {k:,} values shared by many records of a sub-group are released unchanged")
            for name, k in zip(names, kept, strict=True) if k
        ]
        whole = [n for n in names if data.table.columns[n].integer]
        return [*notes, Note(f"rounded to whole numbers, like the original values: {', '.join(whole)}")] if whole else notes


def _counts(data: Microdata) -> list[NDArray[np.float64]]:
    """Number of present values by sub-group and column."""
    return [np.array(row, dtype=np.float64) for row in count_present(data)]


def _frequent(source: RankedColumns) -> list[list[_Run]]:
    """Values that occur more than once, by sub-group and column: average rank, value and count."""
    names, ranks = source.names, source.ranks[: len(source.names)]

    def repeated(group: int, block: Block) -> list[_Run]:
        return [_repeated(block[r], block[n]) for r, n in zip(ranks, names, strict=True)]

    return reduce_groups(source.data, [*names, *ranks],
                         repeated, lambda a, b: [_joined(x, y) for x, y in zip(a, b, strict=True)])


def _repeated(rank: Array, value: Array) -> _Run:
    found, first, count = np.unique(rank, return_index=True, return_counts=True)
    often = (count > 1) & ~np.isnan(found)
    return {
        float(r): (float(v), int(c))
        for r, v, c in zip(found[often], value[first[often]], count[often], strict=True)
    }


def _joined(one: _Run, other: _Run) -> _Run:
    out = dict(one)
    for rank, (value, count) in other.items():
        out[rank] = (value, count + (out[rank][1] if rank in out else 0))
    return out
