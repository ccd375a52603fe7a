"""What the best intruder who knows one record would link if X were normal given S: the linkage law with the file's moments."""

from __future__ import annotations

import numpy as np

from larvatus.certificates.candidates import candidate_cells, hidden_columns, original_values
from larvatus.certificates.laws_of_steps import masking_steps
from larvatus.core.arrays import Floats, Ints
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.steps import columns_of_step, view_of_step
from larvatus.stats.linkage_law.canonical_correlations import canonical_correlations
from larvatus.stats.linkage_law.link_probability import link_probability_in_groups

_MOST_SIZES = 60  # different sizes of cells for which the law is evaluated


def normal_forecast(release: Release, original: Microdata) -> float | None:
    """The expected share; None unless one step with a linear law and normal noise masks every confidential column."""
    steps = masking_steps(release, original)
    if len(steps) != 1 or len(release.copies) > 1 or steps[0].where is not None or release.data.rows != original.rows:
        return None
    law = steps[0].law(view_of_step(steps[0], original))
    names = columns_of_step(steps[0], original)
    if law is None or law.zeros_kept or set(names) != set(release.data.confidential) or law.confidential != names:
        return None
    if any(g.shape != "normal" for g in law.groups):
        return None
    cells = candidate_cells(release, original, hidden=hidden_columns(release, original))
    sizes = cells.sizes
    _, values = original_values(original, names)
    x = np.stack([values[n] for n in names], axis=1).astype(np.float64)
    if np.isnan(x).any() or len(np.unique(sizes)) > _MOST_SIZES:
        return None
    correlations: list[Floats] = []
    counts: list[Floats] = []
    for g, here in enumerate(law.groups):
        rows = np.flatnonzero(cells.group == g)
        inside = _within_cells(x[rows], cells.code[rows])
        correlations.append(canonical_correlations(inside, here.on_x, here.covariance))
        counts.append(sizes[cells.code[rows]].astype(np.float64))
    return link_probability_in_groups(correlations, counts)[0]


def _within_cells(x: Floats, code: Ints) -> Floats:
    """The covariance of X within cells of equal S."""
    _, which, sizes = np.unique(code, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(which, weights=c) for c in x.T], axis=1) / sizes[:, None]
    away = x - means[which]
    return np.asarray(away.T @ away / max(len(x) - len(sizes), 1))
