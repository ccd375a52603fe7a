"""Replace values by the centre of a group of similar records (Defays and Nanopoulos 1993; 000 §3.5, 001 §5, 003, 004).

    y_i = mean{x_l : l in G(i)},      k ≤ |G(i)| ≤ 2k − 1

where G(i) is the group of record i, or its median. MDAV is due to Domingo-Ferrer and Torra (2005), the optimal
univariate grouping to Hansen and Mukherjee (2003).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import reserved_names, scratch
from larvatus.data.contracts import Array, Block, Column, Mask, Masked, RowFunction
from larvatus.data.labelling.labels import code_column
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import map_groups, reduce_groups
from larvatus.masks.grouping.cell_patterns import by_missing_pattern, omission_notes
from larvatus.masks.grouping.column_groups import column_groups, correlated_groups, rejoin_columns

SIZE = scratch("size of the group")
HELD_ROWS = 1 << 24


class Microaggregation(Mask):
    """Replace the values of each record by the mean, or the median, of k or more similar records of its sub-group.

    With the mean, sums are preserved and variances shrink, so correlations tend to grow. At least k records have the same
    released values. An intruder who knows the original values finds the group easily. If columns are grouped separately, or in
    several sets, the intruder can intersect the groups until one record is left. Missing values stay missing: records are
    grouped with those that have the same missing columns.

    Use it if a simple promise is needed: each released record stands for at least k people. Do not use it column by column or
    with small k if an intruder holds the file: the groups can be formed again.

    Parameters:
        k: smallest size of a group; the largest is 2k - 1.
        grouping: "mdav" groups nearby records, starting from those far from the average; "projection" cuts the order of the
            sum of standardised columns; "fixed" and "optimal" cut the order of one column, evenly or at the least cost.
        centre: mean or median, the value that replaces those of a group.
        together: columns grouped at once: "all", "each" alone, "correlated" ones, a list, or several lists (default: all; each
            for fixed and optimal grouping).
        least_correlation: with together = "correlated", join columns while their mean absolute correlation is at least this.
        partition: with grouping = "mdav", group within parts of at most this many records: faster, slightly coarser.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "sub_group"
    scale_free: ClassVar[bool] = True
    random: ClassVar[bool] = False
    publishable: ClassVar[frozenset[str]] = frozenset({"k", "grouping", "centre", "together"})
    nemesis: ClassVar[tuple[str, ...]] = ("rerun", "group_intersection", "nearest_record", "cluster_match")

    k: Annotated[int, Field(ge=2)] = Field(default=3, description="smallest size of a group")
    grouping: Literal["mdav", "fixed", "optimal", "projection"] = Field(
        default="mdav", description="mdav: nearby records; projection: by a sum of columns; fixed, optimal: by one column"
    )
    centre: Literal["mean", "median"] = Field(default="mean", description="value that replaces those of a group")
    together: Literal["all", "each", "correlated"] | tuple[str, ...] | tuple[tuple[str, ...], ...] | None = Field(
        default=None, description="columns grouped at once: all, each alone, correlated ones, a list, or several lists"
    )
    least_correlation: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.5, description="mean absolute correlation at which columns are joined, with together = \"correlated\""
    )
    partition: Annotated[int, Field(ge=100)] | None = Field(
        default=None, description="with mdav, group within parts of at most this many records"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.partition is not None and (self.grouping != "mdav" or self.partition < 2 * self.k):
            raise ValueError("partition needs grouping = \"mdav\", and at least 2k records")
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(), cls(k=5, grouping="fixed"), cls(grouping="optimal", centre="median"),
            cls(k=4, grouping="projection", scope="file"), cls(together="correlated", least_correlation=0.2, partition=100),
        )

    def smallest(self, data: Microdata) -> int:
        return self.k

    def takes_any_magnitude(self) -> bool:
        return self.together != "correlated"

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        data, notes = current, list[Note]()
        parts, mixed = self._column_groups(current), _mixed(current)
        for names in parts:
            split, there = by_missing_pattern(data, names, self.k, self.name()) if len(names) > 1 else (data, [])
            mixed |= _mixed(split)
            masked = self._replaced(split, names, there, random)
            notes += [*_counted(masked, names), *(omission_notes(data, split, "missing") if there else [])]
            data = rejoin_columns(data, masked, names)
        return Masked(data, [*notes, *_unvarying(current), self._linkage(current, parts, mixed or self.scope == "file")])

    def change_clause(self) -> str:
        moved = "; totals may have moved" if self.centre == "median" else ""
        return f"variances are smaller than in the collected data, and correlations tend to be stronger{moved}"

    def public_sentence(self) -> str:
        return f"Confidential values were replaced by the {self.centre} of a small group of similar records."

    def _column_groups(self, data: Microdata) -> list[tuple[str, ...]]:
        names, alone = data.confidential, self.grouping in ("fixed", "optimal")
        asked = self.together or ("each" if alone else "all")
        if asked == "each":
            return [(n,) for n in names]
        if alone and len(names) > 1:
            raise MaskError(
                f"microaggregation: grouping = \"{self.grouping}\" cuts the order of one column, but together asks for several "
                "at once. Use \"mdav\" or \"projection\", or leave together out."
            )
        if asked == "all":
            return [names]
        if asked == "correlated":
            return correlated_groups(data, names, self.least_correlation)
        return column_groups("microaggregation.together", asked, names)

    def _replaced(
        self, data: Microdata, names: tuple[str, ...], there: Sequence[tuple[str, ...]], random: RecordRandom
    ) -> Microdata:
        """Replace the columns by the centres of their groups; sub-groups too large for memory are grouped in passes."""
        complete = not there or all(inside == names for inside in there)
        if self.grouping in ("fixed",
                             "projection") and self.centre == "mean" and complete and max(data.groups.sizes) > HELD_ROWS:
            from larvatus.masks.grouping.streamed_means import streamed_means

            return streamed_means(data, names, self.k, SIZE, random)
        return map_groups(data, self._replacing(names, there, random), names, [Column(SIZE, "number")])

    def _replacing(self, names: tuple[str, ...], there: Sequence[tuple[str, ...]], random: RecordRandom) -> RowFunction:
        """A function of a whole sub-group in which one column is masked, or all records have the same missing columns."""

        def ties(record: NDArray[np.int64]) -> NDArray[np.uint64]:
            return np.asarray(random.words(record, purpose=f"ties {' + '.join(names)}")[0])

        def replace(group: int, block: Block) -> Mapping[str, Array]:
            from larvatus.stats.grouping.k_groups import form_groups, group_means, group_medians

            centres = group_means if self.centre == "mean" else group_medians
            out: dict[str, Array] = {n: np.full(len(block), np.nan) for n in (*names, SIZE)}
            inside = there[group] if there else names
            rows = np.flatnonzero(~np.isnan(block[inside[0]])) if inside else np.zeros(0, dtype=np.int64)
            if len(rows) == 0:
                return out
            x, record = block.matrix(inside)[rows], block.record[rows]
            found = form_groups(x, record, ties, self.grouping, self.k, self.partition)
            count = np.bincount(found)
            out[SIZE][rows] = count[found]
            for j, name in enumerate(inside):
                out[name][rows] = centres(np.ascontiguousarray(x[:, j]), found, count)
            return out

        return replace

    def _linkage(self, data: Microdata, parts: Sequence[tuple[str, ...]], mixed: bool) -> Note:
        """A note on how far the groups limit linkage by these columns."""
        if len(parts) > 1:
            return Note(
                f"the columns are grouped in {len(parts)} sets: records of a group in one set differ in another, so an "
                "intruder who intersects the sets may single out a record", "warning",
            )
        columns = data.table.columns
        apart = {*columns} - {*reserved_names(columns), *parts[0], *data.roles.identifiers}
        apart -= {data.roles.record_id, data.roles.person, data.roles.household, *(() if mixed else data.groups.columns)}
        if apart or self.where is not None or _several_codes(data, parts[0]):
            return Note(
                f"at least {self.k} records share their values of {', '.join(parts[0])}, but other columns of the file, codes "
                "of missing values, or records that were not selected, may tell them apart: no limit to linkage is claimed",
            )
        return Note(
            f"probabilistic k-anonymity: at least {self.k} records share their values, so linkage by them succeeds with "
            f"probability at most 1/{self.k}; this also holds after a reverse map, which breaks ties at random",
            promise=True,
        )


