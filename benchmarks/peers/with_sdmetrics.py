"""Tasks of SDMetrics: its quality report, for columns (shapes) and pairs of columns (trends), and privacy metrics."""

from __future__ import annotations

import pandas as pd
from people import CONFIDENTIAL, KEYS
from sdmetrics.reports import QualityReport
from sdmetrics.single_table import CategoricalZeroCAP, DCROverfittingProtection, NewRowSynthesis
from timing import run

NUMBERS = (*CONFIDENTIAL, "age")
KINDS = {name: "numerical" if name in NUMBERS else "categorical" for name in (*CONFIDENTIAL, *KEYS)}
METADATA = {"tables": {"people": {"columns": {name: {"sdtype": kind} for name, kind in KINDS.items()}}}, "relationships": []}


def quality_report(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    report = QualityReport()
    report.generate({"people": original}, {"people": released}, METADATA, verbose=False)
    found = report.get_properties()
    return dict(zip(found["Property"], found["Score"], strict=True))


def attribution(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    """The correct attribution probability of each confidential column, given the keys."""
    return {n: 1 - CategoricalZeroCAP.compute(original, released, key_fields=KEYS, sensitive_fields=[n]) for n in CONFIDENTIAL}


def new_rows(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    """The share of released rows that match no original record."""
    return {"new rows": NewRowSynthesis.compute(original, released, METADATA, "people")}


def closest(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    """Whether rows are closer to records that were used than to a fifth that is taken for records held out."""
    held = original.sample(frac=0.2, random_state=1)
    seen = original.drop(index=held.index)
    return {"score": DCROverfittingProtection.compute(seen, released, held, METADATA, "people")}


def read(original: str, released: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_parquet(original), pd.read_parquet(released)


if __name__ == "__main__":
    run("sdmetrics", {t.__name__: t for t in (quality_report, attribution, new_rows, closest)}, read)
