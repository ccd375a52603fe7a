"""The law of the released rows of a release, record by record, if its steps draw each record on its own.

Given X and S of all records, such steps draw the released rows independently. Everything that the records of a cell share, such
as the fit on S, tells no two of them apart and is left out. A step after them may change what they drew, as long as it looks at
nothing else of a record: whoever sees the result knows no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from larvatus.certificates.candidates import (
    CandidateCells,
    ChosenRecords,
    absent_columns,
    candidate_cells,
    hidden_columns,
    original_values,
)
from larvatus.certificates.determined_columns import nearly_determined
from larvatus.certificates.steps_that_refuse import may_leave_calendar, step_that_may_refuse
from larvatus.certificates.unchanged_columns import (
    chance_of_no_move,
    columns_perhaps_unchanged,
    densest_factor,
    densest_noise,
    values_alike,
    widths_of_change,
)
from larvatus.core.arrays import Floats, Ints, Matrix
from larvatus.core.errors import LarvatusError
from larvatus.data.contracts import Mask
from larvatus.data.households.record_units import record_units
from larvatus.data.labelling.code_collisions import code_ranges
from larvatus.data.laws import FactorLaw, GroupLaw, keeps_zeros
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.steps import TAKEN, columns_of_step, is_key_step, mark_records, view_of_step
from larvatus.data.verbs import as_one_group, take_rows
from larvatus.stats.link_bounds.record_laws import JointLaw, LevelLaw, RandomFactor, RecordLaw, added_noise, no_values

ROW_WISE_STEPS = frozenset({"rounding"})  # later steps that treat each released row on its own, by fixed settings
PROCESSING = ROW_WISE_STEPS | {"top_coding", "recoding", "reverse_map"}  # later steps that read only draws of a record


_NO_DIGITS = 1e-12  # eigenvalue of a correlation matrix below which it is mostly rounding
_UNLIKELY = 1e-9  # chance of a draw without any change below which drawing again is neglected


class NoLaw(LarvatusError):
    """Why no law of the released rows is known."""


@dataclass(frozen=True, slots=True)
class ReleasedLaws:
    """The law of each cell, the cells, and whether each released row depends on its own record's draws only.

    `back` belongs to columns that may come out unchanged, and would be drawn again: the number of sets of values so near that
    they may change places unnoticed, of records that share their cell with others, and a bound on the chance.
    """

    laws: tuple[JointLaw, ...]
    cells: CandidateCells
    row_by_row: bool
    back: tuple[tuple[int, float], ...] = ()


def masking_steps(release: Release, original: Microdata) -> list[Mask]:
    """The steps that mask confidential columns."""
    return [s for s in release.steps if not is_key_step(s, original.roles)]


def check_plain(release: Release, original: Microdata) -> None:
    """Raise `NoLaw` if something other than the steps decides about the released rows, or what is known of them."""
    if not release.steps:
        raise NoLaw("the release was masked elsewhere, so its law is not known")
    if release.internals.other_releases:
        raise NoLaw("several releases are joined")
    if len(release.rules):
        raise NoLaw("rules changed what the steps drew")
    if release.data.rows != original.rows or any(s.drops for s in release.steps):
        raise NoLaw("records were removed")
    if original.roles.household is not None:
        raise NoLaw("records of a household are masked together")
    if record_units(original, original.roles.person, "person") is not None:
        raise NoLaw("records of a person are masked together")
    weight = original.roles.weight
    if weight is not None and weight in release.data.table.columns and release.data.table.columns[weight].replaced:
        raise NoLaw("a step changed the survey weight")
    absent = absent_columns(release, original)
    for step in release.steps:
        if is_key_step(step, original.roles) and set(absent) & set(step.columns or ()):
            raise NoLaw("a key that a step changed is not in the file")


def check_all_masked(release: Release, original: Microdata) -> None:
    """Raise `NoLaw` if a step masks some records only."""
    where = [s.name() for s in masking_steps(release, original) if s.where is not None]
    if where:
        raise NoLaw(f"{where[0]} masks some records only (where)")


def records_by_step(steps: Sequence[Mask], first: Sequence[Mask], original: Microdata) -> list[ChosenRecords]:
    """The records that each step with `where` masks; the `first` steps release the others as they are."""
    return [ChosenRecords(_marks(s, original), columns_of_step(s, original) if s in first else ())
            for s in steps if s.where is not None]


def _marks(step: Mask, original: Microdata) -> Floats:
    return np.asarray(collect(mark_records(step, original), [TAKEN])[2][TAKEN], dtype=np.float64)


def zeros_kept_by(steps: Sequence[Mask], original: Microdata) -> tuple[str, ...]:
    """Columns whose zeros may be recognised in the release."""
    kept = (s for s in steps if keeps_zeros(s) or getattr(s, "zeros", None) == "sub_group")
    return tuple(dict.fromkeys(n for s in kept for n in columns_of_step(s, original)))


def check_first_steps(steps: Sequence[Mask], release: Release, original: Microdata) -> list[Mask]:
    """The steps that mask a column first; raises `NoLaw` if later ones draw again, or a column is masked by none."""
    first: list[Mask] = []
    seen: set[str] = set()
    for step in steps:
        names = set(columns_of_step(step, original))
        if step.name() in PROCESSING and names <= seen:
            _check_weight(step, original)
            continue
        if names & seen:
            raise NoLaw(f"{step.name()} masks a column that another step masked before it")
        first.append(step)
        seen |= names
    left = [n for n in release.data.confidential if n not in seen and n not in release.unmasked]
    if left:
        raise NoLaw(f"{left[0]} is masked by no step whose law is known")
    return first


def laws_of(release: Release, original: Microdata) -> ReleasedLaws:
    """The law of the released rows; raises `NoLaw` with the reason if none is known."""
    check_plain(release, original)
    if len(release.copies) > 1:
        raise NoLaw("the release has several copies")
    steps = masking_steps(release, original)
    first = check_first_steps(steps, release, original)
    chosen, hidden = records_by_step(steps, first, original), hidden_columns(release, original)
    cells = candidate_cells(release, original, zeros_kept_by(first, original), chosen, hidden)
    parts = [_law_of_step(step, original) for step in first]
    column = nearly_determined([s for s, part in zip(first, parts, strict=True) if part.fitted], original, cells)
    if column:
        raise NoLaw(f"S nearly determines {column}, which may be released as it is")
    _, values = original_values(original, original.confidential)
    laws = []
    for rows in cells.rows():
        group = int(cells.group[rows[0]])
        made = [part for step in parts for part in step.of_cell(group, rows, values)]
        laws.append(JointLaw(tuple(made) or (no_values(len(rows)),), len(rows)))
    later = [s for s in steps if s not in first]
    refuses = step_that_may_refuse(later, original, values, [n for part in parts for n in part.around_values()])
    if refuses:
        raise NoLaw(f"{refuses} refuses some draws, so those of the release are not all that the mask may draw")
    shared, back, widths = cells.sizes[cells.code] > 1, [], widths_of_change(original, cells)
    bases = columns_perhaps_unchanged(later, ROW_WISE_STEPS, release, original, values, widths)
    codes = _columns_that_meet_codes(release, original, later)
    bases |= dict.fromkeys(codes, np.inf)  # a value on a code takes that of another record, perhaps its own one
    alike, changed = values_alike(original, cells), {n for step in later for n in columns_of_step(step, original)}
    for name, part in ((n, p) for p in parts for n in p.columns):
        if part.moves is None:
            densest = part.densest(name, cells.group, values[name])
            if original.table.columns[name].dates is not None and may_leave_calendar(values[name], densest):
                raise NoLaw(f"{name} has dates near the year 1 or 9999, and draws beyond them are refused")
            chance = chance_of_no_move(values[name], bases.get(name, 0.0), densest, widths[name])
        else:
            chance = 1.0 if name in changed else 0.0  # new labels may be those of other levels
        back.append((len(np.unique(alike[name][shared])), chance))
    alone = {s.name() for s in later} <= ROW_WISE_STEPS and not codes
    return ReleasedLaws(tuple(laws), cells, alone, tuple(back))


def _check_weight(later: Mask, original: Microdata) -> None:
    """Raise `NoLaw` if a later step uses survey weights that are not released: they are not known like S."""
    weight = original.roles.weight
    uses = getattr(later, "replacement", "") == "mean" and getattr(later, "weighted", None) is not False
    if uses and weight is not None and weight not in original.known:
        raise NoLaw(f"{later.name()} uses the survey weight, which is not released")


def _columns_that_meet_codes(release: Release, original: Microdata, later: Sequence[Mask]) -> list[str]:
    """Columns whose masked values may fall on codes of missing values: they are then moved to a value that another record has.

    Values that nothing rounds do not fall on a single number.
    """
    rounded = {*release.internals.units, *(n for step in later for n in columns_of_step(step, original))}
    codes = {n: code_ranges(original.roles.missing.get(n, ())) for n in original.numeric(original.confidential)}
    return [n for n, ranges in codes.items() if any(low < high or n in rounded for low, high in ranges)]


@dataclass(frozen=True, slots=True)
class _StepLaw:
    """The law of one step in every sub-group: linear, by factors, or between levels; `fitted` if it has a model on S."""

    step: str
    columns: tuple[str, ...]
    groups: tuple[GroupLaw, ...] = ()
    factors: Mapping[str, FactorLaw] | None = None
    moves: Mapping[str, Sequence[Matrix]] | None = None
    zeros_kept: bool = False
    marks: Floats | None = None
    fitted: bool = False

    def of_cell(self, group: int, rows: Ints, values: Mapping[str, Any]) -> list[RecordLaw]:
        if self.marks is not None and not self.marks[rows[0]]:
            return []
        there = [n for n in self.columns if self._changes(values[n][rows[0]])]
        if not there:
            return []
        if self.moves is not None:
            codes = np.stack([values[n][rows].astype(np.int64) for n in there], axis=1)
            return [LevelLaw(codes, tuple(self.moves[n][group] for n in there))]
        x = np.stack([values[n][rows].astype(np.float64) for n in there], axis=1)
        if self.factors is not None:
            return _by_factors([self.factors[n] for n in there], group, x)
        return [self._linear(self.groups[group], [self.columns.index(n) for n in there], x)]

    def around_values(self) -> tuple[str, ...]:
        """Columns that get noise around their own values, with even chances of more and less."""
        plain = bool(self.groups) and not self.fitted and not any(g.intercept.any() for g in self.groups)
        return self.columns if plain and all(np.array_equal(g.on_x, np.eye(len(g.on_x))) for g in self.groups) else ()

    def densest(self, name: str, group: Ints, x: Floats) -> Floats:
        """The highest density of each record's noise in a column; infinite where it has none, or none is known."""
        if self.factors is not None:
            out = densest_factor(self.factors[name], group, x)
        else:
            found = [densest_noise(g, self.columns.index(name)) for g in self.groups]
            out = np.array(found)[group] if found else np.full(len(x), np.inf)
        left = (self.marks == 0 if self.marks is not None else False) | (self.zeros_kept & (x == 0))
        return np.where(left, np.inf, out)

    def _changes(self, value: float) -> bool:
        missing = value < 0 if self.moves is not None else bool(np.isnan(value))
        return not missing and not (self.zeros_kept and value == 0)

    def _linear(self, law: GroupLaw, at: list[int], x: Floats) -> RecordLaw:
        rest = [j for j in range(len(self.columns)) if j not in at]
        if np.abs(law.on_x[np.ix_(at, rest)]).max(initial=0.0) > 0:
            raise NoLaw(f"{self.step}: values are missing, and it mixes columns")
        root = _root_of(law.covariance) if law.root is None else law.root
        root = root[:, at]
        found = added_noise(x @ law.on_x[np.ix_(at, at)].T, root[np.abs(root).max(axis=1) > 0], law.shape)
        if found is None:
            raise NoLaw(f"{self.step}: its noise is not normal and cannot be separated into independent draws")
        return found


