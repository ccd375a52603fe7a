"""Awkward labelled files, as one table: each comes back whole on both engines, or is refused with one clear sentence."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import larvatus as lv
from labelled_sample import write_spss, write_stata
from larvatus.core.errors import LarvatusError
from sample import SECRET

ENGINES = ["memory", "duckdb"]
CELL = "98765.4321"  # occurs in the cells of the files that are refused, and in no message
N = 12


@dataclass(frozen=True, slots=True)
class Case:
    """A file to write, and what comes of it: nothing stated means that it comes back whole."""

    make: Callable[[Path], object]
    suffix: str = ".sav"
    refused: str = ""


def spss(extra: dict[str, Any] | None = None, rows: int = N, **meta: Any) -> Callable[[Path], object]:
    frame = pd.DataFrame({"x": np.arange(rows) + 0.4321, **(extra or {})})
    return lambda path: pyreadstat.write_sav(frame, str(path), **meta)


def stata(extra: dict[str, Any] | None = None, rows: int = N, **meta: Any) -> Callable[[Path], object]:
    frame = pd.DataFrame({"x": np.arange(rows) + 0.4321, **(extra or {})})
    return lambda path: pyreadstat.write_dta(frame, str(path), **meta)


def transport(extra: dict[str, Any] | None = None, **meta: Any) -> Callable[[Path], object]:
    frame = pd.DataFrame({"x": np.arange(N) + 0.4321, **(extra or {})})
    return lambda path: pyreadstat.write_xport(frame, str(path), **meta)


def sheet(extra: dict[str, Any] | None = None, **options: Any) -> Callable[[Path], object]:
    frame = pd.DataFrame({"x": np.arange(N) + 0.4321, **(extra or {})})
    engines = {".xlsx": "xlsxwriter", ".ods": "odf"}
    return lambda path: frame.to_excel(path, index=False, engine=engines[path.suffix], **options)


def raw(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def cut(writer: Callable[[Path], object], keep: float) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        writer(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * keep)])

    return make


def renamed(writer: Callable[[Path], object], suffix: str) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        other = path.with_suffix(suffix)
        writer(other)
        other.rename(path)

    return make


def header_alone(path: Path) -> None:
    pd.DataFrame({"x": [], "s": []}).to_excel(path, index=False)


def no_cells(path: Path) -> None:
    pd.DataFrame().to_excel(path, index=False)


def two_names(path: Path) -> None:
    pd.DataFrame([["x", "s", "s"], [1.5, 2, 3], [4, 5, 6]]).to_excel(path, index=False, header=False)


def locked(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("EncryptedPackage", CELL)


CODES, TEN = [1.0, 2.0, 3.0] * 4, [float(i) for i in range(10)] + [98.0, 99.0]
LETTERS = ["a", "b", "é"] * 4
SHORT = pd.Series([1, 2, "a", "z", None, 3] * 2, dtype=object)

CASES = {
    # labels
    "a label of 255 bytes": Case(spss(column_labels={"x": "L" * 255})),
    "a label of many scripts": Case(spss(column_labels={"x": "Einkommen (€) – доход, 収入, الدخل"})),
    "a value label of 120 bytes": Case(spss({"s": CODES}, variable_value_labels={"s": {1.0: "v" * 120, 2.0: "w", 3.0: "z"}})),
    "the same label twice": Case(spss({"s": CODES}, variable_value_labels={"s": {1.0: "same", 2.0: "same", 3.0: "other"}})),
    "labels that are numbers": Case(spss({"s": CODES}, variable_value_labels={"s": {1.0: "3", 2.0: "1", 3.0: "2"}})),
    "labels of values that never occur": Case(
        spss({"s": CODES}, variable_value_labels={"s": {float(i): str(i) for i in range(60)}})),
    "labels with quotation marks, commas and semicolons": Case(
        spss({"s": CODES}, variable_value_labels={"s": {1.0: "a;b", 2.0: 'say "no", please', 3.0: "=1+1"}})),
    "labels of decimal values": Case(spss({"s": [0.5, 1.5] * 6}, variable_value_labels={"s": {0.5: "half", 1.5: "more"}})),
    "labels of texts": Case(spss({"s": LETTERS}, variable_value_labels={"s": {"a": "first", "é": "third"}})),
    "no labels at all": Case(spss({"s": CODES})),
    # codes of missing values
    "three single codes": Case(spss({"s": TEN}, missing_ranges={"s": [97, 98, 99]})),
    "a range and one code": Case(spss({"s": TEN}, missing_ranges={"s": [{"lo": 90, "hi": 99}, 0]})),
    "a range without a lower end": Case(spss({"s": TEN}, missing_ranges={"s": [{"lo": -1e300, "hi": 3}]})),
    "every cell has a code": Case(spss({"s": [99.0] * N}, missing_ranges={"s": [99]})),
    "text codes": Case(spss({"s": LETTERS}, missing_ranges={"s": ["b"]})),
    "a decimal code": Case(spss({"s": [-7.5, 1.0, 2.0] * 4}, missing_ranges={"s": [-7.5]})),
    "letters .a to .z": Case(stata({"s": SHORT}, missing_user_values={"s": ["a", "z"]}), ".dta"),
    "letters alone": Case(stata({"s": pd.Series(["a", "b"] * 6, dtype=object)}, missing_user_values={"s": ["a", "b"]}), ".dta"),
    # cells
    "texts of 30,000 characters": Case(spss({"s": ["t" * 30_000] * N})),
    "texts of 5,000 characters in Stata": Case(stata({"s": ["t" * 5000] * N}), ".dta"),
    "texts of 5,000 characters in SAS": Case(transport({"s": ["t" * 5000] * N}), ".xpt"),
    "texts with line breaks and blanks": Case(sheet({"s": ["a\nb", " c", "d,e"] * 4}), ".xlsx"),
    "texts that look like formulas": Case(
        sheet({"s": ["=A1", "+1", "@x"] * 4}, engine_kwargs={"options": {"strings_to_formulas": False}}), ".xlsx"),
    "numbers and texts in one column": Case(sheet({"s": [1, "two", 3.5] * 4}), ".xlsx"),
    "an empty column": Case(spss({"s": [np.nan] * N})),
    "an empty text column": Case(spss({"s": [""] * N})),
    "whole numbers up to 2**53": Case(spss({"s": [2.0**53, -(2.0**53), 0.0] * 4})),
    "truth values": Case(sheet({"s": [True, False, True] * 4}), ".xlsx"),
    "dates since 1582": Case(spss({"s": [0.0, 86_400.0, 13e9 - 13e9 % 86_400] * 4}, variable_format={"s": "DATE11"})),
    "dates before 1582": Case(stata({"s": [-200_000.0, -138_000.0, 0.0] * 4}, variable_format={"s": "%td"}), ".dta"),
    "dates with fractions of a day": Case(spss({"s": [0.5, 86_400.25, 13e9] * 4}, variable_format={"s": "DATE11"})),
    "dates with codes of missing values": Case(
        spss({"s": [86_400.0, 99.0, 172_800.0] * 4}, variable_format={"s": "DATE11"}, missing_ranges={"s": [99]})),
    "times of day": Case(spss({"s": [3600.0, 1.5, 86_399.0] * 4}, variable_format={"s": "TIME8"})),
    "months of Stata": Case(stata({"s": [500.0, -3.0, 0.0] * 4}, variable_format={"s": "%tm"}), ".dta"),
    "dates of SAS": Case(transport({"s": [-5000.0, 0.0, 20_000.0] * 4}, variable_format={"s": "DATE9."}), ".xpt"),
    # names and shapes
    "a name of 64 bytes": Case(spss({"n" * 64: CODES})),
    "a name that is not ASCII": Case(spss({"größe_年": CODES})),
    "a name that is not ASCII in Stata": Case(stata({"größe": CODES}), ".dta"),
    "a name with blanks and signs": Case(sheet({"what, if; any?": CODES}), ".xlsx"),
    "one row": Case(spss(rows=1), refused="nothing to mask|fewer than|needed"),
    "300 columns": Case(spss({f"v{i}": CODES for i in range(300)})),
    "zero rows": Case(spss({"s": []}, rows=0), refused="has no records"),
    "zero rows in Stata": Case(stata({"s": []}, rows=0), ".dta", "has no records"),
    "a header alone": Case(header_alone, ".xlsx", "has no records"),
    "zero columns": Case(lambda path: pyreadstat.write_dta(pd.DataFrame(), str(path)), ".dta", "no columns"),
    "an empty sheet": Case(no_cells, ".xlsx", "the sheet 'Sheet1' is empty"),
    "two columns of one name": Case(two_names, ".xlsx", "duplicate column name"),
    # files
    "an empty file": Case(raw(b""), refused="is empty"),
    "an empty spreadsheet": Case(raw(b""), ".xlsx", "is empty"),
    "text with the name of an SPSS file": Case(raw(f"x,s\n{CELL},1\n".encode()), refused="is not a file of SPSS|incomplete"),
    "text with the name of a Stata file": Case(raw(f"x,s\n{CELL},1\n".encode()), ".dta", "not a file of Stata|incomplete"),
    "text with the name of a SAS file": Case(raw(f"x,s\n{CELL},1\n".encode()), ".sas7bdat", "not a file of SAS|incomplete"),
    "text with the name of a transport file": Case(raw(f"x,s\n{CELL},1\n".encode()), ".xpt", "not a file of SAS|incomplete"),
    "text with the name of a portable file": Case(raw(f"x,s\n{CELL},1\n".encode()), ".por", "not a file of SPSS|incomplete"),
    "text with the name of a spreadsheet": Case(raw(f"x,s\n{CELL},1\n".encode()), ".xlsx", "is not a spreadsheet"),
    "text with the name of an OpenDocument file": Case(raw(f"x,s\n{CELL},1\n".encode()), ".ods", "is not a spreadsheet"),
    "a Stata file named as SPSS": Case(renamed(write_stata, ".dta"), ".sav", "not a file of SPSS"),
    "an SPSS file named as Stata": Case(renamed(write_spss, ".sav"), ".dta", "not a file of Stata"),
    "a spreadsheet with a password": Case(locked, ".xlsx", "is not a spreadsheet that can be read"),
    "an SPSS file cut in its header": Case(cut(write_spss, 0.02), ".sav", "incomplete"),
    "an SPSS file cut in its cells": Case(cut(write_spss, 0.6), ".sav", "incomplete"),
    "a Stata file cut in its cells": Case(cut(write_stata, 0.5), ".dta", "incomplete|not a file of Stata"),
    "a spreadsheet cut short": Case(cut(sheet(), 0.5), ".xlsx", "is not a spreadsheet"),
}
WHOLE = [name for name, case in CASES.items() if not case.refused]
REFUSED = [name for name, case in CASES.items() if case.refused]
READERS = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}


def cells_and_labels(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the file holds, read without this package."""
    if path.suffix not in READERS:
        frame = pd.read_excel(path, engine="calamine")
        return {n: [None if pd.isna(v) else v for v in frame[n]] for n in frame}, {}
    options = {} if path.suffix == ".xpt" else {"user_missing": True}
    cells, about = READERS[path.suffix](str(path), output_format="dict", disable_datetime_conversion=True, **options)
    names = ("column_names_to_labels", "variable_value_labels", "missing_ranges", "missing_user_values",
             "original_variable_types")
    return cells, {n: getattr(about, n) for n in names}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WHOLE)
