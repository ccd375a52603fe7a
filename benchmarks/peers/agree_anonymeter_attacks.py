"""Hits of anonymeter's linkability and inference attacks on given pairs of columns, on every training record and every control.

    python agree_anonymeter_attacks.py TRAINING CONTROL RELEASED ASKED

ASKED is JSON: a list of ["linkability", column, column, neighbours] and ["inference", known column, secret]. Prints JSON:
figure → share of targets with a hit. n_success is the plain count, before anonymeter corrects the rate.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
import warnings

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator

warnings.simplefilter("ignore")


def hits(evaluator: LinkabilityEvaluator | InferenceEvaluator) -> float:
    found = evaluator.evaluate(n_jobs=1).results()
    return found.n_success / found.n_attacks_ori


def attacked(question: str, about: list, records: pd.DataFrame, released: pd.DataFrame) -> float:
    one, other = about[:2]
    if question == "linkability":
        return hits(LinkabilityEvaluator(records[[one, other]], released[[one, other]], aux_cols=([one], [other]),
                                         n_attacks=len(records), n_neighbors=about[2]))
    return hits(InferenceEvaluator(records[[one, other]], released[[one, other]], aux_cols=[one], secret=other,
                                   regression=False, n_attacks=len(records)))


def main() -> None:
    training, control, released = (pd.read_parquet(path) for path in sys.argv[1:4])
    asked = json.loads(sys.argv[4])
    figures = {}
    for first in (True, False):  # the first round compiles
        seconds = dict.fromkeys((question for question, *_ in asked), 0.0)
        for side, records in (("training", training), ("control", control)):
            for question, *about in asked:
                began = time.process_time()
                figures[f"{question} of {', '.join(map(str, about))}, {side}"] = attacked(
                    question, about, records.head(20) if first else records, released)
                seconds[question] += time.process_time() - began
    print(json.dumps({"version": importlib.metadata.version("anonymeter"), "seconds": seconds, "figures": figures}))


if __name__ == "__main__":
    main()
