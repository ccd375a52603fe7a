"""The experiments for the claims of 004: linkage, samples, rotations, intersections and limited swaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.data.intruder import Intruder
from larvatus.data.score import Score
from larvatus.datasets import extracted_fields, four_fields, households, relations
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.shortcuts import attack_once, column_number, make_releases, measure_once
from larvatus.pipeline import read

if TYPE_CHECKING:
    import pyarrow as pa

_FIELDS = ("x1", "x2", "x3", "x4")
WINDOWS = (0.05, 0.1, 0.2)
SAME_VALUE = 1e-9
SUBDOMAINS = (30, 14)  # records
CLASSIFICATIONS = (1, 4, 12)  # into two subdomains of 30 records each
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
        "swap/equality": attack_once(data, release, "exact_match").value,
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


def rebuild_subdomains(seed: int, where: Where) -> dict[str, float]:
    """Twelve columns and small subdomains: do other data exist with the same means and covariances in each of them?

    Disjoint subdomains are rotated one by one. For subdomains that overlap, the figure is the number of dimensions in which
    the data can move without changing a mean or a covariance of a subdomain, to first order.
    """
    import pyarrow as pa

    out: dict[str, float] = {}
    table = twelve_columns(sum(SUBDOMAINS), seed)
    names = table.column_names
    domain = pa.array(np.repeat([f"of {n}" for n in SUBDOMAINS], SUBDOMAINS))
    data = read(table.append_column("subdomain", domain), confidential=names, sub_groups="subdomain")
    release = make_releases(data, {"r": "random_orthogonal(insiders=0)"}, seed)["r"]
    x, y = (np.column_stack([frame[n].to_numpy() for n in names]) for frame in (data.frame(), release.frame()))
    for n in SUBDOMAINS:
        own = np.asarray(domain.to_pylist()) == f"of {n}"
        sd = x[own].std(axis=0)
        moments = [(m.mean(axis=0), np.cov(m, rowvar=False) / np.outer(sd, sd)) for m in (x[own], y[own])]
        changes = [np.abs(moments[0][0] - moments[1][0]) / sd, np.abs(moments[0][1] - moments[1][1])]
        out[f"moments/{n}"] = float(max(c.max() for c in changes))
        out[f"moved/{n}"] = float(np.sqrt(np.mean(((y[own] - x[own]) / sd) ** 2)))
    whole = twelve_columns(2 * SUBDOMAINS[0], seed)
    z = np.column_stack([(v - v.mean()) / v.std() for v in (whole[n].to_numpy() for n in names)])
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(z)) for _ in range(max(CLASSIFICATIONS))]
    return out | {f"free/{m}": float(free_dimensions(z, orders[:m], SUBDOMAINS[0])) for m in CLASSIFICATIONS}


def twelve_columns(n: int, seed: int) -> pa.Table:
    """Three independent blocks of four correlated columns."""
    import pyarrow as pa

    blocks = [extracted_fields(n, 3 * seed + part) for part in range(3)]
    return pa.table({f"v{4 * part + j}": block[name] for part, block in enumerate(blocks)
                     for j, name in enumerate(block.column_names)})


def free_dimensions(z: Floats, orders: Sequence[Any], size: int) -> int:
    """The number of values minus the rank of the constraints on means and second moments, linearised at the data z.

    Each order of the records is one classification: its first `size` records are a subdomain, the next `size` another, and so
    on. The change of the second moment of columns j and k in a subdomain is Σ (z_ij dz_ik + z_ik dz_ij).
    """
    n, p = z.shape
    rows = []
    for order in orders:
        for start in range(0, n, size):
            own = order[start:start + size]
            for j in range(p):
                mean = np.zeros((n, p))
                mean[own, j] = 1
                rows.append(mean.ravel())
                for k in range(j, p):
                    second = np.zeros((n, p))
                    second[own, k] += z[own, j]
                    second[own, j] += z[own, k]
                    rows.append(second.ravel())
    return int(n * p - np.linalg.matrix_rank(np.array(rows)))


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
