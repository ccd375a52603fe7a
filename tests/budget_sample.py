"""Made-up people and the keeper's key for tests of budgets."""

from __future__ import annotations

import numpy as np
import pandas as pd

KEY = b"a key that nobody else knows"


def people(n: int = 240, seed: int = 1, shape: str = "skewed") -> pd.DataFrame:
    draws = np.random.default_rng(seed)
    z = draws.normal(size=(n, 3)) @ np.array([[1, 0.5, 0.2], [0, 1, 0.4], [0, 0, 1]])
    x = np.exp(z) if shape == "skewed" else z
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "g": draws.choice(list("mn"), n)})