def _root_of(covariance: Matrix) -> Matrix:
    """A factor R with RᵀR = covariance, taken on the correlation scale.

    Directions with so little noise that the covariance has no digits of it count as if they had none.
    """
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(np.sqrt(np.where(values > _NO_DIGITS, values, 0.0))[:, None] * vectors.T * sd)


def _by_factors(laws: Sequence[FactorLaw], group: int, x: Floats) -> list[RecordLaw]:
    """Normal factors with normal noise; noise alone; lognormal factors alone, as noise on the logarithms."""
    noise = np.array([f.noise_sd[group] for f in laws])
    spread = np.array([f.bias_sd for f in laws])
    plain, normal = spread == 0, np.array([f.bias == "normal" and f.noise == "normal" for f in laws])
    logs = ~plain & ~normal & (noise == 0) & np.array([f.bias == "lognormal" for f in laws])
    if not (plain | normal | logs).all():
        raise NoLaw("bias_and_noise: no density is available for these distributions of factor and noise")
    out: list[RecordLaw] = []
    if (normal & ~plain).any():
        mixed = normal & ~plain
        out.append(RandomFactor(x[:, mixed], noise[mixed], spread[mixed]))
    for j in np.flatnonzero(plain | logs).tolist():
        value, sd = x[:, j : j + 1], noise[j]
        if logs[j]:
            out.append(_lognormal(value, float(np.sqrt(np.log1p(spread[j] ** 2)))))
            continue
        root = np.full((1, 1), sd) if sd > 0 else np.zeros((0, 1))
        found = added_noise(value, root, laws[j].noise)
        if found is not None:
            out.append(found)
    return out


