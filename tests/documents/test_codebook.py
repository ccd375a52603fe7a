"""The codebook of a release: types as they leave, how columns were masked, and no rare level, count or extreme."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import StudyError
from larvatus.data.verbs import take_rows
from larvatus.documents.codebook import codebook_text, make_codebook
from larvatus.documents.manifest import write_beside
from larvatus.reporting.sections.codebook import codebook_table
from sample import ROLES, SECRET, people


def by_column(rows) -> dict[str, dict]:
    return {r["column"]: r for r in rows}


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    return lv.read(people(300), **ROLES)


def test_types_and_masks_as_the_release_has_them(data):
    noised = by_column(make_codebook(lv.mask(data, "additive_noise(variance=0.25)", secret=SECRET), data, suffix=".csv"))
    assert list(noised) == ["region", "sex", "age", "job", "income", "wealth", "rooms"]
    assert [r["type"] for r in noised.values()] == [
        "categorical", "categorical", "whole number", "categorical", "number", "number", "number",
    ]
    assert [r["masked"] for r in noised.values()] == ["no"] * 4 + ["yes"] * 3
    assert [noised[n]["missing"] for n in ("income", "wealth", "job")] == ["empty cell", "none", "empty cell"]
    assert "variance of the column: 0.25" in noised["income"]["how"]
    assert noised["age"]["how"] == "released unchanged"
    shuffled = by_column(make_codebook(lv.mask(data, "data_shuffling", secret=SECRET), data))
    assert shuffled["rooms"]["type"] == "whole number"
    assert shuffled["income"]["missing"] == "null"


def test_settings_that_are_not_published_stay_out(data):
    told = make_codebook(lv.mask(data, "random_swap(rate=0.37)", "additive_noise(columns=['income'])", secret=SECRET), data)
    rows = by_column(told)
    assert "0.37" not in str(told.rows)
    assert rows["income"]["how"].startswith("random swap, then additive noise (")
    assert ", then additive noise" in rows["income"]["how"]
    assert "noise" not in rows["wealth"]["how"]


def test_recomputed_columns_and_those_made_into_names():
    frame = people(300, missing=False).assign(total=lambda f: f.wealth + f.rooms)
    data = lv.read(frame, confidential=["total", "wealth", "rooms"])
    release = lv.mask(data, "additive_noise", secret=SECRET, constraints=["total = wealth + rooms"])
    assert by_column(make_codebook(release, data))["total"]["how"] == "recomputed from wealth, rooms"
    two = lv.read(frame, confidential=["wealth"])
    labelled = lv.mask(two, "additive_noise", "recoding(replacement='label')", secret=SECRET)
    row = by_column(make_codebook(labelled, two))["wealth"]
    assert row["type"] == "categorical"
    assert row["how"].startswith("additive noise (")
    assert ", then recoding" in row["how"]


def test_rare_levels_and_extremes_are_not_listed():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "town": ["Common"] * 191 + ["Nine"] * 9, "age": [*rng.integers(20, 60, 199), 103], "pay": rng.lognormal(size=200),
        "job": ["=SUM(A1)"] * 100 + ["b;c"] * 100,
    })
    data = lv.read(frame, confidential=["pay"], non_confidential=["town", "age", "job"])
    rows = make_codebook(lv.mask(data, "additive_noise", secret=SECRET), data, {"pay": "pay a year"})
    levels = by_column(rows)["town"]["levels"]
    assert "Common" in levels
    assert "Nine" not in levels
    assert "not listed" in levels
    assert by_column(rows)["job"]["levels"] == "=SUM(A1); b,c"
    read = list(csv.DictReader(io.StringIO(codebook_text(rows))))
    assert by_column(read)["job"]["levels"].startswith("'=")
    assert by_column(read)["pay"]["label"] == "pay a year"
    table = codebook_table(rows)
    shown = str((table, rows.rows))
    assert not any(text in shown for text in ("103", "191", "200", repr(float(frame.pay.max())), repr(float(frame.pay.min()))))
    assert table.columns == ("Column", "Label", "Type", "Missing values", "Masked", "How", "Categories")
    assert codebook_table([]) is None


def test_a_level_that_is_rare_in_one_copy_only_is_not_listed(monkeypatch):
    frame = pd.DataFrame({"town": ["a"] * 90 + ["b"] * 10, "pay": np.arange(100.0) ** 1.5})
    data = lv.read(frame, confidential=["pay"], non_confidential=["town"])
    release = lv.mask(data, "multiple_imputation(copies=2)", secret=SECRET)
    assert by_column(make_codebook(release, data))["town"]["levels"] == "a; b"
    fewer = take_rows(release.copies[1], lambda g, b: b.record != 99, [])
    changed = lv.Release(release.name, (release.copies[0], fewer), release.steps)
    assert by_column(make_codebook(changed, data))["town"]["levels"].startswith("a; levels with fewer")


def test_a_file_masked_elsewhere(data):
    comparison = lv.compare(data, [people(300)], ["nearest_record"], ["moments"])
    assert by_column(comparison.candidates[0].codebook)["income"]["how"] == "masked; the method is not described"


def test_labels_in_a_study_are_checked():
    raw = {"roles": {"confidential": ["pay"]}, "labels": {"pay": "pay a year"}}
    assert lv.Study.of(raw).plain()["labels"] == {"pay": "pay a year"}
    with pytest.raises(StudyError, match=r"labels: 'pya' is not a released column; did you mean 'pay'"):
        lv.Study.of({**raw, "labels": {"pya": "x"}})
    with pytest.raises(StudyError, match=r"labels.pay: must be text"):
        lv.Study.of({**raw, "labels": {"pay": 3}})
    with pytest.raises(StudyError, match="must be a table"):
        lv.Study.of({**raw, "labels": ["x"]})


def test_a_weight_is_called_the_same_in_the_codebook_and_in_the_manifest(tmp_path):
    frame = people(300, missing=False).assign(weight=2.0)
    data = lv.read(frame, confidential=["wealth", "rooms"], non_confidential=["age"], weight="weight")
    for steps, how in ((["additive_noise"], "released unchanged"),
                       (["sampling(rate=0.5)", "additive_noise"], "recomputed for the released records")):
        release = lv.mask(data, *steps, secret=SECRET)
        rows = by_column(make_codebook(release, data))
        assert (rows["weight"]["masked"], rows["weight"]["how"]) == ("no", how)
        release.write(tmp_path / "out.csv", overwrite=True)
        write_beside(release, data, tmp_path / "out.csv", overwrite=True)
        told = json.loads((tmp_path / "out.manifest.json").read_text(encoding="utf-8"))
        assert told["masked_columns"] == sum(r["masked"] == "yes" for r in rows.values()) == 2
        assert told["columns"] == len(rows) == 4
