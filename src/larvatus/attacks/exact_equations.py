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

from larvatus.attacks.linkage.group_linkage import GroupKeys, Link, LinkedGroup, link_groups
from larvatus.attacks.linkage.target_sample import QUICK_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats, Ints, Matrix
from larvatus.core.errors import RolesError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack, Block
from larvatus.data.design import Design, design_of
from larvatus.data.exposure.leverage import with_pooled_levels
from larvatus.data.intruder import Intruder
from larvatus.data.laws import ExactNoise
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.steps import view_of_step
from larvatus.data.verbs import reduce_groups


@dataclass(frozen=True, slots=True)
class _ExactStep:
    """The exact step of a release: its columns, what holds exactly, and whether it masked all records in sub-groups."""

    names: tuple[str, ...]
    noise: ExactNoise
    by_group: bool


class ExactEquations(Attack):
    """The intruder knows all records of a sub-group and tries the orders in which they may have been released.

    Masks that keep means and covariances exactly leave equations between original and released values. In sub-groups of up to
    `largest` records all orders are searched, and those that satisfy every equation share the credit. In sub-groups of up to
    `annealed` records an order that satisfies them is looked for by simulated annealing. In larger sub-groups, and with masks
    that leave no such equations, only records that were released unchanged are found. For each sub-group the
    details also give the number of insiders, persons who know their own records only, who suffice to compute the others.

    Parameters:
        largest: largest sub-group whose orders are searched; the time grows about fivefold with each record.
        annealed: largest sub-group in which simulated annealing looks for an order, for about a second.
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
        default=40, description="largest sub-group in which an order is looked for by simulated annealing"
    )
    targets: Targets = None

    def why_unsuitable(self, release: Release, intruder: Intruder) -> str:
        if not any(_exact_step(r) for r in (release, *release.internals.other_releases)):
            return "no step keeps means and covariances exactly."
        return "" if intruder.knows_settings_of(release.steps) else "the intruder does not know how the release was masked."

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, soft_too=False)
        step = _exact_step(release) if intruder.knows_settings_of(release.steps) else None
        design = _design(release.data) if step is not None else Design(())
        link: Link = _unchanged
        also: Sequence[str] = ()
        if step is None or design is None or not _usable(by, step, release, intruder):
            notes = ["only records that were released unchanged can be found by equations"]
        else:
            order = _Orders(step, design, release.data.roles.weight, self.largest, self.annealed)
            link, also = order.link, order.columns
            many = sum(n > max(self.largest, self.annealed) for n in release.data.groups.sizes)
            notes = [f"all orders are searched in sub-groups of up to {self.largest} records, and one that fits is looked for "
                     f"in those of up to {self.annealed}; {many:,} of {len(release.data.groups):,} are larger"]
        score = link_groups(
            self, "share of records whose released record follows from exact equations (orders that satisfy them share the "
            "credit)", original, release, intruder, by, link, notes=notes, columns=also,
        )
        if step is None or design is None:
            return score
        found = _insiders(release.data, step, design)
        least = min((int(str(r["insiders"])) for r in found), default=None)
        said = [] if least is None else [
            f"insiders who suffice to compute the other records: {least} in the weakest sub-group"]
        return replace(score, details={**score.details, "insiders": found}, notes=(*score.notes, *said))


def _exact_step(release: Release) -> _ExactStep | None:
    """The exact step, if no other step masks its columns and no step drops records."""
    if release.internals.copies_averaged > 1 or any(s.drops for s in release.steps):
        return None
    seen = [view_of_step(s, release.data).confidential for s in release.steps]
    for i, step in enumerate(release.steps):
        noise = step.exact_noise(seen[i])
        others = {n for k, names in enumerate(seen) if k != i for n in names}
        if noise is not None and not others & set(seen[i]):
            whole = step.scope == "sub_group" or not release.data.groups.columns
            return _ExactStep(seen[i], noise, whole and step.where is None)
    return None


def _design(data: Microdata) -> Design | None:
    """The terms of S that the mask used, with rare categories pooled if the study pools."""
    try:
        design = design_of(data, data.non_confidential)
    except RolesError:
        return None
    return with_pooled_levels(data, design)[0] if data.sub_groups.pools else design


def _usable(by: GroupKeys, step: _ExactStep, release: Release, intruder: Intruder) -> bool:
    """Whether there are equations, and the intruder knows enough to write them down."""
    same_groups = by.keys.joined.groups.labels == release.data.groups.labels
    known = any(n in step.names for n in by.masked)
    return bool(step.by_group and step.noise.similarity is not None and same_groups and known and not intruder.error)


def _unchanged(sides: LinkedGroup) -> Floats:
    from larvatus.stats.linkage.exact_orders import unchanged_credit

    return unchanged_credit(sides.originals, sides.y, sides.same, sides.own)


@dataclass(frozen=True, slots=True)
class _Orders:
    """Link a sub-group by the orders that satisfy the equations; by unchanged values if it is too large, or if none does."""

    step: _ExactStep
    design: Design
    weight: str | None
    largest: int
    annealed: int

    @property
    def columns(self) -> Sequence[str]:
        more = [self.weight] if self.step.noise.weighted and self.weight else []
        return [*self.design.columns, *more]

    def link(self, sides: LinkedGroup) -> Floats:
        """Credits of the targets."""
        out = np.full(len(sides.y), np.nan)
        out[sides.own] = _unchanged(sides)
        if len(sides.holds) < len(sides.y) or len(sides.y) < 2:
            return out[sides.own]
        absent = np.isnan(sides.y)
        for pattern in np.unique(absent, axis=0):
            rows = np.flatnonzero((absent == pattern).all(axis=1)).astype(np.int64)
            if 2 <= len(rows) <= max(self.largest, self.annealed):
                credit = self._credit(sides, rows)
                if credit is not None:
                    out[rows] = credit
        return out[sides.own]

    def _credit(self, sides: LinkedGroup, rows: Ints) -> Floats | None:
        """Credits of records with the same missing values, which are masked together."""
        from larvatus.stats.linkage.exact_orders import annealed_credit, exact_equations, order_credit

        assert sides.block is not None
        assert self.step.noise.similarity is not None
        places = [j for j, n in enumerate(sides.names) if n in self.step.names and not np.isnan(sides.y[rows, j]).any()]
        places, beta = _closed(places, [self.step.names.index(sides.names[j]) for j in places], self.step.noise.similarity)
        x, y = (v[rows][:, places] for v in (sides.originals, sides.y))
        if not places or np.isnan(x).any():
            return None
        s = self.design.matrix(sides.group, sides.block)[rows]
        weighted = self.step.noise.weighted and self.weight is not None
        weight = sides.block[self.weight][rows] if weighted and self.weight else np.ones(len(rows))
        equations = exact_equations(x, y, s, weight, beta)
        if equations is None:
            return None
        same = np.unique(sides.same[rows], return_inverse=True)[1]
        return order_credit(equations, same) if len(rows) <= self.largest else annealed_credit(equations, same)


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


def _insiders(data: Microdata, step: _ExactStep, design: Design) -> Rows:
    """By sub-group, the number of insiders who suffice to compute the other records: m and r from complete records."""
    from larvatus.stats.linear.covariance_factors import CentredRows
    from larvatus.stats.linear.fit_on_s import fit_of
    from larvatus.stats.linkage.exact_orders import insiders_needed

    names = [n for n in step.names if n in data.table.columns]

    def rows(group: int, block: Block) -> CentredRows | None:
        values = np.hstack([design.matrix(group, block), block.matrix(names)])
        whole = values[~np.isnan(values).any(axis=1)]
        return CentredRows.of(whole) if len(whole) else None

    def merge(one: CentredRows | None, other: CentredRows | None) -> CentredRows | None:
        return CentredRows.merge(one, other) if one is not None and other is not None else one or other

    out: list[Row] = []
    for g, found in enumerate(reduce_groups(data, list(dict.fromkeys([*names, *design.columns])), rows, merge)):
        if found is None or found.count < 2:
            continue
        fit = fit_of(found, len(design.terms))
        m, r = found.count - 1 - len(fit.chosen), len(fit.rest)
        rotated = step.noise.similarity is None or m < 2 * r
        out.append({"sub_group": data.groups.name(g), "records": found.count, "dimensions": m, "rank": r,
                    "insiders": insiders_needed(m, r, rotated)})
    return Rows.of(out)
