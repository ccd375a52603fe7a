"""Codes of missing values in ordinary files, and weights with noise.

X
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment

import larvatus as lv
from larvatus.core.arrays import Floats, Ints
from strongest_attack import strongest

CODES = [-7, -8, -9]
COLUMNS = ["wage", "rent", "debt", "age"]


def secret(k: int) -> bytes:
    return bytes([k]) * 32


def survey(seed: int, n: int = 300, coded: float = 0.3) -> pd.DataFrame:
    """Four correlated columns with ties and zeros, four regions; some cells have a code of missing values."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 4)) @ np.array([[1, 0.6, 0.4, 0.3], [0, 0.8, 0.2, 0.4], [0, 0, 0.9, 0.2], [0, 0, 0, 0.85]])
    frame = pd.DataFrame({"wage": np.exp(9 + 0.6 * z[:, 0]).round(-1), "rent": np.exp(6 + 0.5 * z[:, 1]).round(),
                          "debt": np.where(z[:, 2] > 0, np.exp(8 + z[:, 2]).round(-2), 0.0),
                          "age": np.clip(45 + 15 * z[:, 3], 16, 95).round()})
    for name in COLUMNS:
        gone = rng.random(n) < coded
        frame.loc[gone, name] = rng.choice(CODES, gone.sum(), p=[0.2, 0.5, 0.3])
    return frame.assign(region=rng.choice(list("NSEW"), n))


def read(frame: pd.DataFrame, **roles: object) -> lv.Microdata:
    given = {"confidential": COLUMNS, "sub_groups": ["region"], "missing": dict.fromkeys(COLUMNS, CODES), **roles}
    return lv.read(frame, **given)


# ------------------------------------------------------------------------------------------------------------- the intruder

def ranks(values: Floats) -> Floats:
    """Ranks as shares, NaN for codes."""
    return pd.Series(values).where(values >= 0).rank(pct=True).to_numpy()


def evidence(x: Floats, y: Floats, simulated: Sequence[Floats]) -> Floats:
    """Log-likelihood ratio of each pair in one column: equality, and the distance in ranks, as in releases made again."""
    far = [np.abs(ranks(x) - ranks(s)) for s in simulated]
    edges = np.linspace(0, 1, 25)
    own = np.histogram(np.concatenate(far), edges)[0] + 0.2
    any_pair = np.histogram(np.abs(ranks(x)[:, None] - ranks(y)[None]), edges)[0] + 0.2
    place = np.clip(np.digitize(np.abs(ranks(x)[:, None] - ranks(y)[None]), edges) - 1, 0, 23)
    moved = np.log(own / own.sum())[place] - np.log(any_pair / any_pair.sum())[place]
    there = x >= 0
    kept = np.mean([(s == x)[there].mean() for s in simulated])
    often = pd.Series(x).map(pd.Series(x[there]).value_counts(normalize=True)).to_numpy()[:, None]
    same = np.log(np.maximum(kept / often, 1.0))
    out = np.where(x[:, None] == y[None], same, moved + np.log(max(1 - kept, 1e-3)))
    return np.where(there[:, None] & (y >= 0)[None], out, np.where(x[:, None] == y[None], 0.0, -1e6))


def one_to_one(score: Floats, group: Ints) -> float:
    """The share of records linked right by the best assignment in each group."""
    hits = 0
    for g in np.unique(group):
        rows = np.flatnonzero(group == g)
        hits += int((linear_sum_assignment(-score[np.ix_(rows, rows)])[1] == np.arange(len(rows))).sum())
    return hits / len(group)
