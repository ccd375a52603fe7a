"""Log-linear models of key risk under the design of Skinner and Shlomo (2008), on a made-up population.

    python benchmarks/key_risk_census_design.py [--samples 3] [--save] [--page]

Their tables are about samples of .5, 1 and 2 % of persons of the 2001 census of the United Kingdom, by six keys: area (2), sex
(2), age (101), marital status (6), ethnic group (17) and economic activity (10), so 412,080 cells. That population is not
public. Here as many persons are drawn one by one: marital status by age and sex, economic activity by age, sex and marital
status, ethnic group by area and age. No log-linear model of two-way interactions holds exactly. Printed are the true τ₁ and τ₂
of each sample, the estimates by independence, by all two-way interactions and by search with their intervals, and the test
B / sd. `--save` keeps the table in benchmarks/key_risk_census_design.json, and `--page` prints the table of the guide from it.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from larvatus.stats.key_risk.model_risk import model_risk

LEVELS = (2, 2, 101, 6, 17, 10)
PERSONS = 944_793
FRACTIONS = (0.005, 0.01, 0.02)


def draw(rng: np.random.Generator, score: np.ndarray, place: np.ndarray) -> np.ndarray:
    """A category of each person, with probabilities proportional to exp(score) of the row at its place."""
    share = np.exp(score - score.max(axis=1, keepdims=True))
    upper = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)
    return np.minimum((rng.random(len(place))[:, None] > upper[place]).sum(axis=1), score.shape[1] - 1)


def census() -> np.ndarray:
    """The keys of all persons, in the order of LEVELS."""
    rng = np.random.default_rng(1)
    area, sex = rng.integers(0, 2, PERSONS), rng.integers(0, 2, PERSONS)
    years = np.arange(101.0)
    age = draw(rng, np.log(1 / (1 + np.exp((years - 78 - 4 * np.arange(2)[:, None]) / 8))), sex)
    # Marital status: single, married, remarried, separated, divorced, widowed.
    a, s = (v.reshape(-1) for v in np.meshgrid(years, np.arange(2.0), indexing="ij"))
    adult = np.where(a < 16, -9.0, 0.0)
    marital = np.column_stack([3 - 0.09 * (a - 16), adult + 1.5 - 0.0006 * (a - 50) ** 2, adult - 1 - 0.001 * (a - 55) ** 2,
                               adult - 1.5 - 0.001 * (a - 42) ** 2, adult - 0.5 - 0.001 * (a - 50) ** 2,
                               adult - 5 + 0.075 * (a - 20) + 0.9 * s])
    married = draw(rng, marital, age * 2 + sex)
    # Economic activity: ten groups with peaks at different ages, shifted by sex and marital status.
    a, s, m = (v.reshape(-1) for v in np.meshgrid(years, np.arange(2.0), np.arange(6.0), indexing="ij"))
    peak, width = np.linspace(5, 85, 10), np.array([9, 8, 10, 14, 14, 14, 13, 12, 10, 14.0])
    own, by_status = rng.normal(0, 0.7, (2, 10)), rng.normal(0, 0.4, (6, 10))
    work = -((a[:, None] - peak) / width) ** 2 / 2 + own[s.astype(int)] + by_status[m.astype(int)]
    active = draw(rng, work, (age * 2 + sex) * 6 + married)
    # Ethnic group: one common group, sixteen rare ones, younger in one area.
    a, r = (v.reshape(-1) for v in np.meshgrid(years, np.arange(2.0), indexing="ij"))
    rare = np.append(4.5, rng.normal(0, 1, 16))
    ethnic = rare + np.append(0.0, rng.normal(0, 0.8, 16)) * r[:, None] + np.append(0.02, -0.01 * np.ones(16)) * a[:, None]
    return np.column_stack([area, sex, age, married, draw(rng, ethnic, age * 2 + area), active])


def one_sample(keys: np.ndarray, cell: np.ndarray, size: np.ndarray, fraction: float, seed: int) -> list[dict[str, object]]:
    """True and estimated numbers of one sample."""
    taken = np.random.default_rng(seed).random(len(keys)) < fraction
    own, first, place = np.unique(cell[taken], return_index=True, return_inverse=True)
    f = np.bincount(place.reshape(-1))
    alone = f == 1
    true = {"tau1": float((size[own][alone] == 1).sum()), "tau2": float((1 / size[own][alone]).sum())}
    rows = []
    for model in ("independence", "two_way", "search"):
        began = time.process_time()
        fit = model_risk(keys[taken][first], f, None, fraction, model).path[-1]
        rows.append({
            "fraction": fraction, "records": int(f.sum()), "uniques": int(alone.sum()), "model": model,
            **{f"true_{n}": round(v, 1) for n, v in true.items()}, "tau1": round(fit.tau1, 1), "tau2": round(fit.tau2, 1),
            "ends1": [round(v, 1) for v in fit.interval1], "ends2": [round(v, 1) for v in fit.interval2],
            "test1": round(fit.test1, 2), "test2": round(fit.test2, 2), "s": round(time.process_time() - began, 1),
        })
        print("| {fraction} | {model} | {true_tau1} | {tau1} {ends1} | {true_tau2} | {tau2} {ends2} | {test1} | {test2} | {s} |"
              .format(**rows[-1]), flush=True)
    return rows


def page() -> None:
    """The table of docs/guides/what-keys-give-away.md: means over the samples of each fraction."""
    rows = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))["samples"]
    named = {"independence": "independence", "two_way": "all two-way", "search": "search (default)"}
    print("  | sample | model | true τ₁ | τ₁ | true τ₂ | τ₂ | intervals that contain the truth |")
    print("  |---|---|---|---|---|---|---|")
    for fraction, model in dict.fromkeys((r["fraction"], r["model"]) for r in rows):
        own = [r for r in rows if (r["fraction"], r["model"]) == (fraction, model)]
        means = (f"{np.mean([r[n] for r in own]):.0f}" for n in ("true_tau1", "tau1", "true_tau2", "tau2"))
        inside = sum(r[f"ends{i}"][0] <= r[f"true_tau{i}"] <= r[f"ends{i}"][1] for r in own for i in (1, 2))
        print(f"  | {100 * fraction:g} % | {named[model]} | {' | '.join(means)} | {inside} of {2 * len(own)} |")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--samples", type=int, default=3)
    asked.add_argument("--save", action="store_true")
    asked.add_argument("--page", action="store_true", help="print the table of the guide, and do nothing else")
    given = asked.parse_args()
    if given.page:
        page()
        return
    keys = census()
    cell = np.ravel_multi_index(tuple(keys.T), LEVELS)
    size = np.bincount(cell, minlength=int(np.prod(LEVELS)))
    print(f"{len(keys):,} persons, {int((size > 0).sum()):,} of {len(size):,} cells, {int((size == 1).sum()):,} uniques\n")
    print("| π | model | true τ₁ | τ₁ | true τ₂ | τ₂ | B₁ / sd | B₂ / sd | s |\n|---|---|---|---|---|---|---|---|---|")
    rows = [row for fraction in FRACTIONS for seed in range(given.samples)
            for row in one_sample(keys, cell, size, fraction, seed)]
    if given.save:
        table = json.dumps({"persons": PERSONS, "levels": LEVELS, "samples": rows}, indent=1)
        Path(__file__).with_suffix(".json").write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
