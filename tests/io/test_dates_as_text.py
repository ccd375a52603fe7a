"""Dates that are written as text outside of CSV files are dates if their form is stated."""

from __future__ import annotations

import datetime
import sqlite3
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import ReadError
from sample import SECRET

ENGINES = ["memory", "duckdb"]
N = 60
DAYS = [datetime.date(2023, 1, 1) + datetime.timedelta(days=7 * i) if i % 10 else None for i in range(N)]
FRAME = pd.DataFrame({
    "id": range(1, N + 1), "x": (np.arange(N) ** 1.5 + 0.25).round(2),
    "day": ["" if d is None else d.strftime("%d.%m.%Y") for d in DAYS], "group": ["a", "b"] * (N // 2),
})
FORM = {"day": "dd.mm.yyyy"}


def database(frame: pd.DataFrame, path: Path) -> None:
    with sqlite3.connect(path) as connection:
        frame.to_sql("people", connection, index=False)
    connection.close()


SOURCES: dict[str, tuple[Any, dict[str, Any]]] = {
    "in.db": (database, {"table": "people", "record_id": "id"}),
    "in.parquet": (lambda f, p: f.to_parquet(p), {}),
    "in.feather": (lambda f, p: f.to_feather(p), {}),
    "in.xlsx": (lambda f, p: f.to_excel(p, index=False, engine="xlsxwriter"), {}),
    "in.sav": (lambda f, p: pyreadstat.write_sav(f, str(p)), {}),
    "in.dta": (lambda f, p: pyreadstat.write_dta(f, str(p)), {}),
    "in.xpt": (lambda f, p: pyreadstat.write_xport(f, str(p)), {}),
}


def days_in(path: Path) -> list[datetime.date | None]:
    """The dates of a released file, read without this package."""
    readers = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}
    if path.suffix in readers:
        found = readers[path.suffix](str(path))[0]["day"]
    else:
        found = pd.read_parquet(path)["day"] if path.suffix == ".parquet" else pd.read_excel(path, engine="calamine")["day"]
    return [None if pd.isna(v) else pd.Timestamp(v).date() for v in found]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SOURCES)
def test_texts_of_a_stated_form_are_dates(tmp_path, name, engine):
    make, options = SOURCES[name]
    make(FRAME, tmp_path / name)
    source = lv.read(tmp_path / name, confidential=["x"], non_confidential=["day"], dates=FORM, engine=engine, **options)
    assert source.table.columns["day"].dates.form == "dd.mm.yyyy"
    release = lv.mask(source, "additive_noise", secret=SECRET)
    suffix = Path(name).suffix if name not in ("in.db", "in.feather") else ".parquet"
    release.write(tmp_path / f"out{suffix}", row_order="keep")
    assert days_in(tmp_path / f"out{suffix}") == DAYS
    release.write(tmp_path / "out.csv", row_order="keep")
    assert list(pd.read_csv(tmp_path / "out.csv", keep_default_na=False)["day"]) == list(FRAME["day"])


@pytest.mark.parametrize("engine", ENGINES)
def test_they_are_masked_as_dates(tmp_path, engine):
    database(FRAME, tmp_path / "in.db")
    data = lv.read(tmp_path / "in.db", table="people", record_id="id", confidential=["x", "day"], dates=FORM, engine=engine)
    step = 'recoding(unit="month", columns=["day"])'
    lv.mask(data, step, 'additive_noise(columns=["x"])', secret=SECRET).write(tmp_path / "out.parquet", row_order="keep")
    assert days_in(tmp_path / "out.parquet") == [None if d is None else d.replace(day=1) for d in DAYS]


@pytest.mark.parametrize(("dates", "said"), [
    ({"day": "yyyy-mm-dd"}, "not all cells of column 'day' are dates of the form yyyy-mm-dd"),
    ({"dat": "dd.mm.yyyy"}, "there is no column 'dat'; "),
    ({"x": "dd.mm.yyyy"}, "column 'x' has no texts"),
    ({"group": "dd.mm.yyyy"}, "'group' is categorical or an identifier because of its role"),
    ({"day": "dd.mm"}, "is not a form of dates"),
])
@pytest.mark.parametrize("name", ["in.db", "in.xlsx"])
def test_what_cannot_be_dates_is_refused_without_values(tmp_path, name, dates, said):
    make, options = SOURCES[name]
    make(FRAME, tmp_path / name)
    with pytest.raises(ReadError) as caught:
        lv.read(tmp_path / name, confidential=["x"], sub_groups=["group"], non_confidential=["day"], dates=dates, **options)
    assert said in str(caught.value)
    assert ".2023" not in str(caught.value)


@pytest.mark.parametrize("name", ["in.db", "in.xlsx"])
def test_a_wrong_form_is_refused_by_advise(tmp_path, name):
    make, options = SOURCES[name]
    make(FRAME, tmp_path / name)
    given = {k: v for k, v in options.items() if k == "table"}
    with pytest.raises(ReadError, match="is not a form of dates"):
        lv.advise(tmp_path / name, dates={"day": "dd.mm"}, **given)


def test_a_column_that_has_dates_needs_no_form(tmp_path):
    FRAME.assign(day=DAYS).to_parquet(tmp_path / "in.parquet")
    with pytest.raises(ReadError, match="column 'day' has dates, and a form is for dates that are written as text"):
        lv.read(tmp_path / "in.parquet", confidential=["x"], non_confidential=["day"], dates=FORM)


def test_a_frame_is_converted_by_its_owner():
    with pytest.raises(ReadError, match="Convert the column to dates"):
        lv.read(FRAME, confidential=["x"], dates=FORM)


def test_advise_names_the_form_and_its_draft_can_be_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    database(FRAME, tmp_path / "in.db")
    assert main(["advise", "in.db", "--table", "people", "-o", "first.toml"]) == 0
    assert "its dates are written as text; state the form: --dates day=dd.mm.yyyy" in capsys.readouterr().out
    assert main(["advise", "in.db", "--table", "people", "--dates", "day=dd.mm.yyyy", "-o", "second.toml"]) == 0
    source = tomllib.loads((tmp_path / "second.toml").read_text())["source"]
    assert source == {"file": "in.db", "table": "people", "dates": FORM}
    assert main(["advise", "--study", "second.toml", "in.db", "-o", "study.toml"]) == 0
    assert tomllib.loads((tmp_path / "study.toml").read_text())["source"]["dates"] == FORM


@pytest.mark.parametrize(("cells", "said"), [
    (["01/02/2023", "03/04/2023"], "day and month of its dates cannot be told apart; state the form: --dates day=dd/mm/yyyy"),
    (["01/02/2023", "2023-02-01"], "most cells are dates, but of several forms; write all of them in one form"),
])
def test_advise_says_why_dates_are_text(cells, said):
    found = lv.advise(FRAME.assign(day=cells * (N // 2)))
    assert said in next(g.why for g in found.guesses if g.name == "day")
