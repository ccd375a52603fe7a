"""The experiments for 002: the 36 scenarios, the five records, and an intruder who knows other records too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.errors import RiskError
from larvatus.data.microdata import Microdata
from larvatus.datasets import key_variables
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.published_figures import column, rows
from larvatus.papers.framework.shortcuts import attack_once, column_number, make_releases
from larvatus.pipeline import read

if TYPE_CHECKING:
    import pyarrow as pa

DATA = ("DATA1", "DATA2")
_LEVELS = ("minimum", "medium", "maximum")
_BIAS_SD = dict(zip(_LEVELS, (0.01 / 6, 0.2 / 6, 1 / 6), strict=True))
_NOISE_RATIO = dict(zip(_LEVELS, (1 / 100, 1 / 6, 1.0), strict=True))
CASES = {"2": "released", "3": "unknown"}
REPLICATIONS = 100
VAGUE: Mapping[str, Any] = {
    "bias_centre": 0.02, "noise_centre": 0.02, "bias_cv": 2.0, "noise_cv": 2.0, "nodes": 24, "kernel": "likelihood",
}
KNOWN_COUNTS = (0, 50, 99)
WHAT = {"links": "correct", "probability": "probability", "deviation": "deviation"}
WIDER = 1 / 4  # of the range of z; the text centres the prior of the noise at a sixth


def _drawn(name: str, seed: int) -> pa.Table:
    """A hundred values with the mean and the standard deviation of the five published ones."""
    five = np.array(column("002", "1", f"{name} original"))
    return key_variables(seed=seed, fixed=(float(five.mean()), float(five.std(ddof=1))))


def _step(bias: str, noise: str) -> dict[str, Any]:
    return {"method": "bias_and_noise", "bias_sd": _BIAS_SD[bias], "noise_ratio": _NOISE_RATIO[noise]}


def scenario_cells() -> Iterator[tuple[str, str, str]]:
    """The rows of Tables 2 and 3, with bias and noise."""
    return ((f"{b} bias, {n} noise", b, n) for b in _LEVELS for n in _LEVELS)


def _links(data: Microdata, release: Any, **settings: Any) -> dict[str, Mapping[str, Any]]:
    """The result of every kernel."""
    score = attack_once(data, release, {"method": "bayesian_intruder", **settings})
    return {str(r["kernel"]): r for r in score.details["kernels"]}


def paper_scenarios(seed: int, where: Where) -> dict[str, float]:
    """The 36 scenarios on newly drawn data: links by the paper's kernel and by the strongest."""
    out: dict[str, float] = {}
    for name in DATA:
        data = read(_drawn(name, seed), confidential="x1")
        for row, bias, noise in scenario_cells():
            release = make_releases(data, {row: _step(bias, noise)}, seed)[row]
            for table, parameters in CASES.items():
                found = _links(data, release, parameters=parameters)
                mine = found["paper"]
                out |= {f"{table}/{name} {what}/{row}": column_number(mine[key]) for what, key in WHAT.items()
                        if mine[key] is not None}
                out[f"strongest {table}/{name}/{row}"] = max(column_number(k["correct"]) for k in found.values())
                out[f"likelihood {table}/{name}/{row}"] = column_number(found["likelihood"]["correct"])
            wider = _links(data, release, parameters="unknown", noise_centre=WIDER, kernel="paper")["paper"]
            out |= {f"wider 3/{name} {what}/{row}": column_number(wider[key]) for what,
                    key in WHAT.items() if wider[key] is not None}
    return out


def records(seed: int, where: Where) -> dict[str, float]:
    """Table 1: five records of the generator, and the five published ones masked among 95 others from it."""
    import pyarrow as pa

    out: dict[str, float] = {}
    for name in DATA:
        drawn = _drawn(name, seed)["x1"].to_pylist()
        typed = column("002", "1", f"{name} original")
        out |= {f"1/{name} original/{r}": v for r, v in zip(rows("002", "1"), drawn, strict=False)}
        data = read(pa.table({"x1": [*typed, *drawn[len(typed):]]}), confidential="x1")
        for level, release in make_releases(data, {v: _step(v, v) for v in _LEVELS}, seed).items():
            values = release.frame()["x1"].to_pylist()
            out |= {f"1/{name} {level}/{r}": float(v) for r, v in zip(rows("002", "1"), values, strict=False)}
    return out


def links_if_others_known(seed: int, where: Where) -> dict[str, float]:
    """Links per hundred targets, DATA2 with minimum bias and noise, if values of other records are known as well."""
    data = read(key_variables(like="DATA2", seed=seed), confidential="x1")
    release = make_releases(data, {"least": _step("minimum", "minimum")}, seed)["least"]
    out: dict[str, float] = {}
    for known in KNOWN_COUNTS:
        found = _links(data, release, parameters="released", known_records=known, kernel="likelihood")
        out[f"released/{known}"] = 100 * column_number(found["likelihood"]["value"])
    for known in KNOWN_COUNTS:
        with suppress(RiskError):  # chains that do not converge are refused and give no figure
            out[f"vague/{known}"] = 100 * column_number(_links(
                data, release, parameters="unknown", known_records=known, **VAGUE)["likelihood"]["value"])
    return out
