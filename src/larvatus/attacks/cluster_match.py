"""Cluster original and released records together and look for one's own in the same cluster (004 §3.2)."""

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
    """The intruder puts original and released records into one heap, clusters it, and picks at random within the cluster.

    A crude way that needs nothing but ordinary software. Clusters are Ward's, in standard deviations of the released values
    and among records of the same S. A target succeeds where its own record shares its cluster, with a credit of one over the
    released records there; where none is in the cluster, the intruder guesses. Several numbers of clusters are tried, and
    the most successful one is reported.

    Parameters:
        clusters: numbers of clusters to try, as shares of the number of originals.
        largest: cluster at most this many originals at once; more are cut into blocks along the direction in which
            released values vary most, which loses targets near the cuts.
    """

    assumes: ClassVar[str] = (
        "Knows the original values of all records in the file and owns a clustering program; knows nothing of the mask."
    )

    clusters: tuple[_Share, ...] | _Share = Field(
        default=(1.0, 0.75, 0.5, 0.33, 0.25, 0.1), description="numbers of clusters to try, as shares of the originals"
    )
    largest: Annotated[int, Field(ge=10, le=5000)] = Field(default=1500, description="most originals to cluster at once")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        shares = (self.clusters,) if isinstance(self.clusters, float) else self.clusters
        by = GroupKeys.of(self, original, release, intruder, random)
        cut = sum(n > self.largest for n in by.keys.joined.groups.sizes)
        notes = [f"{cut} sub-groups of more than {self.largest:,} records may have been clustered in blocks"] if cut else []
        return link_groups(
            self, "share of records found within their cluster, its released records sharing the credit", original, release,
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
    """Shares × rows of x: one over the released records in a row's cluster where its own is among them, else nothing.

    `own` names each row's own row of y.
    Clusters are Ward's, cut at each share of as many clusters as there are originals. A row without any released record in
    its cluster is guessed among all. More than `most` rows are clustered in blocks.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    n = len(y)
    out = np.full((len(shares), len(x)), 1.0 / n)
    if n < 2 or not len(x) or x.shape[1] == 0:
        return out
    for a, b in blocks_along(x, y, most):
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
