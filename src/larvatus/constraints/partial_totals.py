"""Totals that hold in most records of the original, and what a release keeps of them. With x_T the total, x_j its parts:

    where it held            y_T = Σ c_j y_j  if  x_T = Σ c_j x_j;  in the other records y_T is masked like any other column
    keeping the difference   y_T = Σ c_j y_j + d  with  d = x_T − Σ c_j x_j,  which is released unmasked

A total holds if |x_T − Σ c_j x_j| is at most the tolerance plus 10⁻¹⁰ of the sum of all absolute values. If a value is missing,
a total does not hold: its column is then masked (where it held), or becomes missing (keeping the difference).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from larvatus.constraints.linear_system import CLOSE, LinearRules, System
from larvatus.constraints.rules import DIFFERENCE, WHERE_HELD, Linear, Rule, Values
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import map_rows, reduce_groups, with_table

HELD, DIFFERENCES = "held", "difference"  # kinds of temporary columns, one for each total


@dataclass(frozen=True, slots=True)
class PartialTotals:
    """The totals with exceptions among the rules of a release."""

    rules: tuple[Rule, ...]
    tolerance: float = 0.0

    def totals(self, way: str) -> dict[str, Linear]:
        """The parts of each total that is kept in this way."""
        return {r.lines[0].left.columns[0]: r.lines[0].right for r in self.rules if r.exceptions == way}

    @property
    def marks(self) -> tuple[str, ...]:
        """Temporary columns: whether a total held in the original, or by how much it did not."""
        held = [scratch(HELD, n) for n in self.totals(WHERE_HELD)]
        return (*held, *(scratch(DIFFERENCES, n) for n in self.totals(DIFFERENCE)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The totals and their parts."""
        return tuple(dict.fromkeys(n for r in self.rules for n in r.columns))

    def with_difference(self, derived: Mapping[str, Linear]) -> dict[str, Linear]:
        """The derived columns, with the original difference as one more part of the totals that keep it."""
        more = {n: Linear(((scratch(DIFFERENCES, n), 1.0),)) for n in self.totals(DIFFERENCE)}
        return {n: parts.plus(more[n]) if n in more else parts for n, parts in derived.items()}

    def mark_records(self, original: Microdata) -> Microdata:
        """The original with the temporary columns."""
        def mark(group: int, block: Block) -> Mapping[str, Array]:
            out = {}
            for rule in self.rules:
                line, total = rule.lines[0], rule.lines[0].left.columns[0]
                holds = self.holds(rule, block.values)
                if rule.exceptions == WHERE_HELD:
                    out[scratch(HELD, total)] = holds.astype(np.float64)
                else:
                    apart = line.left.of(block.values) - line.right.of(block.values)
                    out[scratch(DIFFERENCES, total)] = np.where(holds, 0.0, apart)
            return out

        return map_rows(original, mark, self.columns, [Column(n, "number", missing=True) for n in self.marks])

    def with_marks(self, data: Microdata, marked: Microdata) -> Microdata:
        """Released records with the temporary columns of the original."""
        return with_table(data, data.table.pair(marked.table, {n: n for n in self.marks})) if self.rules else data

    def holds(self, rule: Rule, values: Values) -> Bools:
        """The rows in which a total holds; false if one of its values is missing."""
        line = rule.lines[0]
        return np.asarray(line.excess(values) <= self.tolerance + CLOSE * line.size(values))

    def exceptions(self, data: Microdata) -> Ints:
        """For each total, the number of records with all its values in which it does not hold."""
        if not self.rules:
            return np.zeros(0, dtype=np.int64)

        def count(group: int, block: Block) -> Ints:
            there = [~np.isnan(r.lines[0].size(block.values)) for r in self.rules]
            return np.array([(t & ~self.holds(r, block.values)).sum() for r, t in zip(self.rules, there, strict=True)])

        return np.asarray(np.sum(reduce_groups(data, self.columns, count, np.add), axis=0), dtype=np.int64)

    def broken(self, data: Microdata) -> Ints:
        """For each total, the number of records that do not keep what they should; the data have the temporary columns."""
        if not self.rules:
            return np.zeros(0, dtype=np.int64)

        def count(group: int, block: Block) -> Ints:
            return np.array([self._breaks(r, block.values).sum() for r in self.rules], dtype=np.int64)

        return np.asarray(np.sum(reduce_groups(data, [*self.columns, *self.marks], count, np.add), axis=0), dtype=np.int64)

    def _breaks(self, rule: Rule, values: Values) -> Bools:
        line, total = rule.lines[0], rule.lines[0].left.columns[0]
        there = ~np.isnan(line.size(values))
        if rule.exceptions == WHERE_HELD:
            return np.asarray(there & (values[scratch(HELD, total)] == 1) & ~self.holds(rule, values))
        apart = values[scratch(DIFFERENCES, total)]
        moved = np.abs(line.left.of(values) - line.right.of(values) - apart)
        return np.asarray(there & (moved > self.tolerance + CLOSE * (line.size(values) + np.abs(apart))))

    def by_chance(self, done: Microdata) -> dict[str, int]:
        """For each total kept where it held, the number of exceptions in which the released values add up by chance."""
        rules = [r for r in self.rules if r.exceptions == WHERE_HELD]
        marks = {r.lines[0].left.columns[0]: scratch(HELD, r.lines[0].left.columns[0]) for r in rules}

        def count(group: int, block: Block) -> Ints:
            return np.array([((block[m] == 0) & self.holds(r, block.values)).sum()
                             for r, m in zip(rules, marks.values(), strict=True)], dtype=np.int64)

        found = np.sum(reduce_groups(done, [*self.columns, *marks.values()], count, np.add), axis=0) if rules else []
        return {n: int(k) for n, k in zip(marks, found, strict=True)}

    def rare_differences(self, marked: Microdata) -> dict[str, int]:
        """For each total that keeps its difference, the number of records with a difference that no other record has."""
        names = [scratch(DIFFERENCES, n) for n in self.totals(DIFFERENCE)]

        def apart(group: int, block: Block) -> list[Floats]:
            return [v[~np.isnan(v) & (v != 0)] for v in (block[n] for n in names)]

        found = reduce_groups(marked, names, apart, _joined) if names else []
        return {n: int((np.unique(np.concatenate([part[i] for part in found]), return_counts=True)[1] == 1).sum())
                for i, n in enumerate(self.totals(DIFFERENCE))}

    def notes(self, before: Ints, after: Ints, marked: Microdata, copies: Sequence[Microdata]) -> list[Note]:
        """What is kept of each total, and what that discloses; the last notes are for the public, and without counts."""
        chance = [self.by_chance(copy) for copy in copies]
        rare = self.rare_differences(marked)
        out = []
        for rule, was, now in zip(self.rules, before, after, strict=True):
            total = rule.lines[0].left.columns[0]
            said = (f"{rule.text}: does not hold in {was:,} of {marked.rows:,} records of the original, and in {now:,} of the "
                    f"release.{f' {VISIBLE}' if was else ''}")
            if rule.exceptions == DIFFERENCE:
                said += f" {UNMASKED.format(total=total, rare=rare[total])}"
            elif max(found[total] for found in chance):
                said += f" In {max(found[total] for found in chance):,} exceptions the released values add up by chance."
            out.append(Note(said.rstrip("."), "warning" if was else "information", "rules"))
        return [*out, *(Note(_public(r), step="", public=True) for r in self.rules)]


