"""Likelihood ratios of membership for masks with a known law: exact moments, or normal linear noise.

The intruder knows the mask, and takes columns as normal with the moments of other records of the population.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from larvatus.attacks.unpaired.compared_files import ComparedFiles, FileRecords
from larvatus.core.arrays import Floats
from larvatus.data.laws import Law
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows
from larvatus.data.steps import columns_of_step, is_key_step, view_of_step

_FEW = 5  # records beyond the number of columns below which a sub-group is passed over
_RATE = 0.01
_Scored = Callable[[int, Floats, Floats, Floats], tuple[Floats, Floats, Row]]


@dataclass(frozen=True, slots=True)
class MembershipLikelihood:
    """The log ratio of every training record, then of every record held out, and what the closed form expects."""

    scores: Floats
    rule: str
    expected: Rows


def likelihood_of(files: ComparedFiles, original: Microdata, release: Release) -> MembershipLikelihood | None:
    """The ratios, if one mask with a known law made the release, and every sub-group is large enough; else None."""
    steps = [s for s in release.steps if not is_key_step(s, original.roles)]
    if len(steps) != 1 or steps[0].where is not None or not release.is_paired or len(release.rules) or len(release.copies) > 1:
        return None
    step, numbers = steps[0], [n for n in files.columns if files.columns[n].kind == "number"]
    if step.exact_noise(release.data.confidential) is not None:
        return _by_group(files, numbers, _moments, "published means and covariances")
    law = step.law(view_of_step(step, original))
    masked = list(columns_of_step(step, original))
    plain = law is not None and not law.given and not law.zeros_kept and all(g.shape == "normal" for g in law.groups)
    if law is None or not plain or list(law.confidential) != masked or not set(masked) <= set(numbers):
        return None
    return _by_group(files, masked, _rows_under(law), "released rows, one by one")


def _by_group(files: ComparedFiles, names: list[str], scored: _Scored, rule: str) -> MembershipLikelihood | None:
    sides = files.training, files.holdout
    out = [np.zeros(len(side)) for side in sides]
    expected: list[Row] = []
    for g in range(len(files.groups.sizes)):
        released, training, held = (_matrix(f, names, g) for f in (files.released, *sides))
        if min(len(released), len(training), len(held)) < len(names) + _FEW or not names:
            return None
        try:
            mine, others, closed_form = scored(g, released, training, held)
        except np.linalg.LinAlgError:  # a combination of columns does not vary in the reference
            return None
        for side, found, part in zip(sides, (mine, others), out, strict=True):
            part[side.group == g] = found
        expected.append({"sub_group": files.groups.name(g), "columns": len(names), "records": len(released), **closed_form})
    return MembershipLikelihood(np.concatenate(out), rule, Rows.of(expected))


def _moments(g: int, released: Floats, training: Floats, held: Floats) -> tuple[Floats, Floats, Row]:
    """By the leverage of a record in the published moments."""
    from larvatus.stats.closeness.membership_ratios import (
        area_of,
        moment_log_density,
        moment_separations,
        reference_log_densities,
        to_unit_scatter,
        true_positives_of,
    )

    mean, n = released.mean(axis=0), len(released)
    turn = to_unit_scatter((released - mean).T @ (released - mean))
    mine, others, reference = ((side - mean) @ turn for side in (training, held, held))
    known = reference_log_densities(mine, reference)
    floor = -1e6  # of a record that no file with these moments contains
    ratios = [np.maximum(moment_log_density(at, n) - k, floor) for at, k in zip((mine, others), known, strict=True)]
    v = moment_separations(turn.shape[1], n)
    return ratios[0], ratios[1], {"AUC, closed form": area_of(v), "recognised at 1 % false positives, closed form":
                                  true_positives_of(v, _RATE)}


def _rows_under(law: Law) -> _Scored:
    def scored(g: int, released: Floats, training: Floats, held: Floats) -> tuple[Floats, Floats, Row]:
        from larvatus.stats.closeness.membership_ratios import most_true_positives, row_divergence, row_log_ratios
        from larvatus.stats.linkage_law.canonical_correlations import canonical_correlations

        one = law.groups[g]
        ratios = [row_log_ratios(side, released, one.on_x, one.intercept, one.covariance) for side in (training, held)]
        inside = np.cov(training.T, ddof=0).reshape(len(one.on_x), -1)
        rho = np.minimum(canonical_correlations(inside, one.on_x, one.covariance), 1 - 1e-12)
        bound = most_true_positives(row_divergence(rho, len(released)), _RATE)
        return ratios[0], ratios[1], {"recognised at 1 % false positives, at most in normal columns": bound}

    return scored


def _matrix(part: FileRecords, names: list[str], g: int) -> Floats:
    """The numbers of a sub-group; missing values are replaced by the mean there."""
    here = part.group == g
    columns = []
    for name in names:
        value = np.asarray(part.values[name][here], dtype=np.float64)
        gone = np.isnan(value)
        columns.append(np.where(gone, value[~gone].mean() if (~gone).any() else 0.0, value))
    return np.stack(columns, axis=1) if columns else np.zeros((int(here.sum()), 0))
