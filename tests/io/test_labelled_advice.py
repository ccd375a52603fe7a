"""Roles are guessed from labelled files too: codes of missing values are not taken for values."""

from __future__ import annotations

import pandas as pd

from labelled_sample import survey, write_spss
from larvatus.cli.main import main
from larvatus.pipeline.examine_source import guess_roles
from larvatus.study import Study


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
