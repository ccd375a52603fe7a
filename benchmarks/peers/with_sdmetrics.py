"""Tasks of SDMetrics: its quality report, which compares columns (shapes) and pairs of columns (trends)."""

from __future__ import annotations

import pandas as pd
from people import CONFIDENTIAL, KEYS
from sdmetrics.reports import QualityReport
from timing import run

NUMBERS = (*CONFIDENTIAL, "age")
KINDS = {name: "numerical" if name in NUMBERS else "categorical" for name in (*CONFIDENTIAL, *KEYS)}
METADATA = {"tables": {"people": {"columns": {name: {"sdtype": kind} for name, kind in KINDS.items()}}}, "relationships": []}


def quality_report(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    report = QualityReport()
    report.generate({"people": original}, {"people": released}, METADATA, verbose=False)
    found = report.get_properties()
    return dict(zip(found["Property"], found["Score"], strict=True))


def read(original: str, released: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_parquet(original), pd.read_parquet(released)


if __name__ == "__main__":
    run("sdmetrics", {"quality_report": quality_report}, read)
