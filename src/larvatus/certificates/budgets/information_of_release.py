"""The information of one release about who is who: the smallest bound that is proved, and what is needed to add releases up.

    equal S       the mask forgets who is who among records with the same S: nothing
    known law     each record is drawn on its own: Σ over cells of I(record; released row)  (`stats/information`)
    equal rows    any mask: an intruder who also knows its draws can tell all rows apart but equal ones

A later step that reads nothing of a record but its draws adds nothing. Proofs: docs/science/release-budget.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from larvatus.certificates.candidates import CandidateCells, candidate_cells, codes_of, original_values, released_rows
from larvatus.certificates.determined_columns import nearly_determined
from larvatus.certificates.laws_of_steps import (
    NoLaw,
    check_all_masked,
    check_first_steps,
    check_levels_change,
    check_plain,
    masking_steps,
    transitions_of,
    zeros_kept_by,
)
from larvatus.certificates.proofs import EQUAL_S, RARELY_EQUAL
from larvatus.certificates.unchanged_columns import chance_of_equal_draw
from larvatus.core.arrays import Floats, Ints, Matrix
from larvatus.core.errors import LarvatusError, MachineError
from larvatus.data.budgets.release_information import GroupInformation, LinearInformation, ReleaseInformation
from larvatus.data.contracts import Array, Mask
from larvatus.data.laws import Law
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.steps import view_of_step
from larvatus.stats.information.link_limit import pairing_nats, single_nats
from larvatus.stats.information.noise_information import (
    factor_nats,
    gaussian_nats,
    level_nats,
    missing_entropy,
    precision_of,
)

LAW, EQUAL_ROWS = "the law of the noise", "equal released rows"
_MOST_SIZES = 60  # different sizes of cells that a manifest records


def information_of(release: Release, original: Microdata) -> tuple[ReleaseInformation, CandidateCells]:
    """The information of a paired release, and its cells of equal S; `original` is in the sub-groups of the release."""
    cells = candidate_cells(release, original)
    rows = EQUAL_ROWS, _equal_rows(release, cells), None
    reasons: list[str] = []
    found: tuple[str, float, LinearInformation | None] = rows
    try:
        first = _first_steps(release, original)
        cells = candidate_cells(release, original, zeros_kept_by(first, original))
        rows = EQUAL_ROWS, _equal_rows(release, cells), None
        found = _of_steps(first, release, original, cells)
    except MachineError:
        raise
    except LarvatusError as why:
        reasons.append(str(why))
        found = (*rows[:2], _forecast(release, original, cells))
    sizes = cells.sizes
    most = pairing_nats(sizes) / len(cells.code)
    slack = single_nats(sizes) / len(cells.code) - most
    proof, nats, linear = min((found, (*rows[:2], found[2])), key=lambda f: f[1])
    return ReleaseInformation(len(cells.code), min(nats, most), most, slack, cells.chance, proof, tuple(reasons), linear), cells


def _first_steps(release: Release, original: Microdata) -> list[Mask]:
    check_plain(release, original)
    check_all_masked(release, original)
    return check_first_steps(masking_steps(release, original), release, original)


def _equal_rows(release: Release, cells: CandidateCells) -> float:
    """Nats per record about the pairing, for an intruder who also knows the draws."""
    both = [cells.code.astype(np.float64), released_rows(release).astype(np.float64)]
    equal = np.bincount(codes_of(both))
    return float(pairing_nats(cells.sizes) - pairing_nats(equal)) / len(cells.code)


def _of_steps(
    first: Sequence[Mask], release: Release, original: Microdata, cells: CandidateCells
) -> tuple[str, float, LinearInformation | None]:
    forgetting = [s for s in first if s.forgets_pairing()]
    _check_determined(forgetting, original, cells)
    if forgetting and chance_of_equal_draw(release, original, cells) > RARELY_EQUAL:
        raise NoLaw("a draw that leaves a column unchanged is drawn again, perhaps with so few records")
    if len(forgetting) == len(first):
        return EQUAL_S, 0.0, None
    if len(release.copies) > 1:
        raise NoLaw("the release has several copies")
    rest, excess = 0.0, 0.0
    linear: list[tuple[tuple[str, ...], list[Matrix], list[Matrix]]] = []
    _, values = original_values(original, original.confidential)
    for step in first:
        if step in forgetting:
            continue
        view = view_of_step(step, original)
        if getattr(step, "positive", False):
            raise NoLaw(f"{step.name()} redraws until values are positive")
        moves = transitions_of(step, view)
        if moves is not None:
            check_levels_change(step.name(), moves, view)
            rest += float(sum(_of_levels(values[n], moves[n], cells) for n in moves))
            continue
        if not step.record_wise:
            raise NoLaw(f"{step.name()} does not draw each record on its own")
        law = step.law(view)
        if law is None:
            rest += _of_factors(step, view, values, cells)
            continue
        if law.given:
            _check_determined([step], original, cells)
        made = _of_law(law, values, cells, step.name())
        linear.append(made[:3])
        excess += made[3]
    joined = _side_by_side(linear, values, cells, excess, rest)
    nats = rest if joined is None else nats_of(joined)
    return LAW, nats, joined


def _check_determined(models: Sequence[Mask], original: Microdata, cells: CandidateCells) -> None:
    """Raise `NoLaw` if a model on S may release a column as it is."""
    column = nearly_determined(models, original, cells)
    if column:
        raise NoLaw(f"S nearly determines {column}, which may be released as it is")


def nats_of(linear: LinearInformation) -> float:
    """The bound of one release, from its matrices."""
    records = sum(g.records for g in linear.groups)
    mean = sum(g.records * gaussian_nats(*g.matrices()) for g in linear.groups) / max(records, 1)
    return mean + linear.excess + linear.rest


def _of_law(
    law: Law, values: Mapping[str, Any], cells: CandidateCells, name: str
) -> tuple[tuple[str, ...], list[Matrix], list[Matrix], float]:
    """Columns, deviations within cells and precision of each sub-group, and the nats of the distribution of the noise."""
    x, sd = _scaled(law.confidential, values)
    away = _within(x, cells.code)
    plain = np.stack([np.nan_to_num(np.asarray(values[n], dtype=np.float64)) for n in law.confidential], axis=1) / sd
    kept, found, excess = [], [], 0.0
    for g, one in enumerate(law.groups):
        here = away[cells.group == g]
        mixes = np.abs(one.on_x - np.diag(np.diag(one.on_x))).max(initial=0.0) > 0
        if mixes and np.isnan(x[cells.group == g]).any():
            raise NoLaw(f"{name}: values are missing, and it mixes columns")
        root = (_root_of(one.covariance) if one.root is None else one.root) / sd
        precision = precision_of(one.on_x * sd / sd[:, None], root, plain[cells.group == g], cells.code[cells.group == g])
        if precision is None:
            raise NoLaw(f"{name}: some combination of columns is released without noise")
        rank = min(root.shape) if root.size else 0
        excess += len(here) * rank * missing_entropy(one.shape) / len(x)
        kept.append(here)
        found.append(precision)
    return law.confidential, kept, found, excess


def _side_by_side(
    linear: Sequence[tuple[tuple[str, ...], list[Matrix], list[Matrix]]], values: Mapping[str, Any], cells: CandidateCells,
    excess: float, rest: float, proved: bool = True,
) -> LinearInformation | None:
    """The columns of all linear steps together: precisions are blocks on the diagonal."""
    if not linear:
        return None
    names = tuple(n for columns, _, _ in linear for n in columns)
    groups = []
    sizes = cells.sizes
    for g in _in_order_of_records(cells.group):
        away = np.hstack([kept[g] for _, kept, _ in linear])
        precision = np.zeros((len(names), len(names)))
        at = 0
        for columns, _, found in linear:
            precision[at : at + len(columns), at : at + len(columns)] = found[g]
            at += len(columns)
        covariance = away.T @ away / max(len(away), 1)
        counts = np.unique(sizes[cells.code[cells.group == g]], return_counts=True)
        said = tuple((int(n), int(k)) for n, k in zip(*counts, strict=True)) if len(counts[0]) <= _MOST_SIZES else ()
        groups.append(GroupInformation(str(g), len(away), _plain(covariance), _plain(precision), said))
    return LinearInformation(names, tuple(groups), excess, rest, proved)


def _in_order_of_records(group: Ints) -> list[int]:
    """The sub-groups in the order in which they first appear, whatever they are called."""
    found, first = np.unique(group, return_index=True)
    return [int(g) for g in found[np.argsort(first)]]


def _forecast(release: Release, original: Microdata, cells: CandidateCells) -> LinearInformation | None:
    """The matrices of one mask with normal noise that is not independent over records: it keeps moments exactly."""
    steps = masking_steps(release, original)
    if len(steps) != 1 or len(release.copies) > 1 or steps[0].where is not None or release.data.rows != original.rows:
        return None
    try:
        law = steps[0].law(view_of_step(steps[0], original))
        if law is None or law.zeros_kept or any(g.shape != "normal" for g in law.groups):
            return None
        _, values = original_values(original, law.confidential)
        made = _of_law(law, values, cells, steps[0].name())
    except MachineError:
        raise
    except LarvatusError:
        return None
    return _side_by_side([made[:3]], values, cells, 0.0, 0.0, proved=False)


def _of_levels(given: Array, moves: Sequence[Matrix], cells: CandidateCells) -> float:
    codes = np.asarray(given, dtype=np.int64)
    total = 0.0
    for rows in cells.rows():
        if codes[rows[0]] >= 0:
            total += len(rows) * level_nats(codes[rows], moves[int(cells.group[rows[0]])])
    return total / len(codes)


def _of_factors(step: Mask, view: Microdata, values: Mapping[str, Any], cells: CandidateCells) -> float:
    laws = step.factor_law(view)
    if laws is None or any(f.bias != "normal" or f.noise != "normal" for f in laws.values()):
        raise NoLaw(f"{step.name()}: no bound on the information of its draws is known")
    total = 0.0
    for name, law in laws.items():
        for rows in cells.rows():
            x = values[name][rows]
            if np.isnan(x[0]) or (law.zeros_kept and x[0] == 0):
                continue
            total += len(rows) * factor_nats(x, float(law.noise_sd[int(cells.group[rows[0]])]), law.bias_sd)
    return total / len(cells.code)


def _scaled(names: Sequence[str], values: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """The columns in units of their standard deviation in the file, and these units."""
    x = np.stack([np.asarray(values[n], dtype=np.float64) for n in names], axis=1)
    there = ~np.isnan(x)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, x, 0.0).sum(axis=0) / count
    sd = np.sqrt((np.where(there, x - mean, 0.0) ** 2).sum(axis=0) / count)
    sd = np.where(sd > 0, sd, 1.0)
    return (x - mean) / sd, sd


def _within(x: Floats, code: Ints) -> Floats:
    """Values less the mean of their cell; cells share the pattern of missing values, whose deviations are 0."""
    filled = np.where(np.isnan(x), 0.0, x)
    sizes = np.bincount(code)
    means = np.stack([np.bincount(code, weights=c) for c in filled.T], axis=1) / sizes[:, None]
    away = filled - means[code]
    return np.where(sizes[code][:, None] > 1, away, 0.0)


def _root_of(covariance: Matrix) -> Matrix:
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scale)


def _plain(matrix: Matrix) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(v) for v in row) for row in matrix)
