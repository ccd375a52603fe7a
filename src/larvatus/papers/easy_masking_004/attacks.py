"""The experiments for the claims of 004: linkage, samples, rotations, intersections and limited swaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from larvatus.data.intruder import Intruder
from larvatus.data.score import Score
from larvatus.datasets import extracted_fields, four_fields, households, relations
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.shortcuts import attack_once, column_number, make_releases, measure_once
from larvatus.pipeline import read

_FIELDS = ("x1", "x2", "x3", "x4")
WINDOWS = (0.05, 0.1, 0.2)
SAME_VALUE = 1e-9
_MONEY = ("home_value", "mortgage_balance", "net_assets")


def link_small_file(seed: int, where: Where) -> dict[str, float]:
    """Clustering and intersection of candidates after rank swapping and univariate microaggregation, n = 100."""
    data = read(four_fields(100, seed), confidential=_FIELDS)
    two = Intruder(known=("x1", "x3"))
    out: dict[str, float] = {}
    masks: dict[str, Any] = {f"rank swap {w:g}": {"method": "rank_swap", "window": w, "pairs": True} for w in WINDOWS}
    masks["microaggregation"] = {"method": "microaggregation", "k": 3, "grouping": "fixed"}
    for name, release in make_releases(data, masks, seed).items():
        out[f"clusters/{name}"] = attack_once(data, release, "cluster_match").value
        out[f"50 clusters/{name}"] = attack_once(data, release, {"method": "cluster_match", "clusters": 0.5}).value
        attack = "group_intersection" if name == "microaggregation" else "rank_window"
        for columns, intruder in (("two", two), ("four", Intruder())):
            found = attack_once(data, release, attack, intruder=intruder)
            out |= {f"{columns}/{name}": found.value, f"{columns} alone/{name}": _alone(found)}
    return out


def _alone(score: Score) -> float:
    """Share of records that are the only candidate, and so have full credit."""
    assert score.by_record is not None, "linkage attacks give the credit of every record"
    return float(np.mean(score.by_record > 1 - SAME_VALUE))


def attack_swaps(seed: int, where: Where) -> dict[str, float]:
    """Share of records found after swapping a tenth of the values of three fields, n = 1,000."""
    data = read(four_fields(1000, seed), confidential=_FIELDS[:3], non_confidential="x4")
    release = make_releases(data, {"s": {"method": "random_swap", "rate": 0.1, "pairs": True}}, seed)["s"]
    return {
        "swap/nearest": attack_once(data, release, {"method": "nearest_record", "within": 1}).value,
        "swap/probabilistic": attack_once(data, release, "probabilistic_linkage").value,
    }


def attack_samples(seed: int, where: Where) -> dict[str, float]:
    """Whether a sample contains all, or none, of the ten largest values of a skewed column."""
    table = households(5000, seed)
    data = read(table, confidential=_MONEY)
    top = set(sorted(table["home_value"].to_pylist())[-10:])
    out: dict[str, float] = {}
    for rate in (0.01, 0.1):
        release = make_releases(data, {"s": {"method": "sampling", "rate": rate, "scope": "file"}}, seed)["s"]
        there = len(top & set(release.frame()["home_value"].to_pylist()))
        out |= {f"sample/{rate:g}/all": float(there == 10), f"sample/{rate:g}/none": float(there == 0)}
    return out


def rebuild_small_file(seed: int, where: Where) -> dict[str, float]:
    """Twelve columns, 30 and 14 records: do other data exist with the same means and covariances?"""
    import pyarrow as pa

    out: dict[str, float] = {}
    for n in (30, 14):
        columns: dict[str, Any] = {}
        for part in range(3):
            block = extracted_fields(n, 3 * seed + part)
            columns |= {f"v{4 * part + j}": block[name] for j, name in enumerate(block.column_names)}
        data = read(pa.table(columns), confidential=list(columns))
        release = make_releases(data, {"r": "random_orthogonal(insiders=0)"}, seed)["r"]
        out[f"moments/{n}"] = max(measure_once(data, release, m).value for m in ("moments", "correlation"))
        out[f"explained/{n}"] = attack_once(data, release, {"method": "nearest_record", "within": 1}).value
        out[f"moved/{n}"] = _mean_move(columns, release.frame())
    return out


def _mean_move(before: Mapping[str, Any], after: Any) -> float:
    """Root mean square change of the values, in standard deviations."""
    moves = []
    for name, values in before.items():
        x, y = values.to_numpy(), after[name].to_numpy()
        moves.append(np.mean((y - x) ** 2) / x.var())
    return float(np.sqrt(np.mean(moves)))


def attack_microaggregates(seed: int, where: Where) -> dict[str, float]:
    """10,000 records (2,000 in a quick run), three groups of two columns, each microaggregated with k = n / 100."""
    import pyarrow as pa

    n = 2000 if where.quick else 10_000
    columns: dict[str, Any] = {}
    for part in range(3):
        block = relations(n, 3 * seed + part)
        columns |= {f"g{part}a": block["line"], f"g{part}b": block["second_line"]}
    data = read(pa.table(columns), confidential=list(columns))
    groups = [[f"g{part}a", f"g{part}b"] for part in range(3)]
    release = make_releases(data, {"m": {"method": "microaggregation", "k": n // 100, "together": groups}}, seed)["m"]
    classes = attack_once(data, release, {"method": "uniqueness", "k": 2}).details["anonymity"]
    return {
        "intersection": attack_once(data, release, {"method": "group_intersection", "column_groups": groups}).value,
        "unique": column_number(classes[0]["below 2"]),
    }


def limited_swaps(seed: int, where: Where) -> dict[str, float]:
    """At most .5 % of the records swapped jointly within gender and marital status, measured by age group."""
    data = read(households(20_000, seed), confidential=_MONEY, sub_groups=["gender", "marital"], non_confidential="age_group",
                engine="memory")
    bound = float(np.quantile(data.frame()["home_value"].to_numpy(), 0.995))
    swap: dict[str, Any] = {"method": "random_swap", "together": True, "pairs": True}
    masks = {"at random": {**swap, "rate": 0.005}, "outliers": {**swap, "rate": 1.0, "where": f"home_value > {bound!r}"}}
    out: dict[str, float] = {}
    for name, release in make_releases(data, masks, seed).items():
        for domain in ("sub-group", "age"):
            score = measure_once(data, release, "moments", domains="age_group" if domain == "age" else ())
            rows = score.by_domain if domain == "age" else score.by_group
            out[f"limited/{name}/{domain}"] = max(column_number(r["value"]) for r in rows)
    return out
