"""Setup files give a release in CSV the labels of its source; PSPP runs those of SPSS."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pyreadstat
import pytest

from labelled_sample import SPSS_META, write_spss, write_stata
from larvatus.cli.main import main
from larvatus.data.labelling.labels import ColumnLabels, FileLabels
from larvatus.documents.setup_files import setup_path, setup_text

OPEN = """GET DATA /TYPE=TXT /FILE='out.csv' /ARRANGEMENT=DELIMITED /DELIMITERS=',' /QUALIFIER='"' /FIRSTCASE=2
  /VARIABLES=sex F8.0 town A20 income F20.4 mood F8.0.
INSERT FILE='out.setup.sps'.
SAVE OUTFILE='again.sav'.
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def masked(source: Path, target: str) -> None:
    extra = ["--non-confidential", "town", "--sub-groups", "sex", "--step", "additive_noise(columns=['income'])"]
    more = ["--confidential", "income,mood", "--step", "post_randomisation(columns=['mood'])"] if source.suffix == ".sav" else [
        "--confidential", "income"]
    assert main(["mask", str(source), *more, *extra, "-o", target]) == 0


def test_pspp_labels_a_release_in_csv(capsys):
    masked(write_spss(Path("in.sav")), "out.csv")
    assert "out.setup.sps labels the release in the program of the source" in capsys.readouterr().err
    assert "VALUE LABELS sex 1 'Male' 2 'Female' 9 'no answer'." in Path("out.setup.sps").read_text(encoding="utf-8")
    if shutil.which("pspp") is None:
        pytest.skip("PSPP is not installed on this machine")
    Path("open.sps").write_text(OPEN, encoding="utf-8")
    subprocess.run(["pspp", "open.sps"], check=True, capture_output=True, timeout=60)
    about = pyreadstat.read_sav("again.sav", user_missing=True)[1]
    for name in ("income", "sex", "mood", "town"):
        assert about.column_names_to_labels[name] == SPSS_META["column_labels"][name]
        assert about.variable_value_labels[name] == SPSS_META["variable_value_labels"][name]
        assert about.variable_measure[name] == SPSS_META["variable_measure"][name]
    assert about.missing_ranges["income"] == [{"lo": -9.0, "hi": -7.0}]
    assert about.missing_ranges["mood"] == [{"lo": 98.0, "hi": 98.0}]


def test_stata_and_exports():
    masked(write_stata(Path("in.dta")), "out.csv")
    text = Path("out.setup.do").read_text(encoding="utf-8")
    assert 'label variable income `"Yearly income"\'' in text
    assert ".a `\"refused\"' .b `\"don't know\"', replace" in text
    assert "generate double _larvatus = real(income)" in text


def test_sas():
    labels = FileLabels(".sas7bdat", {"sex": ColumnLabels("Sex", ((1, "it's\n1"), (".a", "none"))),
                                      "town": ColumnLabels("", (("U", "Ulm"),))})
    text = setup_text(Path("out.csv"), labels)
    assert "value larvatus1_ 1='it''s 1' .a='none';" in text
    assert "value $larvatus2_ 'U'='Ulm';" in text
    assert "format sex larvatus1_.;" in text


@pytest.mark.parametrize(("name", "there"), [("o.csv", True), ("o.csv.gz", True), ("o.parquet", True), ("o.sav", False)])
def test_only_formats_without_labels_have_a_setup_file(name, there):
    labels = FileLabels(".sav", {"sex": ColumnLabels("Sex")})
    assert (setup_path(Path(name), labels) is not None) == there
    assert setup_path(Path(name), FileLabels(".xlsx", {"sex": ColumnLabels()})) is None


def test_an_export_writes_it_once(capsys):
    write_spss(Path("in.sav"))
    Path("s.toml").write_text('source = "in.sav"\n[roles]\nconfidential = ["income"]\nnon_confidential = ["sex"]\n'
                              '[[release]]\nname = "r"\nsteps = ["additive_noise"]\n[[measure]]\nmethod = "moments"\n'
                              '[[attack]]\nmethod = "nearest_record"\n', encoding="utf-8")
    assert main(["run", "s.toml", "-o", "out", "-q"]) == 0
    assert main(["export", "out", "-o", "final.csv"]) == 0
    assert Path("final.setup.sps").is_file()
    Path("final.csv").unlink()
    Path("final.manifest.json").unlink()
    Path("final.codebook.csv").unlink()
    assert main(["export", "out", "-o", "final.csv"]) != 0
    assert not Path("final.csv").exists()
    assert main(["export", "out", "-o", "final.sav"]) == 0
    assert not Path("final.setup.do").exists()
