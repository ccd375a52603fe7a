"""The experiments for the tables of 004: four-field files, an extract, and a pair of wages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from larvatus.core.errors import MaskError
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.verbs import reduce_groups
from larvatus.datasets import extracted_fields, four_fields, wages
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.published_figures import rows
from larvatus.papers.framework.shortcuts import attack_once, column_number, make_releases, measure_once
from larvatus.pipeline import read, utility

_FIELDS = ("x1", "x2", "x3", "x4")
_FIRST = _FIELDS[:3]
_DRAWS, _APART = 20, 100_000  # draws of a release at most, and the distance between their seeds
THREE: Mapping[str, Any] = {  # x4 is not masked
    "2a": {"method": "random_blanking", "rate": 0.05},
    "2b": {"method": "random_blanking", "rate": 0.25},
    "7a": {"method": "random_swap", "rate": 0.1, "pairs": True}, "7b": {"method": "random_swap", "rate": 1.0, "pairs": True},
}
_FOUR: Mapping[str, Any] = {
    "6a": {"method": "rounding", "base": 10.0}, "6b": {"method": "rounding", "base": 50.0},
    "6c": {"method": "rounding", "base": 100.0},
    "8a": {"method": "rank_swap", "window": 0.05, "pairs": True}, "8b": {"method": "rank_swap", "window": 0.1, "pairs": True},
    "8c": {"method": "rank_swap", "window": 0.2, "pairs": True},
}


def matrix(table: str, data: Microdata, release: Release, side: str = "released") -> dict[str, float]:
    """All correlations of a release, each under both orders of its columns."""
    out = {}
    for pair in measure_once(data, release, "correlation").by_pair:
        for a, b in (("first", "second"), ("second", "first")):
            out[f"{table}/{pair[a]}/{pair[b]}"] = column_number(pair[side])
    return out


def _pairs(table: str, release: Release) -> dict[str, float]:
    """The number of records that have both of two fields."""
    def both(group: int, block: Any) -> Any:
        there = ~np.isnan(block.matrix(_FIELDS))
        return (there.T.astype(int) @ there.astype(int)).astype(float)

    found = reduce_groups(release.data, _FIELDS, both, np.add)[0]
    return {f"{table}/pairs of {a}/{b}": float(found[i, j]) for i, a in enumerate(_FIELDS) for j, b in enumerate(_FIELDS)}


def fields(seed: int, where: Where) -> dict[str, float]:
    """Tables 1, 2, 6, 7, 8 and 11 on a file drawn anew for every seed."""
    file = four_fields(100, seed)
    data, open_x4 = read(file, confidential=_FIELDS), read(file, confidential=_FIRST, non_confidential="x4")
    releases = make_releases(data, _FOUR, seed)
    out = matrix("1", data, releases["6a"], "original")
    for table, release in releases.items():
        out |= matrix(table, data, release)
    for table, release in _releases_of_three(open_x4, seed).items():
        out |= matrix(table, open_x4, release)
        if table.startswith("2"):
            out |= _pairs(table, release)
    for base, table in ((10, "6a"), (50, "6b"), (100, "6c")):
        found = attack_once(data, releases[table], {"method": "nearest_record", "within": [1, 3], "distance": "euclidean"})
        out[f"11/rate/base {base}"] = found.value
        out[f"within 3/base {base}"] = column_number(found.details["within"][1]["value"])
        out[f"clusters/base {base}"] = attack_once(data, releases[table], "cluster_match").value
        out[f"50 clusters/base {base}"] = attack_once(data, releases[table], {"method": "cluster_match", "clusters": 0.5}).value
    return out


def _releases_of_three(data: Microdata, seed: int) -> dict[str, Release]:
    """The releases of `THREE`. If a draw changes no value of a column, which happens in small files, it is drawn again."""
    for again in range(_DRAWS):
        with suppress(MaskError):
            return make_releases(data, THREE, seed + again * _APART)
    return make_releases(data, THREE, seed)


def tables_9_and_10(seed: int, where: Where) -> dict[str, float]:
    """Tables 9 and 10."""
    data = read(extracted_fields(100, seed), confidential=_FIELDS)
    release = make_releases(data, {"10": {"method": "microaggregation", "k": 10}}, seed)["10"]
    return matrix("9", data, release, "original") | matrix("10", data, release)


def tables_3_to_5(seed: int, where: Where) -> dict[str, float]:
    """Tables 3 to 5: moments, then correlation and regression after truncation of both wages at the same bound."""
    from pyarrow import compute

    table = wages(26_418, seed)
    data = read(table, confidential=["wage", "cpswage"])
    out: dict[str, float] = {}
    for name in table.column_names:
        ends = compute.min_max(table[name])
        out |= {f"3/{name}/{long}": float(ends[short].as_py()) for long, short in (("minimum", "min"), ("maximum", "max"))}
    bounds = rows("004", "4")[1:]
    releases = make_releases(data, {b: {"method": "top_coding", "bound": float(b)} for b in bounds}, seed)
    for bound, release in releases.items():
        pair = measure_once(data, release, "correlation").by_pair[0]
        fit = utility(data, release, [], analyses="wage ~ cpswage")[-1].details["estimates"]
        for row, side in ((bound, "released"), ("none", "original")):
            out |= {f"4/correlation/{row}": column_number(pair[side]), f"5/R2/{row}": column_number(pair[side]) ** 2}
            for name, quantity in (("intercept", "intercept"), ("slope", "cpswage")):
                out[f"5/{name}/{row}"] = next(column_number(r[side]) for r in fit if r["quantity"] == quantity)
    for v in measure_once(data, releases[bounds[0]], "moments").by_variable:
        out[f"3/{v['variable']}/mean"] = column_number(v["mean_original"])
        out[f"3/{v['variable']}/standard deviation"] = column_number(v["sd_original"])
    return out
