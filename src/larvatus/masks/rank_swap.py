"""Permute values between records of nearby rank, column by column (Moore 1996; 000 §3.6, 003, 004).

    z_(r) = x_(σ(r)),      σ a random permutation of the ranks with |σ(r) − r| ≤ p n and σ(r) ≠ r

with p the window. Moore exchanges values in pairs, σ(σ(r)) = r, which the attack swap_chain undoes in three columns or more;
pairs = true does the same. The option distance = "distribution" is due to Nin, Herranz and Torra (2008).
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
from larvatus.data.contracts import LEAST_MOVED, Array, Block, Column, Mask, Masked, RowFunction
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note, extremes_unchanged
from larvatus.data.per_column import per_column
from larvatus.data.verbs import add_ranks, count_present, map_groups, map_rows, place_by_rank
from larvatus.masks.categories.ordered_levels import distinct_numbers, numbers_to_levels

_Share = Annotated[float, Field(gt=0, le=1)]
Partners = dict[str, list[NDArray[np.int64]]]
_HELD = 1 << 24
_IN_PAIRS = "values were exchanged in pairs, which the attack swap_chain can undo"


class RankSwap(Mask):
    """Move every value to a record of nearby rank in its sub-group, by a random permutation.

    Every column keeps exactly its values. Correlations shrink as the window grows. Values stay near their original ranks. An
    intruder who knows the window can intersect the candidates of several columns until one record is left. Drawing the
    distances from a distribution makes that unreliable. The smallest and largest values are released unchanged, though
    perhaps in other records. Categorical columns are swapped too if their levels have an order: a stated one, or that of a
    taxonomy.

    Use it if values must stay in the file and a record may get values near its own. Do not use it with narrow windows on many
    columns: the candidates of all columns together leave one record.

    Parameters:
        window: greatest move of a value, as a share of the ranks; one value, a list in role order, or by column name.
        distance: "window" draws the permutation evenly from those within the window; "distribution" draws normal distances,
            with mean and SD of half the window, and puts the ranks in the order that they give, so no distance is excluded.
        pairs: exchange values in pairs, as in the literature; the attack swap_chain undoes it in three columns or more.
        tails: for pairs: "one_sided" visits ranks from the lowest and looks upwards for a partner; "two_sided" visits them at
            random and looks both ways.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    permutes: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "ordered"})
    publishable: ClassVar[frozenset[str]] = frozenset({"tails", "distance", "pairs"})
    nemesis: ClassVar[tuple[str, ...]] = ("swap_chain", "rank_window", "simulated_release")

    window: _Share | tuple[_Share, ...] | dict[str, _Share] = Field(
        default=0.05, description="greatest move of a value, as a share of the ranks"
    )
    tails: Literal["one_sided", "two_sided"] = Field(
        default="one_sided", description="for pairs: search partners upwards from the lowest rank, or both ways in random order"
    )
    distance: Literal["window", "distribution"] = Field(
        default="window", description="draw moves evenly from the window, or normal distances without a limit"
    )
    pairs: bool = Field(default=False, description="exchange values in pairs, which the attack swap_chain undoes")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(), cls(window=0.15, tails="two_sided", pairs=True), cls(window=0.1, distance="distribution"), cls(scope="file"),
        )

    def smallest(self, data: Microdata) -> int:
        return max(LEAST_MOVED, math.ceil(1 / max(float(self._windows(data.confidential).min()), 1e-15) - 1e-9))

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        numbers = distinct_numbers(current, original, names)
        partners = self._partners(numbers, random)
        held = max(current.groups.sizes) <= _HELD
        swapped = _exchanged(numbers, partners, random) if held else _placed(numbers, partners, random)
        left = {n: sum(int(np.count_nonzero(p == np.arange(len(p)))) for p in partners[n]) for n in names}
        there = {n: sum(map(len, partners[n])) for n in names}
        done = "exchanged with another record" if self.pairs else "moved to another record"
        notes = [Note(f"{there[n] - left[n]:,} of {there[n]:,} values of {n} were {done}") for n in names]
        notes += [Note(f"{count:,} values of {n} have no free partner and stay") for n, count in left.items() if count]
        notes.append(extremes_unchanged())
        if self.pairs:
            notes.append(Note(_IN_PAIRS, "warning"))
        elif self.distance == "window" and self._neighbours_only(numbers):
            notes.append(Note(f"the window is a single rank in some sub-groups, where {_IN_PAIRS}", "warning"))
        return Masked(numbers_to_levels(swapped, current, original, names), notes)

    def change_clause(self) -> str:
        return "correlations are weaker than in the collected data"

    def public_sentence(self) -> str:
        return "Each confidential value was moved to another record of similar rank."

    def _windows(self, names: Sequence[str]) -> NDArray[np.float64]:
        return per_column("rank_swap.window", self.window, names)

    def _neighbours_only(self, data: Microdata) -> bool:
        """Whether the window is a single rank in some column of some sub-group."""
        from larvatus.stats.ranks.swap_partners import reach_of

        windows, counts = self._windows(data.confidential), count_present(data)
        return any(reach_of(w, n) == 1 for w, column in zip(windows, counts.T, strict=True) for n in column.tolist())

    def _partners(self, data: Microdata, random: RecordRandom) -> Partners:
        """The rank whose value each rank receives, by column and sub-group; it depends on the number of values alone."""
        from larvatus.stats.ranks import swap_partners as ranks

        counts, both = count_present(data), self.tails == "two_sided"
        out: Partners = {}
        for j, (name, window) in enumerate(zip(data.confidential, self._windows(data.confidential), strict=True)):
            out[name] = []
            for group, n in enumerate(counts[:, j].tolist()):
                rank, reach, purpose = np.arange(n), ranks.reach_of(window, n), f"partners {name} in {group}"
                words = random.words(rank[: n // 2 + 1], 4, purpose).reshape(2, -1)[:, :n]
                if self.distance == "window":
                    out[name].append(ranks.window_partners(n, reach, words, both) if self.pairs else
                                     ranks.window_permutation(n, reach, words))
                    continue
                normal = random.normal(rank, purpose=f"distance of {purpose}")[0]
                out[name].append(ranks.distance_partners(n, reach, words, normal, both) if self.pairs else
                                 ranks.distance_permutation(n, reach, words, normal))
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
