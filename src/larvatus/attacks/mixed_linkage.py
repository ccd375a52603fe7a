"""Link by categories and numbers together, each column weighed by the law of its change.

    w(i, k) = Σ_j log( P(y_kj | x_ij) / P(y_kj) );   k* = arg max_k w(i, k)  over the released records k with s_k = s_i

P(y | x) is the transition law of a categorical column, and a normal law with the correlation of x and y for a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.linkage_keys import Keys
from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack, Block
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.data.verbs import reduce_groups
from larvatus.stats.linear.moments import SampleMoments

_TRIALS = ("each record alone", "one to one", "one to one, other categories equally likely",
           "one to one, other categories by frequency")
_LARGEST, _SMALLEST = 1500, 30  # records linked one to one at once; fewer in a large file
_PAIRS = 7_500_000
Weigh = Callable[[Floats, Ints, Ints], Floats]


class MixedLinkage(Attack):
    """The intruder knows how each column was changed, and links to the record whose values are most probable for the target.

    The weight of a pair is a sum over columns. A category counts by its transition probability relative to its frequency, so
    that agreement in a rare category weighs more, and a frequent change costs little. A number counts by its correlation
    with the original. Columns are treated as independent. The laws are those of the file; the own pair of a target does not
    count for the categories. Only records with the same S are candidates. Candidates of equal weight share the credit.
    In further trials the intruder also uses that each released record belongs to one original record: probabilities are scaled
    so that they sum to one for each record, in sets of at most 1,500 records with the same S and sub-group (fewer in a file of
    more than 5,000 records). Two of them use simpler laws with one parameter, the probability that a category stays as it is.
    The most successful trial is scored. The interval treats targets as independent although they share the laws: coverage
    measured .75 to 1 (docs/guides/intervals.md).

    Parameters:
        targets: approximate number of records to attack, a random sample of larger files; each is compared with all others.
    """

    assumes: ClassVar[str] = (
        "The intruder knows numeric and categorical values of the targets, how likely each category changes into each other "
        "one, and how strongly each number was changed."
    )

    targets: Annotated[int, Field(ge=1)] = Field(default=5000, description="approximate number of records to attack")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, categorical_too=True)
        laws = _laws(by.keys, (*by.masked, *by.soft))
        largest = min(_LARGEST, max(_SMALLEST, _PAIRS // original.rows))
        return link_groups(
            self, "share of records whose own released record is the most probable one", original, release, intruder, by,
            _linker(laws, intruder.guesses or (1,), largest), trials=("links", _TRIALS),
        )


@dataclass(frozen=True, slots=True)
class _Laws:
    """Pairs by original and released category of each categorical column, and the correlation of each number."""

    counts: Mapping[str, Floats]
    rho: Mapping[str, float]


def _laws(keys: Keys, names: Sequence[str]) -> _Laws:
    """The laws of the file, with numbers centred in each sub-group."""
    named = [n for n in names if n in keys.codes]
    numbers = [n for n in names if n not in keys.codes]
    sizes = {n: 1 + max(int(c.max(initial=0)) for c in keys.codes[n]) for n in named}
    read = list(dict.fromkeys([*names, *(keys.known_column(n) for n in names)]))

    def count(group: int, block: Block) -> Floats:
        out = []
        for n in named:
            x, y = keys.both(n, block)
            both = (x >= 0) & (y >= 0)
            out.append(np.bincount(x[both] * sizes[n] + y[both], minlength=sizes[n] ** 2).astype(np.float64))
        return np.concatenate(out)

    def moments(group: int, block: Block) -> SampleMoments:
        both = [keys.both(n, block) for n in numbers]
        return SampleMoments.of(np.column_stack([pair[side] for side in (0, 1) for pair in both]))

    total = np.sum(reduce_groups(keys.joined, read, count, np.add), axis=0) if named else np.zeros(0)
    parts = np.split(total, np.cumsum([sizes[n] ** 2 for n in named])[:-1]) if named else []
    counts = {n: part.reshape(sizes[n], sizes[n]) for n, part in zip(named, parts, strict=True)}
    by_group = reduce_groups(keys.joined, read, moments, SampleMoments.merge) if numbers else []
    return _Laws(counts, {n: _correlation(by_group, j, len(numbers) + j) for j, n in enumerate(numbers)})


def _correlation(by_group: Sequence[SampleMoments], x: int, y: int) -> float:
    """Correlation within sub-groups; 0 if it is not larger than that of unrelated values may be."""
    sums = np.array([[m.count[x, y], m.square[x, y], m.square[y, x], m.scatter[x, y]] for m in by_group])
    freedom = float(np.maximum(sums[:, 0] - 1, 0.0).sum())
    _, xx, yy, xy = sums.sum(axis=0)
    if xx <= 0 or yy <= 0 or freedom < 2:
        return 0.0
    rho = float(xy / np.sqrt(xx * yy))
    return rho if abs(rho) > 3 / np.sqrt(freedom) else 0.0


def _linker(laws: _Laws, guesses: Sequence[int], largest: int) -> Callable[[LinkedGroup], Floats]:
    from larvatus.stats.linkage.pair_weights import (
        category_weights,
        number_weights,
        one_to_one_credit,
        pair_weights,
        stay_weights,
        weighed_credit,
    )
    from larvatus.stats.linkage.paired_points import rows_by_code

    ways: tuple[Weigh, ...] = (category_weights, partial(stay_weights, by_frequency=False),
                               partial(stay_weights, by_frequency=True))

    def link(sides: LinkedGroup) -> Floats:
        named = [j for j, n in enumerate(sides.names) if n in laws.counts]
        number = [j for j, n in enumerate(sides.names) if n not in laws.counts]
        codes = [np.where(np.isnan(v[:, named]), -1, v[:, named]).astype(np.int64) for v in (sides.originals, sides.y)]
        x, y = (_standard(v[:, number]) for v in (sides.originals, sides.y))
        form = number_weights(np.array([laws.rho[sides.names[j]] for j in number]))

        def tables(rows: Ints, weigh: Weigh = category_weights) -> list[Floats]:
            return [weigh(laws.counts[sides.names[j]], codes[0][rows, i], codes[1][rows, i]) for i, j in enumerate(named)]

        alone = weighed_credit(x[sides.own], y, form, tables(sides.own), codes[1], sides.same, sides.own, guesses)
        together = np.zeros((len(ways), len(guesses), len(y)))
        together[:, :, sides.own] = alone
        holds, attacked = np.zeros(len(y), dtype=bool), np.zeros(len(y), dtype=bool)
        holds[sides.holds], attacked[sides.own] = True, True
        for rows in rows_by_code(sides.same):
            mine = np.flatnonzero(holds[rows])
            if len(rows) <= largest and attacked[rows].any():
                held = rows[mine]
                for k, weigh in enumerate(ways if named else ways[:1]):
                    weights = pair_weights(x[held], y[rows], form, tables(held, weigh), codes[1][rows])
                    together[k][:, held] = one_to_one_credit(weights, mine, guesses)
        return np.concatenate([alone[None], together[:, :, sides.own]])

    return link


def _standard(values: Floats) -> Floats:
    """Columns in standard deviations from their mean; a column that does not vary is 0."""
    there = ~np.isnan(values)
    n = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, values, 0.0).sum(axis=0) / n
    d = values - mean
    sd = np.sqrt((np.where(there, d, 0.0) ** 2).sum(axis=0) / n)
    flat = sd <= 1e-12 * np.abs(mean)
    return np.asarray(np.where(there, np.where(flat, 0.0, d / np.where(flat, 1.0, sd)), np.nan))
