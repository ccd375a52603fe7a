"""Texts that stand for missing values among numbers, such as k.A. or refused: they are codes if stated, the rest is masked."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import RolesError, WriteError
from larvatus.study import Study
from sample import SECRET

ENGINES = ["memory", "duckdb"]
N = 60
TEXTS = {3: "k.A.", 17: "refused", 20: "k.A."}


def survey() -> pd.DataFrame:
    rng = np.random.default_rng(9)
    income: list[object] = [float(v) for v in rng.lognormal(8, 1, N).round(2)]
    rooms: list[object] = [int(v) for v in rng.integers(1, 9, N)]
    for row, text in TEXTS.items():
        income[row], rooms[row + 1] = text, text
    income[30] = -7
    return pd.DataFrame({"income": pd.Series(income, dtype=object), "rooms": pd.Series(rooms, dtype=object),
                         "sex": rng.integers(1, 3, N)})


def write_csv(path: Path, comma: bool = True, frame: pd.DataFrame | None = None) -> Path:
    given = survey() if frame is None else frame
    cells = given.map(lambda v: str(v).replace(".", ",") if comma and isinstance(v, float) else str(v))
    path.write_text(cells.to_csv(index=False, sep=";" if comma else ","), encoding="utf-8")
    return path


ROLES = {"confidential": ["income"], "non_confidential": ["rooms", "sex"], "nominal": ["sex"],
         "missing": {"income": ["k.A.", "refused", -7], "rooms": ["k.A.", "refused"]}}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("comma", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_csv(tmp_path, engine, comma):
    data = lv.read(write_csv(tmp_path / "in.csv", comma), engine=engine, decimal="comma" if comma else None, **ROLES)
    assert data.table.columns["income"].kind == data.table.columns["rooms"].kind == "number"
    assert data.table.columns["rooms"].integer
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / "out.csv", row_order="keep")
    how = {"sep": ";" if comma else ",", "dtype": str, "keep_default_na": False}
    before, after = (pd.read_csv(tmp_path / n, **how) for n in ("in.csv", "out.csv"))
    assert list(after["rooms"]) == list(before["rooms"])
    coded = before["income"].isin(["k.A.", "refused", "-7"])
    assert coded.sum() == 4
    assert list(after.loc[coded, "income"]) == list(before.loc[coded, "income"])
    masked = after.loc[~coded, "income"]
    assert masked.str.contains("," if comma else ".", regex=False).all()
    assert not set(masked) & set(before["income"])
    raw = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert '"k.A."' in raw
    assert f'"{masked.iloc[0]}"' not in raw  # numbers have no quotation marks


@pytest.mark.parametrize("engine", ENGINES)
def test_spreadsheets(tmp_path, engine):
    survey().to_excel(tmp_path / "in.xlsx", index=False, engine="xlsxwriter")
    data = lv.read(tmp_path / "in.xlsx", engine=engine, **ROLES)
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.xlsx", row_order="keep")
    before, after = (pd.read_excel(tmp_path / n, engine="calamine") for n in ("in.xlsx", "out.xlsx"))
    assert list(after["rooms"]) == list(before["rooms"])
    texts = {i: v for i, v in enumerate(after["income"]) if isinstance(v, str)}
    assert texts == TEXTS
    assert after["income"][30] == -7
    assert not {v for v in after["income"] if isinstance(v, float)} & set(before["income"])
    with pytest.raises(WriteError, match=r"'rooms' has texts that stand for missing values among its numbers, which a \.sav"):
        lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.sav")
    assert not (tmp_path / "out.sav").exists()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_written_release_is_scored(tmp_path, engine, name):
    data = lv.read(write_csv(tmp_path / "in.csv", comma=False), engine=engine, **ROLES)
    release = lv.mask(data, "rank_swap", secret=SECRET)
    release.write(tmp_path / name, pairing=tmp_path / "pairs.parquet")
    found = lv.risk(data, tmp_path / name, ["nearest_record"], pairing=tmp_path / "pairs.parquet")
    assert found[0].value == lv.risk(data, release, ["nearest_record"])[0].value


@pytest.mark.parametrize("engine", ENGINES)
def test_other_texts_keep_a_column_text(tmp_path, engine):
    path = write_csv(tmp_path / "in.csv", comma=False)
    data = lv.read(path, engine=engine, non_confidential=["rooms"], missing={"rooms": ["k.A."]}, confidential=["sex"])
    assert data.table.columns["rooms"].kind == "nominal"
    with pytest.raises(RolesError, match="is numeric, and a missing code of it is a text"):
        lv.read(path, engine=engine, confidential=["sex"], missing={"sex": ["k.A."]})


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_advise_finds_them_and_the_draft_states_them(tmp_path, suffix):
    frame = pd.concat([survey()] * 5, ignore_index=True)
    path = tmp_path / f"in{suffix}"
    if suffix == ".csv":
        write_csv(path, frame=frame)
    else:
        frame.to_excel(path, index=False, engine="xlsxwriter")
    found = lv.advise(path)
    about = {g.name: g for g in found.guesses}
    assert (about["income"].role, about["income"].column.codes) == ("confidential", ("k.A.", "refused", -7))
    assert about["rooms"].column.type == "whole numbers"
    assert 'income: text among its numbers ("k.A.", "refused") is taken for missing values' in found.text()
    stated = tomllib.loads(found.draft(str(path)))["roles"]["missing"]
    assert stated == found.roles["missing"] == {"income": ["k.A.", "refused"], "rooms": ["k.A.", "refused"]}
    assert '# missing = { "income" = ["k.A.", "refused", -7]' in found.draft()
    data = lv.read(path, **found.roles, **({"decimal": "comma"} if suffix == ".csv" else {}))
    assert data.table.columns["income"].kind == "number"


def test_advise_counts_texts_that_are_no_codes_and_shows_none(tmp_path):
    frame = pd.DataFrame({"amount": [*map(str, range(1000, 1099)), "Total of Mr. Smith"], "sex": [1, 2] * 50})
    frame.to_csv(tmp_path / "in.csv", index=False)
    found = lv.advise(tmp_path / "in.csv")
    assert (found.guesses[0].what, found.guesses[0].role) == ("numbers and text", "none")
    assert "most cells are numbers, and 1 are text" in found.text()
    assert "Smith" not in found.text() + found.draft()
    frame.assign(amount=[str(v) for v in range(100)]).to_excel(tmp_path / "in.xlsx", index=False, engine="xlsxwriter")
    assert lv.advise(tmp_path / "in.xlsx").guesses[0].what == "numbers as text"


def test_codes_can_be_stated_before_the_roles(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_csv(Path("in.csv"), comma=False)
    assert main(["advise", "in.csv", "--missing", "income=k.A.,refused,-7", "--missing", "rooms=k.A.,refused"]) == 0
    assert "may stand for missing" not in capsys.readouterr().err
    study = Study.read("in-roles.toml")
    assert study.roles.missing == {"income": ("k.A.", "refused", -7), "rooms": ("k.A.", "refused")}
    assert main(["advise", "in.csv", "--missing", "incme=-7"]) == 2
    assert "missing: no column 'incme'; did you mean 'income'" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("engine", ENGINES)
def test_extended_missing_values_with_decimal_commas(tmp_path, engine):
    cells = [".a" if i % 7 == 0 else f"{i},25" for i in range(N)]
    (tmp_path / "in.csv").write_text("x;s\n" + "".join(f"{c};{i % 3}\n" for i, c in enumerate(cells)), encoding="utf-8")
    data = lv.read(tmp_path / "in.csv", confidential=["s"], non_confidential=["x"], missing={"x": [".a"]}, engine=engine)
    assert data.table.columns["x"].kind == "number"
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.csv", row_order="keep")
    after = pd.read_csv(tmp_path / "out.csv", sep=";", dtype=str)
    assert list(after["x"]) == cells
    assert '"1,25"' not in (tmp_path / "out.csv").read_text(encoding="utf-8")


def test_an_export_holds_numbers_and_texts_or_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.concat([survey()] * 2).to_excel("in.xlsx", index=False, engine="xlsxwriter")
    Path("s.toml").write_text(
        'source = "in.xlsx"\n[roles]\nconfidential = ["income"]\nnon_confidential = ["sex"]\n'
        'missing = { income = ["k.A.", "refused"] }\n[[release]]\nname = "r"\nsteps = ["rank_swap"]\n'
        '[[attack]]\nmethod = "uniqueness"\n[[measure]]\nmethod = "moments"\n', encoding="utf-8")
    assert main(["run", "s.toml", "-o", "out", "-q"]) == 0
    assert main(["export", "out", "--release", "r", "-o", "a.csv", "-q"]) == 0
    cells = [line.split(",")[1] for line in Path("a.csv").read_text(encoding="utf-8").splitlines()[1:]]
    assert sum(c.startswith('"') for c in cells) == 6  # the texts; numbers have no quotation marks
    capsys.readouterr()
    assert main(["export", "out", "--release", "r", "-o", "b.sav", "-q"]) == 2
    assert "'income' has texts that stand for missing values among its numbers" in capsys.readouterr().err
    assert not list(tmp_path.glob("b.*"))
