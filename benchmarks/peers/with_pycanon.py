"""Tasks of pycanon: k-anonymity, l-diversity and t-closeness of the release, for four keys and three sensitive columns."""

from __future__ import annotations

import pandas as pd
from people import CONFIDENTIAL, KEYS
from pycanon import anonymity
from timing import run


def k_anonymity(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    return {"k": anonymity.k_anonymity(released, KEYS)}


def l_diversity(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    return {"l": anonymity.l_diversity(released, KEYS, CONFIDENTIAL)}


def t_closeness(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    return {"t": anonymity.t_closeness(released, KEYS, CONFIDENTIAL)}


def read(original: str, released: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_parquet(original), pd.read_parquet(released)


if __name__ == "__main__":
    run("pycanon", {t.__name__: t for t in (k_anonymity, l_diversity, t_closeness)}, read)
