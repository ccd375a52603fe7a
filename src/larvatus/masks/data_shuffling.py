"""Shuffle the values of X among records by a normal copula given S (Muralidhar and Sarathy 2006; 000 §3.7).

    u_i ~ N(R_XS R_SS⁻¹ s*_i, R_XX − R_XS R_SS⁻¹ R_SX),      z_ij = x_(rank(u_ij))j

in each sub-group, where s* are the normal scores of S, R the latent correlations, and x_(r)j the r-th smallest value of
column j.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import LEAST_MOVED, Array, Block, Column, Mask, Masked
from larvatus.data.design import design_of
from larvatus.data.microdata import Microdata
from larvatus.data.notes import extremes_unchanged
from larvatus.data.verbs import map_rows, place_by_rank
from larvatus.masks.copula.draw import copula_notes, latent_values
from larvatus.masks.copula.estimate import copula_of, rank_columns
from larvatus.masks.grouping.cell_patterns import by_zero_pattern, omission_notes


class DataShuffling(Mask):
    """Give every record values of X from other records of its sub-group so that rank correlations are preserved.

    In every sub-group each column keeps exactly its values. Rank correlations among X and with S are preserved in expectation.
    Given S and the relations of X with S, the new values are independent of the original ones. Non-monotone relations are lost.
    The smallest and largest values of each column are released unchanged, though in other records.

    Use it if analysts need the values of every column, skewed columns and zeros included, and monotone relations. Do not use it
    if relations are not monotone, if linear regressions must be exact, or if the extremes are sensitive: they are released, in
    other records.

    Parameters:
        zeros: "latent" treats zeros as tied values; "sub_group" shuffles records with the same zero pattern together.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    permutes: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"zeros"})
    nemesis: ClassVar[tuple[str, ...]] = ("value_disclosure", "rank_disclosure", "optimal_assignment", "simulated_release")

    zeros: Literal["latent", "sub_group"] = Field(
        default="latent", description="treat zeros as tied values, or use the zero pattern as one more sub-group level"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        terms = len(design_of(data, data.non_confidential).terms)
        return max(len(data.confidential) + terms + 2, LEAST_MOVED)

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        data = by_zero_pattern(current, names, self.smallest(current), self.name()) if self.zeros == "sub_group" else current
        source = rank_columns(data, names, random)
        copulas, given = copula_of(source), source.non_confidential
        latent = [scratch("latent", n) for n in names]

        some_missing = {n for n in names if data.table.columns[n].missing}

        def draw(group: int, block: Block) -> Mapping[str, Array]:
            values = latent_values(copulas[group], block, given, random, "shuffle")
            return {
                into: np.where(np.isnan(block[n]), np.nan, y) if n in some_missing else y
                for into, n, y in zip(latent, names, values, strict=True)
            }

        drawn = map_rows(source.data, draw, [*names, *given], [Column(n, "number") for n in latent])
        placed = place_by_rank(drawn, {n: (order, n) for n, order in zip(names, latent, strict=True)}, random)
        given_notes = [*source.notes, *copula_notes(data, copulas), *omission_notes(current, data, "zero")]
        return Masked(placed, [extremes_unchanged(), *given_notes])

    def change_clause(self) -> str:
        return ""

    def forgets_pairing(self) -> bool:
        return self.where is None

    def public_sentence(self) -> str:
        return (
            "Confidential values were exchanged between records. The values of each column are preserved exactly, the rank "
            "correlations between columns on average."
        )
