"""Whether larvatus and its peers give the same figures for a synthesis of a real file, where their definitions agree.

    LARVATUS_DATA=FOLDER python benchmarks/peers.py --agreement [--save]

census.csv and survey.csv are synthesised by sequential_trees, fully. SDMetrics and larvatus score the same two files:

    SDMetrics                                    larvatus
    1 − KSComplement of a number                 marginal
    1 − TVComplement of a category               utility_tables(statistic = "SPECKS"), one column
    2 (1 − CorrelationSimilarity)                correlation
    1 − ContingencySimilarity of two categories  utility_tables(statistic = "SPECKS"), two columns

The loss of larvatus is the distance itself, so that the similarities of SDMetrics are turned round. attack_agreement.py
compares attacks with those of anonymeter and SDMetrics.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

import larvatus as lv

HERE = Path(__file__).resolve().parent
SECRET = b"sixteen bytes or more for benchmarks"
FILES = {"census.csv": (), "survey.csv": ("WEIGHT",)}
MOST_LEVELS, MOST_PAIRS = 40, 400


def synthesis(source: Path, left_out: tuple[str, ...], folder: Path) -> tuple[dict[str, Any], Path, Path]:
    """The columns that are compared, and both files as Parquet."""
    frame = pd.read_csv(source).drop(columns=list(left_out))
    categories = [c for c in frame if frame[c].nunique() <= MOST_LEVELS]
    numbers = [c for c in frame if c not in categories]
    frame[categories] = frame[categories].astype(str)  # codes, which both tools must read as categories
    data = lv.read(frame, confidential=list(frame.columns))
    released = lv.mask(data, "sequential_trees", secret=SECRET).to_pandas()
    paths = folder / f"{source.stem}-original.parquet", folder / f"{source.stem}-released.parquet"
    frame.to_parquet(paths[0])
    released[list(frame.columns)].to_parquet(paths[1])
    columns = {"numbers": numbers, "categories": categories, "number_pairs": list(combinations(numbers, 2))[:MOST_PAIRS],
               "category_pairs": list(combinations(categories, 2))[:MOST_PAIRS]}
    return columns, *paths


def by_larvatus(columns: dict[str, Any], original: Path, released: Path) -> tuple[dict[str, float], float]:
    """The same losses by larvatus, and its processor seconds for the measures."""
    files = [pd.read_parquet(path) for path in (original, released)]
    names = [*columns["numbers"], *columns["categories"]]
    losses: dict[str, float] = {}
    seconds = 0.0
    for kind in ("numbers", "categories"):
        if not columns[kind]:
            continue
        data = lv.read(files[0][names], confidential=columns[kind])
        measures = ["marginal", "correlation"] if kind == "numbers" else [
            lv.measures.UtilityTables(statistic="SPECKS", columns=tuple(columns[kind]))]
        other = files[1][columns[kind]]
        lv.utility(data, other, measures)  # compiles
        began = time.process_time()
        found = lv.utility(data, other, measures)
        seconds += time.process_time() - began
        losses |= _numbers(found) if kind == "numbers" else _tables(found)
    return losses, seconds


def _score(found: Sequence[lv.Score], method: str) -> lv.Score:
    return next(s for s in found if s.method == method)


def _numbers(found: Sequence[lv.Score]) -> dict[str, float]:
    pairs = {f"{r['first']} × {r['second']}": float(r["loss"]) for r in _score(found, "correlation").by_pair}
    return {str(r["variable"]): float(r["loss"]) for r in _score(found, "marginal").by_variable} | pairs


def _tables(found: Sequence[lv.Score]) -> dict[str, float]:
    return {str(r["table"]): float(r["SPECKS"]) for r in _score(found, "utility_tables").details["tables"]}


def agreement(python: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """One row for each file: how many figures were compared, and the largest difference."""
    data = Path(os.environ["LARVATUS_DATA"])
    for name, left_out in FILES.items():
        columns, original, released = synthesis(data / name, left_out, folder)
        ours, seconds = by_larvatus(columns, original, released)
        script = HERE / "peers" / "agree_sdmetrics.py"
        done = subprocess.run([str(python), str(script), str(original), str(released), json.dumps(columns)],
                              capture_output=True, text=True, check=True)
        theirs = json.loads(done.stdout.splitlines()[-1])
        either = {k: ours.get(k, ours.get(" × ".join(reversed(k.split(" × "))))) for k in theirs["losses"]}
        apart = {k: abs(v - either[k]) for k, v in theirs["losses"].items() if either[k] is not None and v == v}
        worst = max(apart, key=lambda k: apart[k])
        yield {
            "file": name, "peer": "sdmetrics", "version": theirs["version"], "about": "losses", "compared": len(apart),
            "not_compared": len(theirs["losses"]) - len(apart), "largest_difference": float(f"{apart[worst]:.3g}"), "at": worst,
            "same": sum(d < 1e-9 for d in apart.values()), "their_seconds": round(theirs["seconds"], 3),
            "own_seconds": round(seconds, 3),
        }
