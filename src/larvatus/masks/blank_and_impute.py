"""Blank selected cells and impute them given everything else in the record (Kennickell 1997; 000 §3.4).

    y_iB ~ N(E(x_B | s_i, x_iK), Cov(x_B | s, x_K))      for the blanked cells B,      y_iK = x_iK      for the kept cells K

from the normal regression of X on S in the sub-group, with coefficients drawn from their posterior.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.number_format import exact_number
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.design import design_of
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import count_present, map_rows, reduce_groups
from larvatus.masks.imputation.regressions import draw_coefficients, expected_values, fit_notes, regressions
from larvatus.masks.linear.leverage import design_without_rare_levels
from larvatus.stats.linear.portable_algebra import product
from larvatus.stats.noise.rounding import half_step, round_to_base

_Share = Annotated[float, Field(gt=0, le=1)]
_Chosen = Callable[[int, Block], NDArray[np.bool_]]
ValueLimits = tuple[NDArray[np.float64], NDArray[np.float64]]
_USUAL = 0.2
NEARLY_DETERMINED = 1e-6
_DECIMALS = 6  # of values that are multiples of a step


class BlankAndImpute(Mask):
    """Blank selected cells and impute them from their regression on S and on the other cells of the record.

    The other cells keep their original values, so most analyses change little, and linear relations are preserved in
    expectation. Imputed values are rounded to the step of their column (cents, whole numbers, hundreds), so that their digits
    do not mark them. But a cell that the rest of its record nearly determines comes back nearly unchanged, an intruder who
    knows values that were kept can still find the record, and cells that are equal in all copies are original.

    Use it if only some cells are sensitive, such as the tails, and analysts can combine several copies. Do not use it if an
    intruder knows several columns of a record: the cells that stay are original, and they identify it.

    Parameters:
        rate: share of the cells of each column blanked at random (default: 0.2, or 0 if tail is set).
        tail: share of the largest values of each column that are blanked; they are imputed above the bound of the tail.
        within_range: keep imputed values between the smallest and the largest value of the column in the sub-group, so that
            none stands out. This weakens linear relations slightly; false keeps intervals over copies valid.
        copies: number of copies; the same cells are blanked in each.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"rate", "copies"})
    nemesis: ClassVar[tuple[str, ...]] = (
        "exact_match", "probabilistic_linkage", "nearest_record", "attribute_inference", "simulated_release",
    )

    rate: _Share | None = Field(default=None, description="share of the cells of each column blanked at random")
    tail: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="share of the largest values of each column that are blanked"
    )
    within_range: bool = Field(default=True, description="keep imputed values inside the range of the column")
    copies: Annotated[int, Field(ge=1, le=100)] = Field(default=1, description="number of copies")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(rate=1.0, copies=2, within_range=False), cls(rate=0.1, tail=0.1, scope="file")

    @property
    def copy_count(self) -> int:
        return self.copies

    def smallest(self, data: Microdata) -> int:
        return len(design_of(data, data.non_confidential).terms) + len(data.confidential) + 3

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        design, pooling = design_without_rare_levels(current, self.name())
        fits = regressions(current, names, design)
        draws = draw_coefficients(fits, current, random, self.name())
        cuts, (lowest, highest) = self._cuts(current), self._range(current)
        fixed = np.array([fit.fixed for fit in fits])
        chosen = _chooser(names, self._rate, cuts, fixed, random.shared_draws())
        spread = [product(draw.root.T, draw.root) for draw in draws]
        notes = [*fit_notes(current, names, fits), *self._counted(current, chosen), *_determined(names, spread), *pooling]
        laws: dict[tuple[int, bytes], tuple[list[int], list[int], Array, Array]] = {}
        steps = _value_steps(current, names)

        def impute(group: int, block: Block) -> Mapping[str, Array]:
            x = np.array([block[n] for n in names]).reshape(len(names), len(block))
            blank = chosen(group, block)
            y, mean = x.copy(), expected_values(draws[group], design, group, block)
            u = random.uniform(block.record, len(names), purpose="imputation")
            floor = np.where(x > cuts[group][:, None], cuts[group][:, None], lowest[group][:, None])
            ceiling = np.broadcast_to(highest[group][:, None], x.shape)
            for pattern, rows in _patterns(blank, np.isnan(x)):
                if (group, pattern) not in laws:
                    laws[group, pattern] = _law(pattern, spread[group])
                at = np.ix_(np.arange(len(names)), rows)
                y[at] = _imputed(x[at], mean[at], u[at], (floor[at], ceiling[at]), laws[group, pattern])
            return {n: np.where(blank[j], round_to_base(y[j], steps[j]), y[j]) if steps[j] else y[j]
                    for j, n in enumerate(names)}

        if self.copies > 1 and self._rate < 1:
            notes.append(Note("the same cells are blanked in all copies, so a cell that is equal in all copies is original",
                              "warning"))
        columns = list(dict.fromkeys([*names, *design.columns]))
        return Masked(map_rows(current, impute, columns), notes)

    def change_clause(self) -> str:
        return ""

    def public_sentence(self) -> str:
        return "Some confidential values were removed and replaced by random draws from a model, given the rest of the record."

    @property
    def _rate(self) -> float:
        return self.rate if self.rate is not None else 0.0 if self.tail is not None else _USUAL

    def _cuts(self, data: Microdata) -> NDArray[np.float64]:
        """Sub-groups × columns: the value above which cells are blanked."""
        if self.tail is None:
            return np.full((len(data.groups), len(data.confidential)), np.inf)
        found = np.array([data.table.quantiles(n, [1 - self.tail])[:, 0] for n in data.confidential]).T
        return np.where(np.isnan(found), np.inf, found)

    def _range(self, data: Microdata) -> ValueLimits:
        if not self.within_range:
            wide = np.full((len(data.groups), len(data.confidential)), np.inf)
            return -wide, wide
        ends = np.array([data.table.quantiles(n, [0.0, 1.0]) for n in data.confidential])
        return np.nan_to_num(ends[:, :, 0].T), np.nan_to_num(ends[:, :, 1].T)

    def _counted(self, data: Microdata, chosen: _Chosen) -> list[Note]:
        """Notes on how many cells are blanked; an error if there are none."""
        names = data.confidential
        counts = reduce_groups(data, names, lambda g, b: chosen(g, b).sum(axis=1), np.add)
        total, there = np.sum(counts, axis=0), count_present(data).sum(axis=0)
        if not total.any():
            raise MaskError(
                f"{self.name()}: no cell is selected (rate = {exact_number(self._rate)}, tail = {self.tail}), so nothing would "
                "be masked. Increase rate or tail, or leave out constant columns."
            )
        if self.where is not None:
            return []
        return [
            Note(f"{count:,} of {n:,} values of {name} are blanked and imputed", "information" if count else "warning")
            for name, count, n in zip(names, total, there, strict=True)
        ]


