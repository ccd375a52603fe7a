"""Records that the non-confidential columns hold in place: rare categories and extreme values of S, in each sub-group.

A mask that keeps means and covariances with S exactly cannot move a record with leverage one. If a category has one record,
the mean of that category is the record's value; if it has two, each of them can compute the value of the other; if it has k,
k − 1 insiders can compute the value of the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from larvatus.core.arrays import Floats, Ints, Matrix
from larvatus.core.errors import RolesError
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block
from larvatus.data.design import Design, Term, design_of
from larvatus.data.exposure.nested_categories import small_differences
from larvatus.data.microdata import Microdata, collect
from larvatus.data.verbs import moments_by_group, reduce_groups, with_table

_RARE = 2  # categories with at most this number of records are too rare
_SHOWN, _ABSENT, _SAME = 5, -1, 1e-6
_WHOLE = "all records"


class _Candidates(NamedTuple):
    """Record ids, terms and codes of records that may be held; the last two columns × records."""

    record: Ints
    terms: Matrix
    codes: Ints

    @staticmethod
    def merge(one: _Candidates, other: _Candidates) -> _Candidates:
        return _Candidates(*(np.concatenate(pair, axis=-1) for pair in zip(one, other, strict=True)))


@dataclass(frozen=True, slots=True)
class RecordInPlace:
    """One record or pair that S holds in place: its sub-group, record ids, what holds it, and the combination that is kept."""

    group: int
    records: tuple[int, ...]
    what: str
    combination: Floats

    @property
    def count(self) -> str:
        return "1 record" if len(self.records) == 1 else f"{len(self.records)} records"


def records_in_place(
    data: Microdata, design: Design, groups: Collection[int] | None = None, rare: int = _RARE, pooled: bool = False
) -> list[RecordInPlace]:
    """Records with a leverage near one in [1, S], and sets of records of which a combination is fixed, by sub-group.

    The sets are pairs, categories and differences of categories with up to `rare` records, whose sum is fixed, and numbers that
    are equal in all but up to `rare` records. If categories were `pooled` in the design, none is rare.
    """
    from larvatus.stats.linear.covariance_factors import CentredRows
    from larvatus.stats.linear.leverage import DesignBasis

    if not design.terms:
        return []
    wanted = range(len(data.groups)) if groups is None else groups
    indicated = _indicated(design)

    def rows(group: int, block: Block) -> CentredRows | None:
        return CentredRows.of(design.matrix(group, block))

    found = {g: r for g, r in enumerate(reduce_groups(data, design.columns, rows, CentredRows.merge)) if r is not None}
    basis = {g: DesignBasis.of(found[g]) for g in wanted if g in found}

    def candidates(group: int, block: Block) -> _Candidates:
        terms = np.ascontiguousarray(design.matrix(group, block).T)
        keep = basis[group].worth_keeping(terms) if group in basis else np.zeros(len(block), dtype=bool)
        codes = [_codes(block, c)[keep] for c in indicated]
        return _Candidates(block.record[keep], terms[:, keep], np.array(codes).reshape(len(codes), int(keep.sum())))

    out: list[RecordInPlace] = []
    counts: list[list[Counter[int]]] = []
    for g, near in enumerate(reduce_groups(data, design.columns, candidates, _Candidates.merge)):
        for own in basis[g].sets_in_place(near.terms) if g in basis and len(near.record) else ():
            counts = counts or counts_by_level(data, indicated)
            terms = np.ascontiguousarray(near.terms[:, own])
            alone = [c for c, codes, n in zip(indicated, near.codes, counts[g], strict=True)
                    if len(set(codes[own])) == 1 and n[int(codes[own][0])] <= len(own)]
            what = _level(data, alone[0], near.codes[indicated.index(alone[0])][own[0]]) if alone else None
            ids = tuple(int(r) for r in near.record[own])
            holder = what or _extreme(design, basis[g].standardise(terms))
            out.append(RecordInPlace(g, ids, holder, basis[g].fixed_combination(terms)))
    if rare <= _RARE:
        return out
    named = [] if pooled else _rare_categories(data, indicated, wanted, rare)
    nested = [
        RecordInPlace(g, tuple(int(r) for r in ids), f"a difference between categories of {a} and {b}",
                      sign / np.sqrt(len(sign)))
        for g, a, b, ids, sign in small_differences(data, indicated, wanted, rare, _codes) if len(ids) > _RARE
    ]
    known = {r.records for r in (*out, *named)}
    return [*out, *named, *_sparse_numbers(data, design, wanted, rare), *(r for r in nested if r.records not in known)]


def _sparse_numbers(data: Microdata, design: Design, groups: Collection[int], rare: int) -> list[RecordInPlace]:
    """Numbers of S that differ from their median in more than two and at most `rare` records of a sub-group."""
    names = list(dict.fromkeys(t.column for t in design.terms if t.level is None and not t.missing))
    if not names:
        return []
    median = np.array([data.table.quantiles(n, [0.5])[:, 0] for n in names])

    def others(group: int, block: Block) -> list[tuple[Ints, Floats]]:
        out = []
        for j, n in enumerate(names):
            own = (block[n] != median[j, group]) & ~np.isnan(block[n])
            out.append((block.record[own][: rare + 1], (block[n][own] - median[j, group])[: rare + 1]))
        return out

    found = reduce_groups(data, names, others, lambda a, b: [
        (np.concatenate([one[0], other[0]])[: rare + 1], np.concatenate([one[1], other[1]])[: rare + 1])
        for one, other in zip(a, b, strict=True)])
    return [
        RecordInPlace(g, tuple(int(r) for r in ids), f"{name}, which is the same in all other records",
                      np.asarray(away / np.sqrt((away**2).sum())))
        for g, by_column in enumerate(found) if g in groups for name, (ids, away) in zip(names, by_column, strict=True)
        if _RARE < len(ids) <= rare
    ]


def _rare_categories(data: Microdata, columns: Sequence[str], groups: Collection[int], rare: int) -> list[RecordInPlace]:
    """Categories with more than two and at most `rare` records, by sub-group."""
    counts = counts_by_level(data, columns)
    wanted = [[[k for k, n in of.items() if _RARE < n <= rare] if g in groups else [] for of in by_column]
              for g, by_column in enumerate(counts)]
    if not any(levels for by_column in wanted for levels in by_column):
        return []

    def members(group: int, block: Block) -> list[dict[int, Ints]]:
        codes = [_codes(block, c) if levels else None for c, levels in zip(columns, wanted[group], strict=True)]
        return [{k: block.record[own == k] for k in levels} if own is not None else {}
                for own, levels in zip(codes, wanted[group], strict=True)]

    found = reduce_groups(data, columns, members, lambda a, b: [
        {k: np.concatenate([one[k], other[k]]) for k in one} for one, other in zip(a, b, strict=True)])
    return [
        RecordInPlace(g, tuple(int(r) for r in ids), _level(data, name, k), np.full(len(ids), len(ids) ** -0.5))
        for g, by_column in enumerate(found) for name, own in zip(columns, by_column, strict=True) for k, ids in own.items()
    ]


def _indicated(design: Design) -> list[str]:
    """Columns that enter as indicators of categories, or with an indicator of missing values."""
    return list(dict.fromkeys(t.column for t in design.terms if t.level is not None or t.missing))


def _level(data: Microdata, column: str, code: int) -> str:
    levels = data.table.columns[column].levels
    return f"{column} missing" if code == _ABSENT else f"{column}={levels[code]}" if levels else f"{column} not missing"


def _extreme(design: Design, standardised: Matrix) -> str:
    """The column in which records are furthest from the mean, in standard deviations."""
    numeric = [j for j, t in enumerate(design.terms) if t.level is None and not t.missing]
    if not numeric:
        return f"the combination of {', '.join(design.columns)}"
    far = np.abs(standardised[numeric]).min(axis=1)
    return f"an extreme value of {design.terms[numeric[int(np.argmax(far))]].column}"


def counts_by_level(data: Microdata, columns: Sequence[str]) -> list[list[Counter[int]]]:
    """By sub-group and column, the number of records of each level."""

    def count(group: int, block: Block) -> list[Counter[int]]:
        return [Counter(_codes(block, c).tolist()) for c in columns]

    return reduce_groups(data, columns, count, lambda a, b: [x + y for x, y in zip(a, b, strict=True)])


def with_pooled_levels(data: Microdata, design: Design, rare: int = _RARE) -> tuple[Design, dict[str, int]]:
    """The design with rare categories joined to the next rarest in their sub-group, and the number of sub-groups by column.

    The columns themselves do not change. An indicator of missing numbers that is rare is left out: missing numbers then count
    as the mean of their sub-group.
    """
    columns = _indicated(design)
    if not columns:
        return design, {}
    counts = counts_by_level(data, columns)
    changed: dict[str, int] = {}
    made: dict[Term, Term] = {}
    for c, name in enumerate(columns):
        classes = [joined_levels(here[c], rare) for here in counts]
        touched = sum(any(len(k) > 1 for k in group) for group in classes)
        if not touched:
            continue
        changed[name] = touched
        for term in (t for t in design.terms if t.column == name and (t.level is not None or t.missing)):
            own = _ABSENT if term.missing else term.level
            made[term] = replace(term, pooled=tuple(_pool_of(own, group, term.missing) for group in classes))
    return Design(tuple(made.get(t, t) for t in design.terms)), changed


def _codes(block: Block, column: str) -> Ints:
    """Codes of categories, -1 if missing; numbers are 0 if present."""
    values = block[column]
    return np.where(np.isnan(values), _ABSENT, 0) if values.dtype.kind == "f" else values.astype(np.int64)


def _pool_of(level: int | None, classes: Sequence[tuple[int, ...]], missing: bool) -> tuple[int, ...]:
    """The levels that an indicator stands for in a sub-group: all of its class if it comes first in it, else none."""
    own = next((k for k in classes if level in k), (level,) if level is not None else ())
    if missing:
        return own if len(own) == 1 else ()
    return tuple(k for k in own if k is not None) if own and own[0] == level else ()


def joined_levels(counts: Counter[int], rare: int = _RARE) -> list[tuple[int, ...]]:
    """Levels in classes of more than `rare` records: the rarest class is joined with the next rarest until none is too rare.

    The first level of a class is that with the lowest code, apart from missing values.
    """
    alone: list[tuple[int, tuple[int, ...]]] = [(n, (level,)) for level, n in counts.items() if n]
    classes = sorted(alone)
    while len(classes) > 1 and classes[0][0] <= rare:
        (n, one), (m, other), *rest = classes
        classes = sorted([(n + m, one + other), *rest])
    return [tuple(sorted(k, key=lambda level: (level == _ABSENT, level))) for _, k in classes]


def released_in_place(original: Microdata, released: Microdata, rare: int = _RARE) -> list[RecordInPlace]:
    """Held records, or sets of them, whose confidential numbers (or the combination that S fixes) are released unmasked.

    A sub-group with two to `rare` records is such a set if its sums are unmasked. Both files are in the same sub-groups.
    Columns that do not vary are not counted. The sum of three or more records counts only in columns in which few values are
    equal: sums of small counts are often equal by coincidence.
    """
    names = [n for n in original.numeric(original.confidential) if n in released.numeric(released.confidential)]
    try:
        held = records_in_place(original, design_of(original, original.non_confidential), rare=rare)
    except RolesError:
        held = []
    held += _small_sub_groups(original, rare)
    if not held or not names:
        return []
    ids = np.unique([r for h in held for r in h.records])
    both = released.table.pair(original.table, {scratch("original", n): n for n in names}, partly=True)
    few = with_table(released, both.take(lambda g, b: np.isin(b.record, ids), ()))
    record, _, values = collect(few, [*names, *(scratch("original", n) for n in names)])
    place = {int(r): i for i, r in enumerate(record)}
    spread = [np.sqrt(np.nan_to_num(m.variance)) for m in moments_by_group(original, names)]
    fine = [n for n in names if len(np.unique(values[scratch("original", n)])) > len(record) / 2]
    out = []
    for h in held:
        rows = [place[r] for r in h.records if r in place]
        if len(rows) < len(h.records):
            continue
        counted = names if len(rows) <= _RARE else fine
        moved = [float(h.combination @ (values[n][rows] - values[scratch("original", n)][rows])) for n in counted]
        deviations = [sd for n, sd in zip(names, spread[h.group], strict=True) if n in counted]
        seen = [abs(d) <= _SAME * sd for d, sd in zip(moved, deviations, strict=True) if sd > 0 and not np.isnan(d)]
        if seen and all(seen):
            out.append(h)
    return out


def _small_sub_groups(data: Microdata, rare: int) -> list[RecordInPlace]:
    """Sub-groups with two to `rare` records, each as one set."""
    small = {g for g, n in enumerate(data.groups.sizes) if 1 < n <= rare}
    if not small:
        return []

    def members(group: int, block: Block) -> list[int]:
        return block.record.tolist() if group in small else []

    found = reduce_groups(data, (), members, list.__add__)
    return [RecordInPlace(g, tuple(found[g]), _WHOLE, np.full(len(found[g]), len(found[g]) ** -0.5)) for g in sorted(small)]


def in_place_text(data: Microdata, held: Sequence[RecordInPlace]) -> str:
    """The held records for people: what holds them, how many they are and in which sub-group; no confidential value."""
    inside = [f" in sub-group ({data.groups.name(h.group)})" if data.groups.columns else "" for h in held]
    what = [h.count if h.what == _WHOLE else f"{h.what} ({h.count})" for h in held]
    parts = list(dict.fromkeys(f"{one}{where}" for one, where in zip(what, inside, strict=True)))
    return "; ".join(parts[:_SHOWN]) + (f"; and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else "")
