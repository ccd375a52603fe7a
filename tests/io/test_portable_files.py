"""User-missing values of a portable file of SPSS, which was written by PSPP, keep their codes."""

from __future__ import annotations

import math
from pathlib import Path

import pyreadstat
import pytest

import larvatus as lv
from larvatus.engines._files.byte_layouts.portable_files import portable_codes
from sample import SECRET

PORTABLE = """\
ASCII SPSS PORT FILE                    ASCII SPSS PORT FILE
ASCII SPSS PORT FILE                    ASCII SPSS PORT FILE
ASCII SPSS PORT FILE                    0000000000000000000000000000000000000000
0000000000000000000000000123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst
uvwxyz .<(+|&[]!$*);^-/|,%_>?`:$@'="000000~-0000123456789000-()0{}\\0000000000000
00000000000000000000000000000000000000000000000000000000SPSSPORTA8/202611166/194
4491E/GNU pspp 1.6.23J/x86_64-pc-linux-gnu45/5B/70/6/INCOME5/D/2/5/D/2/B-9/-7/CD
/Yearly income70/3/SEX5/1/0/5/1/0/89/70/3/AGE5/3/0/5/3/0/8-39/70/5/SCORE5/9/3/5/
9/3/8139/8-1/78/4/TOWN1/8/0/1/8/0/88/XX      C4/TownD1/6/INCOME2/-8/A/don't know
-7/7/refusedD1/3/SEX3/1/4/Male2/6/Female9/9/no answerD1/4/TOWN2/8/Ulm     8/Ulm
(DE)8/XX      7/unknownF1B4.GO/1/10/.3MF/8/Ulm     -7/2/1B/-3.F/8/Bern    -8/1/-
39/139/8/XX      -3/2/1P/13A.F/8/Ulm     3JM5.CR/9/21/2.7F/8/Bern    .3/1/J/-1/8
/XX      -7/2/K/7/8/Ulm     52CE69.09/1/*.R-3/8/Bern    -9/9/13/DLF/8/Ulm     1F
.F/1/1E/*.8/XX      *.2/1F/139/8/Ulm     H/1/1G/1/8/Bern    ZZZZZZZZZZZZZZZZZZZZ
"""
INCOME = [1234.56, -7, -8, -3, 98765.43, 0.1, -7, 123456789.01, -9, 45.5, None, 17]


def portable(path: Path, text: str = PORTABLE) -> Path:
    lines = "".join(f"{line:<80}\r\n" for line in text.splitlines())
    path.write_text(lines, encoding="ascii", newline="")
    return path


def test_codes_and_their_cells_are_found(tmp_path):
    found = portable_codes(portable(tmp_path / "in.por"))
    assert found.missing == {0: ((-9.0, -7.0),), 1: (9,), 2: (-99,), 3: (999, -1), 4: ("XX",)}
    assert found.cells == {0: {1: -7, 2: -8, 6: -7, 8: -9}, 1: {4: 9, 8: 9}, 2: {2: -99}, 3: {2: 999, 5: -1, 10: 999},
                           4: {2: "XX", 5: "XX", 9: "XX"}}


def test_open_ranges(tmp_path):
    text = PORTABLE.replace("8-39/70/5/SCORE", "9-39/70/5/SCORE")
    assert portable_codes(portable(tmp_path / "low.por", text)).missing[2] == ((-math.inf, -99.0),)
    text = PORTABLE.replace("8-39/70/5/SCORE", "A-39/70/5/SCORE")
    assert portable_codes(portable(tmp_path / "high.por", text)).missing[2] == ((-99.0, math.inf),)


@pytest.mark.parametrize("text", ["", "something else", PORTABLE[:700], PORTABLE.replace("SPSSPORT", "OTHERSYS")])
def test_other_files_have_no_codes(tmp_path, text):
    assert portable_codes(portable(tmp_path / "in.por", text)).cells == {}


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_release_keeps_the_codes(tmp_path, engine):
    source = portable(tmp_path / "in.por")
    data = lv.read(source, confidential=["INCOME"], non_confidential=["SEX", "AGE", "SCORE", "TOWN"], engine=engine)
    assert [None if math.isnan(v) else v for v in data.to_pandas()["INCOME"]] == INCOME
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.sav", row_order="keep")
    cells, about = pyreadstat.read_sav(str(tmp_path / "out.sav"), output_format="dict", user_missing=True)
    assert [v for v in cells["INCOME"] if v in (-7, -8, -9)] == [-7, -8, -7, -9]
    assert cells["SEX"] == [1, 2, 1, 2, 9, 1, 2, 1, 9, 1, 2, 1]
    assert cells["TOWN"][2] == "XX"
    assert cells["AGE"][2] == -99
    assert about.missing_ranges["INCOME"] == [{"lo": -9.0, "hi": -7.0}]
    assert about.missing_ranges["SEX"] == [{"lo": 9.0, "hi": 9.0}]
    assert about.variable_value_labels["INCOME"] == {-8.0: "don't know", -7.0: "refused"}
