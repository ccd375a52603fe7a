"""Time of the exact search over the levels of the keys.

    python benchmarks/lattice.py [--records 20000] [--lattices small "a million"] [--limits "k = 5"] [--save]

Made-up keys have skewed values that depend on each other. Every level joins the last two categories of a key, up to a single
one: a key of ten values has ten levels, six such keys a million combinations of levels. The limits are k = 5; k = 5 and l = 2;
and, for the small lattice, a mean risk of at most 2 %, which is not monotone, so that nothing can be pruned by it. Printed are
the nodes, how many were examined, seconds of processor time, the loss and whether the search is exact. `--save` keeps the table
in benchmarks/lattice.json.
"""

from __future__ import annotations

import argparse
import json
import time
from math import prod
from pathlib import Path

import numpy as np

from larvatus.stats.grouping.file_limits import FileLimits
from larvatus.stats.grouping.rare_classes import ClassLimits, ClassValues, KeyClasses
from larvatus.stats.grouping.recoding_lattice import LatticeResult, RecodedKeys, search_lattice

LATTICES = {"small": (6, 5, 4, 3), "seven keys": (7,) * 7, "a million": (10,) * 6}


def made_keys(levels: tuple[int, ...], records: int) -> RecodedKeys:
    """Keys with as many values as levels, and one column with three values."""
    rng = np.random.default_rng(1)
    common = rng.random(records)
    columns = [np.minimum((0.8 * rng.random(records) + 0.2 * common) ** 2 * n, n - 1).astype(np.int64) for n in levels]
    codes, place, count = np.unique(np.column_stack(columns), axis=0, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    ill, times = np.unique(place * 3 + rng.integers(0, 3, records), return_counts=True)
    values = (ClassValues(ill // 3, ill % 3, times, False),)
    new, loss = [], []
    for j, n in enumerate(levels):
        maps = [np.minimum(np.arange(n), n - 1 - level) for level in range(n)]
        own = np.bincount(columns[j], minlength=n).astype(np.float64)
        there = own > 0
        lost = np.zeros((n + 1, len(own)))
        for level, to in enumerate(maps):
            lost[level, there] = np.log(np.bincount(to, weights=own)[to][there] / own[there])
        lost[-1, there] = np.log(records / own[there])
        new.append(tuple(maps))
        loss.append(lost / float(lost[-1] @ own) / len(levels))
    classes = KeyClasses(np.zeros(len(codes), dtype=np.int64), count, None, 0.1, values)
    return RecodedKeys(codes, classes, tuple(new), tuple(loss))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--records", type=int, default=20_000)
    asked.add_argument("--lattices", nargs="+", choices=list(LATTICES), default=list(LATTICES))
    asked.add_argument("--limits", nargs="+", help="only these limits, as the table names them (default: all)")
    asked.add_argument("--save", action="store_true")
    given = asked.parse_args()
    limits: dict[str, tuple[ClassLimits, FileLimits | None]] = {
        "k = 5": (ClassLimits(5), None), "k = 5, l = 2": (ClassLimits(5, 2), None),
        "mean risk 2 %": (ClassLimits(), FileLimits(mean=0.02)),
    }
    rows = []
    print("| lattice | nodes | limits | examined | s | loss | exact |\n|---|---|---|---|---|---|---|")
    for name, levels in ((n, LATTICES[n]) for n in given.lattices):
        keys = made_keys(levels, given.records)
        for what, (classes, whole) in limits.items():
            if (given.limits and what not in given.limits) or (whole is not None and name != "small"):
                continue  # nothing is pruned: every node below the best loss would be examined
            began = time.process_time()
            found: LatticeResult = search_lattice(keys, classes, given.records, whole)
            row = {"lattice": name, "nodes": prod(levels), "limits": what, "examined": found.examined,
                   "s": round(time.process_time() - began, 2), "loss": round(found.best.loss, 4) if found.best else None,
                   "exact": found.exact}
            rows.append(row)
            print("| {lattice} | {nodes:,} | {limits} | {examined:,} | {s} | {loss} | {exact} |".format(**row), flush=True)
    if given.save:
        table = json.dumps({"records": given.records, "searches": rows}, indent=1)
        Path(__file__).with_suffix(".json").write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