def _lognormal(value: Floats, sd: float) -> RecordLaw:
    """y = x θ: the sign stays, zeros stay, and log |y| = log |x| + normal noise."""
    zero = value == 0
    size = np.log(np.where(zero, 1.0, np.abs(value)))
    found = added_noise(np.hstack([size, np.sign(value)]), np.array([[sd, 0.0]]), "normal")
    if found is None:
        raise NoLaw("bias_and_noise: no density is available for this factor")
    return found


def _law_of_step(step: Mask, original: Microdata) -> _StepLaw:
    """The law of a step that draws each record on its own."""
    name = step.name()
    if getattr(step, "positive", False):
        raise NoLaw(f"{name} redraws until values are positive")
    if step.where is None:
        return _law_in_view(step, view_of_step(step, original))
    everywhere, view = step.model_copy(update={"where": None}), view_of_step(step, original)
    if not step.record_wise or step.alone:  # such a mask receives the chosen records only
        taken = take_rows(mark_records(step, view), lambda g, b: b[TAKEN] == 1, [TAKEN])
        if taken.groups.labels != view.groups.labels or min(taken.groups.sizes) < step.smallest(taken):
            raise NoLaw(f"{name} masks few records of a sub-group (where)")
        view = taken
    return replace(_law_in_view(everywhere, view), marks=_marks(step, original))


