"""The limits of certificates in small files: many releases of each file and mask, against intruders who know the law exactly.

    python benchmarks/certificate_limits.py --releases 2000 --save       minutes; prints and stores the table
    python benchmarks/certificate_limits.py --page                       prints the table of docs/science/certificates.md

The densities are written here and use nothing of the certificates. Of 216 records, 24 cells of nine have skewed values, zeros,
missing cells and a weight; or all records are one cell. Intruders of a single target: the density, its ratio to the mean of
the others, and a gambler who gives rows far out the highest score for all targets. Intruders of the whole file: the exact
posterior in cells of nine, and the pairing of the highest likelihood, which gambles on all links together.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

import larvatus as lv
from larvatus.stats.link_bounds.matchings import pairing_posteriors
from run_facts import run_facts

KEPT = Path(__file__).with_suffix(".json")
Density = Callable[[np.ndarray, np.ndarray], np.ndarray]
CELLS, SIZE = 24, 9
ROOT3, SAME = np.sqrt(3.0), 60.0  # a value that is released as it is counts as so much more probable, in nats


def file_of(seed: int) -> pd.DataFrame:
    draws = np.random.default_rng(seed)
    n = CELLS * SIZE
    frame = pd.DataFrame({"g": np.repeat(np.arange(CELLS), SIZE), "w": np.repeat([1.0, 3.0], n // 2),
                          "a": np.exp(draws.normal(size=n)), "b": draws.normal(size=n)})
    frame["b"] += 0.7 * frame["a"]
    frame.loc[draws.random(n) < 0.15, "a"] = 0.0
    frame.loc[draws.random(n) < 0.15, "b"] = np.nan
    frame["c"] = np.where(draws.random(n) < 0.2, None, draws.choice(list("xyz"), n))
    return frame


def noise(shape: str, variance: float, zeros: bool = False, shrink: bool = False) -> Callable[[np.ndarray], Density]:
    """y = x + e, or μ + (x − μ + e) / √(1 + d), with the SD of the column in the sub-group."""
    def of(column: np.ndarray) -> Density:
        used = column[~np.isnan(column) & ~(zeros & (column == 0))]
        scale = 1 / np.sqrt(1 + variance) if shrink else 1.0
        sd, mean = np.sqrt(variance) * used.std(ddof=1) * scale, used.mean()

        def density(x: np.ndarray, y: np.ndarray) -> np.ndarray:
            z = (y - (mean + (x - mean) * scale if shrink else x)) / sd
            own = {"normal": -(z**2) / 2, "laplace": -np.sqrt(2) * np.abs(z),
                   "uniform": np.where(np.abs(z) <= ROOT3 * (1 + 1e-9), 0.0, -np.inf)}[shape]
            own = np.where(np.isnan(x) != np.isnan(y), -np.inf, np.where(np.isnan(x), 0.0, own))
            kept = (x == 0) & (y == 0)
            return np.where(kept, SAME, np.where((x == 0) != (y == 0), -np.inf, own)) if zeros else own

        return density

    return of


def levels(stay: float) -> Callable[[np.ndarray], Density]:
    def of(column: np.ndarray) -> Density:
        there = len({v for v in column if v is not None})
        return lambda x, y: np.where(x == y, np.log(stay), np.where((x == None) != (y == None), -np.inf,  # noqa: E711
                                     np.log((1 - stay) / (there - 1)))) * ~((x == None) & (y == None))  # noqa: E711

    return of


MASKS: Mapping[str, Mapping[str, Callable[[np.ndarray], Density]]] = {
    "additive_noise(variance=0.25)": {"a": noise("normal", 0.25), "b": noise("normal", 0.25)},
    "additive_noise(variance=4.0)": {"a": noise("normal", 4.0), "b": noise("normal", 4.0)},
    "additive_noise(variance=2.0, noise='laplace', zeros='keep')": {
        "a": noise("laplace", 2.0, zeros=True), "b": noise("laplace", 2.0, zeros=True)},
    "additive_noise(variance=2.0, noise='uniform')": {"a": noise("uniform", 2.0), "b": noise("uniform", 2.0)},
    "variance_preserving_noise(variance=1.0, correlated=false)": {
        "a": noise("normal", 1.0, shrink=True), "b": noise("normal", 1.0, shrink=True)},
    "post_randomisation(stay=0.5, invariant=false, scope='file')": {"c": levels(0.5)},
    "data_shuffling(scope='file')": {"a": noise("normal", 1.0)},
}


def shares(
    frame: pd.DataFrame, masked: pd.DataFrame, laws: Mapping[str, Callable], cells: list[np.ndarray],
    random: np.random.Generator,
) -> dict[str, float]:
    """What each intruder links; records of a cell are told apart by the law alone."""
    hits = dict.fromkeys(("density", "ratio", "gambler", "pairing", "posterior"), 0.0)
    blocks = []
    for rows in cells:
        log = sum(of(frame[n].to_numpy()[rows])(frame[n].to_numpy()[rows][:, None], masked[n].to_numpy()[rows][None])
                  for n, of in laws.items())
        log = np.maximum(np.nan_to_num(log, neginf=-1e4), -1e4)
        top = np.exp(log - log.max(axis=0))
        ratio = top / np.maximum(top.sum(axis=0) - top, 1e-300)
        numbers = [masked[n].to_numpy()[rows] for n in laws if n != "c"]
        far = np.max([np.abs(v - np.nanmedian(v)) / (np.nanstd(v) or 1) for v in numbers], axis=0) > 4 if numbers else False
        hits["density"] += credit(log)
        hits["ratio"] += credit(np.log(ratio))
        hits["gambler"] += credit(np.log(ratio) + 1e3 * np.nan_to_num(far))
        order = random.permutation(len(rows))  # the assignment breaks ties by the order of rows
        hits["pairing"] += float((order[linear_sum_assignment(-log[:, order])[1]] == np.arange(len(rows))).sum())
        blocks.append(log)
    if len(cells[0]) <= SIZE:
        hits["posterior"] = sum(credit(p) for p in pairing_posteriors(np.array(blocks)))
    return {name: found / len(frame) for name, found in hits.items()}


def credit(score: np.ndarray) -> float:
    """Links of the highest score; ties share."""
    best = score >= score.max(axis=1, keepdims=True) - 1e-9
    return float((np.diag(best) / best.sum(axis=1)).sum())


def measure(mask: str, one_cell: bool, releases: int) -> dict:
    laws, frame = MASKS[mask], file_of(7)
    frame = frame[["g", "w", *laws]].dropna() if mask.startswith("data") else frame[["g", "w", *laws]]
    frame = frame.assign(g=0, w=1.0) if one_cell else frame
    frame = frame.reset_index(drop=True)
    data = lv.read(frame, confidential=list(laws), sub_groups=["g"], weight="w")
    found = lv.certify(data, mask)
    cells = [np.flatnonzero(frame["g"] == g) for g in frame["g"].unique()]
    every: dict[str, list[float]] = {}
    random = np.random.default_rng(1)
    for k in range(releases):
        masked = lv.mask(data, mask, secret=b"limits of certificates" + k.to_bytes(4, "big")).to_pandas()
        for name, share in shares(frame, masked, laws, cells, random).items():
            every.setdefault(name, []).append(share)
    kinds = {"single target": ("density", "ratio", "gambler"), "whole file": ("pairing", "posterior")}
    rows = []
    for one in found:
        mine = {n: np.array(v) for n, v in every.items() if n in kinds[one.intruder] and (n != "posterior" or not one_cell)}
        best = max(mine, key=lambda n: mine[n].mean())
        rows.append({"intruder": one.intruder, "expected": one.expected, "upper": one.upper, "best": best,
                     "mean": mine[best].mean(), "error": mine[best].std(ddof=1) / np.sqrt(releases),
                     "largest": max(v.max() for v in mine.values()),
                     "above": sum(int((v > one.upper + 1e-9).sum()) for v in mine.values())})
    return {"mask": mask, "cells": "one" if one_cell else f"{CELLS} of {SIZE}", "releases": releases, "rows": rows}


def lines(kept: list[dict]) -> list[str]:
    out = ["| mask | cells | intruder | expected | strongest: mean | who | one release | largest | above |",
           "|---|---|---|--:|--:|---|--:|--:|--:|"]
    for one in kept:
        for r in one["rows"]:
            mean = f"{r['mean']:.4f} ± {r['error']:.4f}"
            cells = [f"`{one['mask']}`", one["cells"], r["intruder"], f"{r['expected']:.4f}", mean, r["best"],
                     f"{r['upper']:.4f}", f"{r['largest']:.4f}", str(r["above"])]
            out.append(f"| {' | '.join(cells)} |")
    return out


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--releases", type=int, default=2000, help="releases of each file and mask")
    asked.add_argument("--save", action="store_true")
    asked.add_argument("--page", action="store_true", help="print the stored table")
    how = asked.parse_args()
    if how.page:
        print("\n".join(lines(json.loads(KEPT.read_text())["measured"])))
        return
    warnings.simplefilter("ignore")
    measured = []
    for mask in MASKS:
        for one_cell in (False, True):
            measured.append(measure(mask, one_cell, how.releases))
            print("\n".join(lines(measured[-1:])[2:]), flush=True)
            if how.save:
                KEPT.write_text(json.dumps({"run": run_facts(), "measured": measured}, indent=1) + "\n")
    print("\n".join(lines(measured)))


if __name__ == "__main__":
    main()
