"""Cluster original and released records together and link within clusters (Winkler 2007: 004 §3.2).

    Let C(i) be the cluster of target i and n_C the number of released records in cluster C. The credit of target i is
        1 / n_C(i)  if its own record lies in C(i),    0  if not,    1 / N  if C(i) contains no released record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, cast

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.blocking import draws_of, margin_of_windows, set_sizes, with_margin, without_s
from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.stats.linkage.paired_points import PointWindow, canonical_order

_NARROWEST = 500  # records of a block
_PAIRS = 6e6  # pairs of a file up to which blocks are as large as they may be
_FIXED = 25_000  # time of a set of records, in pairs
_BUDGET = 8e7  # pairs

_Share = Annotated[float, Field(gt=0, le=1)]


class ClusterMatch(Attack):
    """The intruder pools original and released records, clusters them, and picks a released record at random in the cluster.

    This simple attack needs only standard software. Clusters are formed by Ward's method, in standard deviations of the
    released values, among records with the same S. If a target's own record is in its cluster, the credit is one over the
    number of released records there. If the cluster contains no released record, the intruder guesses. Several numbers of
    clusters are tried, and the most successful is reported. The work is bounded: in large files only some blocks are clustered,
    drawn at random. Targets near a cut may be missed. What this may cost is measured, by clustering some blocks again at half
    their size, and added to the upper end of the interval.

    Look at it to see what an intruder without special knowledge finds. It is weaker than attacks that know the mask: a low
    figure alone is no proof of safety.

    Parameters:
        clusters: numbers of clusters to try, as fractions of the number of original records.
        largest: largest number of original records clustered at once (default: 1,500, and fewer in files of more than 4,000
            records); larger sets are cut into blocks along the direction of largest variance of the released values.
    """

    assumes: ClassVar[str] = (
        "The intruder knows the original values of all records in the file and has clustering software, but knows nothing "
        "about the mask."
    )

    clusters: tuple[_Share, ...] | _Share = Field(
        default=(1.0, 0.75, 0.5, 0.33, 0.25, 0.1),
        description="numbers of clusters to try, as fractions of the number of original records",
    )
    largest: Annotated[int, Field(ge=10, le=5000)] = Field(
        default=1500, description="largest number of original records clustered at once"
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        shares = (self.clusters,) if isinstance(self.clusters, float) else self.clusters
        by = GroupKeys.of(self, original, release, intruder, random)
        sizes = set_sizes(by)
        whole = np.repeat(by.keys.joined.groups.sizes, by.keys.joined.groups.sizes)
        stated = "largest" in self.model_fields_set
        width = self.largest if stated else int(np.clip(_PAIRS / max(len(sizes), 1), _NARROWEST, self.largest))
        every, alone = (max(1, math.ceil(float(_work(n, width).sum()) / _BUDGET)) for n in (sizes, whole))
        linker = _Linker(by, shares, width, every, alone if alone == 1 else 3 * alone, random)
        cut = int((sizes > width).sum())
        notes = [f"{cut:,} records were clustered in blocks of at most {width:,}"] if cut else []
        if every > 1:
            notes.append(f"to bound the work, 1 in {every} targets was attacked, in whole blocks; the interval refers to them")
        score = link_groups(
            self, "share of records found in their cluster (credit shared among its released records)", original, release,
            intruder, by, linker, notes=notes, trials=("clusters", shares),
        )
        best = 0
        if len(shares) > 1:
            best = int(np.argmax([float(cast(float, row["value"])) for row in score.details["clusters"]]))
        margin = margin_of_windows(by, score, sizes, width, partial(linker.narrower, best), (), random)
        return with_margin(replace(score, sampled=score.sampled or every > 1), margin, by, width)


def _work(sizes: Ints, width: int) -> Floats:
    """The number of pairs that clustering takes for each record, from the number of records with the same S."""
    inside = np.minimum(sizes, width)
    return np.asarray(4.0 * inside + _FIXED / np.maximum(inside, 1))


@dataclass(frozen=True, slots=True)
class _Linker:
    """Clusters a sub-group: credits, shares × targets. Targets that the sample leaves out have no credit (NaN)."""

    by: GroupKeys
    shares: Sequence[float]
    width: int
    every: int
    every_alone: int
    random: RecordRandom

    def __call__(self, sides: LinkedGroup) -> Floats:
        alone = without_s(sides, self.by)
        x, y = _points(sides)
        out = cluster_credit(x, y, sides.same, self._blocks(sides, alone), self.shares)
        linked = ~np.isnan(out[0])
        if alone and not linked.all():  # the baseline is a mean: others count as the linked ones do on average
            out = np.where(linked, out, np.nan_to_num(out[:, linked].mean(axis=1, keepdims=True)))
        return out[:, sides.own]

    def narrower(self, best: int, sides: LinkedGroup, drawn: Bools) -> tuple[Floats, Floats]:
        """Credits of targets in drawn blocks of half the width, and how far their own records are; NaN for other targets."""
        from larvatus.stats.linkage.link_windows import halves, moves_along

        pilot = [w for w in self._blocks(sides, False) if w.whole is not None and drawn[w.targets[0]]]
        moves = np.full(len(sides.y), np.nan)
        for w in pilot:
            moves[w.targets] = moves_along(w)
        narrow = [half for w in pilot for half in halves(w)]
        x, y = _points(sides)
        return cluster_credit(x, y, sides.same, narrow, [self.shares[best]])[0], moves

    def _blocks(self, sides: LinkedGroup, alone: bool) -> list[PointWindow]:
        from larvatus.stats.linkage.link_windows import WindowPlan, group_windows

        every = self.every_alone if alone else self.every
        plan = WindowPlan(self.width, every, draws_of(sides, self.random) if every > 1 else None, alone)
        x, y = _points(sides)
        return group_windows(x, y, sides.same, sides.holds, plan, overlap=False)


def _points(sides: LinkedGroup) -> tuple[Floats, Floats]:
    """Both sides in standard deviations of the released values, with indicators of missing values."""
    from larvatus.stats.linkage.paired_points import in_same_units, with_indicators

    x, y = in_same_units(sides.originals, sides.y)
    absent = np.isnan(x).any(axis=0) | np.isnan(y).any(axis=0)
    return with_indicators(x, absent), with_indicators(y, absent)


def cluster_credit(x: Floats, y: Floats, same: Ints, blocks: Sequence[PointWindow], shares: Sequence[float]) -> Floats:
    """Credits, shares × rows of x: 1 / (released records in the row's cluster) if its own is among them, otherwise 0.

    The own row of y has the same position. For each share the Ward tree of a block is cut into share × rows of x clusters. A
    row whose cluster has no released record gets the credit of a random guess among the rows with the same code. A row that is
    in no block has no credit (NaN).
    """
    from scipy.cluster.hierarchy import linkage

    from larvatus.stats.grouping.tree_cuts import cut_tree

    guess = 1.0 / np.bincount(same)[same]
    out = np.full((len(shares), len(x)), np.nan)
    for w in blocks:
        a, b = w.left, w.right
        out[:, a] = guess[a]
        if guess[a[0]] == 1 or x.shape[1] == 0:
            continue
        points = np.vstack([x[a], y[b]])
        order = canonical_order(points)
        tree = linkage(points[order], "ward")
        theirs = np.full(len(y), -2)
        for i, share in enumerate(shares):
            label = np.empty(len(points), dtype=np.int64)
            label[order] = cut_tree(tree, max(1, round(share * len(a))))
            size = np.bincount(label[len(a) :], minlength=int(label.max()) + 1)
            mine = label[: len(a)]
            theirs[b] = label[len(a) :]
            credit = np.where(mine == theirs[a], 1.0 / np.maximum(size[mine], 1), 0.0)
            out[i, a] = np.where(size[mine] == 0, guess[a], credit)
    return out
