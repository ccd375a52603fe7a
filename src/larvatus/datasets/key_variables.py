"""Populations of continuous key variables after the hierarchical model A1 of paper 002."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

# mean and SD of the five published values, as far as five values tell, and as the published counts need
PUBLISHED = {"DATA1": (92.0, 3.2), "DATA2": (85.0, 19.0)}


def key_variables(
    n: int = 100, columns: int = 1, seed: int = 0, *, like: Literal["DATA1", "DATA2"] | None = None,
    fixed: tuple[float, float] | None = None, centre: float = 90.0, spread: float = 10.0, shape: float = 6.0,
    scale: float = 500.0,
) -> pa.Table:
    """Columns x1, x2 …, independent: x normal with mean μ and variance ξ², μ normal, ξ² inverse gamma, one of each a column.

    `centre` and `spread` are mean and SD of μ; `shape` and `scale` those of ξ², whose mean is scale / (shape - 1): the larger
    it is, the more records differ. With `like`, μ and ξ are fixed at what the published data of 002 show instead: DATA1 mean
    92 and SD 3.2, DATA2 mean 85 and SD 19, n = 100; with `fixed`, at a mean and SD of your own. The paper prints five records
    of each and neither the constants of A1 nor the other records; those are matched in law only, not in value.
    """
    import pyarrow as pa

    if n < 1 or columns < 1:
        raise ValueError(f"n and columns: at least 1 of each is needed, got {n} and {columns}.")
    rng = np.random.Generator(np.random.Philox(seed))
    out = {}
    for j in range(columns):
        mean = centre + spread * rng.standard_normal()
        sd = float(np.sqrt(scale / rng.standard_gamma(shape)))
        if like is not None or fixed is not None:
            mean, sd = fixed or PUBLISHED[str(like)]
        out[f"x{j + 1}"] = mean + sd * rng.standard_normal(n)
    return pa.table(out)
