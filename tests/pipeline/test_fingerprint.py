"""Draws depend on the confidential data: a secret used for another file gives nothing away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.pipeline.fingerprint import confidential_fingerprint
from sample import SECRET

KEY = b"0123456789abcdef"
ROLES = {"confidential": ["income", "tax", "illness"], "non_confidential": ["job"]}


def _persons(n: int = 300, seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income = np.round(np.exp(rng.normal(9, 1, n)), 2)
    income[::50], income[1::50] = 0.0, np.nan
    return pd.DataFrame({
        "person": np.arange(n), "job": rng.choice(["a", "b"], n), "income": income, "tax": np.round(rng.normal(size=n), 3),
        "illness": rng.choice(["none", "ümlaut", "10"], n),
    })


def _of(source: object, **roles: object) -> str:
    return confidential_fingerprint(lv.read(source, **{**ROLES, **roles}), KEY)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_every_format_and_engine_gives_the_same_fingerprint(tmp_path: Path, engine: str, suffix: str):
    frame, path = _persons(), tmp_path / f"persons.{suffix}"
    if suffix == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    assert _of(path, engine=engine) == _of(frame)


def test_the_order_of_rows_does_not_matter_if_records_have_ids():
    frame = _persons()
    assert _of(frame, record_id="person") == _of(frame.sample(frac=1, random_state=1), record_id="person")


@pytest.mark.parametrize("change", [
    lambda f: f.iloc[:-1],
    lambda f: pd.concat([f, f.iloc[[0, 0]].assign(person=[900, 901])]),
    lambda f: f.assign(income=f["income"].where(f["person"] != 7, 12.0)),
    lambda f: f.assign(illness=f["illness"].where(f["person"] != 7, "other")),
    lambda f: f.assign(income=f["tax"], tax=f["income"]),
    lambda f: f.assign(tax=f["tax"].to_numpy()[::-1]),
])
def test_another_file_has_another_fingerprint(change):
    frame = _persons()
    assert _of(change(frame), record_id="person") != _of(frame, record_id="person")


def test_zeros_have_no_sign_and_columns_that_are_not_confidential_do_not_count():
    frame = _persons()
    other = frame.assign(income=frame["income"].where(frame["income"] != 0, -0.0), job="c")
    assert np.signbit(other["income"]).any()
    assert _of(other) == _of(frame)


@pytest.mark.parametrize("step", ["additive_noise", "correlated_noise", "data_shuffling"])
def test_a_secret_used_again_on_a_file_with_one_record_more_gives_nothing_away(step: str):
    """Without the fingerprint, the noise of the first 1,999 records is almost the same in both releases.

    The correlation of two independent noises has a standard error of .013; a false alarm needs more than five of them.
    """
    frame = pd.DataFrame(np.random.default_rng(8).normal(size=(2000, 3)), columns=["a", "b", "c"])
    x = frame.to_numpy()[:1999]
    y = [lv.mask(lv.read(f, confidential=["a", "b", "c"]), step, secret=SECRET).to_pandas().to_numpy()[:1999]
         for f in (frame, frame.iloc[:-1])]
    noise = [v - x @ np.linalg.lstsq(x, v, rcond=None)[0] for v in y]
    assert abs(np.corrcoef(noise[0].ravel(), noise[1].ravel())[0, 1]) < 0.07


def test_the_same_secret_and_file_give_the_same_release():
    frame = _persons()
    one, two = (lv.mask(lv.read(frame, confidential=["tax"]), "additive_noise", secret=SECRET).to_pandas() for _ in "12")
    pd.testing.assert_frame_equal(one, two)
