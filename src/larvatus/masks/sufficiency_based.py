"""Linear models that preserve means and covariances exactly, within each sub-group (Burridge 2003; 000 §3.3).

    Y = β₀ + β₁ S + β₂ X + ε,      sample Cov(ε) = Σ_X|S − β₂ Σ_X|S β₂ᵀ,      ε orthogonal to [1, S, X]
    β₁ = (I − β₂) Σ_XS Σ_SS⁻¹,      β₀ = (I − β₂) μ_X − β₁ μ_S

with β₂ the similarity. The sample means and covariances of (S, Y) equal those of (S, X) to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.design import Design
from larvatus.data.laws import ExactNoise, Law
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import map_groups, map_rows, take_rows, with_table
from larvatus.data.weights import weight_column
from larvatus.masks.grouping.cell_patterns import by_missing_pattern, omission_notes
from larvatus.masks.linear.insiders import (
    NARROW_INTERVAL,
    groups_to_examine,
    insiders_notes,
    insiders_reason,
    rare_categories,
    refuse_pinned,
    smallest_for,
)
from larvatus.masks.linear.large_groups import DrawBlocks, Large, masked_large
from larvatus.masks.linear.leverage import movable_records
from larvatus.masks.linear.models import feasible, linear_law, similarity_matrix, unmoved_notes
from larvatus.masks.noise.last_digits import on_grid_of_group, on_grid_of_groups

if TYPE_CHECKING:
    from larvatus.stats.linear.sufficiency import MaskedGroup

_Share = Annotated[float, Field(ge=0, lt=1)]
_Entry = Annotated[float, Field(ge=-1, le=1)]
LARGEST_WHOLE = 1 << 16
_REFUSED = {
    "reflected": "only the mirror image preserves the moments, and anyone can undo it",
    "forced": "only the original values preserve the moments",
}


class SufficiencyBased(Mask):
    """Replace X by values with exactly the same means and covariances, among themselves and with S, in every sub-group.

    Every linear analysis of the file or of a sub-group gives the original result, to rounding. Distribution shapes are not
    kept: skewed columns come out closer to normal and may get negative values. A larger similarity reveals more of each
    record's own deviation. The noise is exactly orthogonal to X, and that is known too: in a small sub-group, persons who know
    their own records can solve the equations for the records of the others, and whoever knows all records of a sub-group can
    find their order. The smallest sub-group follows from `insiders`. A small one is also refused if this number of
    insiders come too near to the values of the others. A record that S holds in place (the only one of a
    category, or with an extreme value of S) is treated like a sub-group that is too small. So are categories of S with at most
    `insiders` + 1 records: their sums are exact, and all but one of these persons could compute the last one's values.

    Use it if means, covariances and linear regressions must be exact, in the file and in each sub-group. Do not use it for
    strongly skewed columns or columns with many zeros, or in small sub-groups.

    Parameters:
        similarity: share of a record's own deviation from its fit on S that Y keeps; one value, a list in role order, by
            column name, or a matrix in nested lists.
        noise: distribution of the noise before it is made orthogonal: normal, uniform, laplace, or a mixture of normals.
        weighted: preserve means and covariances weighted by the survey weight, instead of unweighted ones.
        insiders: number of persons in a sub-group who, with their own records, must not be able to compute those of the
            others. With r confidential columns and m residual dimensions, m − r − (r + 1)/2 must exceed it. 0 sets no such
            limit.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    publishable: ClassVar[frozenset[str]] = frozenset({"similarity", "noise", "weighted", "insiders"})
    checks: ClassVar[frozenset[str]] = frozenset({"insiders"})
    takes_dates: ClassVar[bool] = False
    nemesis: ClassVar[tuple[str, ...]] = (
        "exact_equations", "posterior_match", "optimal_assignment", "aggregate_disclosure", "simulated_release",
    )

    similarity: _Share | tuple[_Share, ...] | tuple[tuple[_Entry, ...], ...] | dict[str, _Share] = Field(
        default=0.0, description="share of a record's own deviation from its fit on S that Y keeps"
    )
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(
        default="normal", description="distribution of the noise before it is made orthogonal"
    )
    weighted: bool = Field(default=False, description="preserve means and covariances weighted by the survey weight")
    insiders: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=3, description="number of persons in a sub-group who must not be able to compute the records of the others"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(similarity=0.5, noise="laplace"), cls(similarity=0.9, scope="file")

    def smallest(self, data: Microdata) -> int:
        return smallest_for(data, self.insiders, rotated=False)

    def smallest_reason(self) -> str:
        return insiders_reason(self.insiders)

    def exact_noise(self, names: Sequence[str]) -> ExactNoise | None:
        return ExactNoise(self._beta(names), self.weighted, rare_categories(self.insiders))

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        from larvatus.stats.noise.laws import standard_noise

        names = current.confidential
        beta = self._beta(names)
        weight = weight_column(current, self.name(), MaskError) if self.weighted else None
        smallest = self.smallest(current)
        split, present = by_missing_pattern(current, names, smallest, self.name(), self.smallest_reason())
        data, design, held_notes = movable_records(split, present, self.name(), smallest, rare_categories(self.insiders))

        def draws(record: NDArray[np.int64], lanes: int) -> NDArray[np.float64]:
            return standard_noise(self.noise, random, record, lanes)

        large = [g for g, n in enumerate(data.groups.sizes) if n > LARGEST_WHOLE and present[g]]
        part = {there: [names.index(n) for n in there] for there in set(present)}
        betas = [beta[np.ix_(part[there], part[there])] for there in present] if len(part) > 1 else [beta] * len(present)
        outcomes: dict[int, MaskedGroup] = {}
        masked = data
        if len(large) < len(data.groups):
            near = _Nearness(groups_to_examine(data, self.insiders), self.insiders)
            masked = _held_whole(data, large, present, betas, design, draws, outcomes, weight, near)
            refuse_pinned(data, near.shares, self.insiders, self.name())
        if large:
            job = Large(large, {g: present[g] for g in large}, {g: betas[g] for g in large}, design, draws, weight)
            masked, more = masked_large(masked, job)
            outcomes |= more
        notes = [*_settled(data, outcomes, present, design), *omission_notes(current, split, "missing"), *held_notes]
        notes += insiders_notes(self.insiders)
        if current.roles.weight is not None:
            what = "weighted" if weight else "unweighted"
            other = "unweighted" if weight else "weighted"
            notes.append(Note(f"{what} means and covariances are preserved exactly; {other} ones are not"))
        return Masked(masked, notes)

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        weight = weight_column(original, self.name(), MaskError) if self.weighted else None
        shape = "normal" if self.weighted else self.noise
        return linear_law(original, self._beta(original.confidential), weight, shape, orthogonal=True,
                          rare=rare_categories(self.insiders))

    def change_clause(self) -> str:
        return ""

    def public_sentence(self) -> str:
        what = "means, variances and correlations"
        kept = f"{what} weighted by the survey weight" if self.weighted else what
        unkept = " Unweighted ones are not preserved exactly." if self.weighted else ""
        return (
            f"Confidential values were replaced by values from a linear model. After this step their {kept}, "
            f"with each other and with the unmasked columns, equal those of the original.{unkept}"
        )

    def _beta(self, names: Sequence[str]) -> NDArray[np.float64]:
        """The similarity as a matrix over these columns."""
        return similarity_matrix("sufficiency_based.similarity", self.similarity, names)


