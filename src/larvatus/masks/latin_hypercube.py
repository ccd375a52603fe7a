"""Re-pair the values of X by correlated scores, without S (Dandekar, Cohen and Kirkendall 2002; Iman and Conover 1982).

    z_ij = x_(rank(u_ij))j,      sample Corr(u) = R_XX

in each sub-group, where u are random normal scores made to have the latent correlations of X exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np

from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import LEAST_MOVED, Array, Block, Column, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note, extremes_unchanged
from larvatus.data.verbs import add_ranks, map_rows, moments_by_group, place_by_rank, with_table
from larvatus.masks.copula.draw import copula_notes
from larvatus.masks.copula.estimate import Copula, copula_of, rank_columns


class LatinHypercube(Mask):
    """Give every record values from other records of its sub-group, paired so that rank correlations among X are preserved.

    Each column keeps exactly its values. Rank correlations among X come out close to the original ones, closer than with plain
    random draws, because the scores behind them have the wanted correlations exactly. Relations with S beyond the sub-groups
    are lost. The new values tell an intruder nothing about the original ones. The smallest and largest values of each column
    are released unchanged, though in other records.

    Use it if there are no non-confidential columns and the values of every column must stay. Do not use it if relations with S
    matter: they are lost.

    Parameters:
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    permutes: ClassVar[bool] = True
    nemesis: ClassVar[tuple[str, ...]] = ("rank_disclosure", "optimal_assignment", "simulated_release")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        return max(len(data.confidential) + 2, LEAST_MOVED)

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names, given = current.confidential, current.non_confidential
        source = rank_columns(_without_s(current), names, random)
        copulas = copula_of(source)
        most = max(len(c.root) for c in copulas)
        dice, order, score, latent = (
            [scratch(what, str(i)) for i in range(k)]
            for what, k in (("dice", most), ("order", most), ("score", most), ("latent", len(names)))
        )
        sizes = current.groups.sizes

        def throw(group: int, block: Block) -> Mapping[str, Array]:
            return dict(zip(dice, random.uniform(block.record, most, purpose="hypercube"), strict=True))

        def scored(group: int, block: Block) -> Mapping[str, Array]:
            from larvatus.core.portable.portable_normal import normal_quantile

            return {s: normal_quantile(block[r] / (sizes[group] + 1)) for s, r in zip(score, order, strict=True)}

        data = map_rows(source.data, throw, (), [Column(n, "number") for n in dice])
        data = add_ranks(data, dict(zip(order, dice, strict=True)), random)
        data = map_rows(data, scored, order, [Column(n, "number") for n in score])
        weights = [_weights(m.correlation, c) for m, c in zip(moments_by_group(data, score), copulas, strict=True)]

        def pair(group: int, block: Block) -> Mapping[str, Array]:
            from larvatus.stats.linear.row_maps import rows_times_weights

            copula, own = copulas[group], score[: len(copulas[group].root)]
            y = rows_times_weights(np.array([block[s] for s in own]), weights[group])[copula.member] * copula.sign[:, None]
            return {into: np.where(np.isnan(block[n]), np.nan, v) for into, n, v in zip(latent, names, y, strict=True)}

        data = map_rows(data, pair, [*names, *score], [Column(n, "number") for n in latent])
        placed = place_by_rank(data, {n: (y, n) for n, y in zip(names, latent, strict=True)}, random)
        return Masked(with_table(current, placed.table), [*copula_notes(current, copulas), *_notes(given)])

    def change_clause(self) -> str:
        return "relations with unmasked columns are lost inside sub-groups"

    def forgets_pairing(self) -> bool:
        return self.where is None

    def public_sentence(self) -> str:
        return (
            "Confidential values were exchanged between records. The values of each column are preserved exactly, the rank "
            "correlations among confidential columns closely."
        )


def _without_s(data: Microdata) -> Microdata:
    """The data without non-confidential columns."""
    return replace(data, roles=data.roles.model_copy(update={"non_confidential": ()}))


def _weights(found: Array, copula: Copula) -> Array:
    """Weights that give the scores exactly the correlations of the copula."""
    from larvatus.stats.copula.iman_conover import as_correlation, re_pairing
    from larvatus.stats.linear.portable_algebra import product

    r = len(copula.root)
    return re_pairing(found[:r, :r], as_correlation(product(copula.root, copula.root.T)))


def _notes(given: Sequence[str]) -> list[Note]:
    notes = [extremes_unchanged()]
    if given:
        notes.append(Note(
            f"relations of confidential columns with {', '.join(given)} are not preserved beyond the sub-groups", "warning"
        ))
    return notes
