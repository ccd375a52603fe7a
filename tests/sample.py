"""Data that every contract runs over: mixed types, ties, zeros, missing values."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

import larvatus as lv

SECRET = b"sixteen bytes or more for tests"


def people(n: int = 600, seed: int = 1, missing: bool = True) -> pd.DataFrame:
    """Mixed types, ties, zeros, missing values, an integer column, nominal S, two sub-group columns; a copy each time."""
    return (_made if n <= 5000 else _made.__wrapped__)(n, seed, missing).copy()


@lru_cache(64)
def _made(n: int, seed: int, missing: bool) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    sex = rng.integers(1, 3, n)
    age = rng.integers(18, 91, n)
    z = rng.normal(size=(n, 3)) @ np.linalg.cholesky([[1, 0.6, 0.3], [0.6, 1, 0.4], [0.3, 0.4, 1]]).T
    income = np.exp(9 + 0.8 * z[:, 0] + 0.01 * age)
    wealth = np.where(rng.random(n) < 0.3, 0.0, np.exp(10 + 1.2 * z[:, 1]))
    rooms = np.clip(np.rint(4 + 1.5 * z[:, 2]), 1, 12).astype(np.int64)
    frame = pd.DataFrame({
        "id": np.arange(n) * 7 + 3, "name": [f"person {i}" for i in range(n)], "region": region, "sex": sex, "age": age,
        "job": rng.choice(["none", "part", "full"], n), "income": income, "wealth": wealth, "rooms": rooms,
    })
    if missing:
        frame.loc[rng.random(n) < 0.05, "income"] = np.nan
        frame.loc[rng.random(n) < 0.05, "job"] = None
    frame["house"] = rng.choice(["owned", "rented", "shared", "other"], n, p=[0.5, 0.3, 0.15, 0.05])
    if missing:
        frame.loc[rng.random(n) < 0.05, "house"] = None
    frame["entry"] = pd.Timestamp("2015-01-01") + pd.to_timedelta((frame["id"] * 37 + age) % 1500, unit="D")
    frame["leave"] = frame["entry"] + pd.to_timedelta(rooms * 11 + age, unit="D")
    if missing:
        frame.loc[age % 17 == 0, "leave"] = pd.NaT
    return frame


ROLES = {
    "confidential": ["income", "wealth", "rooms"], "non_confidential": ["age", "job"], "record_id": "id",
    "sub_groups": lv.SubGroups(columns=("region", "sex"), small="pool"),
}


def roles_for(mask: object) -> dict:
    """The roles with the confidential columns that a mask can work on, without those that its settings would not change."""
    kinds = {"number": ROLES["confidential"], "nominal": ["house"], "date": ["entry", "leave"]}
    still = {"house"} if mask.name() == "recoding" and mask.scope == "file" else set()
    still |= {"rooms"} if getattr(mask, "bound", None) is not None else set()
    names = [n for kind, names in kinds.items() if kind in mask.handles for n in names]
    return {**ROLES, "confidential": [n for n in names if n not in still]}


def close(one: object, other: object) -> bool:
    """Nested plain values that agree, floats to nine digits."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-9 * max(1.0, abs(one))
    return one == other
