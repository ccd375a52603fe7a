"""Labelled files and sheets state when they were written; a release must not, or the same release would be other bytes."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pyarrow as pa
import pyreadstat
import pytest

from larvatus.data.labelling.labels import FileLabels
from larvatus.engines._files.sheet_targets import write_excel
from larvatus.engines._files.statistical_targets import write_statistical

READERS = {".sav": pyreadstat.read_sav, ".zsav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta,
           ".xpt": pyreadstat.read_xport}


@pytest.mark.parametrize("suffix", READERS)
def test_no_file_states_when_it_was_written(tmp_path: Path, suffix: str):
    path = tmp_path / f"a{suffix}"
    write_statistical(pa.table({"x": [1.5, 2.5], "town": ["Ulm", "Bern"]}), path, path, FileLabels())
    raw = path.read_bytes().lower()
    now = time.localtime()
    for shape in ("%d %b %y", "%d %b %Y", "%d%b%y"):
        assert time.strftime(shape, now).lower().encode() not in raw
    frame, meta = READERS[suffix](str(path))
    assert frame["x"].tolist() == [1.5, 2.5]
    assert frame["town"].tolist() == ["Ulm", "Bern"]
    assert meta.creation_time.year == 1970


def test_a_workbook_does_not_state_when_it_was_written(tmp_path: Path):
    path = tmp_path / "a.xlsx"
    write_excel(pa.table({"x": [1.5, 2.5]}), path, path.name)
    with zipfile.ZipFile(path) as book:
        assert {part.date_time[0] for part in book.infolist()} == {1980}
        assert b"1980-01-01" in book.read("docProps/core.xml")
        assert time.strftime("%Y-%m").encode() not in book.read("docProps/core.xml")
