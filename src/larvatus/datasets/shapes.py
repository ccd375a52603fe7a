"""Two confidential columns of one of four shapes, and one that is not confidential, to study reverse mapping on (001 §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Shape = Literal["normal", "skewed", "zero-inflated", "discrete"]
SHAPES: tuple[Shape, ...] = ("normal", "skewed", "zero-inflated", "discrete")
LATENT = np.array([[1, 0.5, 0.5], [0.5, 1, 0.6], [0.5, 0.6, 1]])
ZERO_BELOW = -0.25  # about 40 % of a standard normal


def shapes(n: int = 1000, seed: int = 0, shape: Shape = "normal") -> pa.Table:
    """Columns s, x1 and x2 joined by one normal copula (.5 with s, .6 with each other), x1 and x2 of the shape asked for.

    "normal" keeps the normal scores (mean 100, SD 15); "skewed" takes exp(z), lognormal; "zero-inflated" does so too, but
    with 0 for the lowest four in ten; "discrete" counts whole numbers, floor(exp(.8 z + 1)), with many ties. 001 promises
    a study by size and by characteristics of the data and publishes none: nothing is matched, the shapes are those named.
    """
    import pyarrow as pa

    if n < 1:
        raise ValueError(f"n: at least 1 record is needed, got {n}.")
    if shape not in SHAPES:
        raise ValueError(f"shape: one of {', '.join(SHAPES)}, got {shape!r}.")
    rng = np.random.Generator(np.random.Philox(seed))
    s, *z = (rng.standard_normal((n, 3)) @ np.linalg.cholesky(LATENT).T).T
    made = {
        "normal": lambda v: 100 + 15 * v, "skewed": np.exp, "zero-inflated": lambda v: np.where(v < ZERO_BELOW, 0, np.exp(v)),
        "discrete": lambda v: np.floor(np.exp(0.8 * v + 1)),
    }[shape]
    return pa.table({"s": s, "x1": made(z[0]), "x2": made(z[1])})
