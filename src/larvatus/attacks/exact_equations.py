"""Find the order of records that satisfies the equations of a mask that keeps moments exactly (Burridge 2003; 000 §3.3).

    Σ_i s_i x_π(i)ᵀ = C_SY,      Σ_i y_i x_π(i)ᵀ = (I − β) C_YS C_SS⁻¹ C_SY + β C_YY

with rows centred, C the sums of products that the release shows, and β the similarity: sufficiency-based noise is orthogonal
to [1, S, X]. In a small sub-group hardly any order π but the right one satisfies all of these equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.exact_steps import ExactStep, exact_design, exact_steps
from larvatus.attacks.linkage.exact_totals import EXACT_TOTALS, TotalsOutcome, records_from_totals
from larvatus.attacks.linkage.group_linkage import GroupKeys, Link, LinkedGroup, link_groups
from larvatus.attacks.linkage.target_sample import QUICK_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats, Ints, Matrix
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import in_groups_of
from larvatus.data.contracts import Attack, Block
from larvatus.data.design import Design
from larvatus.data.exposure.computable_records import INSIDERS, SAFE_AGAINST
from larvatus.data.exposure.few_levels import few_levels
from larvatus.data.exposure.known_gaps import gaps_table
from larvatus.data.exposure.leverage import records_in_place
from larvatus.data.exposure.sparse_values import sparse_values
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import reduce_groups
from larvatus.stats.linkage.order_search import BEYOND, NOT_TRIED, OUTCOMES, SearchTally

_LARGEST_FILE = 100_000  # records of a file that is linked as one group


class ExactEquations(Attack):
    """The intruder knows all records of a sub-group and tries the orders in which they may have been released.

    Masks that keep means and covariances exactly leave equations between original and released values. In sub-groups of up to
    `largest` records all orders are searched, and those that satisfy every equation share the credit. In sub-groups of up to
    `annealed` records an order that satisfies them is searched by simulated annealing. If that fails, all orders of up to 15
    records are tried, and then branch and bound in sub-groups of up to `branched` records. This is done in four sub-groups at
    most; the others then count at the same rate.
    No search is made if wrong orders would satisfy the equations too, and branch and bound is not tried with fewer equations
    than records. If the equations determine the order but the search does not find it, the upper end of the interval counts
    these records as found. If no search that we know has prospects, a warning counts them. In larger sub-groups, and with
    masks that leave no such equations, only records that were released unchanged are found. For each sub-group the details
    also give the number of insiders, persons who know their own records only, who suffice to compute the others; the columns
    that are the same, or equal to another column, in all but few records, whose other values follow from exact sums; and the
    numbers with few different values, which follow if the other columns are known.

    Equations hold in each sub-group, or over the file if the step has `scope = "file"`. They hold for the records that the step
    masked, if `where` is a condition on S, and to a tolerance after rounding.

    If the intruder has other releases with exact totals, records whose values are a combination of all these totals count as
    found: for example the only record that is in another sub-group there.

    Look at it if a mask preserves moments exactly and sub-groups are small. It finds nothing in large sub-groups, where the
    equations leave too much open.

    Parameters:
        largest: largest sub-group whose orders are searched; the time grows about fivefold with each record (14: 2 seconds).
        annealed: largest sub-group in which simulated annealing searches an order, for about a second.
        branched: largest sub-group in which branch and bound searches an order, for 60 seconds or 300 nodes at most.
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = QUICK_ATTACK_TARGETS
    assumes: ClassVar[str] = (
        "The intruder knows the original values of all records in the sub-group, and that the mask keeps means and covariances "
        "exactly."
    )

    largest: Annotated[int, Field(ge=2, le=14)] = Field(
        default=12, description="largest sub-group whose orders are searched"
    )
    annealed: Annotated[int, Field(ge=0, le=100)] = Field(
        default=40, description="largest sub-group in which simulated annealing searches an order"
    )
    branched: Annotated[int, Field(ge=0, le=40)] = Field(
        default=30, description="largest sub-group in which branch and bound searches an order"
    )
    targets: Targets = None

    @property
    def most_records(self) -> int:
        """The largest sub-group that is searched."""
        return max(self.largest, self.annealed, self.branched)

    def why_unsuitable(self, release: Release, intruder: Intruder) -> str:
        if not any(exact_steps(r) for r in (release, *release.internals.other_releases)):
            return "no step keeps means and covariances exactly."
        return "" if intruder.knows_settings_of(release.steps) else "the intruder does not know how the release was masked."

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        steps = exact_steps(release) if intruder.knows_settings_of(release.steps) else []
        usable = [s for s in steps if _usable(s, release.data, intruder)]
        whole = release.data.rows <= _LARGEST_FILE and any(
            s.whole and s.data_masked(release.data).rows <= self.most_records for s in usable)
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, soft_too=False, whole_file=whole)
        equations = [e for s in usable if s.whole == whole and (e := _StepEquations.of(s, by, release.data)) is not None]
        tally = SearchTally()
        link: Link = _unchanged
        also: Sequence[str] = ()
        if not equations:
            notes = ["only records that were released unchanged can be found by equations"]
        else:
            order = _Orders(equations, release.data.roles.weight, self, tally)
            link, also = order.link, order.columns
            sizes = [n for e in equations for n in e.sizes]
            many = sum(n > self.most_records for n in sizes)
            notes = [f"all orders are searched in sub-groups of up to {self.largest} records, and one that satisfies the "
                     f"equations in those of up to {self.most_records}; {many:,} of {len(sizes):,} are larger"]
        totals = records_from_totals(original, release, release.internals.other_releases, intruder)
        if len(totals.known):
            link = _with_known_records(link, totals.known)
        score = link_groups(
            self, "share of records whose released record follows from exact equations (orders that satisfy them share the "
            "credit)", original, release, intruder, by, link, notes=notes, columns=also,
        )
        score = _with_totals(_with_searches(score, tally, self), totals)
        if not steps:
            return score
        found = _insiders(steps[0], original, release.data)
        least = min((int(str(r["insiders"])) for r in found), default=None)
        said = [] if least is None else [
            f"insiders who suffice to compute the other records: {least} in the weakest sub-group"]
        return replace(score, details={**score.details, INSIDERS: found}, notes=(*score.notes, *said))


