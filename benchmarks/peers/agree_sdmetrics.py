"""Figures of SDMetrics for every column and some pairs of a file: KS and TV complement, similarity of correlations and tables.

    python agree_sdmetrics.py ORIGINAL RELEASED COLUMNS

COLUMNS is JSON: numbers, categories, pairs of numbers and pairs of categories. Prints JSON: figure → loss.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time

import pandas as pd
from sdmetrics.column_pairs import ContingencySimilarity, CorrelationSimilarity
from sdmetrics.single_column import KSComplement, TVComplement


def main() -> None:
    original, released = (pd.read_parquet(path) for path in sys.argv[1:3])
    asked = json.loads(sys.argv[3])
    began, losses = time.process_time(), {}
    for name in asked["numbers"]:
        losses[name] = 1 - KSComplement.compute(original[name], released[name])
    for name in asked["categories"]:
        losses[name] = 1 - TVComplement.compute(original[name], released[name])
    for a, b in asked["number_pairs"]:
        losses[f"{a} × {b}"] = 2 * (1 - CorrelationSimilarity.compute(original[[a, b]], released[[a, b]], "Pearson"))
    for a, b in asked["category_pairs"]:
        losses[f"{a} × {b}"] = 1 - ContingencySimilarity.compute(original[[a, b]], released[[a, b]], num_rows_subsample=None)
    print(json.dumps({"version": importlib.metadata.version("sdmetrics"), "seconds": time.process_time() - began,
                      "losses": losses}))


if __name__ == "__main__":
    main()
