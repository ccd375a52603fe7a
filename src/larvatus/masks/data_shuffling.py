"""Shuffle values of X among records by a normal copula given S, in each sub-group (Muralidhar, Sarathy 2006; 000 §3.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column, Mask, Masked
from larvatus.data.design import design_of
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.masks.copula.draw import copula_notes, latent_values
from larvatus.masks.copula.estimate import copula_of, rank_columns
from larvatus.masks.grouping.cell_patterns import by_zero_pattern, left_out


class DataShuffling(Mask):
    """Give every record values of X that other records of its sub-group had, so that rank correlations stay.

    Each column keeps exactly its values in every sub-group; rank correlations among X and with S are kept in expectation;
    given S the new values are independent of the old, so an intruder learns nothing beyond S. Relations that are not
    monotone are lost, and the smallest and largest values leave unmodified.

    Parameters:
        zeros: "latent" treats zeros as tied values; "sub_group" shuffles records with the same zero pattern together.
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, a list of record ids, or @FILE with one.
        scope: run within each sub-group, or over the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    permutes: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"zeros"})

    zeros: Literal["latent", "sub_group"] = Field(
        default="latent", description="zeros as tied values, or their pattern as one more sub-group level"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        terms = len(design_of(data, data.non_confidential).terms)
        return max(len(data.confidential) + terms + 2, 5)

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        data = by_zero_pattern(current, names, self.smallest(current), self.name()) if self.zeros == "sub_group" else current
        source = rank_columns(data, names, random)
        copulas, given = copula_of(source), source.given
        latent = [scratch("latent", n) for n in names]

        some_missing = {n for n in names if data.table.columns[n].missing}

        def draw(group: int, block: Block) -> Mapping[str, Array]:
            values = latent_values(copulas[group], block, given, random, "shuffle")
            return {
                into: np.where(np.isnan(block[n]), np.nan, y) if n in some_missing else y
                for into, n, y in zip(latent, names, values, strict=True)
            }

        drawn = source.data.map_rows(draw, [*names, *given], [Column(n, "number") for n in latent])
        placed = drawn.place({n: (order, n) for n, order in zip(names, latent, strict=True)}, random)
        ends = Note("the smallest and the largest value of every column leave unmodified", "warning")
        return Masked(placed, [ends, *copula_notes(data, copulas), *left_out(current, data, "zero")])

    def altered(self) -> str:
        return ""

    def public_sentence(self) -> str:
        return (
            "Confidential values were exchanged between records so that each column keeps its values and the rank "
            "correlations between columns are preserved on average."
        )
