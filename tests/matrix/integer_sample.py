"""A table whose values come from integers by + - * / alone, so that every machine starts from the same bits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import larvatus as lv

SECRET = b"sixteen bytes or more for tests"
_MULTIPLIER, _STEP = np.uint64(6364136223846793005), np.uint64(1442695040888963407)


def _uniform(n: int, lane: int) -> np.ndarray:
    """Numbers in the open unit interval: the upper 40 bits of a mixed counter."""
    with np.errstate(over="ignore"):
        word = (np.arange(1, n + 1, dtype=np.uint64) * np.uint64(2 * lane + 3)) * _MULTIPLIER + _STEP
        for shift in (33, 29, 32):
            word = (word ^ (word >> np.uint64(shift))) * _MULTIPLIER
    return ((word >> np.uint64(24)).astype(np.float64) + 0.5) / 2.0**40


def _bell(n: int, lane: int) -> np.ndarray:
    """Nearly normal: a sum of twelve uniforms less six, added one by one."""
    total = np.full(n, -6.0)
    for j in range(12):
        total = total + _uniform(n, 16 * lane + j)
    return total


def people(n: int = 600) -> pa.Table:
    """Mixed types, ties, zeros, missing values, dates, a weight, nominal S and two sub-group columns."""
    one, two, three = (_bell(n, lane) for lane in (1, 2, 3))
    age = np.floor(18 + 73 * _uniform(n, 101)).astype(np.int64)
    income = np.where(one > 0, 1 + one + one * one, 1 / (1 - one)) * 9000 + 37.25 * age
    other = 0.6 * one + 0.8 * two
    wealth = np.where(_uniform(n, 102) < 0.3, 0.0, np.where(other > 0, 1 + other * (1 + other), 1 / (1 - other)) * 21000)
    rooms = np.clip(np.floor(4.5 + 1.5 * three), 1, 12).astype(np.int64)
    gone = {name: _uniform(n, 103 + j) < 0.05 for j, name in enumerate(("income", "job", "house"))}
    entry = 16436 + (np.arange(n) * 37 + age) % 1500
    day = pa.date32()
    return pa.table({
        "id": np.arange(n) * 7 + 3,
        "region": pa.array(np.array(["north", "south", "west"])[np.searchsorted([0.5, 0.8], _uniform(n, 110))]),
        "sex": 1 + (_uniform(n, 111) < 0.5).astype(np.int64),
        "age": age,
        "job": pa.array(np.array(["none", "part", "full"])[np.floor(3 * _uniform(n, 112)).astype(int)], mask=gone["job"]),
        "income": pa.array(income, mask=gone["income"]),
        "wealth": wealth,
        "rooms": rooms,
        "house": pa.array(np.array(["owned", "rented", "shared", "other"])[np.searchsorted([0.5, 0.8, 0.95], _uniform(n, 113))],
                          mask=gone["house"]),
        "entry": pa.array(entry.astype(np.int32), day),
        "leave": pa.array((entry + rooms * 11 + age).astype(np.int32), day, mask=age % 17 == 0),
        "weight": 1 + np.floor(40 * _uniform(n, 114)) / 8,
    })


def roles_for(mask: object) -> dict:
    """The confidential columns that a mask can work on, without those that its settings would not change."""
    kinds = {"number": ["income", "wealth", "rooms"], "nominal": ["house"], "date": ["entry", "leave"]}
    still = {"house"} if mask.name() == "recoding" and mask.scope == "file" else set()
    still |= {"rooms"} if getattr(mask, "bound", None) is not None else set()
    names = [n for kind, names in kinds.items() if kind in mask.handles for n in names if n not in still]
    roles = {"confidential": names, "record_id": "id", "sub_groups": lv.SubGroups(columns=("region", "sex"), small="pool")}
    if mask.masks_weight:
        return {**roles, "confidential": ["income"], "non_confidential": ["age", "job", "wealth"], "weight": "weight"}
    return {**roles, "non_confidential": ["age", "job"]}