def _usable(step: ExactStep, data: Microdata, intruder: Intruder) -> bool:
    """Whether there are equations, and the intruder knows which rows they hold for."""
    seen = {*data.sub_groups.columns, *data.known}
    known = seen if not intruder.known else seen & set(intruder.known)
    sees = step.rows_known and set(step.condition_columns) <= known
    return bool(step.noise.similarity is not None and sees and not intruder.error)


def _unchanged(sides: LinkedGroup) -> Floats:
    from larvatus.stats.linkage.exact_orders import unchanged_credit

    return unchanged_credit(sides.originals, sides.y, sides.same, sides.own)


def _with_known_records(link: Link, known: Ints) -> Link:
    """The linkage with full credit for records whose values are known from totals."""

    def run(sides: LinkedGroup) -> Floats:
        assert sides.block is not None
        credit = link(sides)
        return np.where(np.isin(sides.block.record[sides.own], known), 1.0, credit)

    return run


def _with_totals(score: Score, totals: TotalsOutcome) -> Score:
    rows = totals.rows()
    details = {**score.details, **({EXACT_TOTALS: rows} if rows else {})}
    return replace(score, details=details, notes=(*score.notes, *totals.in_words()))


@dataclass(frozen=True, slots=True)
class _StepEquations:
    """An exact step, its terms of S, and the place of each linked group among the groups that it masked."""

    step: ExactStep
    design: Design
    place: tuple[int, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, step: ExactStep, by: GroupKeys, data: Microdata) -> _StepEquations | None:
        """None if the intruder knows no column of the step, or not all sub-group columns."""
        groups = by.keys.joined.groups
        masked = step.data_masked(data)
        design = exact_design(masked, step.noise)
        same_groups = step.whole or groups.labels == data.groups.labels
        if design is None or not same_groups or not any(n in step.names for n in by.masked):
            return None
        places = {label: i for i, label in enumerate(masked.groups.labels)}
        return cls(step, design, tuple(places.get(label, -1) for label in groups.labels), tuple(masked.groups.sizes))


