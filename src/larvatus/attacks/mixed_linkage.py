"""Link by categories and numbers together, each column weighed by the law of its change.

    w(i, k) = Σ_j log( P(y_kj | x_ij) / P(y_kj) );   k* = arg max_k w(i, k)  over the released records k with s_k = s_i

P(y | x) is the transition law of a categorical column, and a normal law with the correlation of x and y for a number. The
weight is that of Fellegi and Sunter 1969 with the values themselves in place of agreement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from larvatus.attacks.linkage.group_linkage import GroupKeys, Link, LinkedGroup, link_groups
from larvatus.attacks.linkage.linkage_keys import Keys
from larvatus.attacks.linkage.target_sample import SLOW_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Attack, Block
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.data.verbs import reduce_groups
from larvatus.stats.estimates.jackknife import PARTS
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
    The most successful trial is scored. All targets share the laws; in files of up to 5,000 records the interval allows for
    that.

    Look at it if the intruder knows categories and numbers of a person. It is not stronger than the attacks on one kind if
    columns of only one kind are known.

    Parameters:
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = SLOW_ATTACK_TARGETS
    assumes: ClassVar[str] = (
        "The intruder knows numeric and categorical values of the targets, how likely each category changes into each other "
        "one, and how strongly each number was changed."
    )

    targets: Targets = None

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, categorical_too=True)
        names, guesses = (*by.masked, *by.soft), intruder.guesses or (1,)
        small = release.data.rows <= SLOW_ATTACK_TARGETS
        largest = min(_LARGEST, max(_SMALLEST, _PAIRS // original.rows))
        return link_groups(
            self, "share of records whose own released record is the most probable one", original, release, intruder, by,
            _linker(_laws(by.keys, names), guesses, largest), trials=("links", _TRIALS), pairs=True,
            left_out=_left_out(by.keys, names, guesses, random, largest) if small else None,
        )


@dataclass(frozen=True, slots=True)
class _Laws:
    """Pairs by original and released category of each categorical column, and the correlation of each number."""

    counts: Mapping[str, Floats]
    rho: Mapping[str, float]


def _laws(keys: Keys, names: Sequence[str]) -> _Laws:
    """The laws of the file, with numbers centred in each sub-group."""
    return _laws_of_parts(keys, names, 1, lambda record: np.zeros(len(record), dtype=np.int64))[0]


def _left_out(keys: Keys, names: Sequence[str], guesses: Sequence[int], random: RecordRandom, largest: int) -> Link:
    """Credits of the first guess of each record alone, with the laws of the file without each of ten parts."""
    laws = _laws_of_parts(keys, names, PARTS, lambda record: random.words(record, purpose="parts")[0] % np.uint64(PARTS))
    links = [_linker(law, guesses[:1], largest, alone=True) for law in laws]
    return lambda sides: np.array([link(sides)[0, 0] for link in links])


def _laws_of_parts(keys: Keys, names: Sequence[str], parts: int, part_of: Callable[[Ints], Array]) -> list[_Laws]:
    """The laws without each part of the records; with one part, the laws of all records."""
    named = [n for n in names if n in keys.codes]
    numbers = [n for n in names if n not in keys.codes]
    sizes = {n: 1 + max(int(c.max(initial=0)) for c in keys.codes[n]) for n in named}
    read = list(dict.fromkeys([*names, *(keys.known_column(n) for n in names)]))

    def count(group: int, block: Block) -> Floats:
        part, out = part_of(block.record), []
        for n in named:
            x, y = keys.both(n, block)
            both = (x >= 0) & (y >= 0)
            pair = x * sizes[n] + y
            out.append(np.array([np.bincount(pair[both & (part == k)], minlength=sizes[n] ** 2) for k in range(parts)]))
        return np.concatenate(out, axis=1).astype(np.float64)

    def moments(group: int, block: Block) -> tuple[SampleMoments, ...]:
        both, part = [keys.both(n, block) for n in numbers], part_of(block.record)
        values = np.column_stack([pair[side] for side in (0, 1) for pair in both])
        return tuple(SampleMoments.of(values[part == k]) for k in range(parts))

    def merge(a: tuple[SampleMoments, ...], b: tuple[SampleMoments, ...]) -> tuple[SampleMoments, ...]:
        return tuple(SampleMoments.merge(one, other) for one, other in zip(a, b, strict=True))

    total = np.sum(reduce_groups(keys.joined, read, count, np.add), axis=0) if named else np.zeros((parts, 0))
    by_group = reduce_groups(keys.joined, read, moments, merge) if numbers else []
    cuts = np.cumsum([sizes[n] ** 2 for n in named])[:-1]
    out = []
    for k in range(parts):
        kept = [i for i in range(parts) if i != k or parts == 1]
        tables = np.split(total[kept].sum(axis=0), cuts) if named else []
        counts = {n: table.reshape(sizes[n], sizes[n]) for n, table in zip(named, tables, strict=True)}
        merged = [SampleMoments.total([of_group[i] for i in kept]) for of_group in by_group]
        out.append(_Laws(counts, {n: _correlation(merged, j, len(numbers) + j) for j, n in enumerate(numbers)}))
    return out


def _correlation(by_group: Sequence[SampleMoments], x: int, y: int) -> float:
    """Correlation within sub-groups; 0 if it is not larger than that of unrelated values may be."""
    sums = np.array([[m.count[x, y], m.square[x, y], m.square[y, x], m.scatter[x, y]] for m in by_group])
    freedom = float(np.maximum(sums[:, 0] - 1, 0.0).sum())
    _, xx, yy, xy = sums.sum(axis=0)
    if xx <= 0 or yy <= 0 or freedom < 2:
        return 0.0
    rho = float(xy / np.sqrt(xx * yy))
    return rho if abs(rho) > 3 / np.sqrt(freedom) else 0.0


def _linker(laws: _Laws, guesses: Sequence[int], largest: int, alone: bool = False) -> Callable[[LinkedGroup], Floats]:
    """The credits of all trials, or of each record alone."""
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

        def tables(weigh: Weigh) -> list[Floats]:
            return [weigh(laws.counts[sides.names[j]], codes[0][:, i], codes[1][:, i]) for i, j in enumerate(named)]

        by_law = tables(category_weights)
        own = [table[sides.own] for table in by_law]
        first = weighed_credit(x[sides.own], y, form, own, codes[1], sides.same, sides.own, guesses)
        if alone:
            return first[None]
        together = np.zeros((len(ways), len(guesses), len(y)))
        together[:, :, sides.own] = first
        laws_tried = [by_law, *(tables(weigh) for weigh in ways[1:])] if named else [by_law]
        holds, attacked = np.zeros(len(y), dtype=bool), np.zeros(len(y), dtype=bool)
        holds[sides.holds], attacked[sides.own] = True, True
        for rows in rows_by_code(sides.same):
            mine = np.flatnonzero(holds[rows])
            if len(rows) <= largest and attacked[rows].any():
                held = rows[mine]
                for k, tried in enumerate(laws_tried):
                    weights = pair_weights(x[held], y[rows], form, [table[held] for table in tried], codes[1][rows])
                    together[k][:, held] = one_to_one_credit(weights, mine, guesses)
        return np.concatenate([first[None], together[:, :, sides.own]])

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
