"""Cluster original and released records together and link within clusters (Winkler 2007: 004 §3.2).

    Let C(i) be the cluster of target i and n_C the number of released records in cluster C. The credit of target i is
        1 / n_C(i)  if its own record lies in C(i),    0  if not,    1 / N  if C(i) contains no released record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.stats.linkage.paired_points import blocks_along

_Share = Annotated[float, Field(gt=0, le=1)]


class ClusterMatch(Attack):
    """The intruder pools original and released records, clusters them, and picks a released record at random in the cluster.

    This simple attack needs only standard software. Clusters are formed by Ward's method, in standard deviations of the
    released values, among records with the same S. If a target's own record is in its cluster, the credit is one over the
    number of released records there. If the cluster contains no released record, the intruder guesses. Several numbers of
    clusters are tried, and the most successful is reported.

    Parameters:
        clusters: numbers of clusters to try, as fractions of the number of original records.
        largest: largest number of original records clustered at once; larger sets are cut into blocks along the direction
            of largest variance of the released values, and targets near a cut may be missed.
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
        cut = sum(n > self.largest for n in by.keys.joined.groups.sizes)
        notes = [f"{cut} sub-groups of more than {self.largest:,} records may have been clustered in blocks"] if cut else []
        return link_groups(
            self, "share of records found in their cluster (credit shared among its released records)", original, release,
            intruder, by, _linker(shares, self.largest), notes=notes, trials=("clusters", shares),
        )


def _linker(shares: Sequence[float], largest: int) -> Callable[[LinkedGroup], Floats]:
    from larvatus.stats.linkage.paired_points import in_same_units, rows_by_code, with_indicators

    def link(sides: LinkedGroup) -> Floats:
        x, y = in_same_units(sides.originals, sides.y)
        absent = np.isnan(x).any(axis=0) | np.isnan(y).any(axis=0)
        x, y = with_indicators(x, absent), with_indicators(y, absent)
        out = np.empty((len(shares), len(y)))
        holds = np.zeros(len(y), dtype=bool)
        holds[sides.holds] = True
        for rows in rows_by_code(sides.same):
            mine = np.flatnonzero(holds[rows])
            out[:, rows[mine]] = cluster_credit(x[rows[mine]], y[rows], mine, shares, largest)
        return out[:, sides.own]

    return link


def cluster_credit(x: Floats, y: Floats, own: NDArray[np.int64], shares: Sequence[float], most: int) -> Floats:
    """Credits, shares × rows of x: 1 / (released records in the row's cluster) if its own is among them, otherwise 0.

    `own` gives the row of y that belongs to each row of x. For each share the Ward tree is cut into share × len(x) clusters.
    A row whose cluster has no released record gets the credit of a random guess. More than `most` rows are clustered in blocks.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    n = len(y)
    out = np.full((len(shares), len(x)), 1.0 / n)
    if n < 2 or not len(x) or x.shape[1] == 0:
        return out
    for window in blocks_along(x, y, most):
        a, b = window.left, window.right
        points = np.vstack([x[a], y[b]])
        order = np.lexsort(points.T[::-1])
        tree = linkage(points[order], "ward")
        for i, share in enumerate(shares):
            label = np.empty(len(points), dtype=np.int64)
            label[order] = fcluster(tree, max(1, round(share * len(a))), "maxclust")
            size = np.bincount(label[len(a) :], minlength=int(label.max()) + 1)
            mine, theirs = label[: len(a)], np.full(n, -2)
            theirs[b] = label[len(a) :]
            credit = np.where(mine == theirs[own[a]], 1.0 / np.maximum(size[mine], 1), 0.0)
            out[i, a] = np.where(size[mine] == 0, 1.0 / n, credit)
    return out
