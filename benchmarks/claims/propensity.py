"""Propensity scores against weighted Gram products of the same design: 1,000,000 stacked records × 56 terms."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import larvatus as lv
from run import Claim

N, P = 500_000, 5
SECRET = b"0123456789abcdef"
X = [f"x{j}" for j in range(P)]
FULL = 'propensity(model="logit", interactions="full")'


def _files() -> tuple[lv.Microdata, lv.Release, np.ndarray, np.ndarray]:
    """Normal data, a release with noise, and the design with all terms of degree 3 as one array."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(N, P)) @ (np.eye(P) + 0.3)
    data = lv.read(pa.table({name: np.ascontiguousarray(z[:, j]) for j, name in enumerate(X)}), confidential=X)
    release = lv.mask(data, "additive_noise(variance=0.1)", secret=SECRET)
    design = rng.normal(size=(2 * N, 56))
    return data, release, design, np.full(2 * N, 0.25)


def claim_propensity_in_total() -> Claim:
    data, release, design, weight = _files()
    return Claim(
        "propensity, logit with 56 terms, 1,000,000 stacked records", lambda: design.T @ (weight[:, None] * design),
        lambda: lv.utility(data, release, [FULL]), 12.0, "one weighted Gram product of the design", repeats=3,
    )


def claim_propensity_per_step() -> Claim:
    from larvatus.measures.propensity_models.files import two_files
    from larvatus.measures.propensity_models.logistic import Model, _pass
    from larvatus.stats.models.design_terms import recipe_of

    data, release, design, weight = _files()
    files = two_files(data, release.data, None, False)
    recipe = recipe_of([a for v in files.variables for a in v.atoms()], 3, "full", 200)
    at = np.full(len(recipe.terms) + 1, 0.01)
    asked = {0: (Model(np.arange(len(recipe.terms) + 1), None, 0.5), at)}
    return Claim(
        "propensity, one Newton step with 56 terms, 1,000,000 stacked records", lambda: design.T @ (weight[:, None] * design),
        lambda: [_pass(files, recipe, side, asked) for side in (0, 1)], 1.5, "one weighted Gram product of the design",
        repeats=5,
    )
