"""Whether larvatus and anonymeter give the same figures for attacks on files without pairs, where their definitions agree.

    LARVATUS_DATA=FOLDER python benchmarks/peers.py --agreement [--save]

Half of each file is held out, and the other half is synthesised by sequential_trees with smoothing. Both tools attack every
training record and every record held out:

    anonymeter                                          larvatus
    LinkabilityEvaluator, one column on either side     linkability: value (training), s_alone (control)
    InferenceEvaluator of a category from one number    nearest_inference: value, s_alone

In one column, the nearest released row is the same in every distance. In several columns it is not: anonymeter adds absolute
differences divided by ranges, larvatus squares differences divided by standard deviations. Guesses of numbers differ as well:
anonymeter divides the error by the guess, not by the true value, and counts every negative guess as right. Its singling out
draws other predicates.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import larvatus as lv

HERE = Path(__file__).resolve().parent
SECRET = b"sixteen bytes or more for benchmarks"
FILES = ("census.csv", "survey.csv")
MOST_RECORDS = 2_000  # targets of linkability and nearest_inference on either side
NUMBERS, CATEGORIES, NEIGHBOURS = 4, 3, (1, 5)
FEW_LEVELS, JITTER = 20, 1e-6


def prepared(source: Path) -> tuple[lv.Microdata, pd.DataFrame, list[str], list[str]]:
    """The training part with its holdout, the released file, and the columns compared.

    Released numbers get a jitter of a millionth of a standard deviation, because tied rows are equally near.
    """
    frame = pd.read_csv(source).head(2 * MOST_RECORDS - 200)
    categories = [c for c in frame if 1 < frame[c].nunique() <= FEW_LEVELS][:CATEGORIES]
    for name in [] if categories else ["AGI", "FICA"]:
        frame[f"{name} class"] = pd.qcut(frame[name], 5, labels=False)
        categories.append(f"{name} class")
    frame[categories] = frame[categories].astype(str)
    numbers = [c for c in frame if c not in categories and frame[c].nunique() > FEW_LEVELS][:NUMBERS]
    data = lv.hold_out(lv.read(frame[[*numbers, *categories]], confidential=[*numbers, *categories]), 0.5, secret=SECRET)
    made = lv.mask(data, lv.masks.SequentialTrees(smoothing="density"), secret=SECRET).to_pandas()[[*numbers, *categories]]
    made[numbers] += JITTER * made[numbers].std().to_numpy() * np.random.default_rng(1).normal(size=(len(made), len(numbers)))
    return data, made, numbers, categories


def questions(numbers: list[str], categories: list[str]) -> dict[str, Any]:
    pairs = list(combinations(numbers, 2))
    return {"linkability": [[a, b, k] for a, b in pairs for k in NEIGHBOURS],
            "inference": [[n, c] for n in numbers for c in categories]}


def names_of(question: str, side: str, *about: object) -> str:
    if question == "linkability":
        return f"linkability of {about[0]} and {about[1]}, {about[2]} neighbours, {side}"
    return f"inference of {about[1]} from {about[0]}, {side}"


def by_larvatus(data: lv.Microdata, made: pd.DataFrame, asked: dict[str, Any]) -> tuple[dict[str, float], float]:
    """The same figures by larvatus, and its processor seconds (of a second round, as for anonymeter)."""
    training, control = data.to_pandas(), data.holdout.to_pandas()
    figures: dict[str, float] = {}
    began = time.process_time()
    for _ in ("compiles", "is timed"):
        began = time.process_time()
        for question, about in [(q, a) for q in asked for a in asked[q]]:
            names = about[:2]
            attack = (lv.attacks.Linkability(first=(about[0],), neighbours=about[2]) if question == "linkability"
                      else lv.attacks.NearestInference())
            small = lv.read(training[names], confidential=names[1:], non_confidential=names[:1])
            found = lv.risk(lv.hold_out(small, control[names]), made[names], [attack], paired=False)[0]
            figures[names_of(question, "training", *about)] = found.value
            figures[names_of(question, "control", *about)] = found.s_alone
    return figures, time.process_time() - began


def attack_agreement(python: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """One row for each file: how many figures were compared, and the largest difference."""
    for name in FILES:
        data, made, numbers, categories = prepared(Path(os.environ["LARVATUS_DATA"]) / name)
        asked = questions(numbers, categories)
        files = {"training": data.to_pandas()[list(made)], "control": data.holdout.to_pandas()[list(made)], "released": made}
        paths = [folder / f"{source}.parquet" for source in files]
        for path, frame in zip(paths, files.values(), strict=True):
            frame.to_parquet(path)
        ours, seconds = by_larvatus(data, made, asked)
        script = HERE / "peers" / "agree_anonymeter.py"
        done = subprocess.run([str(python), str(script), *map(str, paths), json.dumps(asked)], capture_output=True, text=True,
                              check=True)
        theirs = json.loads(done.stdout.splitlines()[-1])
        apart = {k: abs(v - ours[k]) for k, v in theirs["figures"].items()}
        worst = max(apart, key=lambda k: apart[k])
        yield {
            "file": name, "peer": "anonymeter", "version": theirs["version"], "compared": len(apart), "not_compared": 0,
            "largest_difference": float(f"{apart[worst]:.3g}"), "at": worst, "same": sum(d < 1e-9 for d in apart.values()),
            "their_seconds": round(theirs["seconds"], 3), "own_seconds": round(seconds, 3),
        }
