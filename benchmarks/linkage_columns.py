"""Time of record linkage by number of columns: k-d tree, blocked matrix products, and the bare products in single precision.

    python benchmarks/linkage_columns.py [--rows 20000 100000] [--columns 4 8 13 20 30] [--million] [--save]

Records have independent normal columns; the release adds noise. For a sub-sample of the targets, each way counts the candidates
nearer than the own record among all candidates, up to ten. It has 2,048 targets, but 128 for a tree in more than ten
columns. The time per target does not depend on the number of targets. The ratio to the bare products (same blocks, same number
of columns, nothing else) is the median of alternating repeats. It falls below 1 if noise lets many targets finish early. Times
are processor time of all threads, which other work on the machine changes less than time on the clock. Linear algebra runs on
one thread.
`--million` counts for 5,000 targets among a million candidates in 20 columns, preparation and choice included.
`--save` keeps the results in benchmarks/linkage_columns.json.
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

from larvatus.core.kernels import one_blas_thread
from larvatus.stats.linkage.nearest_counts import nearer_and_tied
from larvatus.stats.neighbours.blocked_counts import BlockedCounts
from larvatus.stats.neighbours.tree_counts import TreeCounts

HERE = Path(__file__).parent
DEEPEST, TARGETS, FEW_TARGETS, ROWS, WIDTH, REPEATS = 10, 2048, 128, 1024, 2048, 7
NOISE = {"little": 0.3, "as large as the data": 1.0, "much": 3.0}
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def pair(rows: int, columns: int, noise: float, targets: int) -> Arrays:
    """Known values of some records, released values of all, and the row of each known record."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, columns))
    own = np.linspace(0, rows - 1, targets).astype(np.int64)
    return x[own], x + noise * rng.normal(size=x.shape), own


def limits(x: np.ndarray, y: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    reach = np.sqrt(((x - y[own]) ** 2).sum(axis=1))
    return reach * (1 - 1e-12), reach * (1 + 1e-12)


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def bare(x: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """The products of all blocks in single precision, each into the same array."""
    left, right = x.astype(np.float32), np.ascontiguousarray(y.T.astype(np.float32))
    out = np.empty(ROWS * WIDTH, dtype=np.float32)

    def work() -> None:
        for a in range(0, len(left), ROWS):
            for b in range(0, right.shape[1], WIDTH):
                u, v = left[a : a + ROWS], right[:, b : b + WIDTH]
                np.matmul(u, v, out=out[: len(u) * v.shape[1]].reshape(len(u), -1))

    return work


def by_columns(rows: int, columns: int) -> dict[str, object]:
    """Microseconds per target, with little noise, so that hardly any target finishes early."""
    x, y, own = pair(rows, columns, NOISE["little"], TARGETS)
    low, high = limits(x, y, own)
    some = np.linspace(0, len(x) - 1, TARGETS if columns <= 10 else FEW_TARGETS).astype(np.int64)
    products, tree = BlockedCounts.of(y, np.ones(rows)), TreeCounts.of(y, np.ones(rows))
    mine = products.count(x, low, high, DEEPEST)
    took = statistics.median(seconds(lambda: products.count(x, low, high, DEEPEST)) for _ in range(3)) / len(x)
    theirs = []
    by_tree = seconds(lambda: theirs.append(tree.count(x[some], low[some], high[some], DEEPEST))) / len(some)
    same = [np.where(a[0] < DEEPEST, [a[0], a[1]], DEEPEST) for a in ((mine[0][some], mine[1][some]), theirs[0])]
    return {
        "candidates": rows, "columns": columns, "tree_us": round(1e6 * by_tree, 1), "products_us": round(1e6 * took, 1),
        "tree_to_products": round(by_tree / took, 2), "identical": bool((same[0] == same[1]).all()),
    }


def to_bare(rows: int, columns: int, noise: str, repeats: int) -> dict[str, object]:
    """The counts against the bare products for the same targets and candidates."""
    x, y, own = pair(rows, columns, NOISE[noise], TARGETS)
    low, high = limits(x, y, own)
    products, floor = BlockedCounts.of(y, np.ones(rows)), bare(x, y)
    nearer = products.count(x, low, high, DEEPEST)[0]
    times = [(seconds(floor), seconds(lambda: products.count(x, low, high, DEEPEST))) for _ in range(repeats)]
    least, took = (statistics.median(t[i] for t in times) for i in (0, 1))
    return {
        "candidates": rows, "columns": columns, "noise": noise,
        "finished_early": round(float((nearer >= DEEPEST).mean()), 2), "bare_us": round(1e6 * least / len(x), 1),
        "products_us": round(1e6 * took / len(x), 1), "ratio": round(took / least, 2),
    }


def million() -> dict[str, object]:
    x, y, own = pair(1_000_000, 20, NOISE["little"], 5000)
    began = time.perf_counter()
    took = seconds(lambda: nearer_and_tied(x, y, DEEPEST, own))
    return {"candidates": len(y), "targets": len(x), "columns": 20, "processor_s": round(took, 1),
            "clock_s": round(time.perf_counter() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[4, 8, 13, 20, 30])
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--save", action="store_true")
    asked = parser.parse_args()
    results: dict[str, object] = {"python": platform.python_version(), "numpy": np.__version__}
    with one_blas_thread():
        for name, lines in (
            ("by_columns", (by_columns(n, p) for n in asked.rows for p in asked.columns)),
            ("to_bare_products", (to_bare(100_000, 20, noise, asked.repeats) for noise in NOISE)),
            ("million", (million() for _ in range(asked.million))),
        ):
            results[name] = []
            for line in lines:
                print(name, json.dumps(line), flush=True)
                results[name].append(line)  # type: ignore[attr-defined]
    if asked.save:
        (HERE / "linkage_columns.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