def _mixed(data: Microdata) -> bool:
    """Whether records of several declared sub-groups are masked together."""
    return any(len(held) > 1 for held in data.groups.declared)


def _several_codes(data: Microdata, names: Sequence[str]) -> bool:
    """Whether missing values of a column have different codes, or a code and none: these are released as they are."""
    coded = [n for n in names if code_column(n) in data.table.columns]
    if not coded:
        return False

    def codes(group: int, block: Block) -> set[tuple[str, int]]:
        return {(n, int(c)) for n in coded for c in np.unique(block[code_column(n)][np.isnan(block[n])])}

    read = [*coded, *map(code_column, coded)]
    found = set[tuple[str, int]]().union(*reduce_groups(data, read, codes, lambda a, b: a | b))
    return len({n for n, _ in found}) < len(found)


def _counted(masked: Microdata, names: Sequence[str]) -> list[Note]:
    """A note on the number of groups and their sizes."""
    counted = reduce_groups(masked, [SIZE], lambda g, b: _sizes(b[SIZE]), _more)
    groups, least, most = round(sum(c[0] for c in counted)), min(c[1] for c in counted), max(c[2] for c in counted)
    span = f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
    return [Note(f"{', '.join(names)}: {groups:,} groups of {span} records")] if groups else []


def _sizes(size: Array) -> NDArray[np.float64]:
    """Number of groups, smallest and largest size."""
    there = size[~np.isnan(size)]
    return np.array([(1 / there).sum(), there.min(initial=np.inf), there.max(initial=0)])


def _more(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([a[0] + b[0], min(a[1], b[1]), max(a[2], b[2])])


def _unvarying(data: Microdata) -> list[Note]:
    """Notes on columns with a single value in a sub-group, which is its own mean."""
    names = data.confidential

    def spans(group: int, block: Block) -> NDArray[np.float64]:
        kept = [block[n][~np.isnan(block[n])] for n in names]
        return np.array([[x.min(initial=np.inf) for x in kept], [-x.max(initial=-np.inf) for x in kept]])

    return [
        Note(f"{names[j]} does not vary in sub-group ({data.groups.name(g)}) and is released as it is", "status")
        for g, span in enumerate(reduce_groups(data, names, spans, np.minimum)) for j in np.flatnonzero(span[0] == -span[1])
    ]
