"""Rules as arithmetic on blocks of rows: which records break them, derived columns, and the nearest record that obeys.

    min Σ_j ((z_j − y_j) / sd_j)²      subject to      A z ≤ b,      A₌ z = b₌,      lower ≤ z ≤ upper

for each record y that breaks a rule, with z the repaired record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.constraints.rules import Linear, LinearTerm, Rule, Values
from larvatus.core.arrays import Bools, Floats
from larvatus.data.contracts import Array, Column
from larvatus.stats.linear.portable_algebra import product

CLOSE, MOST_TURNS, MOST_PASSES = 1e-10, 8, 50


@dataclass(frozen=True, slots=True)
class LinearRules:
    """Rules over the columns of one table; `movable` are the confidential columns that a repair may change."""

    rules: tuple[Rule, ...]
    derived: Mapping[str, Linear]
    units: Mapping[str, float]
    tolerance: float
    movable: tuple[str, ...]
    spread: Floats
    columns: Mapping[str, Column]

    @property
    def used(self) -> tuple[str, ...]:
        """Every column that the rules use."""
        names = [n for r in self.rules for n in (*r.columns, *r.conditions)]
        return tuple(dict.fromkeys((*names, *self.movable, *self.units, *self.derived)))

    def with_derived(self, values: Values) -> dict[str, Array]:
        """The values with derived columns recomputed; missing values stay missing."""
        out = dict(values)
        for name, parts in self.derived.items():
            out[name] = np.where(np.isnan(values[name]), np.nan, parts.of(out))
        return self._rounded(out, self.derived)

    def round_values(self, values: Values) -> dict[str, Array]:
        """The values with every movable column rounded to its unit."""
        return self._rounded(dict(values), self.movable)

    def _rounded(self, values: dict[str, Array], names: Sequence[str] | Mapping[str, Linear]) -> dict[str, Array]:
        from larvatus.stats.noise.rounding import round_to_base

        return {**values, **{n: round_to_base(values[n], self.units[n]) for n in names if n in self.units}}

    def broken(self, values: Values) -> Bools:
        """Rows × rules: whether a rule is broken; a comparison with a missing value is never broken."""
        out = np.zeros((len(next(iter(values.values()))), len(self.rules)), dtype=bool)
        for i, rule in enumerate(self.rules):
            where = rule.holds_where(self.columns)(values)
            for line in rule.lines:
                out[:, i] |= where & (line.excess(values) > self._slack(rule, line, values))
        return out

    def _slack(self, rule: Rule, line: LinearTerm, values: Values) -> float | Floats:
        """Tolerance of a line: rounding error for sums, none between single columns or numbers."""
        digits = 0.0 if line.plain else CLOSE * line.size(values)
        return self.tolerance + digits + self._half_unit(rule, line)

    def _half_unit(self, rule: Rule, line: LinearTerm) -> float:
        """Half a unit for a conditional equality whose rounded left side is not an integer combination of the right."""
        left = line.left.lone
        if not rule.given or line.sign != "=" or left is None or left not in self.units:
            return 0.0
        exact = all(float(c).is_integer() and n in self.units for n, c in line.right.terms)
        return 0.0 if exact and line.right.constant == round(line.right.constant) else self.units[left] / 2

    def nearest(self, values: Values) -> dict[str, Array]:
        """The values with records that break a rule changed as little as possible, then rounded, derived columns recomputed."""
        system = self.system()
        out = dict(values)
        rows = self._breaking(values)
        if len(rows):
            _put(out, rows, self._moved(_rows_of(values, rows), system))
        if not self.units:
            return self.with_derived(out)
        done = self.round_values(out)
        rows = np.union1d(rows, self._breaking(done))
        _put(done, rows, self._settled(_rows_of(done, rows), system))
        rows = self._breaking(done)
        if len(rows):
            room = system.with_rounding_margin(self._units())
            again = self._settled(self.round_values(self._moved(_rows_of(values, rows), room)), system)
            better = ~self.broken(self.with_derived(again)).any(axis=1)
            _put(done, rows[better], _rows_of(again, np.flatnonzero(better)))
        return self.with_derived(done)

    def _breaking(self, values: Values) -> NDArray[np.int64]:
        """The rows that break a rule once derived columns are recomputed."""
        return np.flatnonzero(self.broken(self.with_derived(values)).any(axis=1))

    def _units(self) -> Floats:
        return np.array([self.units.get(n, 0.0) for n in self.movable])

    def _settled(self, values: dict[str, Array], system: System) -> dict[str, Array]:
        """Set equalities and single-column inequalities exactly, repeatedly while one change causes another.

        Rows that do not converge keep their last state; the rules they break are counted as usual.
        """
        for turn in range(MOST_PASSES):
            before = values
            for rule in self.rules:
                for line in rule.lines if not rule.identity else ():
                    if line.sign == "=":
                        values = self._equal(values, rule, line, system)
                    elif line.plain:
                        values = self._beside(values, rule, line, bool(turn % 2), system)
            if all(np.array_equal(values[n], before[n], equal_nan=True) for n in self.movable):
                break
        return values

    def _equal(self, values: dict[str, Array], rule: Rule, line: LinearTerm, system: System) -> dict[str, Array]:
        """Set an equality exactly: in its column or, if that is derived, in its parts, smallest values first."""
        sides = ((line.left, line.right), (line.right, line.left))
        target, other = next(((a.lone, b) for a, b in sides if a.lone in self.movable), (None, line.right))
        now = self.with_derived(values)
        there = rule.holds_where(self.columns)(now)
        if target is not None:
            meant = self._rounded({target: other.of(now)}, [target])[target]
            return self._set(values, target, meant, there, system)
        target, other = next(((a.lone, b) for a, b in sides if a.lone in self.derived), (None, line.right))
        if target is None or target in self.units:
            return values
        given = self.derived[target].gather(self.derived)
        parts = [n for n in self.movable if given.get(n) and n not in rule.conditions]
        if not parts:
            return values
        order = np.argsort(np.nan_to_num(np.abs([values[n] for n in parts]), nan=np.inf), axis=0)
        for place in range(len(parts)):
            now = self.with_derived(values)
            short = other.of(now) - now[target]
            tiny = there & (short != 0) & (np.abs(short) <= CLOSE * line.size(now))
            for k, n in enumerate(parts):
                values = self._set(values, n, values[n] + short / given[n], tiny & (order[place] == k), system)
        return values

    def _beside(self, values: dict[str, Array], rule: Rule, line: LinearTerm, other: bool, system: System) -> dict[str, Array]:
        """If rounding error alone breaks an inequality of two values, set one equal to the other, in turn."""
        now = self.with_derived(values)
        over = line.excess(now)
        near = rule.holds_where(self.columns)(now) & (over > 0) & (over <= CLOSE * (line.size(now) + 1.0))
        sides = [(line.left, line.right), (line.right, line.left)]
        for a, b in sides[::-1] if other else sides:
            if a.lone in self.movable and near.any():
                return self._set(values, str(a.lone), b.of(now), near, system)
        return values

    def _set(self, values: dict[str, Array], name: str, meant: Array, where: Bools, system: System) -> dict[str, Array]:
        """Replace values of a column in some rows, if they are present and the new ones within its bounds."""
        j = self.movable.index(name)
        able = where & ~np.isnan(values[name]) & (meant >= system.lower[j]) & (meant <= system.upper[j])
        return {**values, name: np.where(able, meant, values[name])}

    def _moved(self, values: Values, system: System) -> dict[str, Array]:
        """Move each row that breaks a rule to the nearest point that breaks none; conditions are checked after each move."""
        from larvatus.stats.linear.nearest_feasible import nearest_obeying

        out = dict(values)
        start = np.array([values[n] for n in self.movable], dtype=np.float64).T
        active = np.zeros((len(start), len(system.slope)), dtype=bool)
        rows = np.arange(len(start))
        for turn in range(MOST_TURNS):
            now = self.with_derived(_rows_of(out, rows))
            left = np.flatnonzero(self.broken(now).any(axis=1)) if turn else rows
            rows, now = rows[left], _rows_of(now, left)
            if len(rows) == 0:
                break
            gone = np.isnan(start[rows])
            holds = [rule.holds_where(self.columns)(now) for rule in self.rules]
            limit, there = system.limits(now, np.array([now[n] for n in self.movable]).T, gone)
            active[rows] |= np.array([holds[i] for i in system.rule], dtype=bool).T.reshape(there.shape) & there
            moved = nearest_obeying(
                np.where(gone, 0.0, start[rows]), self.spread, system.lower, system.upper,
                np.where(system.held, 0.0, system.slope), limit, system.equal, active[rows] & there,
            )
            moved[gone] = np.nan
            _put(out, rows, dict(zip(self.movable, moved.T, strict=True)))
            _put(out, rows, self._settled(_rows_of(out, rows), system))
        return out

    def system(self) -> System:
        """The rules as bounds of single columns and linear constraints over several."""
        p = len(self.movable)
        lower, upper = np.full(p, -np.inf), np.full(p, np.inf)
        slope: list[Floats] = []
        fixed: list[dict[str, float]] = []
        held: list[Bools] = []
        equal: list[bool] = []
        owner: list[int] = []
        for i, rule in enumerate(self.rules):
            kept = {m for n in rule.conditions for m in (self.derived[n].gather(self.derived) if n in self.derived else [n])}
            for line in rule.lines if not rule.identity else ():
                parts = line.left.plus(line.right.scaled(-1.0)).gather(self.derived)
                a = np.array([parts.pop(n, 0.0) for n in self.movable])
                alone = np.flatnonzero(a)
                if len(alone) == 1 and line.sign == "<=" and not rule.given and not any(c for n, c in parts.items() if n):
                    j, value = alone[0], -parts[""] / a[alone[0]] + 0.0
                    (upper if a[j] > 0 else lower)[j] = (min if a[j] > 0 else max)((upper if a[j] > 0 else lower)[j], value)
                    continue
                still = np.array([n in kept for n in self.movable])
                slope.append(a)
                fixed.append(parts)
                held.append(still if (~still & (a != 0)).any() else np.zeros(p, dtype=bool))
                equal.append(line.sign == "=")
                owner.append(i)
        for j, unit in enumerate(self._units()):
            if unit:
                lower[j], upper[j] = _multiple(lower[j], unit, math.ceil), _multiple(upper[j], unit, math.floor)
        m = len(slope)
        return System(
            np.array(slope).reshape(m, p), tuple(fixed), np.array(held, dtype=bool).reshape(m, p), np.array(equal, dtype=bool),
            tuple(owner), lower, upper,
        )


@dataclass(frozen=True, slots=True)
class System:
    """Linear constraints × movable columns, with the terms of fixed columns, and bounds of single columns."""

    slope: Floats
    fixed: tuple[Mapping[str, float], ...]
    held: Bools
    equal: Bools
    rule: tuple[int, ...]
    lower: Floats
    upper: Floats
    narrower: float | Floats = 0.0

    def limits(self, values: Values, now: Floats, gone: Bools) -> tuple[Floats, Bools]:
        """The limit of each constraint in each row, given the fixed columns, and whether all its values are present."""
        limit = -product(np.where(gone, 0.0, now), np.where(self.held, self.slope, 0.0).T)
        for i, parts in enumerate(self.fixed):
            limit[:, i] -= parts.get("", 0.0) + sum(c * values[n] for n, c in parts.items() if n and c)
        there = ~np.isnan(limit) & ~(product(gone, (self.slope != 0).T) > 0)
        return np.where(there, limit, 0.0) - self.narrower, there

    def with_rounding_margin(self, units: Floats) -> System:
        """The same with a margin for rounding each column to its unit."""
        room = np.where(self.equal, 0.0, product(np.abs(self.slope), units) / 2)
        return System(self.slope, self.fixed, self.held, self.equal, self.rule, self.lower, self.upper, room)


def _multiple(value: float, unit: float, towards: object) -> float:
    """The multiple of a unit nearest to a bound, inside it."""
    if not math.isfinite(value):
        return value
    near = round(value / unit)
    steps = near if abs(value / unit - near) < 1e-9 else towards(value / unit)  # type: ignore[operator]
    return float(steps * unit)


def _rows_of(values: Values, rows: NDArray[np.int64]) -> dict[str, Array]:
    return {n: v[rows] for n, v in values.items()}


def _put(values: dict[str, Array], rows: NDArray[np.int64], part: Values) -> None:
    for n, v in part.items():
        values[n] = values[n].copy()
        values[n][rows] = v
