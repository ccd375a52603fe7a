"""Cluster both files together and compare their shares in each cluster (U_c; Woo, Reiter, Oganian and Karr: 003 §2.2).

    U_c = (1/G) Σ_j w_j (n_jO / n_j − c)²,   c = n_O / (n_O + n_R)

n_j records are in cluster j, n_jO of them original; w_j = n_j by default.
    value = Σ_j w_j (n_jO / n_j − c)² / (c (1 − c) Σ_j w_j),  which is 1 if no cluster has records of both files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import UtilityError
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.measures.joint_ecdf.points import PointAxis, axes_of, comparable, points_of

_USUAL = (100, 250, 500, 750, 1000)
_CELLS, _SHOWN = 5000, 10
MOST_IN_ONE = 0.8


class Cluster(Measure):
    """Cluster the records of both files together and measure how unevenly each cluster is split between them.

    U_c is the mean over clusters of n_j (n_jO / n_j − c)², where c is the original's share of all records. The value is U_c
    divided by its value if no cluster had records of both files. U_c and G · U_c are in the details. Clusters are formed by
    average linkage on squared distances. Each column is scaled to unit variance in the original; the indicators of a
    categorical column are scaled together. A missing number enters as the mean with an indicator. The measure detects local
    shifts in any number of columns, but no change within a cluster.

    Look at it for an overall figure in many columns, without a model. It depends on the number of clusters, and misses changes
    inside a cluster.

    Parameters:
        groups: numbers of clusters; the first decides the value (default: 100, 250, 500, 750 and 1,000, at most a quarter of
            the original records).
        weights: weight of a cluster: its size, the same for all, or the standard error of its share.
        columns: columns to cluster by, confidential or not (default: all confidential columns).
        exact: largest number of distinct points that are linked one by one; more points are first grouped into cells.
        sample: approximate largest number of records of each file; larger files are sampled at random.
    """

    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})

    groups: Annotated[tuple[Annotated[int, Field(ge=2)], ...], Field(min_length=1)] | None = Field(
        default=None, description="numbers of clusters; the first decides the value"
    )
    weights: Literal["size", "equal", "standard_error"] = Field(default="size", description="weight of a cluster")
    columns: tuple[str, ...] | None = Field(
        default=None, description="columns to cluster by (default: all confidential columns)"
    )
    exact: Annotated[int, Field(ge=100, le=50_000)] = Field(
        default=20_000, description="largest number of distinct points that are linked one by one"
    )
    sample: Annotated[int, Field(ge=100)] = Field(default=500_000, description="largest number of records of each file")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(groups=(150, 60), exact=300, weights="equal")

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        released = release.data
        axes, many = axes_of(original, released, sorted(comparable(original, released, self.columns, self.name())))
        if not axes:
            raise UtilityError(f"{many[0]!r} has too many levels for indicators. Use other columns (columns).",
                               subject=self.name())
        share = min(1.0, self.sample / max(original.rows, released.rows, 1))
        before, after = (points_of(d, axes, random, share) for d in (original, released))
        scale = _Scale(axes, before.whole, after.whole)
        points = [[scale.of(g) for g in side.groups] for side in (before, after)]
        del before, after
        whole = [np.concatenate(side) for side in points]
        asked = self.groups or [max(2, min(g, len(whole[0]) // 4)) for g in _USUAL]
        found = self._split(whole[0], whole[1], list(dict.fromkeys(asked)))
        groups: list[Row] = []
        for name, a, b in common_groups(original, released):
            inside = max(2, round(asked[0] * len(points[0][a]) / max(len(whole[0]), 1)))
            value = self._split(points[0][a], points[1][b], [inside])[0].value(self.weights)
            groups.append({"sub_group": name, "records": original.groups.sizes[a], "value": value})
        cells = any(f.cells for f in found)
        notes = [
            *([f"computed on a random sample of about {len(whole[0]):,} of {original.rows:,} records"] if share < 1 else []),
            *([f"more than {self.exact:,} distinct points: they were grouped into {min(_CELLS, self.exact):,} cells before "
               "average linkage"] if cells else []),
            *([f"without {', '.join(many)}: too many categories"] if many else []),
            *([f"one cluster contains {100 * found[0].largest:.0f} % of all records, and changes within it are not detected; "
               "the other clusters are a few outlying records. Use more clusters (groups), or see ecdf_max and table"]
              if len(found[0].size) > 1 and found[0].largest > MOST_IN_ONE else []),
        ]
        return Score(
            self.name(), "loss", found[0].value(self.weights),
            "unevenness of the split of clusters between the files, 1 if no cluster has records of both",
            self.settings(), by_group=Rows.of(groups), notes=tuple(notes), sampled=share < 1,
            details={"groups": Rows.of(f.row(self.weights) for f in found), "clusters": found[0].worst(self.weights)},
        )

    def _split(self, before: Floats, after: Floats, groups: Sequence[int]) -> list[_Split]:
        """The split of clusters for each number of clusters; points are sorted, so that record order does not matter."""
        from larvatus.stats.grouping.average_linkage import cluster_points
        from larvatus.stats.grouping.birch_cells import features, summed_up

        stacked = np.concatenate([before, after])
        order = np.lexsort(stacked.T)
        ranked = stacked[order]
        del stacked
        new = np.ones(len(order), dtype=bool)
        new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
        place = np.cumsum(new) - 1
        mine = _summed(place, np.asarray(order < len(before), dtype=np.float64))
        size = np.bincount(place).astype(np.float64)
        distinct = ranked if new.all() else ranked[new]
        cells = len(distinct) > self.exact
        if cells:
            cell = features(distinct, size, min(_CELLS, self.exact))
            labels = [c[cell] for c in cluster_points(*summed_up(distinct, size, cell), groups)]
        else:
            labels = cluster_points(distinct, size, np.zeros(len(size)), groups)
        return [_Split(_summed(c, mine), _summed(c, size), cells) for c in labels]


class _Scale:
    """Original mean and standard deviation of each axis; the indicators of a categorical column share one."""

    def __init__(self, axes: Sequence[PointAxis], before: Floats, after: Floats) -> None:
        self.mean, spread = np.zeros(len(axes)), np.zeros(len(axes))
        self.blank = [j for j, a in enumerate(axes) if not a.nominal and _some_missing(before[:, j], after[:, j])]
        for j in range(len(axes)):
            for values in (before[:, j], after[:, j]):
                there = np.sort(values[~np.isnan(values)])
                if len(there) and spread[j] == 0 and there[0] < there[-1]:
                    self.mean[j], spread[j] = there.mean(), there.var()
        for column in {a.column for a in axes if a.nominal}:
            own = [j for j, a in enumerate(axes) if a.column == column and a.nominal]
            spread[own] = np.sum(spread[own])
        self.sd = np.sqrt(np.where(spread > 0, spread, 1.0))

    def of(self, points: Floats) -> Floats:
        """Points in standard deviations, with an indicator for every numeric column with missing values."""
        scaled = (points - self.mean) / self.sd
        return np.column_stack([np.nan_to_num(scaled), *(np.isnan(points[:, j]) for j in self.blank)])


def _summed(label: Ints, values: Floats) -> Floats:
    return np.bincount(label, values).astype(np.float64)


def _some_missing(*columns: Floats) -> bool:
    return any(bool(np.isnan(c).any()) for c in columns)


class _Split:
    """Number of original records and of all records in each cluster."""

    def __init__(self, mine: Floats, size: Floats, cells: bool) -> None:
        self.mine, self.size, self.cells = mine, size, cells

    @property
    def c(self) -> float:
        """The original's share of all records."""
        return float(self.mine.sum() / self.size.sum())

    @property
    def largest(self) -> float:
        """The share of all records in the largest cluster."""
        return float(self.size.max() / self.size.sum())

    def weight(self, weights: str) -> Floats:
        if weights == "standard_error":
            return np.asarray(np.sqrt(self.c * (1 - self.c) / self.size))
        return self.size if weights == "size" else np.ones(len(self.size))

    def parts(self, weights: str) -> Floats:
        """w_j (n_jO / n_j − c)² of each cluster."""
        return np.asarray(self.weight(weights) * (self.mine / self.size - self.c) ** 2)

    def value(self, weights: str) -> float:
        """The sum of the parts over its largest possible value, c (1 − c) Σ w_j."""
        apart = self.c * (1 - self.c) * float(self.weight(weights).sum())
        return float(self.parts(weights).sum()) / apart if apart > 0 else float("nan")

    def row(self, weights: str) -> Row:
        total, groups = float(self.parts(weights).sum()), len(self.size)
        return {
            "groups": groups, "value": self.value(weights), "u_c": total / groups, "g_u_c": total,
            "largest": self.largest,
        }

    def worst(self, weights: str) -> Rows:
        """The clusters with the largest parts."""
        parts = self.parts(weights)
        order = np.lexsort((self.mine, self.size, -parts))[:_SHOWN]
        return Rows.of(
            {"originals": int(self.mine[j]), "released": int(self.size[j] - self.mine[j]), "part": float(parts[j] / len(parts))}
            for j in order
        )
