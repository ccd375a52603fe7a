"""Hits of anonymeter's linkability and inference attacks on given pairs of columns, on every training record and every control.

    python agree_anonymeter.py TRAINING CONTROL RELEASED ASKED

ASKED is JSON: linkability, a list of [column, column, neighbours], and inference, a list of [known column, secret]. Prints
JSON: figure → share of targets with a hit. n_success is the plain count, before anonymeter corrects the rate.
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


def main() -> None:
    training, control, released = (pd.read_parquet(path) for path in sys.argv[1:4])
    asked = json.loads(sys.argv[4])
    linkability, inference = asked["linkability"], asked["inference"]
    figures = {}
    for first in (True, False):  # the first round compiles
        began = time.process_time()
        for side, records in (("training", training), ("control", control)):
            if first:
                records = records.head(20)
            for a, b, k in linkability:
                evaluator = LinkabilityEvaluator(records[[a, b]], released[[a, b]], aux_cols=([a], [b]), n_attacks=len(records),
                                                 n_neighbors=k)
                figures[f"linkability of {a} and {b}, {k} neighbours, {side}"] = hits(evaluator)
            for known, secret in inference:
                evaluator = InferenceEvaluator(records[[known, secret]], released[[known, secret]], aux_cols=[known],
                                               secret=secret, regression=False, n_attacks=len(records))
                figures[f"inference of {secret} from {known}, {side}"] = hits(evaluator)
    print(json.dumps({"version": importlib.metadata.version("anonymeter"), "seconds": time.process_time() - began,
                      "figures": figures}))


if __name__ == "__main__":
    main()
