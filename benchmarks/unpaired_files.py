"""Are files that copy records told from honest ones? False alarms and power of the tests for files without pairs.

    python benchmarks/unpaired_files.py --seed 20261119 --save [--only survey]
    python benchmarks/unpaired_files.py --page

Honest: a normal copula with the marginal distributions of the training part. Copies: the same with 1 % and 5 % of the rows
replaced by near copies (noise of .01 standard deviations in every column) or by exact copies. Trees: `sequential_trees` with
leaves of 1, 5 and 20 records, and smoothed with leaves of 5 and 20. A fifth of the records is held out; which ones, and every
draw, follow from the seed. An alarm is a p-value of at most .05. LARVATUS_DATA names the folder of census.csv and survey.csv;
without it, normal data with five columns are used alone.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import larvatus as lv
from page_tables import PAGE, replace_table, table
from run_facts import run_facts

RESULTS = Path(__file__).with_name("unpaired_files.json")
SYNTHETIC_PAGE = PAGE.with_name("is-this-synthetic-file-safe.md")
FOLDER = Path(os.environ.get("LARVATUS_DATA", ""))
CENSUS = ("AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL")
SURVEY = ("AGE", "INCOME", "MONEY", "ASSETS", "DEBTS")
TESTS = ("near_copies", "closest_record")
ALARM, SHARE, EXACT = 0.05, 0.2, 20
TREES = {
    "trees, leaves of 1": {"smallest_leaf": 1, "complexity": 0.0}, "trees, leaves of 5": {"smallest_leaf": 5},
    "trees, leaves of 20": {"smallest_leaf": 20}, "smoothed trees, leaves of 5": {"smallest_leaf": 5, "smoothing": "density"},
    "smoothed trees, leaves of 20": {"smallest_leaf": 20, "smoothing": "density"},
}
ENDED: list[int] = []  # a signal to end: what is finished is kept, with its number of files
NAMES = ("normal, 1,080", "normal, 4,000", "census.csv, 1,080", "survey.csv, 4,000")


def sources() -> dict[str, pd.DataFrame | int]:
    out: dict[str, pd.DataFrame | int] = {NAMES[0]: 1080, NAMES[1]: 4000}
    if (FOLDER / "census.csv").is_file():
        out[NAMES[2]] = pd.read_csv(FOLDER / "census.csv")[list(CENSUS)].astype(float)
        out[NAMES[3]] = pd.read_csv(FOLDER / "survey.csv")[list(SURVEY)].astype(float)
    return out


def normal(n: int, rng: np.random.Generator) -> pd.DataFrame:
    z = rng.normal(size=(n, 5)) @ np.linalg.cholesky(0.5 * np.eye(5) + 0.5).T
    return pd.DataFrame(z, columns=list("abcde"))


def copula(seen: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """An honest synthesis: normal scores with the correlations of the training part, and its quantiles, interpolated."""
    ranks = np.apply_along_axis(stats.rankdata, 0, seen) / (len(seen) + 1)
    corr = np.corrcoef(stats.norm.ppf(ranks).T)
    z = rng.normal(size=(n, seen.shape[1])) @ np.linalg.cholesky(corr + 1e-6 * np.eye(len(corr))).T
    return np.column_stack([np.quantile(seen[:, j], stats.norm.cdf(z[:, j])) for j in range(seen.shape[1])])


def with_copies(honest: np.ndarray, seen: np.ndarray, share: float, noise: float, rng: np.random.Generator) -> np.ndarray:
    out = honest.copy()
    count = round(share * len(out))
    chosen = seen[rng.choice(len(seen), count, replace=False)]
    out[:count] = chosen + noise * seen.std(axis=0) * rng.normal(size=chosen.shape)
    return out


def p_values(data: lv.Microdata, rows: np.ndarray, names: list[str]) -> dict[str, float]:
    scores = lv.risk(data, pd.DataFrame(rows, columns=names), list(TESTS), paired=False)
    return {s.method: float(s.details["test"][0]["p_value"]) for s in scores}


def one_case(
    name: str, source: pd.DataFrame | int, seed: int, reps: int, few: int, many: int, trees: int
) -> list[dict[str, object]]:
    """The share of files of every kind for which each test raises an alarm."""
    rng, found = np.random.default_rng([seed, hash_of(name)]), dict[str, list[dict[str, float]]]()
    for rep in range(max(reps, few, many, trees)):
        if ENDED:
            break
        secret = b"benchmark" + seed.to_bytes(8, "big") + rep.to_bytes(8, "big")
        frame = normal(source, rng) if isinstance(source, int) else source
        names = list(frame.columns)
        data = lv.hold_out(lv.read(frame, confidential=names), SHARE, secret=secret)
        seen = data.to_pandas().to_numpy(dtype=float)
        honest = copula(seen, len(frame), rng)
        files = {"honest": honest} if rep < reps else {}
        for share, often in ((0.01, few), (0.05, many)):
            if rep < often:
                files[f"{share:.0%} near copies".replace("%", " %")] = with_copies(honest, seen, share, 0.01, rng)
            if rep < min(EXACT, often):
                files[f"{share:.0%} copies".replace("%", " %")] = with_copies(honest, seen, share, 0.0, rng)
        for kind, settings in TREES.items() if rep < trees else ():
            files[kind] = lv.mask(data, lv.masks.SequentialTrees(**settings), secret=secret).to_pandas()[names].to_numpy()
        for kind, rows in files.items():
            found.setdefault(kind, []).append(p_values(data, rows, names))
    return [{"data": name, "file": kind, "files": len(p), **{t: float(np.mean([v[t] <= ALARM for v in p])) for t in TESTS},
             "either": float(np.mean([min(v.values()) <= ALARM for v in p]))} for kind, p in found.items()]


def hash_of(text: str) -> int:
    return int.from_bytes(text.encode()[:6], "big")


def page(rows: list[dict[str, object]]) -> list[str]:
    head = ("data, records", "file", "files", "`near_copies`", "`closest_record`", "either")
    return table(head, [(str(r["data"]), str(r["file"]), str(r["files"]), *(f"{r[t]:.3f}" for t in (*TESTS, "either")))
                        for r in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of all draws")
    parser.add_argument("--reps", type=int, default=200, help="honest files for each source")
    parser.add_argument("--few", type=int, default=100, help="files with 1 %% near copies")
    parser.add_argument("--many", type=int, default=300, help="files with 5 %% near copies")
    parser.add_argument("--trees", type=int, default=30, help="files by each kind of trees")
    parser.add_argument("--only", help="sources whose name contains this")
    parser.add_argument("--save", action="store_true", help="keep the results")
    parser.add_argument("--page", action="store_true", help="write the kept results into the guide")
    asked = parser.parse_args()
    if asked.page:
        replace_table(SYNTHETIC_PAGE, page(json.loads(RESULTS.read_text())["rows"]))
        return
    signal.signal(signal.SIGTERM, lambda number, frame: ENDED.append(number))
    facts = {"seed": asked.seed, **run_facts()}
    for name, source in sources().items():
        if (asked.only is None or asked.only in name) and not ENDED:
            began = time.process_time()
            rows = one_case(name, source, asked.seed, asked.reps, asked.few, asked.many, asked.trees)
            print(f"{name}: {time.process_time() - began:.0f} s of processor time", file=sys.stderr)
            print("\n".join(page(rows)), flush=True)
            if asked.save:
                save(name, rows, facts)


def save(name: str, rows: list[dict[str, object]], facts: dict[str, object]) -> None:
    """Keep the rows of one source, with the seed and the version they are from; those of other sources stay."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": [], "runs": {}}
    every = [*(r for r in kept["rows"] if r["data"] != name), *rows]
    runs = {**kept.get("runs", {}), name: facts}
    RESULTS.write_text(json.dumps({
        "alarm": ALARM, "held out": SHARE, "runs": {n: runs[n] for n in NAMES if n in runs},
        "rows": sorted(every, key=lambda r: NAMES.index(str(r["data"]))),
    }, indent=1) + "\n")


if __name__ == "__main__":
    main()
