"""Whether larvatus and its peers give the same figures for attacks on files without pairs, where their definitions agree.

    LARVATUS_DATA=FOLDER python benchmarks/peers.py --agreement [--save]

Half of each file is held out, and the other half is synthesised by sequential_trees with smoothing. For SDMetrics, 5 per cent
of the rows are then replaced by training records. All tools attack every training record and every record held out:

    anonymeter                                            larvatus
    LinkabilityEvaluator, one column on either side       linkability: value (training), s_alone (control)
    InferenceEvaluator of a category from one number      nearest_inference: value, s_alone

    SDMetrics                                             larvatus
    1 − CategoricalZeroCAP, one secret                    key_attribution: CAP
    1 − CategoricalCAP, one secret                        key_attribution: CAP over the share of keys found
    1 − NewRowSynthesis, tolerance 0                      near_copies: rows equal to a record
    DCROverfittingProtection, one number                  closest_record, if the ranges are equal

DCROverfittingProtection divides by the range of the training records, and by that of the others for the others. Where the two
differ, so do its figures. In one column, the nearest released row is the same in every distance. In several columns it is not:
anonymeter and SDMetrics add absolute differences divided by ranges, larvatus squares differences divided by standard
deviations. Guesses of numbers differ as well: anonymeter divides the error by the guess, not by the true value, and counts
every negative guess as right. Its singling out draws other predicates. A row is no new one for SDMetrics if every number is
within 1 % of a record's; here its tolerance is 0.
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

import numpy as np
import pandas as pd

import larvatus as lv

HERE = Path(__file__).resolve().parent
SECRET = b"sixteen bytes or more for benchmarks"
FILES = ("census.csv", "survey.csv")
MOST_RECORDS = 2_000  # targets of linkability and nearest_inference on either side
NUMBERS, CATEGORIES, NEIGHBOURS = 4, 3, (1, 5)
FEW_LEVELS, JITTER = 20, 1e-6
COPIED = {"anonymeter": 0.0, "sdmetrics": 0.05}  # share of the released rows that are copies


def prepared(source: Path, copied: float) -> tuple[lv.Microdata, pd.DataFrame, list[str], list[str]]:
    """The training part with its holdout, the released file, and the columns compared.

    Released numbers get a jitter of a millionth of a standard deviation, because tied rows are equally near. If rows are to be
    copied, original numbers get one too, because of two tied records each tool takes another one.
    """
    rng = np.random.default_rng(1)

    def jittered(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[numbers] + JITTER * frame[numbers].std().to_numpy() * rng.normal(size=(len(frame), len(numbers)))

    frame = pd.read_csv(source).head(2 * MOST_RECORDS - 200)
    categories = [c for c in frame if 1 < frame[c].nunique() <= FEW_LEVELS][:CATEGORIES]
    for name in [] if categories else ["AGI", "FICA"]:
        frame[f"{name} class"] = pd.qcut(frame[name], 5, labels=False)
        categories.append(f"{name} class")
    frame[categories] = frame[categories].astype(str)
    numbers = [c for c in frame if c not in categories and frame[c].nunique() > FEW_LEVELS][:NUMBERS]
    names = [*numbers, *categories]
    if copied:
        frame[numbers] = jittered(frame)
    data = lv.hold_out(lv.read(frame[names], confidential=names), 0.5, secret=SECRET)
    made = lv.mask(data, lv.masks.SequentialTrees(smoothing="density"), secret=SECRET).to_pandas()[names]
    made[numbers] = jittered(made)
    count = round(copied * len(made))
    made.iloc[:count] = data.to_pandas()[names].iloc[:count].to_numpy()
    return data, made.astype(dict.fromkeys(numbers, float)), numbers, categories


def questions(peer: str, numbers: list[str], categories: list[str]) -> list[list[Any]]:
    """What is asked about which columns."""
    if peer == "anonymeter":
        linked = [["linkability", a, b, k] for a, b in combinations(numbers, 2) for k in NEIGHBOURS]
        return linked + [["inference", n, c] for n in numbers for c in categories]
    attributed = [["attribution", *(c for c in categories if c != secret), secret] for secret in categories]
    return [*attributed, ["copies", *numbers, *categories], *(["closest", n] for n in numbers)]


def answer(question: str, about: list[Any], data: lv.Microdata, made: pd.DataFrame) -> dict[str, float]:
    """The figures by larvatus, by the names that the scripts of the peers give them."""
    def attacked(attack: lv.Attack | str, names: list[str]) -> lv.Score:
        return lv.risk(data, made, [attack], intruder=lv.Intruder(known=tuple(names)), paired=False)[0]

    named = f"{question} of {', '.join(map(str, about))}"
    if question == "attribution":
        score = attacked(lv.attacks.KeyAttribution(keys=tuple(about[:-1])), about)
        rows = dict(zip(("training", "control"), score.details["disclosure"], strict=True))
        return {f"{named}, {side}{more}": float(v) for side, r in rows.items()
                for more, v in (("", r["CAP"]), (", keys found", r["CAP"] / r["keys found"]))}
    if question == "copies":
        rows = attacked("near_copies", about).details["copied_rows"]
        return {f"{named}, {side}": float(r["share"]) for side, r in zip(("training", "control"), rows[-2:], strict=True)}
    if question == "closest":
        test = attacked("closest_record", about).details["test"][0]
        return {f"{named}, training": float(test["rows closest to a training record"])}
    if question == "linkability":
        score = attacked(lv.attacks.Linkability(first=(about[0],), neighbours=about[2]), about[:2])
        found = {"training": score.value, "control": score.s_alone}
    else:
        row = next(r for r in attacked("nearest_inference", about).by_variable if r["variable"] == about[1])
        found = {"training": row["value"], "control": row["s_alone"]}
    return {f"{named}, {side}": float(v) for side, v in found.items()}


def by_larvatus(files: Sequence[pd.DataFrame], asked: list[list[Any]]) -> tuple[dict[str, float], dict[str, float]]:
    """The same figures by larvatus, and processor seconds for each question (of a second round, as for anonymeter).

    The original and the records held out are read once for each question, the released file each time.
    """
    training, control, made = files
    figures: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for _ in ("compiles", "is timed"):
        for question in dict.fromkeys(q for q, *_ in asked):
            began = time.process_time()
            given = {about[0] for q, *about in asked if q == question == "inference"}
            roles = {"confidential": [n for n in training if n not in given], "non_confidential": sorted(given)}
            data = lv.hold_out(lv.read(training, **roles), control)
            for _, *about in (a for a in asked if a[0] == question):
                figures |= answer(question, about, data, made)
            seconds[question] = time.process_time() - began
    return figures, seconds


def attack_agreement(peer: str, python: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """One row for each file and question: how many figures were compared, and the largest difference."""
    for name in FILES:
        data, made, numbers, categories = prepared(Path(os.environ["LARVATUS_DATA"]) / name, COPIED[peer])
        asked = questions(peer, numbers, categories)
        files = [data.to_pandas()[list(made)], data.holdout.to_pandas()[list(made)], made]
        paths = [folder / f"{source}.parquet" for source in ("training", "control", "released")]
        for path, frame in zip(paths, files, strict=True):
            frame.to_parquet(path)
        ours, seconds = by_larvatus(files, asked)
        script = HERE / "peers" / f"agree_{peer}_attacks.py"
        done = subprocess.run([str(python), str(script), *map(str, paths), json.dumps(asked)], capture_output=True, text=True,
                              check=True)
        theirs = json.loads(done.stdout.splitlines()[-1])
        for question, own in seconds.items():
            apart = {k: abs(v - ours[k]) for k, v in theirs["figures"].items() if k.startswith(question)}
            worst = max(apart, key=lambda k: apart[k])
            yield {
                "file": name, "peer": peer, "version": theirs["version"], "about": question, "compared": len(apart),
                "not_compared": 0, "largest_difference": float(f"{apart[worst]:.3g}"), "at": worst,
                "same": sum(d < 1e-9 for d in apart.values()), "their_seconds": round(theirs["seconds"][question], 3),
                "own_seconds": round(own, 3),
            }
