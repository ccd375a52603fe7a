"""The experiments for 003's simulated data: all rows of Tables 1 and 2, on all eight data sets, and other models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, Literal

from larvatus.data.microdata import Microdata
from larvatus.datasets import heavy_tails
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.published_figures import column, rows
from larvatus.papers.framework.shortcuts import column_number, make_releases, measure_once
from larvatus.pipeline import read

_Shape = Literal["symmetric", "skewed"]
PAPER_SHAPES: dict[str, _Shape] = {"1": "symmetric", "2": "skewed"}
CORRELATIONS: dict[str, tuple[float, bool]] = {
    "high positive": (0.75, False), "high negative": (0.75, True), "none": (0.0, False), "none, mirrored": (0.0, True),
}
MICRO = {"method": "microaggregation", "k": 3, "grouping": "projection"}
SWAP: dict[str, Any] = {"method": "rank_swap", "window": 0.05, "tails": "two_sided", "pairs": True}
UTILITY_MASKS: Mapping[str, list[Any]] = {
    "Incor. Simul.": ["normal_model"], "Micro": [MICRO], "Micro + Noise": [MICRO, "restore_covariance"], "Swap": [SWAP],
}
RECORDS = 10_000
GROUPS = (100, 250, 500, 750, 1000)
_CELLS, MORE_CELLS = 2000, 5000  # cells that summarise the points, in quick and in full runs
_SAME = 1e-9
FLEXIBLE: Mapping[str, dict[str, Any]] = {
    "Model II": {"model": "model_ii"}, "logit of degree 3": {"model": "logit"}, "spline": {"model": "spline"},
    "tree": {"model": "cart", "resamples": 0},
}


def _data(shape: _Shape, correlation: str, seed: int, n: int = RECORDS) -> Microdata:
    r, mirrored = CORRELATIONS[correlation]
    return read(heavy_tails(n, seed, shape=shape, correlation=r, mirrored=mirrored), confidential=["x1", "x2"],
                engine="memory")


def _measures(data: Microdata, release: Any) -> dict[str, float]:
    """The rows of Tables 1 and 2 except those of clusters."""
    out = {
        f"U_p (Model {m})": column_number(measure_once(data, release, {"method": "propensity", "model": f"model_{m.lower()}"})
                                   .details["models"][0]["N_U_p"]) for m in ("I", "II")
    }
    out["U_m"] = measure_once(data, release, "ecdf_max").value
    return out | {"U_s": 2 * data.rows * measure_once(data, release, "ecdf_mean").value}


def _clusters(data: Microdata, release: Any, exact: int) -> dict[str, float]:
    """The rows of clusters; more than `exact` points are first summarised as cells."""
    found = measure_once(data, release, {"method": "cluster", "groups": GROUPS, "exact": exact}).details["groups"]
    return {f"U_c (G = {r['groups']})": column_number(r["u_c"]) for r in found}


def tables_1_and_2(seed: int, where: Where) -> dict[str, float]:
    """Tables 1 and 2: the two data sets with high positive correlation, and which mask each measure finds best."""
    return _held(seed, _measures)


def cluster_rows(seed: int, where: Where) -> dict[str, float]:
    """The rows of clusters in Tables 1 and 2, from cells of nearby points; for the first seed also from all points."""
    out = _held(seed, partial(_clusters, exact=_CELLS if where.quick else MORE_CELLS))
    if seed or where.quick:
        return out
    whole = _held(seed, partial(_clusters, exact=2 * RECORDS))
    return out | {f"cells over points/{k}": out[k] / v for k, v in whole.items() if k[0] in PAPER_SHAPES and v}


def _held(seed: int, measures: Callable[[Microdata, Any], dict[str, float]]) -> dict[str, float]:
    out: dict[str, float] = {}
    for table, shape in PAPER_SHAPES.items():
        data = _data(shape, "high positive", seed)
        own = {name: measures(data, release) for name, release in make_releases(data, UTILITY_MASKS, seed).items()}
        out |= {f"{table}/{name}/{row}": v for name, found in own.items() for row, v in found.items()}
        for row in own["Swap"]:
            best, worst = (end(own[name][row] for name in own) for end in (min, max))
            out |= {f"best {table}/{row}/{name}": float(own[name][row] <= best + _SAME) for name in own}
            out[f"worst {table}/{row}/Incor. Simul."] = float(own["Incor. Simul."][row] == worst)
            out[f"micro ahead {table}/{row}"] = float(own["Micro"][row] < own["Incor. Simul."][row])
    return out


def eight(seed: int, where: Where) -> dict[str, float]:
    """On all eight data sets: 1 if a measure puts the four masks in the order of Table 1 or 2, else 0."""
    out: dict[str, float] = {}
    n, cells = (3000, 1500) if where.quick else (RECORDS, _CELLS)
    for table, shape in PAPER_SHAPES.items():
        for correlation in CORRELATIONS:
            data = _data(shape, correlation, seed, n)
            own = {name: _measures(data, release) | _clusters(data, release, cells)
                   for name, release in make_releases(data, UTILITY_MASKS, seed).items()}
            for row in rows("003", table):
                kept = all(own[a][row] <= own[b][row] + _SAME for a, b in pairwise(order(table, row)))
                out[f"3.1/{row}/{shape}, {correlation}"] = float(kept)
                out |= {f"eight/{row}/{shape}, {correlation}/{name}": found[row] for name, found in own.items()}
    return out


def order(table: str, row: str) -> list[str]:
    """The four masks in the order of a measure in Table 1 or 2, the most useful first."""
    at = rows("003", table).index(row)
    return sorted(UTILITY_MASKS, key=lambda name: column("003", table, name)[at])


def flexible(seed: int, where: Where) -> dict[str, float]:
    """Swapping and micro + noise by models of increasing flexibility; swaps also within 750 ranks, and upwards only."""
    out: dict[str, float] = {}
    for table, shape in PAPER_SHAPES.items():
        data = _data(shape, "high positive", seed)
        masks = {n: UTILITY_MASKS[n] for n in ("Micro + Noise", "Swap")} | {"wide": [{**SWAP, "window": 0.075}]}
        releases = make_releases(data, masks, seed)
        for model, asked in FLEXIBLE.items():
            found = {n: column_number(measure_once(data, r, {"method": "propensity", **asked}).details["models"][0]["N_U_p"])
                     for n, r in releases.items()}
            out |= {f"flexible {table}/{model}/{n}": v for n, v in found.items()}
            out[f"swap ahead {table}/{model}"] = float(found["Swap"] < found["Micro + Noise"])
        out[f"flexible {table}/U_m/wide"] = measure_once(data, releases["wide"], "ecdf_max").value
        upwards = make_releases(data, {"upwards": [{**SWAP, "tails": "one_sided"}]}, seed)["upwards"]
        out[f"upwards {table}/U_s"] = 2 * data.rows * measure_once(data, upwards, "ecdf_mean").value
    return out
