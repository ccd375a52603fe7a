"""Two confidential columns with one of four shapes and a non-confidential one, to study reverse mapping (001 §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Shape = Literal["normal", "skewed", "zero-inflated", "discrete"]
SHAPES: tuple[Shape, ...] = ("normal", "skewed", "zero-inflated", "discrete")
_LATENT = np.array([[1, 0.5, 0.5], [0.5, 1, 0.6], [0.5, 0.6, 1]])
ZERO_BELOW = -0.25  # about 40 % of a standard normal


def shapes(n: int = 1000, seed: int = 0, shape: Shape = "normal") -> pa.Table:
    """Columns s, x1 and x2 joined by a normal copula (.5 with s, .6 with each other); x1 and x2 have the given shape.

    "normal": 100 + 15 z. "skewed": exp(z), lognormal. "zero-inflated": exp(z), with 0 for the lowest four in ten. "discrete":
    floor(exp(.8 z + 1)), with many ties. 001 announces a study by size and characteristics of the data and publishes none,
    so there are no published figures to match.

    Examples:
        >>> import larvatus as lv
        >>> lv.datasets.shapes(500, shape="zero-inflated").column_names
        ['s', 'x1', 'x2']
    """
    import pyarrow as pa

    if n < 1:
        raise ValueError(f"n: at least 1 record is needed, got {n}.")
    if shape not in SHAPES:
        raise ValueError(f"shape: one of {', '.join(SHAPES)}, got {shape!r}.")
    rng = np.random.Generator(np.random.Philox(seed))
    s, *z = (rng.standard_normal((n, 3)) @ np.linalg.cholesky(_LATENT).T).T
    return pa.table({"s": s, "x1": _made(shape, z[0]), "x2": _made(shape, z[1])})


def _made(shape: Shape, z: NDArray[np.float64]) -> NDArray[np.float64]:
    if shape == "normal":
        return 100 + 15 * z
    if shape == "discrete":
        return np.floor(np.exp(0.8 * z + 1))
    return np.where((z < ZERO_BELOW) & (shape == "zero-inflated"), 0.0, np.exp(z))
