"""Make values missing at random, at a stated rate (Winkler 2007: 004).

    P(y_ij missing) = rate_j,      else y_ij = x_ij

independently, or at most one value of each record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.per_column import per_column
from larvatus.data.verbs import count_present, map_rows

Rate = Annotated[float, Field(gt=0, lt=1)]


class RandomBlanking(Mask):
    """Make every value missing with a stated probability; at most one value of a record, or each value independently.

    The remaining values are a random subset of the original ones, so means and pairwise correlations are preserved in
    expectation, from fewer records. All other values are released unchanged: an intruder who knows two or three of them links a
    record almost as before, so blanking alone protects little.

    Use it as a small addition to other masks, to make an intruder less certain. Do not use it alone: what is not blanked is
    original.

    Parameters:
        rate: probability that a value becomes missing; one value, a list in role order, or by column name.
        disjoint: blank at most one value of a record; false blanks values independently of each other.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: has no effect on this mask, which handles one record at a time.
    """

    record_wise: ClassVar[bool] = True
    scale_free: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    keeps_ranks: ClassVar[bool] = True
    blanks: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})
    publishable: ClassVar[frozenset[str]] = frozenset({"rate", "disjoint"})
    nemesis: ClassVar[tuple[str, ...]] = ("exact_match", "probabilistic_linkage", "nearest_record", "simulated_release")

    rate: Rate | tuple[Rate, ...] | dict[str, Rate] = Field(
        default=0.05, description="probability that a value becomes missing"
    )
    disjoint: bool = Field(default=True, description="blank at most one value of a record")
    scope: Literal["sub_group", "file"] = Field(default="file", description="has no effect on this mask")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(rate=0.2), cls(rate=0.3, disjoint=False)

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        rate = per_column("random_blanking.rate", self.rate, names)
        if self.disjoint and rate.sum() > 1:
            raise MaskError(
                f"random_blanking: disjoint = true, but the rates of {len(names)} columns add up to {rate.sum():.3g}, above 1, "
                "so some records would lose more than one value. Reduce rate, or set disjoint = false."
            )

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            gone = self._chosen(rate, block.record, random)
            return {n: np.where(gone[j], np.nan if block[n].dtype.kind == "f" else -1, block[n]) for j, n in enumerate(names)}

        after = map_rows(current, mask_block, names)
        before, left = (count_present(d).sum(axis=0).tolist() for d in (current, after))
        notes = []
        for name, was, now in zip(names, before, left, strict=True):
            said = f"{was - now:,} of {was:,} values of {name} were made missing"
            notes.append(Note(said, "warning" if was and was == now else "information"))
        return Masked(after, notes)

    def change_clause(self) -> str:
        return "some values are missing at random, so estimates use fewer values"

    def public_sentence(self) -> str:
        return "Some confidential values, chosen at random, were made missing."

    def _chosen(self, rate: NDArray[np.float64], record: NDArray[np.int64], random: RecordRandom) -> NDArray[np.bool_]:
        """Columns × records: whether a value is blanked."""
        if not self.disjoint:
            return np.asarray(random.uniform(record, len(rate), purpose="blanking") < rate[:, None])
        draw = random.uniform(record, 1, purpose="blanking")
        above = np.cumsum(rate)[:, None]
        return np.asarray((draw < above) & (draw >= above - rate[:, None]))
