"""The role `key`: S as it is released, changed only by steps that name it, compared at its released level."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.attacks.key_risk import KeyRisk
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import all_of
from larvatus.data.pairings.released_keys import comparable_keys, key_changes, with_released_keys
from larvatus.pipeline.key_stages import apply_key_steps, key_stages
from sample import SECRET

CUTS = [30, 45, 60]
RECODING = {"method": "recoding", "columns": ["age"], "cuts": CUTS, "replacement": "label"}
SUPPRESSION = {"method": "local_suppression", "columns": ["age", "job"], "k": 5}
NOISE = "additive_noise(variance=0.3)"


def survey(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, n)
    return pd.DataFrame({
        "age": age, "job": rng.choice(list("abcdef"), n, p=[0.4, 0.3, 0.15, 0.1, 0.03, 0.02]),
        "region": rng.choice(["n", "s"], n), "income": rng.normal(30_000, 5_000, n) + 200 * age,
    })


def read(frame: pd.DataFrame, engine: str = "memory", **roles: object) -> lv.Microdata:
    given = {"confidential": ["income"], "key": ["age", "job"], "sub_groups": ["region"], **roles}
    return lv.read(frame, **given, engine=engine)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return survey()


@pytest.fixture(scope="module")
def masked(frame):
    data = read(frame)
    return data, lv.mask(data, NOISE, RECODING, SUPPRESSION, secret=SECRET)


def test_key_steps_come_first_and_change_the_keys_they_name(frame, masked):
    _, release = masked
    assert [s.name() for s in release.steps] == ["recoding", "local_suppression", "additive_noise"]
    out = release.to_pandas()
    assert set(out.age.dropna()) == {"under 30", "30 to under 45", "45 to under 60", "60 and over"}
    classes = np.digitize(frame.age, CUTS)
    assert (out.age.dropna().map({"under 30": 0, "30 to under 45": 1, "45 to under 60": 2, "60 and over": 3})
            == classes[out.age.notna()]).all()
    assert out.groupby(["region", "age", "job"], dropna=False).size().min() >= 5
    assert (out.region == frame.region).all()


def test_a_key_that_no_step_names_is_released_unchanged(frame):
    data = read(frame)
    out = lv.mask(data, NOISE, secret=SECRET).to_pandas()
    assert (out.age == frame.age).all()
    assert out.age.dtype == frame.age.dtype
    assert (out.job == frame.job).all()


def test_masks_condition_on_the_released_key(frame):
    """Income falls with age and rises again. A linear model of the classes of age has a mean for each; one of age in years is
    a flat line, far from the means of all classes.

    Fresh draws around the class mean: the mean of a class is within five standard errors (false alarm below 1e-5).
    """
    curved = frame.assign(income=1_000.0 * abs(frame.age - 54) + frame.income % 100)
    data = read(curved, sub_groups=(), key=["age"])
    out = lv.mask(data, {**RECODING, "cuts": [40, 68]}, "linear_model", secret=SECRET).to_pandas()
    for level, part in out.groupby("age"):
        true = curved.income[part.index]
        assert abs(part.income.mean() - true.mean()) < 5 * true.std() / np.sqrt(len(part)) < 3_000, level


def test_attacks_see_the_key_as_released(masked):
    data, release = masked
    seen = with_released_keys(data, release)
    assert seen.table.columns["age"].kind == "nominal"
    score = lv.risk(data, release, ["uniqueness"])[0]
    assert score.s_alone < 0.2  # in the original, age and job alone single out most records
    assert lv.risk(data, lv.mask(data, NOISE, secret=SECRET), ["uniqueness"])[0].s_alone > 0.5


def test_a_recoded_key_is_compared_at_its_released_level(frame):
    """A key that was only recoded is S, equal in both files; a suppressed one is compared like a confidential column."""
    data = read(frame)
    only = lv.mask(data, RECODING, NOISE, secret=SECRET)
    before, after = comparable_keys(data, only)
    assert before.confidential == after.data.confidential == ("income",)
    assert "age" in before.non_confidential
    table = lv.utility(data, only, ["table"])[0]
    assert not [n for n in table.notes if "lost" in n]
    suppressed = lv.mask(data, RECODING, SUPPRESSION, NOISE, secret=SECRET)
    before, after = comparable_keys(data, suppressed)
    assert before.confidential == ("income", "age", "job")
    assert not [n for n in lv.utility(data, suppressed, ["table"])[0].notes if "completely lost" in n]


def test_counts_of_changed_cells(frame, masked):
    data, release = masked
    out = release.to_pandas()
    rows = {r["variable"]: dict(r) for r in key_changes(data, release.data)}
    gone = int(out.age.isna().sum())
    lost = rows["age"].pop("information lost")
    assert 0 < lost < 1
    assert rows["job"]["information lost"] < 0.2
    assert rows["age"] == {"variable": "age", "cells": 600, "suppressed": gone, "recoded": 600 - gone,
                           "values before": frame.age.nunique(), "values after": 4}
    assert rows["job"]["suppressed"] == int(out.job.isna().sum())
    assert rows["job"]["recoded"] == 0


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_recoded_release_is_read_again(frame, tmp_path, engine, suffix):
    data = read(frame, engine)
    release = lv.mask(data, RECODING, SUPPRESSION, NOISE, secret=SECRET)
    file, pairing = tmp_path / f"out{suffix}", tmp_path / "pairing.parquet"
    release.write(file, pairing=pairing)
    attacks = ["uniqueness", "nearest_record", "key_risk"]
    here, there = lv.risk(data, release, attacks), lv.risk(data, file, attacks, pairing=pairing)
    assert [s.value for s in here] == pytest.approx([s.value for s in there])
    assert any("age is numeric in the original and categorical in the released file" in n for n in there[0].notes)
    losses = lv.utility(data, release, ["table"]), lv.utility(data, file, ["table"], pairing=pairing)
    assert losses[0][0].value == pytest.approx(losses[1][0].value)


def test_a_recoded_confidential_column_is_read_again(frame, tmp_path):
    data = read(frame, confidential=["income", "age"], key=["job"])
    release = lv.mask(data, RECODING, "additive_noise(columns=['income'])", secret=SECRET)
    release.write(tmp_path / "out.csv", pairing=tmp_path / "pairing.parquet")
    scores = lv.risk(data, tmp_path / "out.csv", ["uniqueness"], pairing=tmp_path / "pairing.parquet")
    assert scores[0].value == pytest.approx(lv.risk(data, release, ["uniqueness"])[0].value)


@pytest.mark.parametrize("role", ["key", "confidential"])
def test_a_recoded_column_with_an_order_is_read_again(frame, tmp_path, role):
    """Its joined level has no place in the stated order."""
    others = {"confidential": ("income",), "key": ("age",)}
    order = {"job": tuple("abcdef")}
    data = lv.read(frame, lv.Roles(**{**others, role: (*others[role], "job")}, ordered=order))
    release = lv.mask(data, {"method": "recoding", "columns": ["job"], "rare": 30}, "additive_noise(columns=['income'])",
                      secret=SECRET)
    release.write(tmp_path / "out.csv", pairing=tmp_path / "pairing.parquet")
    here = lv.risk(data, release, ["uniqueness"])[0]
    there = lv.risk(data, tmp_path / "out.csv", ["uniqueness"], pairing=tmp_path / "pairing.parquet")[0]
    assert here.value == pytest.approx(there.value)


def test_engines_agree(frame):
    released = [lv.mask(read(frame, e), RECODING, "post_randomisation(columns=['job'])", NOISE, secret=SECRET).to_pandas()
                for e in ("memory", "duckdb")]
    pd.testing.assert_frame_equal(*released, check_dtype=False)


def test_a_file_without_confidential_columns(frame, tmp_path):
    data = read(frame, confidential=[])
    release = lv.mask(data, RECODING, SUPPRESSION, secret=SECRET)
    scores = lv.risk(data, release)
    assert {"key_risk", "uniqueness"} <= {s.method for s in scores}
    assert not [n for n in scores.uniqueness.notes if "unchanged" in n]
    release.write(tmp_path / "out.csv", pairing=tmp_path / "pairing.parquet")
    assert lv.risk(data, tmp_path / "out.csv", ["key_risk"], pairing=tmp_path / "pairing.parquet")[0].value > 0


@pytest.mark.parametrize(("steps", "message"), [
    ([RECODING, "sampling(columns=['job'])"], "removes whole records"),
    ([{**SUPPRESSION, "columns": ["age", "income"]}], "separate step"),
    ([{**RECODING, "columns": ["region"]}, NOISE], "is neither a key nor a confidential column"),
    ([{**RECODING, "columns": ["agee"]}, NOISE], "did you mean 'age'"),
    ([RECODING], "'income' is confidential, but no step masks it"),
    ([RECODING, {"method": "rounding", "columns": ["age"]}, NOISE], "made 'age' categorical"),
])
def test_steps_that_do_not_fit(frame, steps, message):
    with pytest.raises(lv.LarvatusError, match=message):
        lv.mask(read(frame), steps, secret=SECRET)


def test_a_key_of_the_sub_groups_is_not_changed(frame):
    data = read(frame, key=["age", "job", "region"])
    with pytest.raises(lv.LarvatusError, match="forms sub-groups"):
        lv.mask(data, {**SUPPRESSION, "columns": ["region"]}, NOISE, secret=SECRET)


@pytest.mark.parametrize("other", ["confidential", "non_confidential", "identifiers"])
def test_a_key_has_no_other_role(frame, other):
    roles = {"confidential": ["income"], "key": ["age"]}
    with pytest.raises(lv.LarvatusError, match="Keep one of the two"):
        lv.read(frame, **{**roles, other: [*roles.get(other, []), "age"]})


def test_without_keys_draws_are_as_before(frame):
    """The role changes no released value unless it is used: with an empty role the serialised roles are the same."""
    assert "key" not in lv.Roles(confidential=("income",)).model_dump_json()


def test_stages(frame):
    """Risk falls with each step; the cells are those that each step changed."""
    data = read(frame)
    after = apply_key_steps(data, all_of(Mask, [RECODING, SUPPRESSION]), SECRET)
    rows = key_stages(data, KeyRisk(), after)
    assert rows[0]["stage"] == "original"
    assert rows[0]["mean risk"] > rows[1]["mean risk"] > rows[2]["mean risk"]
    assert (rows[1]["recoded"], rows[1]["suppressed"], rows[2]["recoded"]) == (600, 0, 0)
    assert rows[2]["smallest class"] >= 5
    sizes = frame.groupby(["age", "job"]).age.transform("size")  # the keys, without the sub-group
    assert rows[0]["mean risk"] == pytest.approx((1 / sizes).mean())


def test_perturbed_and_recoded_keys_together(frame):
    """PRAM of one key and recoding of another: the law is that of PRAM, at the released level of the other."""
    data = read(frame)
    release = lv.mask(data, RECODING, "post_randomisation(columns=['job'], stay=0.5)", NOISE, secret=SECRET)
    score = lv.risk(data, release, ["key_risk"])[0]
    assert any("probability of a right match" in n for n in score.notes)
    recoded = lv.mask(data, RECODING, NOISE, secret=SECRET)
    assert score.value < lv.risk(data, recoded, ["key_risk"])[0].value
    assert [r["stage"] for r in score.details["key_stages"]] == ["original", "release"]
