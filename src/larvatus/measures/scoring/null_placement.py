"""Where the loss of a release falls among the losses of files that are nothing but the original drawn again (003 §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from larvatus.core.errors import UtilityError
from larvatus.core.number_format import cell_text
from larvatus.data.score import Row, Rows, Score

FEWEST_RESAMPLES, MOST_RESAMPLES = 20, 10_000
NULL = "null"


def checked_resamples(asked: int) -> int:
    """How many resamples are drawn; none for 0."""
    if asked and not FEWEST_RESAMPLES <= asked <= MOST_RESAMPLES:
        raise UtilityError(
            f"null_resamples: {asked:,} resamples; give {FEWEST_RESAMPLES} to {MOST_RESAMPLES:,}, e.g. 200, or 0 for no null "
            "distribution.")
    return asked


def place_in_null(score: Score, null: Sequence[float], records: int, on_sample: float | None = None) -> Score:
    """The score with its null distribution, and what share of that lies below it.

    `on_sample` is the loss on the records that the null was drawn from, where these are not all.
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
    said = _said(below, bool((there == value).any()), len(there), float(points[2]), value)
    if on_sample is not None:
        said += f"; release and null are both scored on a sample of {records:,} records, the release at {cell_text(value)}"
    return replace(score, details={**score.details, NULL: Rows.of([row])}, notes=(*score.notes, said))


def without_null(score: Score, why: str) -> Score:
    return replace(score, notes=(*score.notes, f"no null distribution: {why}"))


def _said(below: float, tied: bool, resamples: int, limit: float, value: float) -> str:
    drawn = f"{resamples:,} resamples of the original (95 % of them score at most {cell_text(limit)})"
    if below == 0 and tied:
        return f"as low as the lowest of {drawn}: no more than a fresh draw of the records would change"
    if below == 0:
        return (
            f"below all of {drawn}: a release holds the same records, so it may well be nearer than a fresh draw of them, and "
            "being nearer says nothing about single records"
        )
    if value <= limit:
        return f"above {below:.0%} of {drawn}: no more than a fresh draw of the records would change"
    share = "all" if below == 1 else f"{below:.1%}"
    return f"above {share} of {drawn}: the release changed more than a fresh draw of the records would"
