"""Populations of continuous key variables from model A1 of 002: x | μ, ξ² ~ N(μ, ξ²), μ normal, ξ² inverse gamma."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

# approximate mean and SD of the five published values, in line with the published counts
PUBLISHED = {"DATA1": (92.0, 3.2), "DATA2": (85.0, 19.0)}


def key_variables(
    n: int = 100, columns: int = 1, seed: int = 0, *, like: Literal["DATA1", "DATA2"] | None = None,
    fixed: tuple[float, float] | None = None, centre: float = 90.0, spread: float = 10.0, shape: float = 6.0,
    scale: float = 500.0,
) -> pa.Table:
    """Independent columns x1, x2 …: x normal with mean μ and variance ξ², one draw of μ and ξ² per column.

    `centre` and `spread` are the mean and SD of μ. `shape` and `scale` are the parameters of ξ², whose mean is
    scale / (shape - 1): the larger it is, the more records differ. With `like`, μ and ξ are fixed at values close to the
    published data of 002: DATA1 mean 92 and SD 3.2, DATA2 mean 85 and SD 19, n = 100. With `fixed`, they are the given mean
    and SD. The paper prints five records of each, but not the constants of A1 nor the other records. The data therefore
    match in distribution, not in value.

    Examples:
        >>> import larvatus as lv
        >>> lv.datasets.key_variables(columns=3).column_names
        ['x1', 'x2', 'x3']
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
