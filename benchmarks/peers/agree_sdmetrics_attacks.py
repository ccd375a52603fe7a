"""Privacy metrics of SDMetrics with definitions that larvatus has too, for the training records and the records held out.

    python agree_sdmetrics_attacks.py TRAINING CONTROL RELEASED ASKED

ASKED is JSON: a list of ["attribution", keys …, secret], ["copies", columns …] and ["closest", number]. Prints JSON: figure →
share of records or rows.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
import warnings

import pandas as pd
from sdmetrics.single_table import CategoricalCAP, CategoricalZeroCAP, DCROverfittingProtection, NewRowSynthesis

warnings.simplefilter("ignore")


def metadata(frame: pd.DataFrame) -> dict:
    return {"columns": {n: {"sdtype": "numerical" if frame[n].dtype.kind == "f" else "categorical"} for n in frame}}


def attributed(about: list, records: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    keys, secret = about[:-1], about[-1:]
    return {more: 1 - metric.compute(records[about], released[about], key_fields=keys, sensitive_fields=secret)
            for more, metric in (("", CategoricalZeroCAP), (", keys found", CategoricalCAP))}


def copied(about: list, records: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    known = metadata(records[about])
    return {"": 1 - NewRowSynthesis.compute(records[about], released[about], known, numerical_match_tolerance=0)}


def closest(about: list, training: pd.DataFrame, control: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    known = metadata(training[about])
    found = DCROverfittingProtection.compute_breakdown(training[about], released[about], control[about], known, "people")
    return {"": found["synthetic_data_percentages"]["closer_to_training"]}


def main() -> None:
    training, control, released = (pd.read_parquet(path) for path in sys.argv[1:4])
    asked = json.loads(sys.argv[4])
    figures: dict[str, float] = {}
    seconds = dict.fromkeys((question for question, *_ in asked), 0.0)
    for question, *about in asked:
        for side, records in (("training", training), ("control", control)):
            if question == "closest" and side == "control":
                continue
            began = time.process_time()
            if question == "closest":
                found = closest(about, training, control, released)
            else:
                found = (attributed if question == "attribution" else copied)(about, records, released)
            seconds[question] += time.process_time() - began
            figures |= {f"{question} of {', '.join(map(str, about))}, {side}{more}": float(v) for more, v in found.items()}
    print(json.dumps({"version": importlib.metadata.version("sdmetrics"), "seconds": seconds, "figures": figures}))


if __name__ == "__main__":
    main()
