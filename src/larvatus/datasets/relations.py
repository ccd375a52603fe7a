"""Columns with linear, monotonic and non-monotonic relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_LATENT = np.array([[1, 0.7, 0.7, 0], [0.7, 1, 0.7, 0.5], [0.7, 0.7, 1, 0.5], [0, 0.5, 0.5, 1]])
STEEP = 1.5


def relations(n: int = 4000, seed: int = 0) -> pa.Table:
    """A non-confidential column s and four confidential ones, to compare masking techniques (000, Table 1).

    Normal scores joined by a normal copula. `line` and `second_line` are normal, with linear relations to s and to each other
    (.7). `curve` is exp(1.5 z): it increases with both (.5), is non-linear, and is independent of s. `turn` is s² - 1 plus a
    standard normal error, high at both ends of s. 000 prints no data for its Table 1, so only the kinds of relation are
    matched. `s_squared` is used to measure the last relation and is not for release.

    Examples:
        >>> import larvatus as lv
        >>> lv.datasets.relations(500).column_names
        ['s', 'line', 'second_line', 'curve', 'turn', 's_squared']
    """
    import pyarrow as pa

    rng = np.random.Generator(np.random.Philox(seed))
    s, line, second, bent = (rng.standard_normal((n, 4)) @ np.linalg.cholesky(_LATENT).T).T
    turn = s**2 - 1 + rng.standard_normal(n)
    return pa.table({
        "s": s, "line": line, "second_line": second, "curve": np.exp(STEEP * bent), "turn": turn, "s_squared": s**2,
    })
