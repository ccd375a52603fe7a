"""A study on a CSV file of another dialect, from the command line: mask, run, check, verify and export."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import LarvatusWarning
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.csv_files.recognition import CsvStart, recognise_dialect

ROLES = ["--confidential", "income", "--non-confidential", "town,age"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    random = np.random.default_rng(11)
    towns, ages = random.choice(["Köln", "Münster", "Gießen"], 200), random.integers(18, 80, 200)
    rows = [f'"{town}";{age};{income:.2f}'.replace(".", ",")
            for town, age, income in zip(towns, ages, random.lognormal(8, 1, 200), strict=True)]
    (tmp_path / "in.csv").write_bytes("\r\n".join(['"town";"age";"income"', *rows, ""]).encode("cp1252"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def dialect(path: Path) -> CsvDialect:
    return recognise_dialect(CsvStart(path.name, path.read_bytes(), True))


@pytest.mark.parametrize("stated", [[], ["--decimal", "comma", "--encoding", "windows-1252", "--delimiter", "semicolon"]])
def test_mask_reports_what_it_recognised_and_writes_the_same_dialect(here, capsys, stated):
    keep = ["--row-order", "keep", *stated]
    with warnings.catch_warnings():
        warnings.simplefilter("always", LarvatusWarning)
        assert main(["mask", "in.csv", "-o", "out.csv", *ROLES, "--method", "data_shuffling", *keep]) == 0
        assert main(["risk", "in.csv", "out.csv", *ROLES, "--method", "exact_match", *keep]) == 0
    assert ("larvatus: in.csv: semicolon, decimal comma, Windows-1252" in capsys.readouterr().err) is (not stated)
    assert dialect(here / "out.csv") == dialect(here / "in.csv") == CsvDialect(";", '"', ",", "", "cp1252")
    assert incomes(here / "out.csv") == incomes(here / "in.csv")
    assert main(["verify", "out.manifest.json"]) == 0


def incomes(path: Path) -> list[float]:
    lines = path.read_text(encoding="cp1252").splitlines()[1:]
    return sorted(float(line.split(";")[2].replace(",", ".")) for line in lines)


def test_a_wrong_option_names_what_would_be_right(here, capsys):
    assert main(["mask", "in.csv", "-o", "out.csv", *ROLES, "--method", "data_shuffling", "--decimal", "dot"]) == 2
    assert "decimal must be point or comma" in capsys.readouterr().err


def test_a_run_and_its_exports(here):
    (here / "study.toml").write_text(
        '[source]\nfile = "in.csv"\ndecimal = "comma"\n[roles]\nconfidential = ["income"]\nnon_confidential = ["town", "age"]\n'
        '[[release]]\nname = "shuffled"\nsteps = [{ method = "data_shuffling" }]\n'
        '[[attack]]\nmethod = "nearest_record"\n[[measure]]\nmethod = "moments"\n', encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LarvatusWarning)
        assert main(["run", "study.toml", "-o", "out", "-q"]) == 0
    files = [f for f in (here / "out" / "releases").glob("*.csv") if "codebook" not in f.name]
    assert [dialect(f).encoding for f in files] == ["cp1252"]
    assert main(["export", "out", "-o", "shared.csv"]) == 0
    assert main(["export", "out", "-o", "binary.parquet"]) == 0
    assert (here / "shared.csv").read_bytes() == files[0].read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, binary = (lv.read(here / f, confidential="income", non_confidential=["town", "age"]).to_arrow()
                        for f in ("shared.csv", "binary.parquet"))
    assert text.to_pydict() == binary.to_pydict()