@dataclass(frozen=True, slots=True)
class _Orders:
    """Link a sub-group by the orders that satisfy the equations; by unchanged values if it is too large, or if none does."""

    equations: Sequence[_StepEquations]
    weight: str | None
    method: ExactEquations
    tally: SearchTally

    @property
    def columns(self) -> Sequence[str]:
        """Further columns that are read."""
        weighted = any(e.step.noise.weighted for e in self.equations)
        used = [n for e in self.equations for n in (*e.design.columns, *e.step.condition_columns)]
        return [*used, *([self.weight] if weighted and self.weight else [])]

    def link(self, sides: LinkedGroup) -> Floats:
        """Credits of the targets."""
        assert sides.block is not None
        self.tally.add_targets(sides.group, len(sides.own))
        out = np.full(len(sides.y), np.nan)
        out[sides.own] = _unchanged(sides)
        if len(sides.holds) < len(sides.y) or len(sides.y) < 2:
            return out[sides.own]
        for number, one in enumerate(self.equations):
            masked = one.step.rows(sides.block)
            absent = np.isnan(sides.y[masked][:, [j for j, n in enumerate(sides.names) if n in one.step.names]])
            for pattern in np.unique(absent, axis=0):
                rows = masked[(absent == pattern).all(axis=1)]
                if 2 <= len(rows) <= self.method.most_records:
                    credit = self._credit(sides, rows, number)
                    if credit is not None:
                        out[rows] = np.fmax(out[rows], credit)
        return out[sides.own]

    def _credit(self, sides: LinkedGroup, rows: Ints, number: int) -> Floats | None:
        """Credits of records with the same missing values, which are masked together."""
        from larvatus.stats.linkage.exact_orders import exact_equations, order_credit
        from larvatus.stats.linkage.order_search import search_order

        step, design = self.equations[number].step, self.equations[number].design
        assert sides.block is not None
        assert step.noise.similarity is not None
        places = [j for j, n in enumerate(sides.names) if n in step.names and not np.isnan(sides.y[rows, j]).any()]
        places, beta = _closed(places, [step.names.index(sides.names[j]) for j in places], step.noise.similarity)
        x, y = (v[rows][:, places] for v in (sides.originals, sides.y))
        if not places or np.isnan(x).any():
            return None
        s = design.matrix(self.equations[number].place[sides.group], sides.block)[rows]
        weighted = step.noise.weighted and self.weight is not None
        weight = sides.block[self.weight][rows] if weighted and self.weight else np.ones(len(rows))
        equations = exact_equations(x, y, s, weight, beta, step.rounding([sides.names[j] for j in places]))
        if equations is None:
            return None
        same = np.unique(sides.same[rows], return_inverse=True)[1]
        if len(rows) <= self.method.largest:
            return order_credit(equations, same)
        own, key = int(np.isin(rows, sides.own).sum()), (sides.group, bytes([number]) + rows.tobytes())
        return search_order(equations, same, self.method.annealed, self.method.branched, self.tally, key, own)


def _with_searches(score: Score, tally: SearchTally, method: ExactEquations) -> Score:
    """The score with an interval that counts orders which are determined but were not found, and notes on the searches."""
    rows: list[Row] = [{"outcome": what, "sub_groups": groups, "records": targets}
                       for what in OUTCOMES for groups, targets in [tally.count(what)] if groups]
    if not rows:
        return score
    found = ", ".join(f"{row['outcome']} in {row['sub_groups']:,}" for row in rows)
    notes = [f"sub-groups of more than {method.largest} records whose order the equations determine: {found}"]
    if tally.count(NOT_TRIED)[0]:
        notes.append(f"sub-groups that were not tried count at the rate of those that were, {tally.rate:.3g}")
    if tally.open_share > 0:
        notes.append("orders that are determined but were not found count as found in the upper end of the interval: more "
                     "computing time may find them")
    interval = score.interval
    if interval is not None and tally.open_share > 0:
        interval = (interval[0], max(interval[1], min(score.value + tally.open_share, 1.0)))
    groups, targets = tally.count(BEYOND)
    gaps = [f"in {groups:,} sub-groups ({targets:,} records) the equations determine which row is whose, and only computing "
            "time protects the records"] if groups else []
    return replace(score, interval=interval, notes=(*score.notes, *notes),
                   details={**score.details, "searches": Rows.of(rows), **gaps_table(gaps)})


