"""What a new user meets in the first hour with a file: codes, labels, sheets, empty files, names of drafts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from labelled_sample import survey, write_spss
from larvatus.advice.column_kinds import missing_codes
from larvatus.cli.commands.check import BROKEN
from larvatus.cli.main import main
from larvatus.comparison.unmasked_columns import unmasked_in_words
from larvatus.core.errors import LarvatusWarning, ReadError, RolesError
from larvatus.data.exposure.singled_out import missing_cells_in_words, singled_out_by_missing
from larvatus.pipeline.examine_source import guess_roles
from larvatus.study import Study
from sample import SECRET

N = 200
FEW = '\n[[attack]]\nmethod = "uniqueness"\n[[measure]]\nmethod = "moments"\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def coded(n: int = N) -> pd.DataFrame:
    """Incomes with cents and the codes -7 and -8, satisfaction with the code 98, and a person in two waves."""
    rng = np.random.default_rng(5)
    income = np.exp(rng.normal(9, 1, n)).round(2)
    income[::11], income[::13], income[5] = -7, -8, 0.0
    mood = rng.integers(1, 6, n)
    mood[::9] = 98
    return pd.DataFrame({"person": np.repeat(np.arange(n // 2), 2), "wave": np.tile([1, 2], n // 2), "income": income,
                         "mood": mood, "sex": rng.choice(["f", "m"], n), "age": rng.integers(18, 80, n)})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_advice_with_roles_points_at_codes(engine):
    data = lv.read(coded(), confidential=["income"], non_confidential=["mood", "age"], engine=engine)
    text = lv.advise(data).text()
    assert "income: -8 and -7 may stand for missing" in text
    assert "--missing mood=98" in text
    stated = lv.read(coded(), confidential=["income"], non_confidential=["mood"], nominal=["mood"],
                     missing={"income": [-7, -8]}, engine=engine)
    assert "--missing mood=98" in lv.advise(stated).text()
    assert "--missing income" not in lv.advise(stated).text()


def test_fractions_are_no_codes():
    assert missing_codes(np.array([-7.5, 1.0, 2.0]), np.array([50, 50, 50])) == ()
    assert missing_codes(np.array([-7.0, 1.5, 2.25]), np.array([50, 50, 50])) == (-7,)


def test_the_draft_follows_the_labels():
    found = guess_roles(write_spss(Path("in.sav")))
    why = {g.name: (g.what, g.why) for g in found.guesses}
    assert why["sex"] == ("category", "2\N{NO-BREAK SPACE}value labels")
    assert why["mood"] == ("ordered category", "2\N{NO-BREAK SPACE}value labels, and its measure is ordinal")
    assert found.roles["nominal"] == ["sex"]
    assert '# ordered by the labels of the file: "mood"' in found.draft()
    data = lv.read("in.sav", **found.roles)
    assert data.roles.ordered["mood"] == (1, 2, 3, 4, 5)


def test_an_unlabelled_column_of_measure_scale_is_numeric():
    write_spss(Path("in.sav"), survey().assign(kids=np.arange(300) % 4.0), variable_measure={"kids": "scale"})
    found = {g.name: g for g in guess_roles("in.sav").guesses}
    assert not found["kids"].nominal


@pytest.mark.filterwarnings("default")
def test_advise_names_the_sheet_that_it_took(capsys):
    with pd.ExcelWriter("in.xlsx", engine="xlsxwriter") as book:
        coded().to_excel(book, sheet_name="people", index=False)
        pd.DataFrame({"note": ["made up"]}).to_excel(book, sheet_name="notes", index=False)
    assert main(["advise", "in.xlsx"]) == 0
    assert "the first one, 'people', was read. Name another one with --sheet" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_code_that_no_cell_has_is_noted(engine):
    with pytest.warns(LarvatusWarning, match=r"missing: no cell of 'income' has -9\. Check the code"):
        lv.read(coded(), confidential=["income"], missing={"income": [-7, -9, (-990, -980)]}, engine=engine)
    with pytest.warns(LarvatusWarning, match=r"missing: no cell of 'income' has -990 to -980\."):
        lv.read(coded(), confidential=["income"], missing={"income": [(-990, -980)]}, engine=engine)
    lv.read(coded(), confidential=["income", "sex"], missing={"income": [-7], "sex": ["f"]}, engine=engine)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_text_cannot_be_declared_numeric(engine):
    with pytest.raises(RolesError, match=r"numeric: sex cannot be read as numeric, because it contains text\."):
        lv.read(coded(), confidential=["income"], non_confidential=["sex"], numeric=["sex"], engine=engine)


@pytest.mark.parametrize("name", ["in.csv", "in.parquet"])
def test_a_file_without_records_gives_no_draft(name):
    empty = coded().head(0)
    empty.to_csv(name, index=False) if name.endswith("csv") else empty.to_parquet(name)
    with pytest.raises(ReadError, match=r"a header but no records"):
        lv.advise(name)
    assert main(["advise", name]) == 2
    assert not list(Path().glob("*.toml"))


def test_drafts_of_two_files_have_two_names(capsys):
    coded().to_csv("survey.csv", index=False)
    write_spss(Path("survey.sav"))
    assert main(["advise", "survey.csv", "-q"]) == main(["advise", "survey.sav"]) == 0
    assert "--study survey-sav-roles.toml -o survey-sav-study.toml" in capsys.readouterr().out
    assert Study.read("survey-roles.toml").source == "survey.csv"
    assert Study.read("survey-sav-roles.toml").source == "survey.sav"
    before = Path("survey-sav-roles.toml").read_bytes()
    assert main(["advise", "survey.sav", "-q"]) == 0
    assert Path("survey-sav-roles.toml").read_bytes() == before


def finished_run(*more: str) -> None:
    coded().to_csv("in.csv", index=False)
    assert main(["advise", "in.csv", "--confidential", "income", "--non-confidential", "age,sex", "--missing", "income=-7,-8",
                 *more, "-o", "s.toml", "-q"]) == 0
    with Path("s.toml").open("a", encoding="utf-8") as file:
        file.write(FEW)
    assert main(["run", "s.toml", "-o", "out", "-q"]) == 0


def test_a_run_with_codes_is_exported_compressed_and_described_as_it_is(capsys):
    finished_run()
    assert "cannot hold labels" not in capsys.readouterr().err
    assert main(["export", "out", "--release", "shuffled", "-o", "final.csv.gz", "-q"]) == 0
    assert gzip.decompress(Path("final.csv.gz").read_bytes()) == Path("out/releases/shuffled.csv").read_bytes()
    assert main(["verify", "final.manifest.json", "-q"]) == 0
    notes = json.loads(Path("final.manifest.json").read_text(encoding="utf-8"))["notes"]
    assert "Every record obeys: income >= 0. Codes of missing values are not counted." in notes
    book = pd.read_csv("final.codebook.csv", keep_default_na=False).set_index("column")
    assert book.loc["income", "missing"] == "'-7; -8"
    first = Path("final.csv.gz").read_bytes()
    assert main(["export", "out", "--release", "shuffled", "-o", "final.csv.gz", "--overwrite", "-q"]) == 0
    assert Path("final.csv.gz").read_bytes() == first
    assert main(["mask", "in.csv", "--confidential", "income", "--method", "rank_swap", "-o", "m.csv.gz", "-q"]) == 0
    assert pd.read_csv("m.csv.gz").shape == (N, 1)


def test_persons_with_several_records_are_noted():
    data = lv.read(coded(), confidential=["income"], person="person")
    said = [line for line in lv.advise(data).seen if "persons" in line]
    assert len(said) == 1
    assert said[0].startswith("100 of 100 persons (person) have several records, at most 2.")
    one = lv.read(coded().drop_duplicates("person"), confidential=["income"], person="person")
    assert not [line for line in lv.advise(one).seen if "persons" in line]


def with_gaps() -> pd.DataFrame:
    """A file whose unmasked columns single out nobody, and whose missing cells single out records."""
    frame = coded()[["sex", "income"]].assign(debt=np.arange(N) * 3.0, rent=np.arange(N) * 7.0)
    frame.loc[[3], "debt"], frame.loc[[4], "rent"], frame.loc[[5], "income"] = np.nan, -7.0, np.nan
    return frame.assign(sex=np.where(np.arange(N) % 2, "f", "m"))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_missing_cells_that_single_out_records_are_counted(engine):
    roles = {"confidential": ["income", "debt", "rent"], "non_confidential": ["sex"], "missing": {"rent": [-7]}}
    data = lv.read(with_gaps(), engine=engine, **roles)
    rows = singled_out_by_missing(data, ["sex"], data.confidential)
    assert rows[0]["without_missing_cells"] == 0
    assert rows[0]["singled_out"] == 3 / N
    assert {r["column"] for r in rows[1:]} == {"income", "debt", "rent"}
    assert "single out a further 1.5\N{NO-BREAK SPACE}% of records" in missing_cells_in_words([rows])
    whole = lv.read(with_gaps()[["sex"]].assign(x=np.arange(N)), confidential=["x"], non_confidential=["sex"], engine=engine)
    assert not len(singled_out_by_missing(whole, ["sex"], ["x"]))
    released = lv.mask(data, "rank_swap", secret=SECRET)
    assert any(said.startswith("Missing cells of") for said in unmasked_in_words(lv.risk(data, released, ["uniqueness"])))


def test_check_names_missing_cells(capsys):
    with_gaps().to_csv("in.csv", index=False)
    Path("s.toml").write_text(
        'source = "in.csv"\n[roles]\nconfidential = ["income", "debt", "rent"]\nnon_confidential = ["sex"]\n'
        '[[release]]\nname = "r"\nsteps = ["rank_swap"]\n' + FEW, encoding="utf-8")
    assert main(["run", "s.toml", "-o", "out", "-q"]) == 0
    capsys.readouterr()
    assert main(["check", "out", "--release", "r"]) in (0, BROKEN)
    out = capsys.readouterr().out
    assert "WARNING: Missing cells of" in out
    assert "debt" in out
    main(["check", "out", "--release", "r", "--json"])
    assert any(said.startswith("Missing cells of") for said in json.loads(capsys.readouterr().out)["warnings"])


def test_many_columns_with_few_patterns_each_single_out_together():
    """A few columns of missing cells have few patterns; ten columns together single out most records."""
    draws = np.random.default_rng(8)
    n, names = 400, list("abcdefghij")
    frame = pd.DataFrame(draws.normal(size=(n, len(names))), columns=names).where(draws.random((n, len(names))) > 0.4)
    found = singled_out_by_missing(lv.read(frame, confidential=names), (), names)
    assert found[0]["singled_out"] == pytest.approx((frame.isna().value_counts() == 1).sum() / n)
    assert "and other columns single out a further" in missing_cells_in_words([found])
    assert "all masked columns together single out" in missing_cells_in_words([found[:1]]), "no column stands out"
