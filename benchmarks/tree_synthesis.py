"""Time of the mask sequential_trees against the same synthesis with the trees of scikit-learn.

    python benchmarks/tree_synthesis.py [--rows 1000000] [--repeats 3] [--save]

The file has ten columns, seven numbers (one with zeros, one with whole numbers) and three categories, that depend on each
other. Every column is synthesised. The comparison fits `DecisionTreeRegressor` and `DecisionTreeClassifier` with the same
smallest leaf, smallest node and depth to the same columns, with categories as codes, finds the leaf of every synthetic record
and draws one of its values. It has no keyed draws, no sets of levels and no stage for zeros.

The target of the ratio is 3. Times are processor time of all threads, which other work on the machine changes less than time
on the clock; the ratio is the median over alternating repeats, in one run. `--save` keeps the results in
benchmarks/tree_synthesis.json.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import larvatus as lv

HERE = Path(__file__).parent
SECRET = b"sixteen bytes or more for benchmarks"
LEAF, DEPTH = 5, 30


def people(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(rows)
    z = rng.normal(size=(7, rows))
    age = rng.integers(18, 90, rows)
    job = rng.choice(["none", "part", "full", "own"], rows, p=[0.3, 0.2, 0.4, 0.1])
    income = np.where(job == "none", 0.0, np.exp(9 + 0.01 * age + 0.5 * z[0] + 0.4 * (job == "full")).round(2))
    wealth = np.exp(8 + 0.03 * age + 0.4 * z[0] + z[1]).round(2)
    spending = (2000 + 0.6 * income + 500 * np.abs(z[2])).round(2)
    return pd.DataFrame({
        "age": age, "region": [f"r{v}" for v in rng.integers(0, 16, rows)], "job": job,
        "owner": np.where(wealth > np.exp(9.5 + 0.5 * z[3]), "yes", "no"), "income": income, "wealth": wealth,
        "spending": spending, "saving": (income - spending + 1000 * z[4]).round(2), "rent": (300 + 0.1 * wealth**0.8 * np.exp(
            0.2 * z[5])).round(2), "health": (50 - 0.3 * age + 5 * z[6]).round(3),
    })


def by_larvatus(data: lv.Microdata) -> None:
    lv.mask(data, lv.masks.SequentialTrees(smallest_leaf=LEAF), secret=SECRET)


def by_scikit_learn(frame: pd.DataFrame) -> None:
    """The same columns in the same order; codes for categories, which scikit-learn cuts as numbers."""
    rng = np.random.default_rng(1)
    codes = {c: (pd.factorize(frame[c])[0] if frame[c].dtype.kind not in "if" else frame[c].to_numpy()) for c in frame}
    made: dict[str, np.ndarray] = {}
    for name, x in codes.items():
        if not made:
            made[name] = x[rng.integers(0, len(x), len(x))]
            continue
        before = np.column_stack([codes[n] for n in made]).astype(np.float32)
        after = np.column_stack(list(made.values())).astype(np.float32)
        settings = {"min_samples_leaf": LEAF, "min_samples_split": 3 * LEAF, "max_depth": DEPTH, "random_state": 0}
        kind = DecisionTreeRegressor if frame[name].dtype.kind in "if" else DecisionTreeClassifier
        tree = kind(**settings).fit(before, x)
        leaf, found = tree.apply(before), tree.apply(after)
        order = np.argsort(leaf, kind="stable")
        size = np.bincount(leaf, minlength=tree.tree_.node_count)
        start = np.cumsum(size) - size
        made[name] = x[order[start[found] + (rng.random(len(x)) * size[found]).astype(np.int64)]]


def seconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=lambda v: int(float(v)), default=1_000_000)
    asked.add_argument("--repeats", type=int, default=3)
    asked.add_argument("--save", action="store_true")
    given = asked.parse_args()
    frame, small = people(given.rows), people(2000)
    roles = {"confidential": list(frame.columns)}
    by_larvatus(lv.read(small, **roles))  # compiles
    by_scikit_learn(small)
    data = lv.read(frame, **roles)
    times = [(seconds(lambda: by_larvatus(data)), seconds(lambda: by_scikit_learn(frame))) for _ in range(given.repeats)]
    ratio = statistics.median(ours / theirs for ours, theirs in times)
    result = {
        "rows": given.rows, "columns": len(frame.columns), "repeats": given.repeats, "smallest_leaf": LEAF,
        "seconds": {"larvatus": round(statistics.median(t[0] for t in times), 2),
                    "scikit-learn": round(statistics.median(t[1] for t in times), 2)},
        "ratio": round(ratio, 3), "ratios": [round(ours / theirs, 3) for ours, theirs in times], "target": 3,
        "time": "processor seconds of all threads", "python": platform.python_version(), "scikit-learn": sklearn.__version__,
    }
    print(json.dumps(result, indent=1))
    if given.save:
        (HERE / "tree_synthesis.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
