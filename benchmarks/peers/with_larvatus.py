"""Tasks of larvatus: attacks and measures on the file that the peers get, and masks on a file of their own.

The name of a task lists its methods: `risk:uniqueness`, `unpaired:linkability` (the release taken as a synthetic file),
`utility:marginal+correlation` or `mask:rank_swap`.
"""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import Any

import pyarrow as pa
from people import CONFIDENTIAL, KEYS, NON_CONFIDENTIAL, PREDICATES, SUB_GROUPS, TARGETS
from pyarrow import parquet
from timing import run

import larvatus as lv

SECRET = b"benchmark secret"
MASK = "rank_swap"
HELD_OUT = 0.2
SETTINGS: dict[str, dict[str, Any]] = {
    "uniqueness": {"keys": KEYS}, "key_risk": {"keys": KEYS}, "nearest_record": {"targets": TARGETS},
    "attribute_inference": {"targets": TARGETS}, "singling_out": {"predicates": PREDICATES, "width": 3},
    "linkability": {"first": (*KEYS, CONFIDENTIAL[0])},
    "microaggregation": {"k": 3, "grouping": "mdav"}, "local_suppression": {"k": 3},
}
ROLES = {"confidential": CONFIDENTIAL, "non_confidential": NON_CONFIDENTIAL, "sub_groups": SUB_GROUPS}


def released_by(data: lv.Microdata) -> lv.Release:
    """The release that the peers get as a file."""
    return lv.mask(data, MASK, secret=SECRET)


def method(name: str) -> dict[str, Any]:
    return {"method": name, **SETTINGS.get(name, {})}


def risk(names: list[str], data: lv.Microdata, release: lv.Release) -> dict[str, float]:
    return {s.method: s.value for s in lv.risk(data, release, [method(n) for n in names])}


def unpaired(names: list[str], data: lv.Microdata, release: str) -> dict[str, float]:
    return {s.method: s.value for s in lv.risk(data, release, [method(n) for n in names], paired=False)}


def utility(names: list[str], data: lv.Microdata, release: lv.Release) -> dict[str, float]:
    return {s.method: s.value for s in lv.utility(data, release, [method(n) for n in names])}


def mask(names: list[str], data: lv.Microdata, release: lv.Release | None) -> dict[str, float]:
    return {"records": lv.mask(data, *(method(n) for n in names), secret=SECRET).data.rows}


def read(task: str, original: str, released: str) -> tuple[lv.Microdata, lv.Release | str | None]:
    if task == "mask:local_suppression":
        keys = parquet.read_table(original, columns=[*KEYS, "income"]).to_pydict()
        keys["income"] = [round(5 * math.log(max(value, 100.0))) for value in keys["income"]]  # classes, rare in the tails
        return lv.read(pa.table(keys), confidential=list(keys), nominal=list(keys)), None
    if task.startswith("mask:"):
        return lv.read(original, confidential=CONFIDENTIAL, non_confidential=NON_CONFIDENTIAL), None
    data = lv.read(original, **ROLES)
    if task.startswith("unpaired:"):
        return lv.hold_out(data, HELD_OUT, secret=SECRET), released
    return data, released_by(data)


if __name__ == "__main__":
    asked = sys.argv[1]
    verb, _, methods = asked.partition(":")
    function = {"risk": risk, "unpaired": unpaired, "utility": utility, "mask": mask}[verb]
    run("larvatus", {asked: partial(function, methods.split("+"))}, partial(read, asked))