VISIBLE = ("Anyone can see which released records are exceptions, and an intruder who knows this of a person searches only "
           "these.")
UNMASKED = ("The difference of {total} to its parts is released unmasked, though it is computed from confidential values; "
            "{rare:,} records have a difference that no other record has, and an intruder who knows it finds them.")


def _public(rule: Rule) -> str:
    total, parts = rule.lines[0].left.columns[0], ", ".join(rule.lines[0].right.columns)
    if rule.exceptions == WHERE_HELD:
        return (f"In records in which it was so before masking, {total} is computed from its masked parts ({parts}); in the "
                "other records it is masked separately.")
    return f"{total} is computed from its masked parts ({parts}) and its original difference to their sum, which is not masked."


def _joined(one: list[Floats], other: list[Floats]) -> list[Floats]:
    return [np.concatenate(pair) for pair in zip(one, other, strict=True)]


@dataclass(frozen=True, slots=True)
class RulesByRecord:
    """Rules of which the derived columns differ between records: a total is derived only in records in which it held.

    `plain` are the rules of records in which no such total held. `order` lists all derived columns, parts first.
    """

    plain: LinearRules
    totals: Mapping[str, Linear]
    order: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[str, ...]:
        """Every column that the rules use, and the temporary columns that tell in which records a total held."""
        more = [n for name, parts in self.totals.items() for n in (name, *parts.columns, scratch(HELD, name))]
        apart = [n for parts in self.plain.derived.values() for n in parts.columns]
        return tuple(dict.fromkeys((*self.plain.used, *more, *apart)))

    def not_derived(self, name: str, values: Values) -> Bools:
        """The rows in which a column is not a total that held."""
        return np.asarray(values[scratch(HELD, name)] != 1) if name in self.totals else np.ones(len(values[name]), dtype=bool)

    @property
    def changed(self) -> tuple[str, ...]:
        """All columns that may be changed after the steps."""
        return tuple(dict.fromkeys((*self.plain.movable, *self.plain.derived, *self.totals)))

    @property
    def units(self) -> Mapping[str, float]:
        """The rounding unit of each rounded column."""
        return self.plain.units

    def system(self) -> System:
        """The rules as constraints, for records in which no total held."""
        return self.plain.system()

    def as_masked(self) -> RulesByRecord:
        """The rules before rounding, with totals as the steps masked them."""
        return RulesByRecord(replace(self.plain, units={}), {})

    def with_derived(self, values: Values) -> dict[str, Array]:
        """The values with derived columns recomputed; missing values stay missing."""
        return self._each(values, lambda rules, part: rules.with_derived(part))

    def round_values(self, values: Values) -> dict[str, Array]:
        """The values with every movable column rounded to its unit."""
        return self.plain.round_values(values)

    def nearest(self, values: Values) -> dict[str, Array]:
        """The values with records that break a rule changed as little as possible, rounded, derived columns recomputed."""
        return self._each(values, lambda rules, part: rules.nearest(part))

    def broken(self, values: Values) -> Bools:
        """Rows × rules: whether a rule is broken."""
        return self.plain.broken(values)

    def _each(self, values: Values, change: Callable[[LinearRules, Values], dict[str, Array]]) -> dict[str, Array]:
        """Change the rows, each under the rules for the totals that held in it."""
        if not self.totals:
            return change(self.plain, values)
        held = np.array([values[scratch(HELD, n)] == 1 for n in self.totals]).T
        out = {n: np.array(v) for n, v in values.items()}
        patterns, which = np.unique(held, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.reshape(-1) == i)
            here = self._where([n for n, yes in zip(self.totals, pattern, strict=True) if yes])
            for n, v in change(here, {n: v[rows] for n, v in values.items()}).items():
                out[n][rows] = v
        return out

    def _where(self, held: Sequence[str]) -> LinearRules:
        """The rules of records in which these totals held."""
        stays = [n not in held for n in self.plain.movable]
        derived = {n: self.totals[n] if n in held else self.plain.derived[n] for n in self.order
                   if n in held or n in self.plain.derived}
        return replace(self.plain, derived=derived, spread=self.plain.spread[stays],
                       movable=tuple(n for n, yes in zip(self.plain.movable, stays, strict=True) if yes))