def transitions_of(step: Mask, view: Microdata) -> Mapping[str, Sequence[Matrix]] | None:
    """P(level after | level before) of each column in every sub-group, also if the step runs over the whole file."""
    if step.scope != "file":
        return step.transitions(view)
    found = step.transitions(as_one_group(view))
    return None if found is None else {n: list(moves) * len(view.groups) for n, moves in found.items()}


def check_levels_change(step: str, moves: Mapping[str, Sequence[Matrix]], view: Microdata) -> None:
    """Raise `NoLaw` if a column may keep all its levels: it is then drawn again, and the draws are not those of the matrix."""
    for column, mine in moves.items():
        if _chance_of_no_change(column, mine, view) > _UNLIKELY:
            raise NoLaw(f"{step}: a draw that leaves {column} unchanged is drawn again, likely with so few records")


def _chance_of_no_change(column: str, moves: Sequence[Matrix], view: Microdata) -> float:
    """The probability that every record keeps its level."""
    _, group, values = collect(view, [column])
    code = values[column].astype(np.int64)
    there = code >= 0
    kept = np.array([moves[g][k, k] for g, k in zip(group[there], code[there], strict=True)])
    with np.errstate(divide="ignore"):
        return float(np.exp(np.log(kept).sum()))


def _law_in_view(step: Mask, view: Microdata) -> _StepLaw:
    name, moves = step.name(), transitions_of(step, view)
    if moves is not None:
        check_levels_change(name, moves, view)
        return _StepLaw(name, tuple(moves), moves=moves)
    if not step.record_wise:
        raise NoLaw(f"{name} does not draw each record on its own")
    law = step.law(view)
    if law is not None:
        return _StepLaw(name, law.confidential, groups=law.groups, zeros_kept=law.zeros_kept, fitted=bool(law.given))
    factors = step.factor_law(view)
    if factors is None:
        raise NoLaw(f"{name} states no law of its draws")
    kept = any(f.zeros_kept for f in factors.values())
    return _StepLaw(name, tuple(factors), factors=factors, zeros_kept=kept)