def _closed(places: Sequence[int], own: Sequence[int], beta: Matrix) -> tuple[list[int], Matrix]:
    """The columns whose similarity involves no column that the intruder does not know, and their similarity."""
    keep = list(range(len(own)))
    while True:
        inside = [own[k] for k in keep]
        outside = [c for c in range(len(beta)) if c not in inside]
        fewer = [k for k in keep if not beta[own[k], outside].any()]
        if len(fewer) == len(keep):
            return [places[k] for k in keep], beta[np.ix_(inside, inside)]
        keep = fewer


def _insiders(step: ExactStep, original: Microdata, release: Microdata) -> Rows:
    """By sub-group, the number of insiders who suffice to compute the other records: m and r from complete records.

    Records that S holds in place have rows of their own: of k records with an exact sum, k − 1 suffice. So have the few
    values of a column that is the same in all other records, and columns with few different values.
    """
    from larvatus.stats.linear.covariance_factors import CentredRows
    from larvatus.stats.linear.fit_on_s import fit_of
    from larvatus.stats.linkage.exact_orders import insiders_needed

    data = step.data_masked(release)
    design = exact_design(data, step.noise)
    if design is None:
        return Rows()
    held = _held_by_group(data, design)
    names = [n for n in step.names if n in data.table.columns]

    def rows(group: int, block: Block) -> CentredRows | None:
        values = np.hstack([design.matrix(group, block), block.matrix(names)])
        whole = values[~np.isnan(values).any(axis=1)]
        return CentredRows.of(whole) if len(whole) else None

    def merge(one: CentredRows | None, other: CentredRows | None) -> CentredRows | None:
        return CentredRows.merge(one, other) if one is not None and other is not None else one or other

    out: list[Row] = []
    dimensions = [0] * len(data.groups)
    for g, found in enumerate(reduce_groups(data, list(dict.fromkeys([*names, *design.columns])), rows, merge)):
        if found is None or found.count < 2:
            continue
        fit = fit_of(found, len(design.terms))
        m, r = found.count - 1 - len(fit.chosen), len(fit.rest)
        dimensions[g] = len(fit.chosen)
        rotated = step.noise.similarity is None or m < 2 * r
        own = held.get(g, {})
        out.append({"sub_group": data.groups.name(g), "records": max(found.count - sum(len(i) for i, _ in own.values()), 0),
                    "dimensions": m, "rank": r, "insiders": insiders_needed(m, r, rotated)})
        within = [data.groups.name(g)] if data.groups.columns else []
        out += [{"sub_group": ", ".join([*within, what]), "records": len(ids), "dimensions": 0, "rank": r, "insiders": needed}
                for what, (ids, needed) in own.items()]
    source = step.data_masked(in_groups_of(original, release))
    if len(source.groups) == len(data.groups):
        out += [*sparse_values(source, names, design, dimensions, SAFE_AGAINST), *few_levels(source, names, design)]
    return Rows.of(out)


def _held_by_group(data: Microdata, design: Design) -> dict[int, dict[str, tuple[set[int], int]]]:
    """By sub-group and by what holds them, the records that S holds in place and the insiders who suffice to compute one."""
    out: dict[int, dict[str, tuple[set[int], int]]] = {}
    seen: set[int] = set()
    for h in sorted(records_in_place(data, design, rare=SAFE_AGAINST + 1), key=lambda h: len(h.records)):
        ids, needed = out.setdefault(h.group, {}).get(h.what, (set(), len(h.records) - 1))
        out[h.group][h.what] = ids | (set(h.records) - seen), min(needed, len(h.records) - 1)
        seen |= set(h.records)
    return {g: {what: found for what, found in mine.items() if found[0]} for g, mine in out.items()}
