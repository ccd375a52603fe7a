"""The experiments for 000: Tables 2 to 7, on the stand-in population and on Census."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from larvatus.core.scratch_names import scratch
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.verbs import reduce_groups, with_table
from larvatus.datasets import households
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.published_figures import column, rows
from larvatus.papers.framework.shortcuts import (
    attack_once,
    column_number,
    correlation_pairs,
    counts,
    make_releases,
    measure_once,
)
from larvatus.pipeline import read
from larvatus.stats.linear.moments import SampleMoments

LIKELIHOOD = {"method": "posterior_match", "rule": "likelihood", "law": "in_sample", "within": 1}
SHUFFLING_MASKS: Mapping[str, Any] = {
    "shuffled": "data_shuffling", "d = 0": {"method": "sufficiency_based", "similarity": 0.0, "insiders": 0},
    "d = 0.5": {"method": "sufficiency_based", "similarity": 0.5, "insiders": 0},
    "d = 0.9": {"method": "sufficiency_based", "similarity": 0.9, "insiders": 0},
}
HOME, MORTGAGE, ASSETS = MONEY = ("home_value", "mortgage_balance", "net_assets")
_PAIRS = {"home, mortgage": (HOME, MORTGAGE), "home, assets": (HOME, ASSETS), "mortgage, assets": (MORTGAGE, ASSETS)}
_X = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "INTVAL", "FICA", "WSALVAL", "ERNVAL"]
CODED = {"weight low": "AFNLWGT", "contribution low": "EMCONTRB", "income low": "PTOTVAL"}
KS = (3, 10, 50, 100, 200)
DEDUCTION = ("FICA", "WSALVAL")


def household_data(seed: int) -> Microdata:
    """The stand-in for the simulated file, in its 24 sub-groups."""
    return read(households(50_000, seed), confidential=MONEY, sub_groups=["gender", "marital", "age_group"], engine="memory")


@cache
def census_data(file: Path, income: str = "PTOTVAL", above: bool = False) -> Microdata:
    """The Census file in eight sub-groups; a code is 1 if the value is below the mean of its column (or, with `above`, not)."""
    import pyarrow as pa
    from pyarrow import compute, csv

    table = csv.read_csv(file)
    for name, source in {**CODED, "income low": income}.items():
        below = compute.less(table[source], compute.mean(table[source]))
        table = table.append_column(name, compute.cast(compute.invert(below) if above else below, pa.int64()))
    return read(table, confidential=_X, sub_groups=list(CODED), engine="memory")


def _census_file(where: Where) -> Path:
    path = where.file("census.csv")
    assert path is not None, "experiments that need a file are run only if it exists"
    return path


def _identified(table: str, data: Microdata, release: Release, name: str, whole: bool) -> dict[str, float]:
    """Records identified, by sub-group and, with `whole`, in total."""
    found = counts(attack_once(data, release, LIKELIHOOD))
    return _named(table, name, [*found, sum(found)] if whole else found)


def _named(table: str, name: str, values: Sequence[float]) -> dict[str, float]:
    return {f"{table}/{name}/{r}": float(v) for r, v in zip(rows("000", table), values, strict=True)}


def _correlated(
    table: str, data: Microdata, releases: Mapping[str, Release], pairs: Mapping[str, tuple[str, str]], ranks: bool
) -> dict[str, float]:
    """Correlations of every pair, original and released, by sub-group and in total; the largest change by linear models."""
    out: dict[str, float] = {}
    furthest = 0.0
    for name, release in releases.items():
        for label, pair in pairs.items():
            before, after = correlation_pairs(data, release, [pair], ranks)[pair]
            head = f"{label}: " if label else ""
            out |= _named(table, f"{head}original", before) | _named(table, f"{head}{name}", after)
            if name != "shuffled":
                furthest = max(furthest, *(abs(a - b) for a, b in zip(before, after, strict=True)))
    return out | {f"{table}/furthest of linear models": furthest}


def tables_2_to_4(seed: int, where: Where) -> dict[str, float]:
    """Tables 2 to 4 on a stand-in population drawn anew for every seed."""
    data = household_data(seed)
    releases = make_releases(data, SHUFFLING_MASKS, seed)
    out = _named("2", "records", data.groups.sizes)
    for name, release in releases.items():
        out |= _identified("2", data, release, name, False)
    out |= _correlated("3", data, releases, _PAIRS, False) | _correlated("4", data, releases, _PAIRS, True)
    for name in rows("000", "5.1.1"):
        out[f"5.1.1/ratio/{name}"] = _width(data, releases[name], HOME)
    return out | _value_disclosure(data, releases["d = 0.5"])


def _value_disclosure(data: Microdata, release: Release) -> dict[str, float]:
    """The share of home values of the first sub-group within k standard deviations; correlations of X and Y."""
    def of(group: int, block: Any) -> Any:
        return [block.matrix([*MONEY, *(scratch("masked", n) for n in MONEY)])]

    both = with_table(data, data.table.pair(release.data.table, {scratch("masked", n): n for n in MONEY}))
    parts = [np.vstack(p)
             for p in reduce_groups(both, [*MONEY, *(scratch("masked", n) for n in MONEY)], of, lambda a, b: a + b)]
    home = parts[0][:, 0]
    away = np.abs(home - home.mean()) / home.std(ddof=1)
    out = {f"within {k}": float((away <= k).mean()) for k in (1.5, 3)}
    inside = [np.diag(SampleMoments.of(p).correlation[:3, 3:]) for p in parts]
    out["d within, least"], out["d within, most"] = float(np.min(inside)), float(np.max(inside))
    whole = np.diag(SampleMoments.of(np.vstack(parts)).correlation[:3, 3:])
    return out | {f"d over the file/{n}": float(r) for n, r in zip(MONEY, whole, strict=True)}


def census(seed: int, where: Where) -> dict[str, float]:
    """Tables 5 to 7."""
    data = census_data(_census_file(where))
    releases = make_releases(data, SHUFFLING_MASKS, seed)
    sizes = data.groups.sizes
    out = _named("5", "records", [*sizes, sum(sizes)])
    for name, release in releases.items():
        out |= _identified("5", data, release, name, True)
    out |= _correlated("6", data, releases, {"": DEDUCTION}, False) | _correlated("7", data, releases, {"": DEDUCTION}, True)
    changed = measure_once(data, releases["shuffled"], {"method": "correlation", "shown": 1000})
    out["shuffled, mean change"] = changed.value
    out["shuffled, largest change"] = max(column_number(r["loss"]) for r in changed.by_pair)
    out["shuffled, largest change in a sub-group"] = max(column_number(r["loss"]) for r in changed.details["sub_group_pairs"])
    for name in ("d = 0", "d = 0.5", "d = 0.9"):
        out[f"width/{name}"] = _width(data, releases[name], "AGI")
    return out


def _width(data: Microdata, release: Release, column: str) -> float:
    """Width of a confidence interval in the first sub-group. The paper's intruder regresses and does not know the steps."""
    score = attack_once(data, release, "value_disclosure", intruder=Intruder(published="none"))
    return column_number(score.details["interval_width"][1][column])


def census_aggregates(seed: int, where: Where) -> dict[str, float]:
    """Variance of the Census columns after microaggregation; sub-group sizes by the definition in the text."""
    file = _census_file(where)
    data = census_data(file)
    out: dict[str, float] = {}
    printed = column("000", "5", "records")[:-1]
    for income in ("PEARNVAL", "PTOTVAL"):
        for side in ("above", "below"):
            sizes = census_data(file, income, side == "above").groups.sizes
            out[f"sizes/{income}/{side}"] = sum(map(float.__eq__, map(float, sizes), printed))
    for k in KS:
        release = make_releases(data, {"m": {"method": "microaggregation", "k": k, "scope": "file"}}, seed)["m"]
        moments = measure_once(data, release, "moments").by_variable
        left = [(column_number(r["sd_released"]) / column_number(r["sd_original"])) ** 2 for r in moments]
        out |= {f"least variance/{k}": min(left), f"mean variance/{k}": float(np.mean(left))}
    return out
