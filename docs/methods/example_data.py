"""The made-up people that pictures and figures on the pages of methods are made from."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

import larvatus as lv
from larvatus.data.contracts import Mask
from larvatus.data.microdata import Microdata

SECRET = b"the pages of methods, always the same draws"
RECORDS = 600
NUMBERS, CATEGORY, DATES, KEYS = ["income", "wealth"], ["illness"], ["admitted", "discharged"], ["age", "job", "district"]


def people(n: int = RECORDS, seed: int = 3) -> pa.Table:
    """Income and wealth in thousands that go together, with age, job, illness, two dates, household, weight and firm."""
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(1, 3, n), np.clip(rng.normal(48, 16, n), 20, 89).astype(int) // 10 * 10
    z = rng.normal(size=(2, n))
    both = 0.7 * z[0] + np.sqrt(1 - 0.49) * z[1]
    income = np.exp(3.3 + 0.006 * age + 0.35 * z[0])
    wealth = np.exp(3.6 + 0.012 * age + 0.45 * both)
    admitted = [date(2024, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 366, n)]
    stay = 2 + rng.gamma(2.0, 6.0, n).astype(int)
    more = np.random.default_rng(seed + 5)
    firm = np.arange(n) // 15
    return pa.table({
        "person": np.arange(n), "household": rng.permutation(n) // 2, "district": rng.choice(["A", "B", "C", "D"], n),
        "sex": sex, "age": age, "job": rng.choice(["none", "part", "full"], n, p=[0.3, 0.2, 0.5]),
        "income": income.round(1), "wealth": wealth.round(1),
        "illness": rng.choice(["heart", "lung", "bone", "other"], n, p=[0.4, 0.3, 0.2, 0.1]),
        "admitted": admitted, "discharged": [a + timedelta(days=int(s)) for a, s in zip(admitted, stay, strict=True)],
        "weight": (10 + 40 * rng.beta(2, 5, n)).round(2),
        "cost": more.lognormal(3, 0.6, n).round(1), "visits": more.gamma(3, 4, n).round(1), "cell": np.arange(n) // 12,
        "firm": [f"firm {i}" for i in firm], "revenue": more.lognormal(4, 0.7, n // 15 + 1).round(1)[firm],
    })


def people_for(mask: type[Mask], table: pa.Table | None = None) -> Microdata:
    """The people with the roles that a mask works on: numbers if it can mask them, else categories, dates or the weight."""
    roles: dict[str, Any] = {"non_confidential": ["age"], "sub_groups": ["sex"], "record_id": "person", "confidential": NUMBERS}
    if mask.masks_weight:
        roles["weight"] = "weight"
    elif mask.name() in ("local_suppression", "record_suppression"):
        roles |= {"non_confidential": (), "sub_groups": (), "key": KEYS}
    elif mask.name() == "record_swap":
        roles |= {"household": "household", "confidential": ["district"], "non_confidential": ["age", "job"], "sub_groups": ()}
    elif "number" not in mask.handles:
        roles["confidential"] = CATEGORY if "nominal" in mask.handles else DATES
    return lv.read(people() if table is None else table, **roles)


def processor_seconds(work: Callable[[], object]) -> float:
    """The processor time of a piece of work."""
    began = time.process_time()
    work()
    return time.process_time() - began
