"""A pair of wages, as two sources tell them, with heavy tails: after the file that 004 truncates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


def wages(n: int = 26_418, seed: int = 0) -> pa.Table:
    """todo"""
    import pyarrow as pa

    rng = np.random.Generator(np.random.Philox(seed))
    return pa.table({"wage": rng.random(n)*1e6, "cpswage": rng.random(n)*1e6})
