"""Exchange values between records of nearby rank, column by column (Moore 1996; 000 §3.6, 003, 004).

    swap x_(r) and x_(s),      |r − s| ≤ p n,      each value at most once

with p the window. The option distance = "distribution" is due to Nin, Herranz and Torra (2008).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column, Mask, Masked, RowFunction
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.per_column import per_column
from larvatus.data.verbs import add_ranks, count_present, map_groups, map_rows, place_by_rank
from larvatus.masks.categories.ordered_levels import distinct_numbers, numbers_to_levels

_Share = Annotated[float, Field(gt=0, le=1)]
Partners = dict[str, list[NDArray[np.int64]]]
HELD = 1 << 24


class RankSwap(Mask):
    """Exchange every value with one of nearby rank in its sub-group, each value at most once.

    Every column keeps exactly its values. Correlations shrink as the window grows. Values stay near their original ranks. An
    intruder who knows the window can intersect the candidates of several columns until one record is left. Drawing the
    distances from a distribution makes that unreliable. The smallest and largest values are released unchanged, though
    perhaps in other records. Categorical columns are swapped too if their levels have an order: a stated one, or that of a
    taxonomy.

    Parameters:
        window: greatest distance of a swap, as a share of the ranks; one value, a list in role order, or by column name.
        tails: "one_sided" visits ranks from the lowest and looks upwards; "two_sided" visits them at random, looking both ways.
        distance: "window" draws evenly from the free ranks in the window; "distribution" draws a normal distance, with mean and
            SD of half the window, and takes the nearest free rank, so that no distance is excluded.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    permutes: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "ordered"})
    publishable: ClassVar[frozenset[str]] = frozenset({"tails", "distance"})

    window: _Share | tuple[_Share, ...] | dict[str, _Share] = Field(
        default=0.05, description="greatest distance of a swap, as a share of the ranks"
    )
    tails: Literal["one_sided", "two_sided"] = Field(
        default="one_sided", description="search partners upwards from the lowest rank, or both ways in random order"
    )
    distance: Literal["window", "distribution"] = Field(
        default="window", description="draw partners evenly from the window, or at normal distances without a limit"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(window=0.15, tails="two_sided"), cls(window=0.1, distance="distribution"), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        return max(2, math.ceil(1 / float(self._windows(data.confidential).min()) - 1e-9))

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        numbers = distinct_numbers(current, original, names)
        partners = self._partners(numbers, random)
        held = max(current.groups.sizes) <= HELD
        swapped = _exchanged(numbers, partners, random) if held else _placed(numbers, partners, random)
        left = {n: sum(int(np.count_nonzero(p == np.arange(len(p)))) for p in partners[n]) for n in names}
        there = {n: sum(map(len, partners[n])) for n in names}
        notes = [
            Note(f"{there[n] - left[n]:,} of {there[n]:,} values of {n} were exchanged with another record") for n in names
        ]
        notes += [Note(f"{count:,} values of {n} have no free partner and stay") for n, count in left.items() if count]
        notes.append(Note("the smallest and the largest value of every column are released unchanged", "warning"))
        return Masked(numbers_to_levels(swapped, current, original, names), notes)

    def altered(self) -> str:
        return "correlations are weaker than in the collected data"

    def public_sentence(self) -> str:
        return "Each confidential value was exchanged with the value of another record of similar rank."

    def _windows(self, names: Sequence[str]) -> NDArray[np.float64]:
        return per_column("rank_swap.window", self.window, names)

    def _partners(self, data: Microdata, random: RecordRandom) -> Partners:
        """The swap partner of each rank, by column and sub-group; it depends on the number of values, not on the values."""
        from larvatus.stats.ranks.swap_partners import distance_partners, reach_of, window_partners

        counts, both = count_present(data), self.tails == "two_sided"
        out: Partners = {}
        for j, (name, window) in enumerate(zip(data.confidential, self._windows(data.confidential), strict=True)):
            out[name] = []
            for group, n in enumerate(counts[:, j].tolist()):
                rank, reach, purpose = np.arange(n), reach_of(window, n), f"partners {name} in {group}"
                words = random.words(rank[: n // 2 + 1], 4, purpose).reshape(2, -1)[:, :n]
                if self.distance == "window":
                    out[name].append(window_partners(n, reach, words, both))
                else:
                    normal = random.normal(rank, purpose=f"distance of {purpose}")[0]
                    out[name].append(distance_partners(n, reach, words, normal, both))
        return out


def _exchanged(data: Microdata, partners: Partners, random: RecordRandom) -> Microdata:
    """Exchange values in sub-groups that fit in memory: one sort per column."""

    def exchange(name: str) -> RowFunction:
        def swap(group: int, block: Block) -> Mapping[str, Array]:
            from larvatus.stats.ranks.ranks import keyed_order

            order = keyed_order(block[name], block.record, lambda r: random.words(r, purpose=f"ties {name}")[0])
            out = np.full(len(block), np.nan)
            out[order] = block[name][order[partners[name][group]]]
            return {name: out}

        return swap

    for name in partners:
        data = map_groups(data, exchange(name), [name])
    return data


def _placed(data: Microdata, partners: Partners, random: RecordRandom) -> Microdata:
    """The same for sub-groups of any size, by ranks and placement."""
    names = tuple(partners)

    def exchange(group: int, block: Block) -> Mapping[str, Array]:
        return {scratch("partner", n): _looked_up(partners[n][group], block[scratch("rank", n)]) for n in names}

    ranks, partner = {scratch("rank", n): n for n in names}, {n: scratch("partner", n) for n in names}
    ranked = add_ranks(data, ranks, random)
    aimed = map_rows(ranked, exchange, list(ranks), [Column(p, "number") for p in partner.values()])
    return place_by_rank(aimed, {n: (p, n) for n, p in partner.items()}, random)


def _looked_up(partner: NDArray[np.int64], rank: Array) -> Array:
    """The partner's rank, counted from one; missing if the rank is."""
    there = ~np.isnan(rank)
    if there.all():
        return partner[rank.astype(np.int64) - 1] + 1.0
    out = np.full(len(rank), np.nan)
    out[there] = partner[rank[there].astype(np.int64) - 1] + 1.0
    return out
