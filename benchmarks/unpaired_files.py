"""Are files that copy records told from honest ones? False alarms and power of the tests for files without pairs.

    python benchmarks/unpaired_files.py --reps 200 --few 100 --save
    python benchmarks/unpaired_files.py --page

Files: an honest synthesis (a normal copula with the marginal distributions of the training part), the same with 1 % and 5 % of
the rows replaced by near copies (noise of .01 standard deviations in every column) and by exact copies, and trees grown to
single records. A fifth of the records is held out. An alarm is a p-value of at most .05. LARVATUS_DATA names the folder of
census.csv and survey.csv; without it, normal data with five columns are used alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import larvatus as lv

RESULTS = Path(__file__).with_name("unpaired_files.json")
FOLDER = Path(os.environ.get("LARVATUS_DATA", ""))
CENSUS = ("AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL")
SURVEY = ("AGE", "INCOME", "MONEY", "ASSETS", "DEBTS")
TESTS = ("near_copies", "closest_record")
ALARM, SHARE = 0.05, 0.2


def sources() -> dict[str, pd.DataFrame | int]:
    out: dict[str, pd.DataFrame | int] = {"normal, 1,080": 1080, "normal, 4,000": 4000}
    if (FOLDER / "census.csv").is_file():
        out["census.csv, 1,080"] = pd.read_csv(FOLDER / "census.csv")[list(CENSUS)].astype(float)
        out["survey.csv, 4,000"] = pd.read_csv(FOLDER / "survey.csv")[list(SURVEY)].astype(float)
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


def trees(seen: np.ndarray, n: int, rng: np.random.Generator, leaf: int) -> np.ndarray:
    """Column by column by regression trees with leaves of at least `leaf` records; values are drawn from the leaf."""
    from sklearn.tree import DecisionTreeRegressor

    out = np.empty((n, seen.shape[1]))
    out[:, 0] = seen[rng.integers(0, len(seen), n), 0]
    for j in range(1, seen.shape[1]):
        tree = DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0).fit(seen[:, :j], seen[:, j])
        mine, theirs = tree.apply(seen[:, :j]), tree.apply(out[:, :j])
        for node in np.unique(theirs):
            donors, rows = seen[mine == node, j], theirs == node
            out[rows, j] = donors[rng.integers(0, len(donors), rows.sum())]
    return out


def with_copies(honest: np.ndarray, seen: np.ndarray, share: float, noise: float, rng: np.random.Generator) -> np.ndarray:
    out = honest.copy()
    count = round(share * len(out))
    chosen = seen[rng.choice(len(seen), count, replace=False)]
    out[:count] = chosen + noise * seen.std(axis=0) * rng.normal(size=chosen.shape)
    return out


def p_values(data: lv.Microdata, rows: np.ndarray, names: list[str]) -> dict[str, float]:
    scores = lv.risk(data, pd.DataFrame(rows, columns=names), list(TESTS), paired=False)
    return {s.method: float(s.details["test"][0]["p_value"]) for s in scores}


def one_case(name: str, source: pd.DataFrame | int, reps: int, few: int) -> list[dict[str, object]]:
    rng, found = np.random.default_rng(abs(hash_of(name))), dict[str, list[dict[str, float]]]()
    for rep in range(reps):
        frame = normal(source, rng) if isinstance(source, int) else source
        names = list(frame.columns)
        data = lv.hold_out(lv.read(frame, confidential=names), SHARE, secret=b"benchmark" + rep.to_bytes(16, "big"))
        seen = data.to_pandas().to_numpy(dtype=float)
        honest = copula(seen, len(frame), rng)
        files = {"honest": honest}
        if rep < few:
            files |= {
                "1 % near copies": with_copies(honest, seen, 0.01, 0.01, rng),
                "5 % near copies": with_copies(honest, seen, 0.05, 0.01, rng),
            }
        if rep < few // 5:
            files |= {
                "1 % copies": with_copies(honest, seen, 0.01, 0.0, rng),
                "5 % copies": with_copies(honest, seen, 0.05, 0.0, rng),
            }
            files |= {f"trees, leaves of {k}": trees(seen, len(frame), rng, k) for k in (20, 1)}
        for kind, rows in files.items():
            found.setdefault(kind, []).append(p_values(data, rows, names))
    return [{"data": name, "file": kind, "files": len(p), **{t: float(np.mean([v[t] <= ALARM for v in p])) for t in TESTS}}
            for kind, p in found.items()]


def hash_of(text: str) -> int:
    return int.from_bytes(text.encode()[:6], "big")


def page(rows: list[dict[str, object]]) -> str:
    head = "| data, records | file | files | `near_copies` | `closest_record` |\n|---|---|---:|---:|---:|"
    return "\n".join([head, *(
        f"| {r['data']} | {r['file']} | {r['files']} | {r['near_copies']:.3f} | {r['closest_record']:.3f} |" for r in rows
    )])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reps", type=int, default=200, help="honest files for each source")
    parser.add_argument("--few", type=int, default=100, help="files of each other kind")
    parser.add_argument("--only", help="sources whose name contains this")
    parser.add_argument("--save", action="store_true", help="keep the results")
    parser.add_argument("--page", action="store_true", help="print the kept results as a table")
    asked = parser.parse_args()
    if asked.page:
        print(page(json.loads(RESULTS.read_text())["rows"]))
        return
    rows: list[dict[str, object]] = []
    for name, source in sources().items():
        if asked.only is None or asked.only in name:
            began = time.process_time()
            rows += one_case(name, source, asked.reps, min(asked.few, asked.reps))
            print(f"{name}: {time.process_time() - began:.0f} s of processor time", file=sys.stderr)
    print(page(rows))
    if asked.save:
        kept = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
        again = {r["data"] for r in rows}
        every = [*(r for r in kept if r["data"] not in again), *rows]
        rows = sorted(every, key=lambda r: list(sources()).index(str(r["data"])))
        RESULTS.write_text(json.dumps({"alarm": ALARM, "held out": SHARE, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
