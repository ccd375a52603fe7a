"""Files of SPSS, Stata and SAS, and spreadsheets: labels, codes of missing values and untouched columns come back."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import parquet

import larvatus as lv
from labelled_sample import CONFIDENTIAL, KNOWN, read_spss, read_stata, survey, write_spss, write_stata
from larvatus.cli.main import main
from larvatus.core.errors import EngineError, LarvatusWarning, MaskError, ReadError, RolesError, StudyError, WriteError
from larvatus.engines._files import labelled_targets
from larvatus.pipeline import export
from sample import SECRET

ENGINES = ["memory", "duckdb"]
STEPS = ('additive_noise(columns=["income"])', 'post_randomisation(columns=["mood"])')


def spss_release(path: Path, engine: str = "memory") -> lv.Release:
    data = lv.read(path, confidential=CONFIDENTIAL, non_confidential=KNOWN, sub_groups="sex", engine=engine)
    return lv.mask(data, *STEPS, secret=SECRET)


@pytest.mark.parametrize("suffix", [".sav", ".zsav"])
@pytest.mark.parametrize("engine", ENGINES)
def test_spss_comes_back_with_labels_codes_and_untouched_columns(tmp_path, engine, suffix):
    source, target = write_spss(tmp_path / f"in{suffix}", compress=suffix == ".zsav"), tmp_path / f"out{suffix}"
    spss_release(source, engine).write(target, row_order="keep")
    (before, told), (after, kept) = read_spss(source), read_spss(target)
    for name in ("sex", *KNOWN):
        assert after[name] == before[name], name
    for name in CONFIDENTIAL:
        coded = [v is None or v < 0 or v == 98 for v in before[name]]
        assert all(a == b for a, b, c in zip(after[name], before[name], coded, strict=True) if c)
        changed = [a != b for a, b, c in zip(after[name], before[name], coded, strict=True) if not c]
        assert sum(changed) > len(changed) / 10
    for about in ("column_names_to_labels", "variable_value_labels", "missing_ranges", "variable_measure",
                  "variable_display_width", "original_variable_types"):
        assert getattr(kept, about) == {n: getattr(told, about)[n] for n in getattr(kept, about)}, about
        assert set(getattr(told, about)) == set(getattr(kept, about)), about
    assert (kept.file_label, kept.notes) == (told.file_label, told.notes)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx", ".ods"])
def test_engines_write_the_same_values(tmp_path, suffix):
    source = write_spss(tmp_path / "in.sav")
    found = []
    for engine in ENGINES:
        spss_release(source, engine).write(tmp_path / f"{engine}{suffix}", row_order="random")
        found.append(lv.read(tmp_path / f"{engine}{suffix}", confidential="income", nominal="mood",
                             non_confidential=["sex", "age", "town", "born", "seen", "mood"]).to_arrow())
    assert found[0].equals(found[1])


def test_rows_are_in_keyed_random_order(tmp_path):
    source = write_spss(tmp_path / "in.sav")
    release = spss_release(source)
    release.write(tmp_path / "out.sav")
    release.write(tmp_path / "kept.sav", row_order="keep")
    random, kept = read_spss(tmp_path / "out.sav")[0], read_spss(tmp_path / "kept.sav")[0]
    assert random["born"] != kept["born"]
    assert sorted(map(str, random["born"])) == sorted(map(str, kept["born"]))


@pytest.mark.parametrize("engine", ENGINES)
def test_stata_keeps_extended_missing_values(tmp_path, engine):
    source, target = write_stata(tmp_path / "in.dta"), tmp_path / "out.dta"
    data = lv.read(source, confidential=["income", "kids"], numeric="kids", non_confidential=["born", "seen", "month", "town"],
                   sub_groups="sex", engine=engine)
    assert data.table.columns["kids"].integer
    release = lv.mask(data, 'additive_noise(columns=["income"])', 'rank_swap(columns=["kids"])', secret=SECRET)
    release.write(target, row_order="keep")
    (before, told), (after, kept) = read_stata(source), read_stata(target)
    for name in ("sex", "born", "seen", "month", "town"):
        assert after[name] == before[name], name
    for name in ("income", "kids"):
        for old, new in zip(before[name], after[name], strict=True):
            assert old == new if old is None or isinstance(old, str) else isinstance(new, int | float)
    for about in ("column_names_to_labels", "variable_value_labels", "missing_user_values", "original_variable_types"):
        assert getattr(kept, about) == getattr(told, about), about


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xpt", ".dta"])
@pytest.mark.parametrize("engine", ENGINES)
def test_extended_missing_values_survive_every_format_that_can_hold_them(tmp_path, engine, suffix):
    source = write_stata(tmp_path / "in.dta")
    data = lv.read(source, confidential=["income", "kids"], numeric="kids", engine=engine)
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / f"out{suffix}", row_order="keep")
    stated = {"income": [".a", ".b", ".A", ".B"], "kids": [".c", ".C"]}
    again = lv.read(tmp_path / f"out{suffix}", confidential=["income", "kids"], missing=stated, engine=engine)
    lv.mask(again, "additive_noise", secret=SECRET).write(tmp_path / "again.dta", row_order="keep")
    (before, _), (after, _) = read_stata(source), read_stata(tmp_path / "again.dta")
    for name in ("income", "kids"):
        assert [v for v in before[name] if isinstance(v, str)] == [v for v in after[name] if isinstance(v, str)]
        assert [isinstance(v, str) for v in before[name]] == [isinstance(v, str) for v in after[name]]


def test_other_programs_see_extended_missing_values_as_missing(tmp_path):
    source = write_stata(tmp_path / "in.dta")
    data = lv.read(source, confidential="income")
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.parquet", row_order="keep")
    before = read_stata(source)[0]["income"]
    after = pd.read_parquet(tmp_path / "out.parquet")["income"]
    assert after.isna().tolist() == [v is None or isinstance(v, str) for v in before]


@pytest.mark.parametrize("engine", ENGINES)
def test_sas_transport_files_come_back(tmp_path, engine):
    frame = survey()[["income", "age", "town"]].rename(columns={"town": "home_town"})
    frame["day"] = np.arange(len(frame)) - 5000.0
    pyreadstat.write_xport(frame, str(tmp_path / "in.xpt"), column_labels={"income": "Yearly income"}, file_label="S",
                           variable_format={"day": "DATE9.", "income": "COMMA12.2"})
    data = lv.read(tmp_path / "in.xpt", confidential="income", non_confidential=["age", "home_town", "day"], engine=engine,
                   missing={"income": [(-9, -7)]})
    assert not data.roles.nominal
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.xpt", row_order="keep")
    (before, told), (after, kept) = (pyreadstat.read_xport(str(tmp_path / f"{n}.xpt"), output_format="dict",
                                     disable_datetime_conversion=True) for n in ("in", "out"))
    for name in ("age", "home_town", "day"):
        assert after[name] == before[name]
    assert [v for v in after["income"] if v in (-7, -8)] == [v for v in before["income"] if v in (-7, -8)]
    assert {n: kept.column_names_to_labels[n] for n in told.column_names} == told.column_names_to_labels
    assert {n: kept.original_variable_types[n] for n in told.column_names} == told.original_variable_types


def test_value_labels_of_a_sas_catalog_are_used(tmp_path, monkeypatch):
    """There is no writer of .sas7bdat files, so the readers of pyreadstat are replaced."""
    def read(path, **options):
        options.pop("user_missing")
        found, about = pyreadstat.read_xport(str(tmp_path / "in.xpt"), **options)
        about.variable_to_label, about.missing_user_values = {"sex": "SEXF"}, {}
        return found, about

    frame = survey()[["income", "sex"]]
    pyreadstat.write_xport(frame, str(tmp_path / "in.xpt"))
    (tmp_path / "in.sas7bdat").write_bytes(b"x")
    (tmp_path / "in.sas7bcat").write_bytes(b"x")
    monkeypatch.setattr(pyreadstat, "read_sas7bdat", read)
    about = type("About", (), {"value_labels": {"sexf": {1.0: "Male", 2.0: "Female", 9.0: "no answer"}}})
    monkeypatch.setattr(pyreadstat, "read_sas7bcat", lambda path, **_: ({}, about))
    bare = lv.read(tmp_path / "in.sas7bdat", confidential="income", non_confidential="sex")
    data = lv.read(tmp_path / "in.sas7bdat", confidential="income", non_confidential="sex", catalog=tmp_path / "in.sas7bcat")
    assert (bare.roles.nominal, data.roles.nominal) == ((), ("sex",))
    assert data.labels["sex"].label_of(2) == "Female"
    with pytest.raises(ReadError, match=r"catalog: the source is not a file \.sas7bdat"):
        lv.read(tmp_path / "in.xpt", confidential="income", catalog=tmp_path / "in.sas7bcat")


NUMBERS = [0.1, 1 / 3, 1e-300, 123456789.123456789, 5e-324, 2.0**53, -8.9e307, 12.0, np.nan, 0.30000000000000004]


@pytest.mark.parametrize("suffix", [".xlsx", ".ods", ".sav", ".dta", ".parquet", ".csv"])
@pytest.mark.parametrize("engine", ENGINES)
def test_untouched_numbers_keep_every_bit(tmp_path, engine, suffix):
    frame = pd.DataFrame({"x": np.arange(30.0), "s": NUMBERS * 3, "t": ["a", "=1+1", None] * 10})
    data = lv.read(frame, confidential="x", non_confidential=["s", "t"], engine=engine)
    lv.mask(data, "rounding(base=7)", secret=SECRET).write(tmp_path / f"out{suffix}", row_order="keep")
    again = lv.read(tmp_path / f"out{suffix}", confidential="x", non_confidential=["s", "t"], engine=engine)
    frames = [lv.read(frame, confidential="x", non_confidential=["s", "t"]).to_pandas(), again.to_pandas()
              if engine == "memory" else again.frame().df()]
    assert np.array_equal(frames[0]["s"].to_numpy(), frames[1]["s"].to_numpy().astype(float), equal_nan=True)
    texts = [[v if isinstance(v, str) else None for v in f["t"]] for f in frames]
    assert texts[0] == texts[1]


def sheets(path: Path, **content: pd.DataFrame) -> Path:
    with pd.ExcelWriter(path, engine="xlsxwriter" if path.suffix == ".xlsx" else "odf") as book:
        for name, frame in content.items():
            frame.to_excel(book, sheet_name=name, index=False)
    return path


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_one_sheet_is_read_and_named_if_there_are_several(tmp_path, suffix):
    first, second = pd.DataFrame({"a": [1.5, 2, 3], "b": ["x", "y", None]}), pd.DataFrame({"c": [1, 2, 3, 4]})
    path = sheets(tmp_path / f"in{suffix}", first=first, second=second)
    with pytest.warns(LarvatusWarning, match=r"has 2 sheets, and the first one, 'first', was read"):
        data = lv.read(path, confidential="a", non_confidential="b")
    assert data.to_pandas()["a"].tolist() == [1.5, 2, 3]
    assert lv.read(path, confidential="c", sheet="second").rows == 4
    with pytest.raises(ReadError, match=r"sheet: .* has no sheet 'secund'; did you mean 'second'"):
        lv.read(path, confidential="c", sheet="secund")
    with pytest.raises(ReadError, match="sheet: the source is not a spreadsheet"):
        lv.read(write_spss(tmp_path / "in.sav"), confidential="income", sheet="second")


def test_dates_in_a_sheet_are_released_as_dates(tmp_path):
    dates = pd.date_range("2001-02-03", periods=5).date
    path = sheets(tmp_path / "in.xlsx", people=pd.DataFrame({"x": np.arange(5.0), "day": dates}))
    data = lv.read(path, confidential="x", non_confidential="day")
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.xlsx", row_order="keep")
    again = lv.read(tmp_path / "out.xlsx", confidential="x", non_confidential="day").to_arrow()
    assert again["day"].type == pa.date32()
    assert again["day"].to_pylist() == list(dates)


def test_value_labels_make_a_column_categorical(tmp_path):
    path = write_spss(tmp_path / "in.sav")
    roles = lv.read(path, confidential=["income", "mood"], non_confidential=["sex", "age", "town"]).roles
    assert roles.nominal == ("sex", "town")
    assert roles.ordered == {"mood": (1, 2, 3, 4, 5)}
    kinds = {n: c.kind for n, c in lv.read(path, confidential=["income", "mood"], numeric="mood").table.columns.items()}
    assert (kinds["income"], kinds["mood"]) == ("number", "number")


MEASURES = {
    ("nominal", 3): True, ("unknown", 3): True, ("scale", 3): False, ("unknown", 50): False, ("nominal", 50): False,
    ("scale", 0): True,
}


@pytest.mark.parametrize("measure", MEASURES)
def test_numbers_of_which_a_few_have_a_label_stay_numbers(tmp_path, measure):
    level, unlabelled = measure
    frame = pd.DataFrame({"x": np.arange(200.0), "s": np.arange(200.0) % (unlabelled + 1)})
    write_spss(tmp_path / "in.sav", frame, variable_measure={"s": level}, variable_value_labels={"s": {0.0: "none"}},
               column_labels=None, missing_ranges=None, variable_format=None, variable_display_width=None)
    data = lv.read(tmp_path / "in.sav", confidential="x", non_confidential="s")
    assert (data.table.columns["s"].kind == "nominal") is MEASURES[measure]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_codes_stated_for_other_sources_stay_in_their_cells(tmp_path, kind, engine):
    frame = pd.DataFrame({"x": [-7.0, 1.5, 2.5, -8.0, 5.0, np.nan, -8.5] * 5, "s": [1, 2, 99, 1, 2, 1, 2] * 5})
    source = frame if kind == "frame" else tmp_path / f"in.{kind}"
    if kind != "frame":
        frame.to_csv(source, index=False) if kind == "csv" else frame.to_parquet(source)
    data = lv.read(source, confidential="x", non_confidential="s", missing={"x": [(-9, -7)], "s": [99]}, engine=engine)
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / "out.parquet", row_order="keep")
    for found in (parquet.read_table(tmp_path / "out.parquet").to_pandas(), release.frame() if kind == "frame" else None):
        if found is not None:
            assert found["s"].tolist() == frame["s"].tolist()
            assert found["x"][frame["x"] < 0].tolist() == frame["x"][frame["x"] < 0].tolist()
            assert not np.isin(found["x"][frame["x"] > 0], frame["x"]).any()
            assert found["x"].isna().tolist() == frame["x"].isna().tolist()


def test_codes_are_never_part_of_the_statistics(tmp_path):
    path = write_spss(tmp_path / "in.sav")
    coded = lv.read(path, confidential="income")
    frame = survey()[["income"]]
    frame.loc[frame["income"] < 0, "income"] = np.nan
    plain = lv.read(frame, confidential="income")
    noise = [lv.mask(d, "rounding(base=10)", secret=SECRET).data for d in (coded, plain)]
    assert np.array_equal(noise[0].table.values["income"], noise[1].table.values["income"], equal_nan=True)
    assert lv.utility(coded, lv.mask(coded, "rounding(base=10)", secret=SECRET), ["moments"])[0].value < 0.1


def test_masks_that_drop_or_recode_keep_the_codes_of_their_records(tmp_path):
    path = write_spss(tmp_path / "in.sav")
    data = lv.read(path, confidential="income", non_confidential=["born", "age"])
    release = lv.mask(data, "sampling(rate=0.5)", "additive_noise", secret=SECRET)
    release.write(tmp_path / "out.sav", row_order="keep")
    before, after = read_spss(path)[0], read_spss(tmp_path / "out.sav")[0]
    codes = {(b, a): i for b, a, i in zip(before["born"], before["age"], before["income"], strict=True)}
    assert 0 < len(after["born"]) < len(before["born"])
    for b, a, i in zip(after["born"], after["age"], after["income"], strict=True):
        assert (i == codes[b, a]) == (codes[b, a] is None or codes[b, a] < 0)
    lv.mask(data, 'recoding(bins=4, replacement="label")', secret=SECRET).write(tmp_path / "classes.sav", row_order="keep")
    cells, about = read_spss(tmp_path / "classes.sav")
    assert [c in ("-7", "-8") for c in cells["income"]] == [v in (-7, -8) for v in before["income"]]
    assert about.column_names_to_labels["income"] == "Yearly income"


def test_labels_are_in_the_codebook_and_the_report(tmp_path, capsys):
    write_spss(tmp_path / "in.sav")
    code = main(["mask", str(tmp_path / "in.sav"), "--confidential", "income,mood", "--sub-groups", "sex", "--step",
                 STEPS[0], "--step", STEPS[1], "-o", str(tmp_path / "out.csv")])
    assert code == 0
    book = pd.read_csv(tmp_path / "out.codebook.csv").set_index("column")
    assert book.loc["income", "label"] == "Yearly income"
    assert book.loc["sex", "levels"] == "1 = Male; 2 = Female"
    assert book.loc["sex", "missing"] == "9 = no answer"
    assert book.loc["income", "missing"] == "empty cell; -9 to -7"
    assert "98 = don't know" in book.loc["mood", "value_labels"]
    assert "A .csv file cannot hold labels. They are in the codebook." in capsys.readouterr().err


def test_one_line_says_where_labels_are_that_a_format_cannot_hold(tmp_path, capsys):
    write_spss(tmp_path / "in.sav")
    study = str(study_file(tmp_path, "in.sav"))
    said = {}
    for format in ("csv", "sav"):
        assert main(["run", study, "-o", str(tmp_path / format), "--format", format]) == 0
        said[format] = capsys.readouterr().err
    for target in ("out.xpt", "other.dta"):
        assert main(["export", str(tmp_path / "csv"), "-o", str(tmp_path / target)]) == 0
        said[target] = capsys.readouterr().err
    assert "A .csv file cannot hold labels. They are in the codebook." in said["csv"]
    assert "A .xpt file cannot hold value labels. They are in the codebook." in said["out.xpt"]
    assert "cannot hold" not in said["sav"] + said["other.dta"]


def study_file(folder: Path, source: str, **more: object) -> Path:
    stated = "".join(f"{k} = {json.dumps(v)}\n" for k, v in more.items())
    (folder / "study.toml").write_text(
        f'[source]\nfile = "{source}"\n{stated}\n[roles]\nconfidential = ["income"]\nnon_confidential = ["age", "born"]\n'
        '[[release]]\nname = "a"\nsteps = ["additive_noise"]\n[[attack]]\nmethod = "nearest_record"\n'
        '[[measure]]\nmethod = "correlation"\n', encoding="utf-8")
    return folder / "study.toml"


@pytest.mark.parametrize("format", [None, "csv", "parquet", "sav"])
def test_a_run_is_exported_with_labels_and_codes_whatever_its_format(tmp_path, format):
    source = write_spss(tmp_path / "in.sav")
    lv.run(study_file(tmp_path, "in.sav"), tmp_path / "out", secret=SECRET, files=lv.OutputFiles(format=format))
    assert (tmp_path / "out" / "releases" / f"a.{format or 'sav'}").is_file()
    export(tmp_path / "out", "a", tmp_path / "exported.sav")
    (before, told), (after, kept) = read_spss(source), read_spss(tmp_path / "exported.sav")
    assert sorted(map(str, after["born"])) == sorted(map(str, before["born"]))
    assert after["income"].count(-7) == before["income"].count(-7) > 0
    for about in ("column_names_to_labels", "variable_value_labels", "missing_ranges", "original_variable_types",
                  "variable_measure", "variable_display_width"):
        assert getattr(kept, about) == {n: v for n, v in getattr(told, about).items() if n in after}, about
    for suffix in (".dta", ".xpt", ".xlsx", ".ods", ".zsav", ".csv", ".parquet"):
        export(tmp_path / "out", "a", tmp_path / f"exported{suffix}", overwrite=True)
    assert lv.read(tmp_path / "exported.dta", confidential="income").labels["income"].label == "Yearly income"


def test_a_stata_release_in_csv_is_exported_with_its_extended_missing_values(tmp_path):
    source = write_stata(tmp_path / "in.dta")
    text = study_file(tmp_path, "in.dta").read_text(encoding="utf-8").replace('"age"', '"seen"')
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    for format in ("csv", "parquet"):
        out = tmp_path / format
        lv.run(tmp_path / "study.toml", out, secret=SECRET, files=lv.OutputFiles(format=format))
        export(out, "a", tmp_path / f"{format}.dta")
        before, (after, kept) = read_stata(source)[0], read_stata(tmp_path / f"{format}.dta")
        assert [after["income"].count(c) for c in "ab"] == [before["income"].count(c) for c in "ab"]
        assert sorted(after["born"]) == sorted(before["born"])
        assert (kept.original_variable_types["born"], kept.original_variable_types["seen"]) == ("%td", "%tc")


def test_a_released_labelled_file_is_paired_with_its_original(tmp_path):
    path = write_spss(tmp_path / "in.sav")
    data = lv.read(path, confidential=CONFIDENTIAL, non_confidential=KNOWN, sub_groups="sex")
    release = lv.mask(data, *STEPS, secret=SECRET)
    release.write(tmp_path / "out.sav", pairing=tmp_path / "pairs.parquet")
    made = lv.risk(data, release, ["nearest_record"])
    read = lv.risk(data, tmp_path / "out.sav", ["nearest_record"], pairing=tmp_path / "pairs.parquet")
    assert read[0].value == made[0].value


def test_codes_and_sheets_are_stated_in_a_study_and_on_the_command_line(tmp_path):
    first = pd.DataFrame({"income": [1.5, 2.5, -7, 4] * 6, "age": range(24), "born": range(24)})
    sheets(tmp_path / "in.xlsx", other=pd.DataFrame({"a": [1]}), people=first)
    study = lv.Study.read(study_file(tmp_path, "in.xlsx", sheet="people"))
    assert (study.source, study.sheet) == ("in.xlsx", "people")
    text = (tmp_path / "study.toml").read_text(encoding="utf-8")
    text = text.replace("[roles]", "missing = {income = [-7, [-99, -90]]}\n[roles]")
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    study = lv.Study.read(tmp_path / "study.toml")
    assert study.roles.missing == {"income": (-7, (-99.0, -90.0))}
    assert lv.Study.of(study.plain(), tmp_path).roles == study.roles
    lv.run(study, tmp_path / "out", secret=SECRET)
    released = lv.read(tmp_path / "out" / "releases" / "a.xlsx", confidential="income").to_pandas()
    assert released["income"].tolist().count(-7) == 6
    code = main(["mask", str(tmp_path / "in.xlsx"), "--sheet", "people", "--confidential", "income", "--missing",
                 "income=-7,-99:-90", "--method", "additive_noise", "-o", str(tmp_path / "cli.csv"), "-q"])
    assert code == 0
    assert pd.read_csv(tmp_path / "cli.csv")["income"].tolist().count(-7) == 6
    with pytest.raises(StudyError, match=r"missing: no column 'incom'; did you mean 'income'"):
        lv.Study.of({**study.plain(), "roles": {"confidential": ["income"], "missing": {"incom": [-7]}}}, tmp_path)


def test_roles_without_codes_give_the_same_random_streams_as_before():
    assert "missing" not in lv.Roles(confidential="x").model_dump_json()
    assert "numeric" not in lv.Roles(confidential="x").model_dump_json()
    assert '"missing":{"x":[-7]}' in lv.Roles(confidential="x", missing={"x": [-7]}).model_dump_json()


@pytest.mark.parametrize(("missing", "said"), [
    ([-7], "give codes by column"), ({"x": [[1, 2, 3]]}, "the codes of 'x' must be numbers, texts or ranges"),
    ({"x": [[5, 1]]}, "a range of 'x' ends before it begins"), ({"x": [True]}, "must be numbers"),
])
def test_codes_that_make_no_sense_are_refused(missing, said):
    with pytest.raises(StudyError, match=said):
        lv.Roles(confidential="x", missing=missing)


def test_ranges_without_an_end_survive_a_study_file():
    roles = lv.Roles(confidential="x", missing={"x": [(float("-inf"), -1)], "y": -7})
    study = lv.Study.of({"roles": roles.model_dump(mode="json")})
    assert lv.Study.of(tomllib.loads(study.toml())).roles.missing == {"x": ((float("-inf"), -1.0),), "y": (-7,)}


def test_text_codes_of_numeric_columns_are_refused(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2, 3]})
    with pytest.raises(RolesError, match="missing: 'x' is numeric, and a missing code of it is a text"):
        lv.read(frame, confidential="x", missing={"x": ["refused"]})


@pytest.mark.parametrize("module", ["pyreadstat", "python_calamine"])
def test_a_missing_package_is_named_with_the_line_that_installs_it(tmp_path, monkeypatch, module):
    sheet = sheets(tmp_path / "in.xlsx", a=pd.DataFrame({"x": [1]}))
    path = write_spss(tmp_path / "in.sav") if module == "pyreadstat" else sheet
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EngineError, match=re.escape("pip install 'larvatus[files]'")):
        lv.read(path, confidential="income")


@pytest.mark.parametrize(("module", "suffix"), [
    ("pyreadstat", ".sav"), ("pandas", ".dta"), ("xlsxwriter", ".xlsx"), ("odf", ".ods"),
])
def test_a_missing_package_is_noticed_before_anything_is_written(tmp_path, monkeypatch, module, suffix):
    release = lv.mask(lv.read(pa.table({"x": np.arange(30.0)}), confidential="x"), "additive_noise", secret=SECRET)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == module else found(name, *more))
    with pytest.raises(EngineError, match=re.escape(f"out{suffix}: the package {module} is not installed")):
        release.write(tmp_path / f"out{suffix}")


@pytest.mark.parametrize(("suffix", "value"), [
    (".dta", 9e307), (".sav", -1.7976931348623157e308), (".xpt", 1e76), (".xpt", 1e-80),
])
def test_numbers_that_a_format_cannot_hold_are_refused(tmp_path, suffix, value):
    data = lv.read(pd.DataFrame({"x": np.arange(30.0), "s": [value, 1.0] * 15}), confidential="x", non_confidential="s")
    with pytest.raises(WriteError, match=rf"out\{suffix}: 's' has numbers that a \{suffix} file cannot hold"):
        lv.mask(data, "rounding(base=7)", secret=SECRET).write(tmp_path / f"out{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "said"), [
    ("a b", "a column name has a space"), ("n" * 65, "too long"), ("ALL", "reserved word"),
])
def test_names_that_spss_does_not_allow_are_refused(tmp_path, name, said):
    data = lv.read(pd.DataFrame({name: np.arange(30.0)}), confidential=[name])
    with pytest.raises(WriteError, match=rf"out\.sav: .*{said} in files of SPSS\. Rename the column"):
        lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.sav")
    assert not list(tmp_path.iterdir())


def test_labelled_files_are_read_one_at_a_time(tmp_path):
    write_spss(tmp_path / "a.sav")
    write_spss(tmp_path / "b.sav")
    with pytest.raises(ReadError, match="labelled files are read one at a time"):
        lv.read(str(tmp_path / "*.sav"), confidential="income")


def test_more_codes_than_spss_can_state_stay_in_their_cells(tmp_path):
    frame = pd.DataFrame({"x": [-1.0, -2, -3, -4, 5, 6, 7, 8] * 5})
    data = lv.read(frame, confidential="x", missing={"x": [-1, -2, -3, -4]})
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.sav", row_order="keep")
    cells, about = read_spss(tmp_path / "out.sav")
    assert [v for v in cells["x"] if v in (-1, -2, -3, -4)] == [-1, -2, -3, -4] * 5
    assert [m["lo"] for m in about.missing_ranges["x"]] == [-1, -2, -3]


def test_a_release_too_large_for_memory_is_refused_and_nothing_is_left(tmp_path, monkeypatch):
    release = spss_release(write_spss(tmp_path / "in.sav"))
    monkeypatch.setattr(labelled_targets, "usable_memory", lambda: 20_000)
    with pytest.raises(WriteError, match=r"GB of memory.*Write a \.parquet file; its codebook has the labels"):
        release.write(tmp_path / "out.sav")
    assert [p.name for p in tmp_path.iterdir()] == ["in.sav"]


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_a_release_with_more_records_than_a_sheet_is_refused_and_nothing_is_left(tmp_path, monkeypatch, suffix):
    release = spss_release(write_spss(tmp_path / "in.sav"))
    monkeypatch.setattr("larvatus.engines._files.sheet_targets._ROWS", len(release.frame()))
    with pytest.raises(WriteError, match=r"a sheet holds .* records and .*\. Write a \.parquet or \.csv file"):
        release.write(tmp_path / f"out{suffix}")
    assert [p.name for p in tmp_path.iterdir()] == ["in.sav"]


@pytest.mark.parametrize("suffix", [".por", ".sas7bdat", ".xls", ".doc"])
def test_formats_that_cannot_be_written_are_refused_with_one_that_can(tmp_path, suffix):
    release = spss_release(write_spss(tmp_path / "in.sav"))
    with pytest.raises(WriteError, match=r"Write a \.|releases are written as"):
        release.write(tmp_path / f"out{suffix}")


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_left_in_the_folder_of_temporary_files(tmp_path, monkeypatch, engine):
    source, work = write_spss(tmp_path / "in.sav"), tmp_path / "work"
    monkeypatch.setenv("LARVATUS_TEMP", str(work))
    data = lv.read(source, confidential="income", engine=engine)
    held = list(work.rglob("*.parquet")) if work.exists() else []
    assert data.rows == 300
    assert not held


def test_large_files_are_read_in_chunks(tmp_path, monkeypatch):
    from larvatus.engines._files import statistical_files

    path = write_spss(tmp_path / "in.sav")
    whole = lv.read(path, confidential="income", non_confidential=["town", "born", "mood"], engine="memory").to_arrow()
    monkeypatch.setattr(statistical_files, "_CELLS", 70)
    monkeypatch.setattr(statistical_files, "FEWEST_ROWS", 7)
    for engine in ENGINES:
        data = lv.read(path, confidential="income", non_confidential=["town", "born", "mood"], engine=engine)
        parts = data.to_arrow() if engine == "memory" else data.frame().to_arrow_table()
        assert parts.equals(whole)


def test_a_mask_of_numbers_says_that_a_labelled_column_is_categorical(tmp_path):
    data = lv.read(write_spss(tmp_path / "in.sav"), confidential=["mood"])
    with pytest.raises(MaskError, match=r"'mood' is categorical, by its value labels .* declare it numeric"):
        lv.mask(data, "additive_noise")
