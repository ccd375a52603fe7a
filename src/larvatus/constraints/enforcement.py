"""Make a release obey its constraints: derived columns are set aside before the steps, the rest is done after them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from larvatus.constraints.linear_system import LinearRules
from larvatus.constraints.partial_totals import HELD, PartialTotals, RulesByRecord
from larvatus.constraints.public_notes import rule_notes, with_noise
from larvatus.constraints.rules import WHERE_HELD, Linear, Rule
from larvatus.constraints.settings import Constraints, constraint_problems, derived_order, step_problems
from larvatus.core.arrays import Ints
from larvatus.core.errors import LarvatusError, MaskError, StudyError
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column, Mask
from larvatus.data.copies import notes_of_copies
from larvatus.data.method_parsing import build_method
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.score import Row, Rows
from larvatus.data.steps import TAKEN, columns_of_step, mark_chosen_records
from larvatus.data.verbs import as_one_group, map_rows, moments_by_group, reduce_groups, with_table

_OFF, FOR = scratch("off"), scratch("some step is for it")
Again = Callable[[int], Sequence[Microdata]]


@dataclass(frozen=True, slots=True)
class ConstraintEnforcer:
    """Constraints checked against the data and the steps, before masking.

    `rules` hold in every record; `totals` have exceptions. `derived` are the columns that no step masks.
    """

    asked: Constraints
    rules: tuple[Rule, ...]
    derived: Mapping[str, Linear]
    totals: PartialTotals

    @classmethod
    def of(cls, asked: Constraints, data: Microdata, steps: Sequence[Mask]) -> ConstraintEnforcer:
        """Check the constraints; all problems with these data or steps are reported in one error."""
        columns = data.table.columns
        texts = [n for n in data.released if columns[n].kind == "nominal"]
        problems = constraint_problems(asked, data.roles, data.sub_groups, texts)
        if not problems:
            problems += step_problems(asked, steps)
        every = asked.read_rules()
        rules = tuple(r for r in every if not r.exceptions)
        for rule in rules if not problems else ():
            try:
                rule.holds_where(columns)
            except LarvatusError as error:
                problems.append(f"constraints.rules: rule {rule.text!r}: {error}")
        totals = PartialTotals(tuple(r for r in every if r.exceptions), asked.tolerance)
        problems += _unmasked_totals(totals, data, steps) if not problems else []
        if problems:
            raise StudyError(problems)
        found = cls(asked, rules, derived_order(every), totals)
        found._check_bounds(data)
        if found.derived:
            found._check_identities(found._counts(found._lines(data, data), data), data)
        return found

    def without_derived(self, data: Microdata) -> Microdata:
        """The data as the steps see them: without derived columns."""
        return data.with_confidential([n for n in data.roles.confidential if n not in self.derived])

    def columns_of_rules(self) -> frozenset[str]:
        """The columns that a rule ties to other columns, or that are computed from them."""
        return frozenset(n for rule in self.asked.read_rules() for n in rule.columns)

    def steps(self, masks: tuple[Mask, ...], data: Microdata) -> tuple[Mask, ...]:
        """The steps, followed by reverse_map if that is the repair and the last mask of some column does not permute."""
        names = data.numeric(self.without_derived(data).confidential)
        last = {n: s for s in masks for n in columns_of_step(s, data)}
        if self.asked.repair != "reverse_map" or all(n in last and last[n].permutes for n in names):
            return masks
        every = names == self.without_derived(data).confidential
        return (*masks, build_method(Mask, "reverse_map", {} if every else {"columns": names}))

    def enforce(
        self, current: Sequence[Microdata], original: Microdata, again: Again, steps: Sequence[Mask] = ()
    ) -> tuple[list[Microdata], list[Note], Rows]:
        """Every copy after rounding, repair and recomputing; notes; and the number of records that break each rule.

        Records that no step masks (`where`) are not changed here either, even if they break a rule.
        """
        chosen = mark_chosen_records(steps, original)
        before = self._counts(self._lines(original, original), original)
        noted = self.totals.mark_records(original) if self.totals.rules else original
        copies, said, counts, partial = [], [], [], []
        moved: dict[str, None] = {}
        drawn: dict[int, Sequence[Microdata]] = {}
        for c, masked in enumerate(current):
            lines = self._lines(masked, original)
            masked = self.totals.with_marks(_with_mark(masked, chosen), noted)
            stepped = self._derived_only(masked, lines)
            raw = self._counts(lines, stepped)
            done = self._finished(masked, lines)
            redrawn: list[Note] = []
            if self.asked.repair == "redraw" and any(not r.identity for r in self.rules):
                def attempt(k: int, copy: int = c) -> Microdata:
                    if k not in drawn:
                        drawn[k] = again(k)
                    return self.totals.with_marks(_with_mark(drawn[k][copy], chosen), noted)

                done, redrawn = self._redrawn(done, lines, attempt)
            after = self._counts(lines, done)
            copies.append(done.with_confidential(original.roles.confidential))
            counts.append((raw, after))
            partial.append((self.totals.broken(stepped), self.totals.broken(done), self.totals.exceptions(done)))
            left = self._left_alone(done, lines) if chosen else []
            moves, names = self._moves(masked, done, lines)
            moved |= dict.fromkeys(names)
            said.append([*self._notes(before, raw, after, done), *redrawn, *moves, *left])
        worst = np.max([np.array([raw, after]) for raw, after in counts], axis=0)
        obeyed = [r.text for r, now in zip(self.rules, worst[1], strict=True) if not now]
        noisy = {n for s in steps if with_noise(s) for n in columns_of_step(s, self.without_derived(original))}
        for_public = rule_notes(
            self.asked, self.derived, original.roles.confidential, obeyed, moved, noisy, original.roles.missing
        )
        notes = [*self._derived_notes(original), *notes_of_copies(said), *for_public]
        if not self.totals.rules:
            return copies, notes, self._table(before, worst[0], worst[1])
        most = np.max(partial, axis=0)
        notes += self.totals.notes(self.totals.exceptions(original), most[2], noted, copies)
        both = (np.concatenate(pair) for pair in ((before, 0 * most[0]), (worst[0], most[0]), (worst[1], most[1])))
        return copies, notes, self._table(*both)

    def _lines(self, data: Microdata, original: Microdata) -> RulesByRecord:
        names = data.numeric(self.without_derived(original).confidential)
        where = self.totals.totals(WHERE_HELD)
        used = {n for r in self.rules for n in r.columns} | set(self.asked.units()) | set(self.totals.columns)
        for name in original.numeric([n for n in original.confidential if n in used]):
            if data.table.columns[name].kind != "number":
                raise MaskError(
                    f"constraints: a step made {name!r} categorical, but a rule needs its numbers. Leave it out of that step, "
                    "or out of the rules."
                )
        summed = {m for d in (*self.derived.values(), *where.values()) for m in d.columns}
        movable = tuple(n for n in names if n in used | summed)
        spread = np.ones(len(movable))
        if movable and self.asked.repair == "nearest":
            found = np.sqrt(moments_by_group(as_one_group(original), movable)[0].variance)
            spread = np.where(np.isfinite(found) & (found > 0), found, 1.0)
        derived = self.totals.with_difference(self.derived)
        plain = LinearRules(
            self.rules, derived, self._implied_units(movable), self.asked.tolerance, movable, spread, data.table.columns
        )
        order = derived_order((*self.rules, *self.totals.rules), everywhere=False)
        return RulesByRecord(plain, where, tuple(order))

    def _implied_units(self, movable: Sequence[str]) -> dict[str, float]:
        """Units of rounded columns, and of columns derived as integer combinations of rounded ones."""
        units = self.asked.units()
        for name, parts in self.derived.items():
            whole = all(float(c).is_integer() for c in (*(c for _, c in parts.terms), parts.constant))
            if whole and all(n in units for n in parts.columns):
                units.setdefault(name, min(units[n] for n in parts.columns))
        return units

    def _check_bounds(self, data: Microdata) -> None:
        lines = self._lines(data, data)
        system = lines.system()
        empty = [n for n, low, high in zip(lines.plain.movable, system.lower, system.upper, strict=True) if low > high]
        if empty:
            raise StudyError([f"constraints: no value lies between the bounds of {n!r}. Widen them." for n in empty])

    def _check_identities(self, before: Ints, original: Microdata) -> None:
        broken = [(r.text, int(n)) for r, n in zip(self.rules, before, strict=True) if r.identity and n]
        if broken:
            said = "; ".join(f"{text} is broken by {n:,} of {original.rows:,} records" for text, n in broken)
            raise MaskError(
                f"constraints: {said} of the original, so recomputing would change the column. Correct the data, set a "
                f"tolerance, leave the rule out, or keep the total {WHERE_HELD!r} (write this after the rule)."
            )

    def _counts(self, lines: RulesByRecord, data: Microdata) -> Ints:
        """The number of records that break each rule."""
        if not self.rules:
            return np.zeros(0, dtype=np.int64)
        parts = reduce_groups(data, lines.plain.used, lambda g, b: lines.broken(b.values).sum(axis=0), np.add)
        return np.asarray(np.sum(parts, axis=0), dtype=np.int64)

    def _derived_only(self, data: Microdata, lines: RulesByRecord) -> Microdata:
        exact = lines.as_masked()
        names = tuple(self.derived)
        return map_rows(data, lambda g, b: _only(exact.with_derived(b.values), names), lines.used) if names else data

    def _finished(self, data: Microdata, lines: RulesByRecord) -> Microdata:
        """The data after repair to the nearest values (if chosen), rounding, and recomputing of derived columns."""
        names = lines.changed

        def finish(group: int, block: Block) -> Mapping[str, Array]:
            if self.asked.repair == "nearest":
                found = _only(lines.nearest(block.values), names)
            else:
                found = _only(lines.with_derived(lines.round_values(block.values)), names)
            masked = _masked(block)
            return {n: np.asarray(np.where(masked, v, block[n])) for n, v in found.items()}

        columns = data.table.columns
        made = [replace(columns[n], integer=float(u).is_integer()) for n, u in lines.units.items() if n in names]
        return map_rows(data, finish, _and_mark(lines.used, data), made) if names else data

    def _redrawn(self, done: Microdata, lines: RulesByRecord, attempt: Callable[[int], Microdata]) -> tuple[Microdata,
                                                                                                          list[Note]]:
        """Replace records that break a rule by later attempts, each by the first in which it breaks none."""
        names = lines.changed
        done = self._marked(done, lines)
        first = left = _marks(done)
        for k in range(1, self.asked.attempts + 1):
            if left == 0:
                break
            other = self._marked(self._finished(attempt(k), lines), lines)
            joined = done.table.pair(other.table, {scratch("again", n): n for n in (*names, _OFF)})

            def choose(group: int, block: Block) -> Mapping[str, Array]:
                better = (block[_OFF] == 1) & (block[scratch("again", _OFF)] == 0)
                return {n: np.asarray(np.where(better, block[scratch("again", n)], block[n])) for n in (*names, _OFF)}

            wanted = [*names, _OFF, *(scratch("again", n) for n in (*names, _OFF))]
            done = with_table(done, joined.map_rows(choose, wanted))
            left = _marks(done)
        notes = [Note(f"{first - left:,} records were redrawn until they broke no rule", step="rules")] if first else []
        if left:
            notes.append(Note(
                f"{left:,} records still break a rule after {self.asked.attempts} redraws and are released as first drawn. "
                'Allow more attempts, mask less strongly, or use repair = "nearest"', "warning", "rules",
            ))
        return done, notes

    def _marked(self, data: Microdata, lines: RulesByRecord) -> Microdata:
        def mark(group: int, block: Block) -> Mapping[str, Array]:
            return {_OFF: np.asarray(lines.broken(block.values).any(axis=1) & _masked(block), dtype=np.float64)}

        return map_rows(data, mark, _and_mark(lines.used, data), [Column(_OFF, "number")])

    def _left_alone(self, done: Microdata, lines: RulesByRecord) -> list[Note]:
        """A warning if records that no step masks break a rule or are not rounded."""
        def count(group: int, block: Block) -> int:
            rounded = lines.round_values(block.values)
            odd = [np.abs(rounded[n] - block[n]) > 1e-9 * (1 + np.abs(block[n])) for n in lines.plain.movable]
            off = lines.broken(block.values).any(axis=1) | np.any([np.zeros(len(block), dtype=bool), *odd], axis=0)
            return int((off & ~_masked(block)).sum())

        left = sum(reduce_groups(done, _and_mark(lines.used, done), count, int.__add__))
        return [Note(
            f"{left:,} records that no step masks (where) break a rule or are not rounded; they are released unchanged",
            "warning", "rules",
        )] if left else []

    def _notes(self, before: Ints, raw: Ints, after: Ints, done: Microdata) -> list[Note]:
        out = []
        way_out = "" if self.asked.repair == "nearest" else '. Use repair = "nearest" to meet it'
        bounds = len(self.asked.rules) - len(self.totals.rules)  # the first of the rules that is a bound of a column
        quiet = {i for i, r in enumerate(self.rules) if i >= bounds and not before[i] and not after[i]}
        for i, (rule, was, masked, now) in enumerate(zip(self.rules, before, raw, after, strict=True)):
            if (rule.identity and not now) or i in quiet:
                continue
            out.append(Note(
                f"{rule.text}: broken by {was:,} records of the original, by {masked:,} after the steps, and by {now:,} of "
                f"{done.rows:,} in the release{way_out if now else ''}", "warning" if was or now else "information", "rules",
            ))
        if quiet:
            most = max(int(raw[i]) for i in quiet)
            out.append(Note(
                f"every record of the original and of the release keeps {len(quiet)} column bounds; after the steps up to "
                f"{most:,} records broke one of them", step="rules",
            ))
        return out

    def _moves(self, masked: Microdata, done: Microdata, lines: RulesByRecord) -> tuple[list[Note], list[str]]:
        """Notes on how many values rounding and repair changed, and the columns that repair changed."""
        names = lines.plain.movable
        marks = [scratch(HELD, n) for n in lines.totals]
        joined = done.table.pair(masked.table, {scratch("before", n): n for n in names})

        def count(group: int, block: Block) -> Ints:
            raw = {n: block[scratch("before", n)] for n in names}
            to_unit = lines.round_values(raw)
            there = [~np.isnan(raw[n]) & _masked(block) & lines.not_derived(n, block.values) for n in names]
            turned = [(to_unit[n] != raw[n]) & t for n, t in zip(names, there, strict=True)]
            off = [(block[n] != to_unit[n]) & t for n, t in zip(names, there, strict=True)]
            moved = np.array(off).reshape(len(names), len(block))
            return np.array([sum(int(t.sum()) for t in turned), int(moved.any(axis=0).sum()), *moved.sum(axis=1)])

        if not names:
            return [], []
        found = joined.reduce(_and_mark([*names, *marks, *(scratch("before", n) for n in names)], done), count, np.add)
        turned, records, *by_column = (int(v) for v in np.sum(found, axis=0))
        moved = sum(by_column)
        notes = []
        if turned:
            which = ", ".join(n for n in names if n in lines.units)
            notes.append(Note(f"{turned:,} values were rounded ({which})", step="rules"))
        if moved and self.asked.repair == "nearest":
            notes.append(Note(
                f"{moved:,} values in {records:,} of {done.rows:,} records were changed as little as possible to obey rules",
                step="rules",
            ))
        if moved or turned:
            notes.append(Note(
                "what the steps preserve exactly (moments, the values of a column) is preserved only approximately after "
                "rounding or repair; the measures show by how much", "warning", "rules",
            ))
        return notes, [n for n, count in zip(names, by_column, strict=True) if count]

    def _derived_notes(self, original: Microdata) -> list[Note]:
        out = []
        for name, parts in self.derived.items():
            out.append(Note(f"{name} is not masked but recomputed from {', '.join(parts.columns)} in every record",
                            step="rules"))
            gone = sum(reduce_groups(original, [name, *parts.columns], _parts_missing(name, parts), int.__add__))
            if gone:
                out.append(Note(f"{gone:,} values of {name} become missing, because a part is missing", "warning", "rules"))
        return out

    def _table(self, before: Ints, raw: Ints, after: Ints) -> Rows:
        table: list[Row] = [
            {"rule": r.text, "original": int(b), "after_steps": int(m), "released": int(a)}
            for r, b, m, a in zip((*self.rules, *self.totals.rules), before, raw, after, strict=True)
        ]
        return Rows.of(table)


def _unmasked_totals(totals: PartialTotals, data: Microdata, steps: Sequence[Mask]) -> list[str]:
    """Totals kept where they held that no step masks: the exceptions would be released unmasked."""
    masked = {n for step in steps for n in columns_of_step(step, data)}
    return [f"constraints.rules: no step masks {n!r}, so it would be released unmasked in the records in which it is not the "
            "sum of its parts. Mask it in a step." for n in totals.totals(WHERE_HELD) if n not in masked]


def _with_mark(data: Microdata, chosen: Microdata | None) -> Microdata:
    """The data with a mark on records that some step masks; no mark if all records are masked."""
    return data if chosen is None else with_table(data, data.table.pair(chosen.table, {FOR: TAKEN}))


def _and_mark(names: Sequence[str], data: Microdata) -> list[str]:
    return [*names, FOR] if FOR in data.table.columns else list(names)


def _masked(block: Block) -> NDArray[np.bool_]:
    """Which records some step masks."""
    return np.asarray(block[FOR] == 1) if FOR in block.values else np.ones(len(block), dtype=bool)


def _parts_missing(name: str, parts: Linear) -> Callable[[int, Block], int]:
    return lambda group, block: int((np.isnan(parts.of(block.values)) & ~np.isnan(block[name])).sum())


def _marks(data: Microdata) -> int:
    return sum(reduce_groups(data, [_OFF], lambda g, b: int(b[_OFF].sum()), int.__add__))


def _only(values: Mapping[str, Array], names: Sequence[str] | Mapping[str, Linear]) -> dict[str, Array]:
    return {n: values[n] for n in names}
