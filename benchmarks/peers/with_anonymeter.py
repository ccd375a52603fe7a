"""Tasks of anonymeter: its three evaluators, on one core; linkability and inference have as many targets as larvatus."""

from __future__ import annotations

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
from people import CONFIDENTIAL, KEYS, PREDICATES, TARGETS
from timing import run


def singling_out(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    """Find predicates on three columns of the release that hold for one original record."""
    found = SinglingOutEvaluator(original, released, n_attacks=PREDICATES, n_cols=3, seed=1).evaluate()
    return {"attack": found.risk().value, "baseline": found.risk(baseline=True).value}


def linkability(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    """Link two halves of the columns through the nearest released record."""
    halves = ([*KEYS, CONFIDENTIAL[0]], CONFIDENTIAL[1:])
    attacks = min(TARGETS, len(original))
    found = LinkabilityEvaluator(original, released, aux_cols=halves, n_attacks=attacks, n_neighbors=1).evaluate(n_jobs=1)
    return {"attack": found.risk().value, "baseline": found.risk(baseline=True).value}


def inference(original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    """Infer each confidential column from the nearest released record in all other columns."""
    figures = {}
    for secret in CONFIDENTIAL:
        known = [c for c in original.columns if c != secret]
        found = InferenceEvaluator(original, released, aux_cols=known, secret=secret, regression=True,
                                   n_attacks=min(TARGETS, len(original))).evaluate(n_jobs=1)
        figures[secret] = found.risk().value
    return figures


def read(original: str, released: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_parquet(original), pd.read_parquet(released)


if __name__ == "__main__":
    run("anonymeter", {t.__name__: t for t in (singling_out, linkability, inference)}, read)
