"""Find the confidential totals that a release discloses (rules for magnitude tables: Hundepool and others 2012).

    A total T = Σ x_i is disclosed if |Σ y_i − T| ≤ precision · Σ|x_i|.
    With contributions c_1 ≥ c_2 ≥ … (c = |x|) and C = Σ c_i, the total is unsafe if
        fewer than `minimum` records contribute       (minimum count),
        c_1 + … + c_n > share · C                     (dominance: the n, k rule), or
        C − c_1 − c_2 < (percent / 100) · c_1         (p % rule).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.joined_releases import with_average
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_numbers
from larvatus.data.contracts import Attack, Block
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import reduce_groups, with_table

_MOST_LISTED = 1000  # totals by levels of S that the details list; the note counts all


class AggregateDisclosure(Attack):
    """The intruder adds up the released values of a sub-group and uses the sum as the original total.

    Masks that preserve moments, or shuffle values within sub-groups, release every total exactly, also in small sub-groups.
    The value is the share of totals (one per sub-group and column) that the release preserves to within `precision`. Each
    total is also checked against the rules for publishing tables: enough contributors, no dominance by a few of them, and no
    close estimate of the largest contribution by the second largest contributor (p % rule). The details list the totals that
    break a rule, and the totals of the whole file. Totals by levels of S (categorical non-confidential columns), within
    sub-groups and over the whole file, are checked too: masks that preserve relations with S preserve them. The rules use
    absolute contributions. Both baselines are 0: without the release no total is known.

    Look at it if a release preserves totals of small sub-groups, or if a few records dominate a total. It says little about
    files in which every sub-group is large.

    Parameters:
        minimum: smallest number of contributors (values that are present and not zero) of a safe total.
        dominant: number n of largest contributors in the n, k rule.
        share: largest share of the total that these n contributors may have together (k in the n, k rule).
        percent: the contributions other than the two largest must exceed this percentage of the largest (p % rule).
        precision: a total is preserved if it changes by at most this fraction of the sum of absolute values.
    """

    assumes: ClassVar[str] = (
        "The intruder knows that the release contains the whole sub-group and adds up its values. In the p % rule the intruder "
        "is the second largest contributor and wants to know the largest contribution."
    )

    minimum: Annotated[int, Field(ge=1, le=1000)] = Field(default=3, description="fewest contributors of a safe total")
    dominant: Annotated[int, Field(ge=1, le=100)] = Field(default=2, description="number n of contributors in the n, k rule")
    share: Annotated[float, Field(gt=0, le=1)] = Field(default=0.85, description="largest share of the n largest contributors")
    percent: Annotated[float, Field(ge=0, le=1000)] = Field(default=10.0, description="percentage p of the p % rule")
    precision: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=1e-6, description="largest relative change of a total that counts as preserved"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(minimum=10, dominant=1, share=0.5, precision=1e-3)

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        original, release = with_average(original, release)
        data = release.data
        names = common_numbers(original, data)
        names = intruder.columns(names, ())[0] or names
        parts = list(zip(_totals(original, names, self._deep, data), _totals(data, names, self._deep), strict=True))
        cells: list[Row] = []
        for g, (before, after) in enumerate(parts):
            cells += [{"sub_group": data.groups.name(g), **self._cell(n, before, after, j)} for j, n in enumerate(names)]
        whole = [(_sum([p[i] for p in parts])) for i in (0, 1)]
        file = [{"sub_group": "all records", **self._cell(n, whole[0], whole[1], j)} for j, n in enumerate(names)]
        value = float(np.mean([bool(c["kept"]) for c in cells]))
        unsafe = [c for c in cells if c["rule"]]
        given = sum(bool(c["kept"]) for c in unsafe)
        also = f", and the release preserves {given:,} of them" if unsafe else ""
        notes = [f"{len(unsafe):,} of {len(cells):,} totals are unsafe to publish{also}",
                 *intruder.fields_without_effect("file", "error", "presence", "guesses")]
        levels, many = self._by_levels(original, data, names)
        if many:
            kept = sum(bool(c["kept"]) for c in levels)
            notes.insert(1, f"{len(levels):,} of {many:,} totals by levels of S break a rule, and the release preserves "
                         f"{kept:,} of these")
        p = len(names)
        return Score(
            "aggregate_disclosure", "risk", value, "share of sub-group totals that the release preserves", self.settings(),
            chance=0.0, s_alone=0.0, interval=(value, value),
            by_group=Rows.of(_row("sub_group", data.groups.name(g), cells[g * p : (g + 1) * p], data.groups.sizes[g])
                             for g in range(len(parts))),
            by_variable=Rows.of(_row("variable", n, cells[j::p]) for j, n in enumerate(names)),
            details={"unsafe": Rows.of([_figures(c) for c in unsafe]), "file": Rows.of([_figures(c) for c in file]),
                     **({"levels": Rows.of(levels[:_MOST_LISTED])} if many else {})},
            decides=False,
            notes=(*notes, "a release that preserves means also preserves totals; the rules, not this share, decide which "
                   "totals may be published", "every total is checked, so the interval has zero width"),
        )

    def _by_levels(self, original: Microdata, data: Microdata, names: Sequence[str]) -> tuple[list[Row], int]:
        """The totals by levels of each categorical column of S that break a rule, and the number of totals checked."""
        unsafe: list[Row] = []
        many = 0
        columns = data.table.columns
        for column in (n for n in data.known if columns[n].kind == "nominal"):
            before = _level_totals(original, names, column, self._deep, data)
            after = _level_totals(data, names, column, self._deep)
            labels = [data.groups.name(g) for g in range(len(before))]
            if len(before) > 1:
                labels.append("all records")
                before, after = [*before, reduce(_merge_levels, before)], [*after, reduce(_merge_levels, after)]
            for label, mine, theirs in zip(labels, before, after, strict=True):
                for code in sorted(mine):
                    level = "missing" if code < 0 else columns[column].levels[code]
                    cells = [self._cell(n, mine[code], theirs[code], j) for j, n in enumerate(names)]
                    many += len(cells)
                    unsafe += [{"sub_group": label, "column": column, "level": level, **c} for c in cells if c["rule"]]
        return unsafe, many

    @property
    def _deep(self) -> int:
        return max(self.dominant, 2)

    def _cell(self, name: str, before: _Totals, after: _Totals, j: int) -> Row:
        """One total: whether the release preserves it, and the first rule it breaks."""

        size = float(before.size[j])
        kept = bool(abs(after.total[j] - before.total[j]) <= self.precision * size)
        rule = broken_rule(int(before.count[j]), size, before.top[j], self.minimum, self.dominant, self.share, self.percent)
        return {"variable": name, "kept": kept, "rule": rule}


@dataclass(frozen=True, slots=True)
class _Totals:
    """Per column: number of contributors, total, sum of absolute values, and the largest absolute contributions."""

    count: Floats
    total: Floats
    size: Floats
    top: Floats

    def merge(self, other: _Totals) -> _Totals:
        deep = self.top.shape[1]
        top = -np.sort(-np.hstack([self.top, other.top]), axis=1)[:, :deep]
        return _Totals(self.count + other.count, self.total + other.total, self.size + other.size, top)


def _sum(parts: Sequence[_Totals]) -> _Totals:
    out = parts[0]
    for part in parts[1:]:
        out = out.merge(part)
    return out


def _totals(data: Microdata, names: Sequence[str], deep: int, only: Microdata | None = None) -> list[_Totals]:
    """Totals of each sub-group; if `only` is given, of its records and in its sub-groups."""
    if only is not None:
        data = with_table(only, only.table.pair(data.table, {n: n for n in names}))

    return reduce_groups(data, names, lambda g, b: _added(b.matrix(names), deep), _Totals.merge)


def _level_totals(
    data: Microdata, names: Sequence[str], column: str, deep: int, only: Microdata | None = None
) -> list[dict[int, _Totals]]:
    """Totals of each level of a categorical column in each sub-group, by code; `only` as in `_totals`."""
    if only is not None:
        data = with_table(only, only.table.pair(data.table, {n: n for n in names}))

    def add(group: int, block: Block) -> dict[int, _Totals]:
        x, code = block.matrix(names), block[column]
        order = np.argsort(code, kind="stable")
        found, first = np.unique(code[order], return_index=True)
        return {int(c): _added(x[rows], deep) for c, rows in zip(found, np.split(order, first[1:]), strict=True)}

    return reduce_groups(data, [*names, column], add, _merge_levels)


def _merge_levels(one: dict[int, _Totals], other: dict[int, _Totals]) -> dict[int, _Totals]:
    return one | {c: one[c].merge(t) if c in one else t for c, t in other.items()}


def _added(values: Floats, deep: int) -> _Totals:
    """Totals of a block of records × columns."""
    x = np.nan_to_num(values).T
    size = np.abs(x)
    top = np.zeros((len(x), deep))
    largest = -np.sort(-size, axis=1)[:, :deep]
    top[:, : largest.shape[1]] = largest
    return _Totals((size > 0).sum(axis=1).astype(np.float64), x.sum(axis=1), size.sum(axis=1), top)


def _row(key: str, name: str, cells: Sequence[Row], records: int | None = None) -> Row:
    kept = [bool(c["kept"]) for c in cells]
    broken = [bool(c["rule"]) for c in cells]
    size = {} if records is None else {"records": records}
    return {key: name, **size, "value": float(np.mean(kept)), "chance": 0.0, "s_alone": 0.0, "unsafe": sum(broken),
            "unsafe and kept": sum(k and b for k, b in zip(kept, broken, strict=True))}


def _figures(cell: Row) -> Row:
    return {"sub_group": cell["sub_group"], "variable": cell["variable"], "kept": bool(cell["kept"]), "rule": cell["rule"]}




def broken_rule(
    count: int, total: float, top: Floats, minimum: int, dominant: int, share: float, percent: float
) -> str:
    """Name of the first rule that a total breaks; empty if it breaks none.

    `top` holds the largest contributions in descending order: at least two, and at least `dominant`.
    """
    if count < minimum:
        return "minimum count"
    if float(top[:dominant].sum()) > share * total:
        return "dominance"
    if total - float(top[0]) - float(top[1]) < percent / 100 * float(top[0]):
        return "p %"
    return ""