def test_awkward_files_come_back_whole(tmp_path, name, engine):
    case = CASES[name]
    source, target = tmp_path / f"in{case.suffix}", tmp_path / f"out{case.suffix}"
    case.make(source)
    before, labels = cells_and_labels(source)
    others = [n for n in before if n != "x"]
    data = lv.read(source, confidential="x", non_confidential=others, engine=engine)
    lv.mask(data, "additive_noise", secret=SECRET).write(target, row_order="keep")
    after, kept = cells_and_labels(target)
    for column in others:
        if case.suffix == ".xlsx":  # a column of numbers and texts becomes text
            assert list(map(str, after[column])) == list(map(str, before[column]))
        else:
            assert after[column] == before[column]
    assert not set(after["x"]) & set(before["x"])
    if labels:
        for what in ("column_names_to_labels", "variable_value_labels", "missing_ranges", "missing_user_values"):
            assert kept[what] == labels[what], what
        told = {n: t for n, t in labels["original_variable_types"].items() if t and isinstance((before[n] or [0])[0], float)}
        assert {n: kept["original_variable_types"][n] for n in told} == told
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"in{case.suffix}", f"out{case.suffix}"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", REFUSED)
def test_bad_files_are_refused_with_one_sentence_and_nothing_is_left(tmp_path, monkeypatch, name, engine):
    case, work = CASES[name], tmp_path / "work"
    source = tmp_path / f"in{case.suffix}"
    case.make(source)
    monkeypatch.setenv("LARVATUS_TEMP", str(work))
    with pytest.raises(LarvatusError, match=case.refused) as caught:
        lv.mask(lv.read(source, confidential="x", engine=engine), "additive_noise", secret=SECRET)
    assert len(str(caught.value).splitlines()) == 1
    assert CELL not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir() if p != work] == [f"in{case.suffix}"]
    assert not list(work.rglob("*.parquet")) if work.exists() else True
