"""Link by categories and numbers together, each column weighed by the law of its change.

    w(i, k) = Σ_j log( P(y_kj | x_ij) / P(y_kj) );   k* = arg max_k w(i, k)  over the released records k with s_k = s_i

P(y | x) is the transition law of a categorical column, and a normal law with the correlation of x and y for a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.linkage_keys import Keys
from larvatus.attacks.linkage.target_sample import SLOW_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack, Block
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.data.verbs import reduce_groups
from larvatus.stats.linear.moments import SampleMoments


class MixedLinkage(Attack):
    """The intruder knows how each column was changed, and links to the record whose values are most probable for the target.

    The weight of a pair is a sum over columns. A category counts by its transition probability relative to its frequency, so
    that agreement in a rare category weighs more, and a frequent change costs little. A number counts by its correlation
    with the original. Columns are treated as independent. The laws are those of the file; the own pair of a target does not
    count for the categories. Only records with the same S are candidates. Candidates of equal weight share the credit.
    The interval treats targets as independent although they share the laws: coverage measured .75 to 1
    (docs/guides/intervals.md).

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
        laws = _laws(by.keys, (*by.masked, *by.soft))
        return link_groups(
            self, "share of records whose own released record is the most probable one", original, release, intruder, by,
            _linker(laws, intruder.guesses or (1,)),
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


def _linker(laws: _Laws, guesses: Sequence[int]) -> Callable[[LinkedGroup], Floats]:
    from larvatus.stats.linkage.pair_weights import category_weights, number_weights, weighed_credit

    def link(sides: LinkedGroup) -> Floats:
        named = [j for j, n in enumerate(sides.names) if n in laws.counts]
        number = [j for j, n in enumerate(sides.names) if n not in laws.counts]
        codes = [np.where(np.isnan(v[:, named]), -1, v[:, named]).astype(np.int64) for v in (sides.originals, sides.y)]
        tables = [
            category_weights(laws.counts[sides.names[j]], codes[0][sides.own, i], codes[1][sides.own, i])
            for i, j in enumerate(named)
        ]
        x, y = (_standard(v[:, number]) for v in (sides.originals, sides.y))
        form = number_weights(np.array([laws.rho[sides.names[j]] for j in number]))
        return weighed_credit(x[sides.own], y, form, tables, codes[1], sides.same, sides.own, guesses)[None]

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
