"""Roles are guessed from labelled files too: codes of missing values are not taken for values."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import larvatus as lv
from labelled_sample import survey, write_spss
from larvatus.advice.advice import advice
from larvatus.advice.study_changes import StudyChanges
from larvatus.cli.main import main
from larvatus.core.errors import RolesError
from larvatus.engines._files.labelled_files import OpenedSource
from larvatus.pipeline.examine_source import guess_roles
from larvatus.study import Study, study_from_advice


def test_codes_of_missing_values_are_not_values(tmp_path):
    found = guess_roles(write_spss(tmp_path / "in.sav"))
    rows = {row["column"]: row for row in found.rows()}
    assert rows["sex"]["distinct"] == 2
    assert found.roles["confidential"] == ["income"]


def test_the_draft_names_the_sheet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pd.ExcelWriter("in.xlsx", engine="xlsxwriter") as book:
        pd.DataFrame({"note": ["made up"]}).to_excel(book, sheet_name="notes", index=False)
        survey().drop(columns=["born", "seen"]).to_excel(book, sheet_name="people", index=False)
    assert main(["advise", "in.xlsx", "--sheet", "people", "-o", "draft.toml", "-q"]) == 0
    study = Study.read("draft.toml")
    assert (study.source, study.sheet) == ("in.xlsx", "people")


def test_a_catalog_is_read_and_stated_again(tmp_path, monkeypatch):
    """pyreadstat writes neither .sas7bdat nor .sas7bcat: what is read is recorded instead."""
    monkeypatch.chdir(tmp_path)
    seen = []

    @contextmanager
    def opened(source, asked, sheet, catalog, **_):
        seen.append(catalog)
        yield OpenedSource(write_spss(tmp_path / "in.sav").with_suffix(".csv"))

    survey().to_csv("in.csv", index=False)
    monkeypatch.setattr("larvatus.pipeline.examine_source.source_as_parquet", opened)
    found = guess_roles("in.sas7bdat", catalog="formats.sas7bcat")
    assert seen == ["formats.sas7bcat"]
    assert f'catalog = "{tmp_path / "formats.sas7bcat"}"' in found.draft()
    data = lv.read(survey(), confidential=["income"])
    plan = {"sub_groups": {}, "roles": {}, "release": [], "constraints": {}}
    like = Study(catalog="formats.sas7bcat")
    assert study_from_advice(plan, data, "", tmp_path, like).catalog == "formats.sas7bcat"


def test_labels_are_shown_and_used(tmp_path):
    frame = survey()[["income", "age"]].assign(v1=survey()["income"], v2=survey()["mood"]).drop(columns="income")
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), column_labels={
        "v1": "Yearly income\nin euros, before tax, of the whole household", "v2": "Q7: diagnosed with an illness",
        "age": "Age"})
    found = guess_roles(tmp_path / "in.sav")
    about = {g.name: (g.role, g.what) for g in found.guesses}
    assert about["v1"] == ("confidential", "money")
    assert about["v2"] == ("confidential", "sensitive category")
    assert [r["label"] for r in found.rows()] == ["Age", "Yearly income in euros, befor…", "Q7: diagnosed with an illness"]
    assert "its name or label suggests an amount of money" in found.draft()
    assert "label" not in guess_roles(survey()).rows()[0]


def test_dates_and_ordered_categories_leave_no_release_out(tmp_path):
    draws = np.random.default_rng(3)
    n = 400
    frame = pd.DataFrame({"income": draws.normal(100, 9, n), "rent": draws.normal(50, 4, n), "mood": draws.integers(1, 5, n),
                          "seen": np.datetime64("2024-01-01") + draws.integers(0, 300, n).astype("timedelta64[D]")})
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), variable_value_labels={"mood": {i: f"m{i}" for i in range(1, 5)}},
                         variable_measure={"mood": "ordinal"})
    found = lv.advise(lv.read(tmp_path / "in.sav", confidential=["income", "rent", "mood", "seen"]))
    planned = {r["name"]: r["steps"] for r in found.plan["release"]}
    assert set(planned) == {"sufficiency-based", "shuffled", "noise, reverse-mapped, to compare"}
    assert planned["sufficiency-based"][0]["columns"] == ["income", "rent"]
    assert not [s for s in found.seen if "Left out" in s]


def test_a_release_that_is_left_out_is_not_said_to_be_in_the_study(tmp_path):
    data = lv.read(survey().drop(columns=["born", "seen"]), confidential=["income"])
    name = "noise, reverse-mapped, to compare"
    kept, without = advice(data), advice(data, changes=StudyChanges(releases={name: "it fails"}))
    assert f"It is in the study as {name!r}" in kept.text()
    assert f"It is in the study as {name!r}" not in without.text()


def test_lv_advise_reads_what_lv_read_reads(tmp_path):
    book = tmp_path / "in.xlsx"
    with pd.ExcelWriter(book, engine="xlsxwriter") as writer:
        pd.DataFrame({"note": ["made up"]}).to_excel(writer, sheet_name="notes", index=False)
        survey().drop(columns=["born", "seen"]).to_excel(writer, sheet_name="people", index=False)
    assert "income" in [g.name for g in lv.advise(book, sheet="people").guesses]
    (tmp_path / "in.csv").write_text("a;income\n" + "".join(f"{i};{i + 100},5\n" for i in range(40)))
    found = lv.advise(tmp_path / "in.csv", decimal="comma", missing={"income": [139.5]})
    assert found.guesses[1].column.missing == 1
    with pytest.raises(RolesError, match="sheet has no use"):
        lv.advise(lv.read(survey(), confidential=["income"]), sheet="people")
