"""Bad input: one clear message on standard error, exit code 2, nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from larvatus.cli.main import main
from sample import people

VALUE = "98765.4321"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    frame = people(60)
    frame.to_csv(tmp_path / "in.csv", index=False)
    frame.iloc[:40].to_csv(tmp_path / "shorter.csv", index=False)
    frame.iloc[::-1].to_csv(tmp_path / "turned.csv", index=False)
    files = {
        "empty.csv": "", "header.csv": "income,age\n", "twice.csv": "income,income\n1,2\n", "inf.csv": "income\n1\ninf\n",
        "text.csv": f"income\n1\n2\nabout {VALUE}\n", "ragged.csv": f"income,age\n1,2\n{VALUE},3,4\n",
        "short": "only15bytes....", "taken.csv": "mine",
        "three.toml": 'source = "in.csv"\n[roles]\nconfidential = ["incme"]\n[[release]]\nname = "n"\n'
                      'steps = ["additive_nose"]\n[[measure]]\nmethod = "momnts"\n',
        "few.toml": 'source = "in.csv"\n[roles]\nconfidential = ["income"]\n[sub_groups]\ncolumns = ["region", "age"]\n'
                    '[[release]]\nname = "n"\nsteps = ["additive_noise"]\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "short").chmod(0o600)
    (tmp_path / "in.csv").chmod(0o644)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    return tmp_path


def mask(source: str, *more: str, output: str = "out.csv") -> list[str]:
    return ["mask", source, "-o", output, "--method", "additive_noise", "--confidential", "income", *more]


CASES = {
    "a column that does not exist": (mask("in.csv", "--non-confidential", "regon"), ["'regon'", "did you mean 'region'"]),
    "text where numbers are needed": (mask("text.csv"), ["needs numbers, and 'income' contains text"]),
    "an empty file": (mask("empty.csv"), ["empty.csv is empty"]),
    "a header alone": (mask("header.csv"), ["no records"]),
    "duplicate column names": (mask("twice.csv"), ["duplicate column names: 'income'"]),
    "infinities": (mask("inf.csv"), ["1 infinite"]),
    "ragged rows": (mask("ragged.csv"), ["Expected 2 columns, got 3"]),
    "no such file": (mask("im.csv"), ["no file im.csv", "did you mean 'in.csv'"]),
    "small sub-groups": (
        mask("in.csv", "--sub-groups", "region,age"),
                         ["sub-groups have fewer than 2", "'age': there are few records per value", '--small pool'],
    ),
    "a folder that is not there": (mask("in.csv", output="no/where/out.csv"), ["folder no/where does not exist"]),
    "a file in place of a folder": (mask("in.csv", output="in.csv/out.csv"), ["in.csv does not exist"]),
    "an existing file": (mask("in.csv", output="taken.csv"), ["taken.csv exists already", "--overwrite"]),
    "another format": (mask("in.csv", output="out.docx"), [".csv, .csv.gz or .parquet"]),
    "pairing over the release": (mask("in.csv", "--pairing", "out.csv"), ["is the released file itself"]),
    "a short secret": (mask("in.csv", "--secret-file", "short"), ["15 bytes, at least 16 are needed"]),
    "a secret that all can read": (mask("in.csv", "--secret-file", "in.csv"),
                                   ["secret file in.csv: every user of this machine can read it", "chmod 600 in.csv"]),
    "no secret file": (mask("in.csv", "--secret-file", "nowhere"), ["secret file nowhere cannot be read"]),
    "an unknown setting": (mask("in.csv", "--varance", "1"), ["varance: no such setting", "did you mean 'variance'"]),
    "a wrong setting": (mask("in.csv", "--variance", "-1"), ["variance: must be above 0, got -1"]),
    "an unknown role value": (mask("in.csv", "--small", "drop"), [
        "small: input should be 'refuse', 'pool', 'pool_all' or 'suppress'"]),
    "an unknown engine": (mask("in.csv", "--engine", "memry"), ["did you mean 'memory'"]),
    "a hostile condition": (mask("in.csv", "--where", "__import__('os')"), ["no column '__import__'"]),
    "no mask": (["mask", "in.csv", "-o", "out.csv", "--confidential", "income"], ["no mask is given"]),
    "two ways": (mask("in.csv", "--step", "additive_noise"), ["--method or --step, not both"]),
    "a study with three mistakes": (["run", "three.toml", "-o", "res"], ["3 problems", "'income'", "noise'", "'moments'"]),
    "a study with small sub-groups": (["run", "few.toml", "-o", "res"], ["sub-groups have fewer than 2"]),
    "a study that is data": (["run", "in.csv", "-o", "res"], ["not valid TOML"]),
    "a study in no folder": (["run", "no.toml", "-o", "res"], ["there is no such file"]),
    "other rows": (["risk", "in.csv", "shorter.csv", "--confidential", "income"], ["40 rows and the original 60"]),
    "rows in another order": (
        ["risk", "in.csv", "turned.csv", "--confidential", "income", "--non-confidential", "age"], ["do not match", "'age'"]),
    "an unknown method": (["describe", "additive_nose"], ["did you mean 'additive_noise'"]),
    "an unknown attack": (["risk", "in.csv", "in.csv", "--confidential", "income", "--method", "x"], ["no attack 'x'"]),
    "too few households": (["demo", "-o", "res", "--records", "20"], ["--records: 20 is too few"]),
    "a demonstration in a file": (["demo", "-o", "in.csv/x"], ["cannot be created"]),
}


def state(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b"" for p in folder.rglob("*")}


@pytest.mark.parametrize(("case", "mode"), [
    *((case, "--json") for case in CASES), *((case, "--quiet") for case in CASES if CASES[case][0][0] != "describe"),
])
def test_bad_input(folder, capsys, case, mode):
    arguments, said = CASES[case]
    before = state(folder)
    assert main([*arguments, mode]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("larvatus: ")
    assert [words for words in said if words not in err] == []
    assert VALUE not in err
    assert "Traceback" not in err
    assert "only15bytes" not in err
    assert state(folder) == before


@pytest.mark.parametrize("arguments", [["nope"], ["mask"], ["risk", "a"], ["list", "--bogus"], ["mask", "in.csv"]])
def test_a_wrong_command_line(folder, capsys, arguments):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out + err
    assert "Traceback" not in out + err


def test_the_unexpected_is_kept_back_because_it_may_hold_data(folder, capsys, monkeypatch):
    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError(f"value {VALUE}")

    monkeypatch.setattr("larvatus.pipeline.read_source.read", broken)
    monkeypatch.delenv("LARVATUS_DEBUG", raising=False)
    assert main(mask("in.csv")) == 3
    out, err = capsys.readouterr()
    assert "unexpected RuntimeError" in err
    assert VALUE not in out + err
    monkeypatch.setenv("LARVATUS_DEBUG", "1")
    with pytest.raises(RuntimeError):
        main(mask("in.csv"))


def test_an_interruption(folder, capsys, monkeypatch):
    import larvatus.pipeline.read_source

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(larvatus.pipeline, "mask", interrupted)
    before = state(folder)
    assert main(mask("in.csv")) == 130
    assert "interrupted" in capsys.readouterr().err
    assert state(folder) == before


def test_force_overwrites(folder, capsys):
    assert main(mask("in.csv", "--overwrite", output="taken.csv")) == 0
    assert (folder / "taken.csv").read_text(encoding="utf-8").startswith('"income"\n')


@pytest.mark.parametrize(("arguments", "said"), [
    (["run", "study.toml", "-o", "out", "--force"], "--force is now called --overwrite."),
    (["risk", "a.csv", "b.csv", "--also=c.csv"], "--also is now called --other-release."),
    (["intruder", "study.toml"], "intruder is now called publish-noise."),
])
def test_options_and_commands_under_their_former_names(capsys, arguments, said):
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"larvatus: {said}\n"
