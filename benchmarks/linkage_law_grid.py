"""The linkage law beside simulation over a grid of ρ, d and n, and what one-to-one matching adds.

    python benchmarks/linkage_law_grid.py --save       minutes; prints and stores the table
    python benchmarks/linkage_law_grid.py --page       prints the table of docs/science/linkage-law.md

Each repeat draws X and Y = ρX + √(1 − ρ²)ε afresh and links every target by the best rule: the nearest row to x/ρ, in the
metric Σ ρ²/(1 − ρ²). z is (simulation − law) / standard error over repeats, which are independent; if nearly all or nearly no
targets are linked, the error is that of independent targets. With one-to-one matching all targets are assigned at once, at the
highest total likelihood (SciPy).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

import larvatus as lv

KEPT = Path(__file__).with_suffix(".json")
EQUAL = [(rho, d, n) for d in (1, 2, 5, 10) for rho in (0.3, 0.6, 0.8, 0.9, 0.97) for n in (30, 300, 1000)]
UNEQUAL = [((0.9, 0.5), 300), ((0.95, 0.8, 0.3), 300), ((0.9, 0.7, 0.5, 0.3, 0.1), 1000), ((0.99, 0.05), 300)]
LEAST = 20  # links or misses below which the spread over repeats is not a good error


def scores(rho: np.ndarray, n: int, draws: np.random.Generator) -> np.ndarray:
    """log f(y | x) / f(y) of targets × rows, up to a constant of each target."""
    x = draws.standard_normal((n, len(rho)))
    y = rho * x + np.sqrt(1 - rho**2) * draws.standard_normal((n, len(rho)))
    weight = rho**2 / (1 - rho**2)
    return (x * np.sqrt(weight) / rho) @ (y * np.sqrt(weight)).T - (y**2 * weight).sum(axis=1) / 2


def shares(rho: np.ndarray, n: int, repeats: int, matched: int, guesses: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The share linked in each repeat: by each target alone, and one to one."""
    draws, alone, together = np.random.default_rng(seed), [], []
    for k in range(repeats):
        score = scores(rho, n, draws)
        own = np.diag(score)
        alone.append(float(((score > own[:, None]).sum(axis=1) < guesses).mean()))
        if k < matched:
            rows, columns = linear_sum_assignment(-score)
            together.append(float((rows == columns).mean()))
    return np.array(alone), np.array(together)


def measure(rho: np.ndarray, n: int, repeats: int, matched: int, guesses: int, seed: int) -> dict:
    law = lv.linkage_law(n, correlations=rho.tolist(), guesses=guesses)
    alone, together = shares(rho, n, repeats, matched, guesses, seed)
    few = min(alone.mean(), 1 - alone.mean()) * n * repeats < LEAST
    spread = alone.std(ddof=1) / np.sqrt(repeats)
    error = np.hypot(np.sqrt(max(law.links * (1 - law.links), 1 / (n * repeats)) / (n * repeats)) if few else spread,
                     law.standard_error)
    return {
        "rho": sorted(set(rho.tolist()), reverse=True), "d": len(rho), "n": n, "guesses": guesses, "law": law.links,
        "simulation": float(alone.mean()), "error": float(error), "z": float((alone.mean() - law.links) / error),
        "one_to_one": float(together.mean()) if len(together) else None, "repeats": repeats, "matched": matched,
    }


def lines(rows: list[dict]) -> list[str]:
    """The table in Markdown, and what it shows."""
    out = ["| ρ | d | n | guesses | law | simulation | z | one to one |", "|---|---|---|---|---|---|---|---|"]
    for r in rows:
        rho, pairs = ", ".join(f"{v:g}" for v in r["rho"]), "" if r["one_to_one"] is None else f"{r['one_to_one']:.4f}"
        out.append(f"| {rho} | {r['d']} | {r['n']:,} | {r['guesses']} | {r['law']:.4f} | {r['simulation']:.4f} ± "
                   f"{r['error']:.4f} | {r['z']:+.1f} | {pairs} |")
    z = np.array([r["z"] for r in rows])
    gain = max((r["one_to_one"] - r["simulation"] for r in rows if r["one_to_one"] is not None), default=0.0)
    return [*out, "", f"Combinations: {len(z)}. Beyond three standard errors: {int((np.abs(z) > 3).sum())}. Largest |z|: "
            f"{np.abs(z).max():.2f}. Mean square of z: {np.mean(z**2):.2f}. Most that one-to-one matching adds: {gain:.4f}."]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--repeats", type=int, default=100)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--save", action="store_true")
    asked.add_argument("--page", action="store_true", help="print the stored table")
    how = asked.parse_args()
    if how.page:
        print("\n".join(lines(json.loads(KEPT.read_text())["rows"])))
        return
    todo = [(np.full(d, rho), n, 1) for rho, d, n in EQUAL] + [(np.array(rho), n, 1) for rho, n in UNEQUAL]
    todo += [(np.full(5, 0.7), 300, 5), (np.array([0.9, 0.5]), 300, 10)]
    rows = []
    for k, (rho, n, guesses) in enumerate(todo):
        repeats = how.repeats if n < 1000 else how.repeats // 2
        rows.append(measure(rho, n, repeats, 10 if guesses == 1 else 0, guesses, how.seed * 1000 + k))
        print(lines(rows)[-3], flush=True)
        if how.save:
            KEPT.write_text(json.dumps({"seed": how.seed, "rows": rows}, indent=1) + "\n")
    print(lines(rows)[-1])


if __name__ == "__main__":
    main()
