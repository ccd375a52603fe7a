"""Columns that depend on each other in a straight line, along a curve that only rises, and along one that turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_LATENT = np.array([[1, 0.7, 0.7, 0], [0.7, 1, 0.7, 0.5], [0.7, 0.7, 1, 0.5], [0, 0.5, 0.5, 1]])
STEEP = 1.5


def relations(n: int = 4000, seed: int = 0) -> pa.Table:
    """A column s that is not confidential and four that are, made to tell masking techniques apart (000, Table 1).

    Normal scores joined by a normal copula: `line` and `second_line` keep them, so that with s and with each other (.7)
    they depend linearly; `curve` is exp(1.5 z), which rises with both (.5), bends, and has nothing to do with s; `turn` is
    s² - 1 plus a standard normal error, high at both ends of s. 000 prints no data behind its Table 1, so nothing but the
    kinds of relation it names is matched. `s_squared` is there to measure the last one by and is not for release.
    """
    import pyarrow as pa

    rng = np.random.Generator(np.random.Philox(seed))
    s, line, second, bent = (rng.standard_normal((n, 4)) @ np.linalg.cholesky(_LATENT).T).T
    turn = s**2 - 1 + rng.standard_normal(n)
    return pa.table({
        "s": s, "line": line, "second_line": second, "curve": np.exp(STEEP * bent), "turn": turn, "s_squared": s**2,
    })