class _Nearness:
    """How often insiders come near the values of others, by sub-group, for the small ones."""

    def __init__(self, groups: frozenset[int], insiders: int) -> None:
        self.groups, self.insiders = groups, insiders
        self.shares: dict[int, float] = {}

    def look(
        self, g: int, x: NDArray[np.float64], s: NDArray[np.float64], y: NDArray[np.float64], found: MaskedGroup,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        """x, s and y are columns × records."""
        if g not in self.groups or found.status not in ("exact", "rotated") or not found.free.any():
            return
        from larvatus.stats.linear.insider_intervals import share_pinned

        shown = y[found.free].T if found.status == "exact" else None
        self.shares[g] = share_pinned(x[found.free].T, s.T, shown, self.insiders, NARROW_INTERVAL, weight)


def _held_whole(
    data: Microdata, large: Sequence[int], present: Sequence[tuple[str, ...]], betas: Sequence[NDArray[np.float64]],
    design: Design, draws: DrawBlocks, outcomes: dict[int, MaskedGroup], weight: str | None,
    near: _Nearness,
) -> Microdata:
    """Mask the sub-groups that are small enough to be held in memory as a whole."""
    from larvatus.stats.linear.sufficiency import mask_group, mask_groups, one_similarity

    small = [g for g in range(len(data.groups)) if g not in set(large)]
    part = take_rows(data, lambda g, b: np.full(len(b), g not in large), ()) if large else data
    columns = list(dict.fromkeys([*data.confidential, *design.columns, *([weight] if weight else [])]))

    def mask_block(group: int, block: Block) -> Mapping[str, Array]:
        g = small[group]
        names = present[g]
        same = {n: block[n] for n in data.confidential}
        if not names:
            return same
        x = np.array([block[n] for n in names])
        w = draws(block.record, len(names))
        with feasible("sufficiency_based", names, data.groups.name(g)):
            by = None if weight is None else block[weight]
            s = design.matrix(g, block).T
            y, outcomes[g] = mask_group(x, s, w, betas[g], weight=by)
        y = on_grid_of_group(y, x)
        near.look(g, x, s, y, outcomes[g], by)
        return same | dict(zip(names, y, strict=True))

    def mask_together(first: int, starts: NDArray[np.int64], block: Block) -> Mapping[str, Array]:
        names = data.confidential
        x, w = np.array([block[n] for n in names]), draws(block.record, len(names))
        s = design.matrix(small[first], block).T
        y, found = mask_groups(x, s, w, starts, betas[0])
        y = on_grid_of_groups(y, x, starts)
        outcomes.update(zip(small[first : first + len(found)], found, strict=True))
        for i, one in enumerate(found):
            if small[first + i] in near.groups:
                rows = slice(starts[i], starts[i + 1])
                near.look(small[first + i], x[:, rows], s[:, rows], y[:, rows], one)
        return dict(zip(names, y, strict=True))

    plain = weight is None and set(present) == {data.confidential} and not any(t.fill or t.pooled for t in design.terms)
    several = mask_together if plain and one_similarity(betas[0]) is not None else None
    done = map_groups(part, mask_block, columns, together=several)
    if not large:
        return done
    held = {scratch("held", n): n for n in data.confidential}
    both = with_table(data, data.table.pair(done.table, held, partly=True))
    return map_rows(
        both, lambda g, b: {n: b[n] if g in large else b[h] for h, n in held.items()}, [*held, *data.confidential]
    )


def _settled(
    data: Microdata, outcomes: Mapping[int, MaskedGroup], present: Sequence[tuple[str, ...]], design: Design
) -> list[Note]:
    """Raise an error if only the original values preserve the moments of a sub-group; notes on the other sub-groups."""
    notes: list[Note] = []
    far: dict[str, list[int]] = {}
    for g, found in sorted(outcomes.items()):
        if found.status in _REFUSED:
            raise MaskError(
                f"sufficiency_based: sub-group ({data.groups.name(g)}) has {data.groups.sizes[g]} records for "
                f"{len(present[g])} confidential columns given {len(design.terms)} non-confidential terms: "
                f"{_REFUSED[found.status]}. Pool small sub-groups (small = \"pool\"), drop a sub-group column, or leave out a "
                "non-confidential column that determines the confidential ones."
            )
        notes += unmoved_notes(data, {g: [n for n, moved in zip(present[g], found.free, strict=True) if not moved]})
        if found.far.any():
            for n in np.array(present[g])[found.far]:
                far.setdefault(str(n), []).append(g)
    exact = sum(found.status == "exact" for found in outcomes.values())
    notes.append(Note(f"exact in {exact} of {len(data.groups)} sub-groups"))
    rotated = [g for g, found in sorted(outcomes.items()) if found.status == "rotated"]
    if rotated:
        notes.append(Note(
            f"{len(rotated)} sub-groups are too small for the stated similarity; their residuals are rotated at random "
            f"instead, which preserves all means and covariances: {_named(data, rotated)}", "status",
        ))
    two = [g for g, found in sorted(outcomes.items()) if found.two]
    if two:
        notes.append(Note(
            f"{len(two)} sub-groups are so small that only two sets of values preserve their moments at this similarity; one "
            f"was chosen at random. Pool these sub-groups for more protection: {_named(data, two)}", "warning",
        ))
    notes += [Note(
        f"the mean of {n} lies more than ten million standard deviations from zero in {len(where)} sub-groups: in "
        f"double precision its moments cannot be preserved to 1e-9. Subtract a constant from it first: {_named(data, where)}",
        "warning",
    ) for n, where in far.items()]
    return notes


def _named(data: Microdata, groups: Sequence[int]) -> str:
    return "; ".join(data.groups.name(g) for g in groups[:5]) + (" …" if len(groups) > 5 else "")
