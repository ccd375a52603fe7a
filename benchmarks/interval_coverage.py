"""Coverage of the intervals of attacks and measures, by simulation over masks and shapes of data.

    truth of a cell  the mean score over independent replicates of data and secret, with the same number of records
    coverage         share of replicates whose interval contains the truth, the replicate itself left out of the mean

An interval says how far the score would move with other records from the same population and another secret. Success of a
linkage, a share of variance and a rank correlation all depend on the number of records, and so do their baselines. The truth
is therefore the mean at the same number of records, for every score. Leaving the replicate out of the mean makes coverage
slightly smaller, never larger. Standard errors are those of a share. An attack that states an exact figure of the file
(aggregate_disclosure) claims nothing about other files and is left out.

The file is not called coverage.py, because a script of that name hides the package `coverage` from Numba.

Usage: python benchmarks/interval_coverage.py [--replicates 80] [--rows 300] [--masks NAME …] [--shapes NAME …]
    [--first 1000] [--attacks NAME …] [--save] [--page]
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import larvatus as lv

HERE = Path(__file__).parent
MIX = np.linalg.cholesky([[1.0, 0.6, 0.3], [0.6, 1.0, 0.4], [0.3, 0.4, 1.0]]).T
NAMES = ["a", "b", "c"]
MASKS = {
    "additive_noise": "additive_noise(variance=0.2)", "rank_swap": "rank_swap(window=0.1)",
    "microaggregation": "microaggregation(k=3)", "sufficiency_based": "sufficiency_based(similarity=0.5)",
    "data_shuffling": "data_shuffling", "blank_and_impute": "blank_and_impute(rate=0.5)",
    "post_randomisation": "post_randomisation", "date_shift": "date_shift",
    "rank_swap in pairs": "rank_swap(window=0.3, pairs=true)",
    "sufficiency_based in any sub-group": "sufficiency_based(insiders=0)",
}
ATTACKS = (
    "value_disclosure", "rank_disclosure", "interval_disclosure", "attribute_inference", "nearest_record", "rank_window",
    "optimal_assignment", "mixed_linkage", "exact_match", "bayesian_intruder", "category_disclosure", "posterior_match",
    "probabilistic_linkage", "cluster_match", "group_intersection", "interval_match", "swap_chain", "rerun", "exact_equations",
    "shared_values", "uniqueness", "simulated_release", "household_linkage", "date_intervals",
)
Frame = tuple[dict[str, Any], dict[str, Any]]  # columns, and roles


def _normal(rng: np.random.Generator, n: int) -> Frame:
    return dict(zip(NAMES, (rng.normal(size=(n, 3)) @ MIX).T, strict=True)), {"confidential": NAMES}


def _changed(change: Callable[[Any], Any]) -> Callable[[np.random.Generator, int], Frame]:
    def shape(rng: np.random.Generator, n: int) -> Frame:
        columns, roles = _normal(rng, n)
        return {name: change(v) for name, v in columns.items()}, roles

    return shape


def _one_column(rng: np.random.Generator, n: int) -> Frame:
    return {"a": rng.normal(size=n)}, {"confidential": ["a"]}


def _grouped(rng: np.random.Generator, n: int) -> Frame:
    columns, roles = _normal(rng, n)
    s, g = rng.integers(0, 3, n), rng.integers(0, 2, n)
    moved = {name: v + 0.7 * s + 2 * g for name, v in columns.items()}
    return {**moved, "s": np.array(["u", "v", "w"])[s], "g": np.array(["one", "two"])[g]}, {
        **roles, "non_confidential": ["s"], "sub_groups": ["g"]}


def _categories(rng: np.random.Generator, n: int) -> Frame:
    s = rng.integers(0, 3, n)
    p = np.array([[0.6, 0.2, 0.15, 0.05], [0.3, 0.4, 0.2, 0.1], [0.2, 0.2, 0.3, 0.3]])[s]
    d = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, 3)
    return {"d": np.array(["k", "l", "m", "o"])[d], "s": np.array(["u", "v", "w"])[s]}, {
        "confidential": ["d"], "nominal": ["d"], "non_confidential": ["s"]}


def _groups_of_eight(rng: np.random.Generator, n: int) -> Frame:
    columns, _ = _normal(rng, n)
    return {"a": columns["a"], "b": columns["b"], "g": np.arange(n) // 8}, {"confidential": ["a", "b"], "sub_groups": ["g"]}


def _firms(rng: np.random.Generator, n: int) -> Frame:
    """Records of one firm share the first column, and S says which firm it is."""
    columns, roles = _normal(rng, n)
    firm = np.arange(n) // 10
    return {**columns, "a": rng.normal(size=n)[firm], "firm": np.char.add("f", firm.astype(str))}, {
        **roles, "non_confidential": ["firm"]}


def _families(rng: np.random.Generator, n: int) -> Frame:
    columns, roles = _normal(rng, n)
    family = np.arange(n) // 3
    return {**columns, "c": rng.normal(size=n)[family], "family": family}, {**roles, "household": "family"}


def _dates(rng: np.random.Generator, n: int) -> Frame:
    first = np.datetime64("2001-01-01") + rng.integers(0, 900, n)
    return {"first": first, "second": first + rng.integers(1, 60, n)}, {"confidential": ["first", "second"]}


SHAPES: dict[str, Callable[[np.random.Generator, int], Frame]] = {
    "normal": _normal, "lognormal": _changed(lambda v: np.exp(1.5 * v)),
    "half zeros": _changed(lambda v: np.where(v < 0, 0.0, np.exp(v))), "ties": _changed(lambda v: np.rint(3 * v)),
    "one column": _one_column, "S and sub-groups": _grouped, "categories": _categories,
    "sub-groups of 8": _groups_of_eight, "firms": _firms, "families": _families, "dates": _dates,
}
_NUMBERS = ("normal", "lognormal", "half zeros", "ties", "one column", "S and sub-groups", "firms", "families")
SHAPES_OF = {"post_randomisation": ("categories",), "date_shift": ("dates",),
             "rank_swap in pairs": ("normal", "lognormal", "ties"),
             "sufficiency_based in any sub-group": ("sub-groups of 8",)}  # the other masks: all shapes of numbers


def cell(
    mask: str, shape: str, attacks: Sequence[str], replicates: int, rows: int, first: int = 0
) -> list[dict[str, object]]:
    """One row for each score: coverage with its standard error, mean width, mean score; all replicates of one cell."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for i in range(first, first + replicates):
        rng = np.random.default_rng([i, *mask.encode(), *shape.encode()])
        columns, roles = SHAPES[shape](rng, rows)
        data = lv.read(pa.table(columns), **roles)
        try:
            release = lv.mask(data, MASKS[mask], secret=rng.bytes(32))
        except lv.LarvatusError as error:
            print(f"{mask}, {shape}: {error}", flush=True)
            return []
        for attack in attacks:
            try:
                score = lv.risk(data, release, [attack])[0]
            except lv.LarvatusError:
                continue
            if score.interval is not None:
                found.setdefault(attack, []).append((score.value, *score.interval))
    return [{"score": name, "mask": mask, "shape": shape, **covered(np.array(values))} for name, values in found.items()]


