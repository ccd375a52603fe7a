"""Position of a loss in its null distribution: the losses of bootstrap resamples of the original (Woo and others: 003 §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from larvatus.core.errors import UtilityError
from larvatus.core.number_format import cell_text
from larvatus.data.score import Row, Rows, Score

FEWEST_RESAMPLES, MOST_RESAMPLES = 20, 10_000
NULL = "null"


def resample_count(asked: int) -> int:
    """The number of resamples, checked; 0 for none."""
    if asked and not FEWEST_RESAMPLES <= asked <= MOST_RESAMPLES:
        raise UtilityError(
            f"{asked:,} is not allowed. Use {FEWEST_RESAMPLES} to {MOST_RESAMPLES:,}, for example 200, or 0 "
            "for no null distribution.", subject="null_resamples")
    return asked


def place_in_null(score: Score, null: Sequence[float], records: int, on_sample: float | None = None) -> Score:
    """The score with its null distribution, and the share of that distribution below the loss.

    `on_sample` is the loss on the sample from which the null distribution was drawn, if it was a sample.
    """
    there = np.array([v for v in null if np.isfinite(v)])
    value = score.value if on_sample is None else on_sample
    if not len(there) or not np.isfinite(value):
        return without_null(score, "it has no finite value")
    below = float((there < value).mean())
    points = np.quantile(there, [0.05, 0.5, 0.95, 0.99])
    row: Row = {
        "resamples": len(there), "records": records, **dict(zip(("p5", "median", "p95", "p99"), points.tolist(), strict=True)),
        "largest": float(there.max()), "release": value, "share_below": below,
    }
    note = _null_note(below, bool((there == value).any()), len(there), float(points[2]), value)
    if on_sample is not None:
        note += (f"; release and resamples are both scored on a sample of {records:,} records, where the loss of the release "
                 f"is {cell_text(value)}")
    return replace(score, details={**score.details, NULL: Rows.of([row])}, notes=(*score.notes, note))


def without_null(score: Score, why: str) -> Score:
    """The score with a note that it has no null distribution."""
    return replace(score, notes=(*score.notes, f"no null distribution: {why}"))


def _null_note(below: float, tied: bool, resamples: int, limit: float, value: float) -> str:
    null = f"{resamples:,} resamples of the original (95 % of them have a loss of at most {cell_text(limit)})"
    if below == 0 and tied:
        return f"as low as the lowest of {null}: no larger change than a resample of the records"
    if below == 0:
        return (
            f"below all of {null}: a release contains the same records, so it can be closer to the original than a resample; "
            "this says nothing about single records"
        )
    if value <= limit:
        return f"above {below:.0%} of {null}: no larger change than a resample of the records"
    share = "all" if below == 1 else f"{below:.1%}"
    return f"above {share} of {null}: a larger change than a resample of the records"
