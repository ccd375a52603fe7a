"""record_suppression: which records lose their keys, against counts by pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import MaskError
from sample import SECRET

KEYS = ["age", "job"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 300
    return pd.DataFrame({
        "age": rng.choice([20.0, 30, 40, 50, np.nan], n, p=[0.5, 0.3, 0.1, 0.05, 0.05]), "job": rng.choice(list("abcde"), n, p=[
            0.5, 0.3, 0.1, 0.07, 0.03]),
        "sex": rng.choice(["f", "m"], n), "ill": rng.choice(["no", "flu"], n, p=[0.8, 0.2]), "w": rng.uniform(1, 30, n),
    })


def masked(frame: pd.DataFrame, settings: str, **roles: object) -> pd.DataFrame:
    data = lv.read(frame, **{"confidential": ["ill"], "key": ["age", "job", "sex"], **roles})
    step = f"record_suppression(columns=['age', 'job'], {settings})"
    return lv.mask(data, step, "post_randomisation(columns=['ill'])", secret=SECRET).to_pandas()


@pytest.mark.parametrize("k", [2, 5, 12])
def test_exactly_the_rare_records_lose_their_keys(frame, k):
    out = masked(frame, f"k={k}, known=['sex']")
    size = frame.groupby(["age", "job", "sex"], dropna=False).age.transform("size")
    rare = size < k
    gone = out.job.isna()
    assert rare.any()
    assert (gone[rare]).all()
    assert out.groupby(["age", "job", "sex"], dropna=False).size().min() >= k
    few = frame[rare].groupby("sex").size()
    if (few >= k).all():
        assert (gone == rare).all()
    assert (out.job[~gone] == frame.job[~gone]).all()


def test_other_limits(frame):
    out = masked(frame, "k=1, l=2, of=['ill']")
    classes = out.assign(true=frame.ill).groupby(KEYS, dropna=False).true
    assert classes.nunique().min() >= 2
    assert out.job.isna().any()
    out = masked(frame, "k=1, threshold=0.05", weight="w")
    data = lv.read(out, confidential=["ill"], key=KEYS, weight="w")
    score = lv.risk(data, lv.mask(data, "post_randomisation(columns=['ill'])", secret=SECRET), ["key_risk(threshold=0.05)"])[0]
    assert score.by_record.max() <= 0.05 + 1e-12
    with pytest.raises(MaskError, match="Name them"):
        masked(frame, "l=2")
    with pytest.raises(MaskError, match="even without the other keys"):
        masked(frame, "k=200, known=['sex']")


def test_the_threshold_can_be_held_against_the_log_linear_model(frame):
    """All records above the threshold by the value of key_risk lose their keys; by weights they are other records."""
    data = lv.read(frame, confidential=["ill"], key=[*KEYS, "sex"], weight="w")
    score = lv.risk(data, lv.mask(data, "post_randomisation(columns=['ill'])", secret=SECRET), ["key_risk"])[0]
    limit = float(np.quantile(score.by_record, 0.8))
    by = {how: masked(frame, f"k=1, threshold={limit}, known=['sex'], estimate='{how}'", weight="w").job.isna()
          for how in ("model", "weights")}
    above = score.by_record > limit
    assert above.sum() > 10
    assert by["model"][above].all()
    assert (by["model"] != by["weights"]).any()


def test_households_stay_consistent(frame):
    """A household key that is suppressed in one member is suppressed in all, and every combination is still frequent."""
    rng = np.random.default_rng(6)
    family = np.repeat(np.arange(150), 2)
    town = rng.choice(list("pqrst"), 150, p=[0.5, 0.3, 0.15, 0.03, 0.02])[family]
    data = lv.read(frame.assign(family=family, town=town), confidential=["ill"], key=["job", "town"], household="family")
    out = lv.mask(data, "record_suppression(columns=['job', 'town'], k=4)", "post_randomisation(columns=['ill'])",
                  secret=SECRET).to_pandas()
    gone = out.town.isna()
    assert gone.any()
    assert (gone.groupby(family).nunique() == 1).all()
    assert out.groupby(["job", "town"], dropna=False).size().min() >= 4


@pytest.mark.parametrize(("level", "names"), [
    (1, {"a": "x1", "b": "x1", "c": "x2", "d": "y", "e": "y"}), (2, {"a": "x", "b": "x", "c": "x", "d": "y", "e": "y"}),
    (3, dict.fromkeys("abcde", "all")),
])
def test_levels_of_an_uneven_taxonomy(frame, level, names):
    """The tree is cut from below: a category that is not as deep as others keeps its name until the cut reaches it."""
    tree = {"x": {"x1": ["a", "b"], "x2": ["c"]}, "y": ["d", "e"]}
    expected = names if level > 1 else {**names, "d": "d", "e": "e"}
    data = lv.read(frame, confidential=["ill"], key=KEYS, taxonomies={"job": tree})
    step = {"method": "recoding", "columns": ["job"], "level": level, "rare": 1}
    out = lv.mask(data, step, "post_randomisation(columns=['ill'])", secret=SECRET).to_pandas()
    assert (out.job == frame.job.map(expected)).all()


def test_levels_of_numbers_are_nested(frame):
    data = lv.read(frame, confidential=["ill"], key=KEYS)
    before = frame.age
    for level in (1, 2, 3):
        step = {"method": "recoding", "columns": ["age"], "level": {"age": level}, "widths": {"age": [10, 20]},
                "replacement": "label"}
        out = lv.mask(data, step, "post_randomisation(columns=['ill'])", secret=SECRET).to_pandas().age
        pairs = pd.DataFrame({"before": before, "after": out}).dropna().drop_duplicates()
        assert pairs.before.is_unique
        assert (out.isna() == frame.age.isna()).all()
        assert out.nunique() == {1: 4, 2: 2, 3: 1}[level] or level == 2
        before = out
    with pytest.raises(MaskError, match="levels 0 to 3, got 4"):
        lv.mask(data, {**step, "level": 4}, "post_randomisation(columns=['ill'])", secret=SECRET)