def covered(values: np.ndarray) -> dict[str, object]:
    """Coverage of intervals (value, low, high), one row per replicate, of the mean value of the other replicates."""
    value, low, high = values.T
    n = len(value)
    truth = (value.sum() - value) / max(n - 1, 1)
    share = float(np.mean((low - 1e-12 <= truth) & (truth <= high + 1e-12)))
    smooth = (share * n + 2) / (n + 4)
    return {
        "coverage": round(share, 4), "standard_error": round(math.sqrt(smooth * (1 - smooth) / (n + 4)), 4),
        "mean_width": round(float((high - low).mean()), 4), "mean_value": round(float(value.mean()), 4),
        "sd_value": round(float(value.std(ddof=1)), 4), "replicates": n,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=80, help="replicates of data and secret per cell")
    parser.add_argument("--first", type=int, default=0, help="number of the first replicate, to measure on other files")
    parser.add_argument("--rows", type=int, default=300, help="records of each file")
    parser.add_argument("--masks", nargs="*", default=list(MASKS), choices=list(MASKS))
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--attacks", nargs="*", default=list(ATTACKS))
    parser.add_argument(
        "--save", action="store_true", help="write the results to benchmarks/coverage.json; cells that were not run stay"
    )
    parser.add_argument("--page", action="store_true", help="only write the table of docs/guides/intervals.md")
    options = parser.parse_args()
    if options.page:
        write_table()
        return 0
    results: list[dict[str, Any]] = []
    for mask in options.masks:
        for shape in options.shapes:
            if shape not in SHAPES_OF.get(mask, _NUMBERS):
                continue
            began = time.perf_counter()
            results += cell(mask, shape, options.attacks, options.replicates, options.rows, options.first)
            print(f"{mask}, {shape}: {time.perf_counter() - began:.0f} s", flush=True)
            if options.save:
                save(results, options.rows)
    for row in sorted(results, key=lambda r: (r["coverage"], r["score"])):
        print(f"{row['coverage']:.3f} ± {row['standard_error']:.3f}  width {row['mean_width']:.3f}  "
              f"value {row['mean_value']:.3f} (SD {row['sd_value']:.3f})  {row['score']}, {row['mask']}, {row['shape']}")
    return 0


def save(results: Sequence[dict[str, Any]], rows: int) -> None:
    """Write the results, lowest coverage first; cells of an earlier run that were not run again stay."""
    file = HERE / "coverage.json"
    before = json.loads(file.read_text())["results"] if file.exists() else []
    again = {_key(r) for r in results}
    every = [*(r for r in before if _key(r) not in again), *({**r, "rows": rows} for r in results)]
    every.sort(key=lambda r: (r["coverage"], _key(r)))
    file.write_text(json.dumps({"python": platform.python_version(), "results": every}, indent=1) + "\n")


def write_table() -> None:
    """Replace the table at the end of the guide: for each score its lowest and its median coverage over the cells."""
    every = json.loads((HERE / "coverage.json").read_text())["results"]
    lines = ["| score | cells | lowest coverage | ± SE | in the cell | median coverage | cells below 0.90 |",
             "|---|---|---|---|---|---|---|"]
    for name in sorted({r["score"] for r in every}, key=lambda s: min(r["coverage"] for r in every if r["score"] == s)):
        cells = sorted((r for r in every if r["score"] == name), key=lambda r: r["coverage"])
        worst, middle = cells[0], float(np.median([r["coverage"] for r in cells]))
        lines.append(f"| `{name}` | {len(cells)} | {worst['coverage']:.3f} | {worst['standard_error']:.3f} | "
                     f"`{worst['mask']}`, {worst['shape']} | {middle:.3f} | {sum(r['coverage'] < 0.9 for r in cells)} |")
    page = HERE.parent / "docs" / "guides" / "intervals.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text[: text.index("| score |")] + "\n".join(lines) + "\n", encoding="utf-8")


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return str(row["score"]), str(row["mask"]), str(row["shape"])


if __name__ == "__main__":
    raise SystemExit(main())
