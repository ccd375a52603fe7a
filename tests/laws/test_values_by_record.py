"""Attacks on values, record by record: against plain regression and plain ranks, outliers apart from the interior."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv


@pytest.fixture(scope="module")
def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"s": rng.normal(size=400), "a": rng.standard_t(3, 400), "b": rng.normal(size=400)})
    return frame, frame.assign(a=frame.a + 0.1 * rng.normal(size=400), b=rng.normal(size=400))


def test_close_predictions_are_those_of_least_squares(frames):
    frame, released = frames
    score = lv.risk(lv.read(frame, confidential=["a", "b"], non_confidential=["s"]), released, ["value_disclosure"])[0]
    given = np.column_stack([np.ones(400), released.a, released.b, frame.s])
    near = []
    for n in "ab":
        x = frame[n].to_numpy()
        near.append(np.abs(x - given @ np.linalg.lstsq(given, x, rcond=None)[0]) <= 0.1 * x.std(ddof=1))
    assert score.by_record == pytest.approx(np.mean(near, axis=0))
    counts = {r["records"]: r["count"] for r in score.details["outliers"]}
    assert counts == {"outlying tenth": 40, "interior": 360}


def test_ranks_that_were_kept_are_counted_per_record(frames):
    frame, released = frames
    score = lv.risk(lv.read(frame, confidential=["a", "b"], non_confidential=["s"]), released, ["rank_disclosure"])[0]
    moved = [(frame[n].rank() - released[n].rank()).abs() <= 4 for n in "ab"]
    assert score.by_record == pytest.approx(np.mean(moved, axis=0))
    rows = {r["records"]: r["rank kept within 1 %"] for r in score.details["outliers"]}
    assert set(rows) == {"outlying tenth", "interior"}
    assert 0.9 * rows["interior"] + 0.1 * rows["outlying tenth"] == pytest.approx(score.by_record.mean())
