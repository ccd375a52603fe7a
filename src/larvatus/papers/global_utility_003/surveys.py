"""Tables 3 and 4 of 003 on stand-ins: all measures of every release, and whether more masking costs more utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from larvatus.datasets import household_heads, schools
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.published_figures import rows
from larvatus.papers.framework.shortcuts import column_number, make_releases, measure_once
from larvatus.pipeline import read

QUICK_ROWS, QUICK_POINTS = 1000, 500
AGE = {"method": "rounding", "base": 5, "columns": ["age"]}
TAX = {"method": "additive_noise", "variance": 0.01, "zeros": "keep", "positive": True, "columns": ["property_tax"]}
INCOME = {"method": "microaggregation", "k": 20, "grouping": "fixed", "columns": ["income"]}
SCHOOLS: tuple[Mapping[str, Any], ...] = (
    {"method": "additive_noise", "variance": 0.1, "positive": True, "columns": ["teachers"]},
    {"method": "microaggregation", "k": 20, "grouping": "fixed", "columns": ["lunch"]},
    {"method": "rounding", "base": 5, "columns": ["migrant"]},
)


def _swap(name: str, percent: float) -> dict[str, Any]:
    return {"method": "random_swap", "rate": percent / 100, "columns": [name], "pairs": True}


def head_steps(label: str) -> list[Mapping[str, Any]]:
    """Steps from a name such as Age+Race10+Mar10+Tax+Inc20."""
    parts = {"Age": AGE, "Tax": TAX, "Inc20": INCOME}
    long = {"Race": "race", "Mar": "marital"}
    return [parts.get(p) or _swap(long[p[:-2]], float(p[-2:])) for p in label.split("+")]


def school_steps(label: str) -> list[Mapping[str, Any]]:
    """Steps from swap rates of state and locale such as 10%,20%."""
    rates = (float(r.rstrip("%")) for r in label.split(","))
    return [*(_swap(n, r) for n, r in zip(("state", "locale"), rates, strict=True) if r), *SCHOOLS]


def _measured(
    table: Any, steps: Sequence[Mapping[str, Any]], groups: tuple[int, int], seed: int, exact: int
) -> dict[str, float]:
    """All measures of one release; unmasked columns are non-confidential."""
    names = table.column_names
    own = [n for n in names if any(n in s["columns"] for s in steps)]
    data = read(table, confidential=own, non_confidential=[n for n in names if n not in own], engine="memory")
    release = make_releases(data, {"r": list(steps)}, seed)["r"]
    out: dict[str, float] = {}
    for label, model in (("U_p", {"model": "spline"}), ("U_p logit", {"model": "logit", "degree": 2})):
        found = measure_once(data, release, {"method": "propensity", **model}).details["models"][0]
        out |= {label: column_number(found["N_U_p"]), f"{label} ratio": column_number(found["ratio"])}
    asked = {"method": "cluster", "groups": groups, "columns": names, "exact": exact}
    clusters = measure_once(data, release, asked).details["groups"]
    out |= {f"U_c {i}": column_number(r["g_u_c"]) for i, r in enumerate(clusters)}
    functions = measure_once(data, release, {"method": "ecdf_max", "columns": names}).details["statistics"]
    return out | {str(r["statistic"]): column_number(r["value"]) for r in functions}  # U_m and U_s at once


def _all(
    table: Any, number_of: str, orders: str, steps: Any, groups: tuple[int, int], seed: int, quick: bool
) -> dict[str, float]:
    """Figures of a table by row, and 1 for every step to more masking that does not gain utility."""
    some = (QUICK_ROWS // 40, QUICK_ROWS // 20) if quick else groups
    columns = ["U_p", *(f"U_c (G = {g})" for g in groups), "U_m", "U_s"]
    exact = QUICK_POINTS if quick else 5000
    own = {label: _measured(table, steps(label), some, seed, exact) for label in rows("003", number_of)}
    out: dict[str, float] = {}
    for column, key in zip(columns, ("U_p", "U_c 0", "U_c 1", "U_m", "U_s"), strict=True):
        times = 2 * table.num_rows if (number_of, key) == ("3", "U_s") else 1
        out |= {f"{number_of}/{column}/{label}": times * found[key] for label, found in own.items()}
        for arrow in rows("003", orders):
            less, more = arrow.split(" > ")
            out[f"{orders}/{column}/{arrow}"] = float(own[more][key] >= own[less][key])
    out[f"{number_of} records"] = table.num_rows
    out |= {f"{number_of} ratio/{label}": found["U_p ratio"] for label, found in own.items()}
    for arrow in rows("003", orders):
        less, more = arrow.split(" > ")
        out[f"{orders} logit/{arrow}"] = float(own[more]["U_p logit"] >= own[less]["U_p logit"])
    return out


def household_survey(seed: int, where: Where) -> dict[str, float]:
    """Table 3 and the arrows of Figure 1."""
    table = household_heads(QUICK_ROWS, seed) if where.quick else household_heads(seed=seed)
    return _all(table, "3", "figure 1", head_steps, (1250, 2500), seed, where.quick)


def school_survey(seed: int, where: Where) -> dict[str, float]:
    """Table 4 and the order of swap rates."""
    table = schools(QUICK_ROWS, seed) if where.quick else schools(seed=seed)
    return _all(table, "4", "4 order", school_steps, (400, 800), seed, where.quick)