def _chooser(names: Sequence[str], rate: float, cuts: Array, fixed: Array, random: RecordRandom) -> _Chosen:
    """Which cells are blanked: the same in every copy, since otherwise one copy would show what another hides."""

    def chosen(group: int, block: Block) -> NDArray[np.bool_]:
        x = np.array([block[n] for n in names]).reshape(len(names), len(block))
        picked = random.uniform(block.record, len(names), purpose="blank") < rate
        return np.asarray((picked | (x > cuts[group][:, None])) & ~np.isnan(x) & ~fixed[group][:, None])

    return chosen


def _patterns(blank: NDArray[np.bool_], absent: NDArray[np.bool_]) -> list[tuple[bytes, Array]]:
    """Rows grouped by which cells are blanked (1) and missing (2); rows without a blanked cell are left out."""
    code = np.ascontiguousarray((blank + 2 * absent).astype(np.uint8).T)
    some = np.flatnonzero(blank.any(axis=0))
    if len(some) == 0:
        return []
    found, place = np.unique(code[some], axis=0, return_inverse=True)
    order = np.argsort(place.ravel(), kind="stable")
    parts = np.split(some[order], np.cumsum(np.bincount(place.ravel()))[:-1])
    return [(row.tobytes(), rows) for row, rows in zip(found, parts, strict=True)]


def _law(pattern: bytes, covariance: Array) -> tuple[list[int], list[int], Array, Array]:
    """Blanked columns, known columns, regression weights of the known ones, and a root of the residual covariance."""
    from larvatus.stats.linear.truncated_normal import conditional_law

    wanted = [j for j, c in enumerate(pattern) if c == 1]
    known = [j for j, c in enumerate(pattern) if c == 0]
    return wanted, known, *conditional_law(covariance, wanted, known)


def _imputed(x: Array, mean: Array, u: Array, limits: ValueLimits, law: tuple[list[int], list[int], Array, Array]) -> Array:
    """Draw the blanked cells one after another, each given the known cells and those already drawn, within its limits."""
    from larvatus.stats.linear.row_maps import rows_times_weights
    from larvatus.stats.linear.truncated_normal import truncated_normal

    wanted, known, weights, root = law
    out, (low, high) = x.copy(), limits
    given = mean[wanted] + (rows_times_weights(x[known] - mean[known], weights.T) if known else 0.0)
    z = np.zeros((len(wanted), x.shape[1]))
    for i, j in enumerate(wanted):
        centre = given[i] + sum(root[i, k] * z[k] for k in range(i))
        if root[i, i] > 0:
            z[i] = truncated_normal(u[j], (low[j] - centre) / root[i, i], (high[j] - centre) / root[i, i])
        out[j] = centre + root[i, i] * z[i]
    return out


def _determined(names: Sequence[str], spreads: Sequence[Array]) -> list[Note]:
    """Warnings on columns that S and the other confidential columns nearly determine."""
    from larvatus.stats.linear.regression import unexplained_variance

    every = range(len(names))
    notes = []
    for j, name in enumerate(names):
        others = [i for i in every if i != j]
        where = sum(
            s[j, j] > 0 and unexplained_variance(s, [j], others)[0] < NEARLY_DETERMINED * s[j, j] for s in spreads if others
        )
        if where:
            notes.append(Note(
                f"{name} is determined by other columns in {where} sub-groups: blanked alone, it gets its original value back",
                "warning",
            ))
    return notes


def _value_steps(data: Microdata, names: Sequence[str]) -> list[float]:
    """The step of which all values of a column are multiples (a cent, a whole number, a hundred); 0 if there is none.

    Imputed values are rounded to it. Otherwise their digits would show which values are original.
    """
    found = reduce_groups(data, names, lambda g, b: [_millionths(b[n]) for n in names],
                          lambda a, b: [gcd(x, y) for x, y in zip(a, b, strict=True)])
    steps = [gcd(*(here[j] for here in found)) for j in range(len(names))]
    return [step / 10**_DECIMALS if step > 1 else 0.0 for step in steps]


def _millionths(values: Array) -> int:
    """The step of some values in millionths: 0 if all are zero or missing, 1 if there is no larger one."""
    there = values[~np.isnan(values)]
    return max(round(2 * half_step(there, decimals=_DECIMALS) * 10**_DECIMALS), 1) if (there != 0).any() else 0
