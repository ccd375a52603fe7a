"""`larvatus verify`: exit code 0 for the file described, 1 for any other."""

from __future__ import annotations

import json

import pytest

from larvatus.cli.main import main
from sample import people


@pytest.fixture
def folder(tmp_path, monkeypatch):
    people(120).to_csv(tmp_path / "in.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    return tmp_path


def masked(output: str, *more: str) -> int:
    return main(["mask", "in.csv", "-o", output, "--method", "multiple_imputation", "--confidential", "wealth,rooms", *more])


def test_the_file_described_and_another(folder, capsys):
    assert masked("out.csv", "--copies", "1", "--approved-by", "A. Keeper") == 0
    assert main(["verify", "out.manifest.json", "out.csv"]) == 0
    assert "is the one described" in capsys.readouterr().out
    approved = json.loads((folder / "out.internal.json").read_text(encoding="utf-8"))["approved"]
    assert approved["by"] == "A. Keeper"
    assert approved["at"].endswith("+00:00")
    assert main(["verify", "out.manifest.json", "in.csv", "--json"]) == 1
    out, err = capsys.readouterr()
    assert [one["same"] for one in json.loads(out)] == [False, True]
    assert err.startswith("larvatus: in.csv is not the one described: ")
    assert "120 records" not in err
    assert main(["verify", "out.manifest.json"]) == 0
    out, _ = capsys.readouterr()
    assert out.splitlines() == ["out.csv: is the one described", "out.codebook.csv: is the one described (the codebook)"]
    (folder / "out.codebook.csv").write_text("column", encoding="utf-8")
    assert main(["verify", "out.manifest.json", "-q"]) == 1
    assert capsys.readouterr().err.startswith("larvatus: out.codebook.csv is not the one described: 6 bytes instead of ")
    assert main(["verify", "in.csv", "out.csv"]) == 2
    assert main(["verify", "out.manifest.json", "none.csv"]) == 2


def test_copies_by_a_pattern(folder, capsys):
    assert masked("out.parquet", "--copies", "2") == 0
    capsys.readouterr()
    assert main(["verify", "out.manifest.json", "out-*.parquet", "--json"]) == 0
    assert [(one["same"], one["copy"]) for one in json.loads(capsys.readouterr().out)] == [(True, 1), (True, 2), (True, None)]
    (folder / "out-2.parquet").write_bytes((folder / "in.csv").read_bytes())
    assert main(["verify", "out.manifest.json", "out-*.parquet", "-q"]) == 1
    assert "out-2.parquet" in capsys.readouterr().err
    assert main(["verify", "out.manifest.json", "out-1.parquet"]) == 0
    assert "copy 2 of 2 was not looked at: no file was given for it" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["out.manifest.json", "out.internal.json", "out.codebook.csv"])
def test_what_lies_beside_is_not_overwritten(folder, capsys, name):
    (folder / name).write_text("mine", encoding="utf-8")
    assert masked("out.csv") == 2
    assert "exists already" in capsys.readouterr().err
    assert not list(folder.glob("out-*.csv"))
    assert (folder / name).read_text(encoding="utf-8") == "mine"
    assert masked("out.csv", "--force") == 0
