"""An intruder's own file: of some of the records, with errors of its own, and as strong as what it holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

X = ["x0", "x1", "x2"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(600, 3)) @ (np.eye(3) + 0.3)
    s = {"id": np.arange(600) + 1000, "g": rng.integers(0, 2, 600).astype(str), "age": rng.integers(20, 60, 600) * 1.0}
    return pd.DataFrame({**s, **{n: 100 * np.exp(z[:, j] / 2) for j, n in enumerate(X)}})


@pytest.fixture(scope="module")
def data(table) -> lv.Microdata:
    return lv.read(table, confidential=X, non_confidential=["age"], sub_groups=["g"], record_id="id")


@pytest.fixture(scope="module")
def release(data) -> lv.Release:
    return lv.mask(data, "additive_noise(variance=0.05)", secret=SECRET)


def held(folder, frame: pd.DataFrame, **settings: object) -> lv.Intruder:
    frame.rename(columns={"id": "who"}).to_csv(folder / "own.csv", index=False)
    return lv.Intruder(file=str(folder / "own.csv"), truth="who", **settings)


@pytest.mark.parametrize("rows", [10, 60, 300])
def test_a_law_is_as_well_known_however_few_records_the_own_file_holds(table, data, release, rows, tmp_path):
    """The same targets with and without a file: the law comes from all pairs, not from the rows of the file."""
    attack = lv.attacks.PosteriorMatch(within=1)
    whole = lv.risk(data, release, [attack], intruder=held(tmp_path, table.drop(columns="age")))[0]
    some = lv.risk(data, release, [attack], intruder=held(tmp_path, table.drop(columns="age")[:rows]))[0]
    assert some.by_record == pytest.approx(whole.by_record[:rows])
    published = {r["parameters"]: r["value"] for r in some.details["published"]}
    spread = np.sqrt(0.25 / rows)
    assert abs(published["not known"] - published["known"]) < 4 * spread
    assert len(some.by_record) == rows


@pytest.mark.parametrize("method", ["nearest_record", "posterior_match"])
def test_x_alone_is_without_what_is_known_of_s(table, data, release, method, tmp_path):
    """S known with error: without S the attack gets no further than one who does not know S at all."""
    attack = f"{method}(within=1)"
    vague = lv.risk(data, release, [attack], intruder=lv.Intruder(error=0.05))[0]
    without = lv.risk(data, release, [attack], intruder=lv.Intruder(error=0.05, known=["g", *X]))[0]
    assert vague.value > without.value
    assert vague.details["within"][0]["x_alone"] == pytest.approx(without.value, abs=0.03)
    if method == "nearest_record":  # by the distance that is better with S; without S both are tried
        assert vague.details["within"][0]["x_alone"] <= without.value
    off = table.assign(age=table.age * (1 + 0.02 * np.random.default_rng(2).normal(size=600)))
    own = lv.risk(data, release, [attack], intruder=held(tmp_path, off))[0]
    assert own.details["within"][0]["x_alone"] < own.value
