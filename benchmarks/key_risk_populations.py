"""Bias and coverage of every estimate of key risk in populations grown from real files.

    python benchmarks/key_risk_populations.py FOLDER [--samples 60] [--save]
    python benchmarks/key_risk_populations.py --page

FOLDER has households.csv and survey.csv. A population has 25 copies of every record; in each copy every key is replaced, with
probability .15, by that of another record. So margins and most relations are those of the file, and many combinations are new.
Samples of 2 % and 10 % are drawn at random, and also with unequal probabilities: proportional to 1/2 or 2, by the first key,
with weights of one over the probability. The truth is known for every sample:

    global risk     Σ f / F over the records            individual risk with weights; log-linear models (model_risk)
    tau1, tau2      sample uniques with F = 1; Σ 1 / F  log-linear models: independence, all two-way, search
    tau2            Σ 1 / F over sample uniques         sum of individual risks of sample uniques
    uniques         population uniques                  Pitman, Zayatz, slide negative binomial, the chosen one

Printed are the mean relative error, the largest one of any design (worst), and the share of 95 % intervals that contain the
truth. `--save` keeps the table in benchmarks/key_risk_populations.json, and `--page` prints the table of the guide from it.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from larvatus.attacks.keys.class_risk import mean_with_interval
from larvatus.stats.key_risk.individual_risk import global_risk, individual_risk
from larvatus.stats.key_risk.model_risk import model_risk
from larvatus.stats.key_risk.superpopulation import population_uniques

FILES = {
    "households": ("households.csv", ["urbrur", "relat", "sex", "age", "hhcivil"], {"age": 5}),
    "survey": ("survey.csv", ["SEX", "AGE", "MARSTAT", "ETNI", "EDUC1"], {"AGE": 2}),
}
COPIES, REPLACED = 25, 0.15
SHOWN = {  # rows of the guide
    "global risk: log-linear, search": "mean individual risk: log-linear, search (default)",
    "global risk: log-linear, two_way": "mean individual risk: log-linear, all two-way",
    "global risk: log-linear, independence": "mean individual risk: log-linear, independence",
    "global risk: individual risk": "mean individual risk: by weights (sdcMicro)",
    "tau2: individual risk": "τ₂: individual risks of sample uniques",
    "tau2: log-linear, independence": "τ₂: log-linear, independence",
    "tau2: log-linear, two_way": "τ₂: log-linear, all two-way",
    "tau2: log-linear, search": "τ₂: log-linear, search (default)",
    "tau1: log-linear, search": "τ₁: log-linear, search (default)",
    "uniques: Pitman": "population uniques: Pitman",
    "uniques: Zayatz": "population uniques: Zayatz",
    "uniques: slide negative binomial": "population uniques: slide negative binomial",
}
FRACTIONS = (0.02, 0.1)


def population(folder: Path, file: str, keys: list[str], width: dict[str, int]) -> np.ndarray:
    """Codes of the keys of all persons of a population grown from a file."""
    rng = np.random.default_rng(1)
    frame = pd.read_csv(folder / file)[keys]
    for name, size in width.items():
        frame[name] = frame[name] // size
    codes = np.column_stack([pd.factorize(frame[n], sort=True)[0] for n in keys])
    grown = np.tile(codes, (COPIES, 1))
    for j in range(len(keys)):
        other = rng.random(len(grown)) < REPLACED
        grown[other, j] = codes[rng.integers(0, len(codes), int(other.sum())), j]
    return grown


def estimates(codes: np.ndarray, cell: np.ndarray, size: np.ndarray, fraction: float, unequal: bool, seed: int) -> Iterator[
    tuple[str, float, float, float, float]]:
    """Name, truth, estimate and interval of every estimate in one sample."""
    rng = np.random.default_rng(seed)
    factor = np.where(codes[:, 0] % 2 == 0, 0.5, 2.0) if unequal else np.ones(len(codes))
    chance = np.minimum(fraction * factor / factor.mean(), 1.0)
    taken = rng.random(len(codes)) < chance
    own, first, place = np.unique(cell[taken], return_index=True, return_inverse=True)
    f = np.bincount(place.reshape(-1))
    weight = np.bincount(place.reshape(-1), weights=1 / chance[taken])
    true, alone = size[own], f == 1
    p = np.minimum(f / weight, 1.0)
    found = global_risk(f, p)
    yield "global risk: individual risk", (f / true).sum() / f.sum(), found.value, found.low, found.high
    tau1, tau2 = float((true[alone] == 1).sum()), float((1 / true[alone]).sum())
    yield "tau2: individual risk", tau2, float(individual_risk(f, p)[alone].sum()), np.nan, np.nan
    part = f.sum() / weight.sum()
    seen = codes[taken][first]
    for model in ("independence", "two_way", "search"):
        models = model_risk(seen, f, weight, part, model)
        fit = models.path[-1]
        if models.risk is not None:
            r = models.risk
            mean, low, high = mean_with_interval(f, r.risk, r.spread, float(f.sum()), r.doubt)
            yield f"global risk: log-linear, {model}", (f / true).sum() / f.sum(), mean, low, high
        yield f"tau1: log-linear, {model}", tau1, fit.tau1, *fit.interval1
        yield f"tau2: log-linear, {model}", tau2, fit.tau2, *fit.interval2
    uniques = float((size == 1).sum())
    for e in population_uniques(f, part):
        value = e.uniques if e.converged else np.nan
        low, high = e.ends or (np.nan, np.nan)
        yield f"uniques: {e.model}", uniques, value, low, high
        if e.chosen:
            yield "uniques: chosen", uniques, value, low, high


def page() -> None:
    """The table of docs/guides/what-keys-give-away.md, from the saved results."""
    kept = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))["estimates"]
    rows = {row["estimate"]: row for row in kept}
    print("  | estimate | mean error | worst | coverage |\n  |---|---|---|---|")
    for name, shown in SHOWN.items():
        row = rows[name]
        errors = (f"{100 * row[n]:+,.0f} %".replace("-", "−") for n in ("mean_error", "worst"))
        covers = "" if row["coverage"] is None else f"{row['coverage']:.2f}".removeprefix("0")
        print(f"  | {shown} | {' | '.join(errors)} | {covers} |")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path, nargs="?", help="folder of households.csv and survey.csv")
    asked.add_argument("--samples", type=int, default=60)
    asked.add_argument("--save", action="store_true")
    asked.add_argument("--page", action="store_true", help="print the table of the guide, and do nothing else")
    given = asked.parse_args()
    if given.page:
        page()
        return
    if given.folder is None:
        asked.error("name the folder of households.csv and survey.csv")
    errors: dict[str, dict[str, float]] = defaultdict(dict)
    covered: dict[str, list[bool]] = defaultdict(list)
    for name, (file, keys, width) in FILES.items():
        codes = population(given.folder, file, keys, width)
        cell = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
        size = np.bincount(cell)
        for fraction in FRACTIONS:
            for unequal in (False, True):
                design = f"{name} {fraction:g}{' unequal' if unequal else ''}"
                totals: dict[str, list[tuple[float, float]]] = defaultdict(list)
                for seed in range(given.samples):
                    for what, truth, value, low, high in estimates(codes, cell, size, fraction, unequal, seed):
                        totals[what].append((truth, value))
                        if np.isfinite(low):
                            covered[what].append(bool(low <= truth <= high))
                for what, pairs in totals.items():
                    truth, value = np.nanmean(np.array(pairs), axis=0)
                    errors[what][design] = float(value / truth - 1) if truth else float("nan")
                print(f"{design}: {len(codes):,} persons, {len(size):,} combinations", flush=True)
    rows = []
    for what, by in errors.items():
        share = round(float(np.mean(covered[what])), 3) if covered[what] else None
        worst = max(by.values(), key=lambda e: -1.0 if np.isnan(e) else abs(e))
        rows.append({"estimate": what, "mean_error": round(float(np.nanmean(list(by.values()))), 3), "worst": round(worst, 3),
                     "coverage": share, **{design: round(e, 3) for design, e in by.items()}})
    print("\n| estimate | mean error | worst | coverage |\n|---|---|---|---|")
    for row in rows:
        covers = "" if row["coverage"] is None else f"{row['coverage']:.3f}"
        print(f"| {row['estimate']} | {row['mean_error']:+.3f} | {row['worst']:+.3f} | {covers} |")
    if given.save:
        kept = {"samples": given.samples, "copies": COPIES, "replaced": REPLACED, "estimates": rows}
        Path(__file__).with_suffix(".json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
