"""Public files of the field: read with sensible types, masked, attacked and measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import larvatus as lv
from sample import SECRET

FILES = {
    "census.csv": ({"confidential": ["AGI", "FEDTAX", "TAXINC"], "non_confidential": ["EMCONTRB"], "weight": "AFNLWGT"}, 1080),
    "households.csv": ({
        "confidential": ["expend", "income", "savings"], "non_confidential": ["age", "hhcivil"], "identifiers": ["ori_hid"],
        "weight": "sampling_weight", "nominal": ["hhcivil"],
        "sub_groups": lv.SubGroups(columns=("urbrur", "sex"), smallest=10, small="pool"),
    }, 4580),
    "survey.csv": ({
        "confidential": ["INCOME", "ASSETS"], "non_confidential": ["AGE"], "weight": "WEIGHT", "nominal": [],
        "sub_groups": lv.SubGroups(columns=("SEX", "MARSTAT"), smallest=5, small="suppress"),
    }, 4000),
}


@pytest.mark.parametrize("name", FILES)
def test_real_files_go_the_whole_way(real_files, tmp_path, name):
    roles, rows = FILES[name]
    data = lv.read(real_files / name, **roles)
    assert data.rows == rows
    release = lv.mask(data, "additive_noise", secret=SECRET)
    risk = lv.risk(data, release, "nearest_record").nearest_record
    losses = lv.utility(data, release)
    assert risk.chance < risk.value <= 1
    assert all(0 < score.relative_loss < 1 for score in losses if score.decides)
    assert 0.5 < losses.acceptance.value <= 1  # values that noise was added to are new ones
    release.write(tmp_path / "out.parquet", pairing=tmp_path / "pairs.parquet")
    again = lv.risk(data, tmp_path / "out.parquet", "nearest_record", pairing=tmp_path / "pairs.parquet").nearest_record
    assert again.s_alone == pytest.approx(risk.s_alone)
    assert release.data.rows == len(release.frame())


@pytest.mark.parametrize("name", FILES)
def test_every_default_attack_runs_on_real_records(real_files, name):
    data = lv.read(pd.read_csv(real_files / name).head(400), **FILES[name][0])
    scores = lv.risk(data, lv.mask(data, "additive_noise", secret=SECRET))
    assert len(scores) > 10
    assert all(0 <= s.value <= 1 for s in scores if s.by_record is not None)


def test_types_of_the_households(real_files):
    names = ["urbrur", "age", "ori_hid", "sampling_weight"]
    frame = lv.read(real_files / "households.csv", confidential=["expend", "income"], non_confidential=names).frame()
    kinds = {n: frame.schema.field(n).type for n in frame.column_names}
    assert kinds == {**dict.fromkeys([*names, "expend"], pa.int64()), "income": pa.float64()}


def test_whole_floats_of_the_survey_are_whole_levels(real_files):
    data = lv.read(real_files / "survey.csv", confidential="INCOME", sub_groups="SEX")
    assert data.groups.names == ("SEX=1", "SEX=2")


def test_only_confidential_columns_change(real_files):
    roles, _ = FILES["census.csv"]
    data = lv.read(real_files / "census.csv", **roles)
    before, after = data.frame(), lv.mask(data, "additive_noise", secret=SECRET).frame()
    assert after.column_names == ["EMCONTRB", "AGI", "FEDTAX", "TAXINC", "AFNLWGT"]
    assert before.select(["EMCONTRB", "AFNLWGT"]).equals(after.select(["EMCONTRB", "AFNLWGT"]))
    assert not np.any(np.asarray(before["AGI"]) == np.asarray(after["AGI"]))
