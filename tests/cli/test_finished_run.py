"""After `larvatus run`: check, approve and export use the release that is there; no command makes it again."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.commands.check import BROKEN
from larvatus.cli.main import main
from sample import people

STUDY = """
source = "people.csv"
[roles]
confidential = ["income", "wealth"]
non_confidential = ["age", "job"]
[intruder]
known = ["income", "age"]
[[release]]
name = "noise"
steps = ["additive_noise(variance=0.5)"]
[[release]]
name = "far"
steps = ["additive_noise(variance=9)"]
[[attack]]
method = "nearest_record"
[[measure]]
method = "moments"
[limits]
nearest_record = { above_baseline = 0.05 }
"""
APPROVAL = ["approve", "out", "--release", "far", "--by", "A. Keeper", "--reason", "little is found"]


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """Two runs of one study with different fresh secrets; the tests work on copies of their folder."""
    folder = tmp_path_factory.mktemp("done")
    people(120).to_csv(folder / "people.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    for out in ("out", "other"):
        lv.run(folder / "study.toml", folder / out)
    return folder


@pytest.fixture
def here(done, tmp_path, monkeypatch) -> Path:
    shutil.copytree(done, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    return tmp_path / "work"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def inside(name: str) -> dict:
    return json.loads(Path(f"out/internal/{name}.internal.json").read_text(encoding="utf-8"))


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_run_keeps_what_later_commands_need_and_only_the_owner_can_read_it(here):
    kept = {str(p.relative_to("out/internal")) for p in Path("out/internal").rglob("*") if p.is_file()}
    assert kept == {"run.json", "study.toml", "far.internal.json", "noise.internal.json",
                    "pairings/far.parquet", "pairings/noise.parquet"}
    for path in (Path("out/internal"), *Path("out/internal").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_format_of_a_release_is_that_of_the_source(here):
    assert sorted(p.name for p in Path("out/releases").glob("noise.*")) == [
        "noise.codebook.csv", "noise.csv", "noise.manifest.json"]
    assert "empty cell" in Path("out/releases/noise.codebook.csv").read_text(encoding="utf-8")


def test_check_gives_the_verdict_of_the_run_and_makes_nothing(here, capsys):
    before = contents(Path("out"))
    assert main(["check", "out", "--release", "noise", "--json"]) == BROKEN
    found = json.loads(capsys.readouterr().out)
    assert found["limits"] == inside("noise")["limits"]["verdicts"]
    assert main(["check", "out", "--release", "noise", "--tier", "secure", "--targets", "20", "-q"]) in (0, BROKEN)
    assert contents(Path("out")) == before
    for more in (["--pairing", "x.csv"], ["--study", "study.toml"]):
        assert main(["check", "out", "--release", "noise", *more]) == 2
        assert f"{more[0]}: " in capsys.readouterr().err
    assert main(["check", "people.csv", "out/releases/noise.csv", "--release", "noise"]) == 2


def test_an_approval_is_in_the_manifest_and_in_the_report_and_no_release_changes(here, capsys):
    released, other = contents(Path("out/releases")), contents(Path("out/internal/pairings"))
    assert main([*APPROVAL, "--public", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    told = inside("far")
    assert told["approved"] == {"by": "A. Keeper", "at": said["at"]}
    assert (told["chosen"], told["published"], told["reason"]) == (True, True, "little is found")
    assert (inside("noise")["chosen"], inside("noise")["approved"]) == (False, None)
    report = Path("out/report.html").read_text(encoding="utf-8")
    assert f"“far” was approved by A. Keeper on {said['at'][:10]}" in report
    assert "“far” is proposed for release" in report
    assert "little is found" in report
    assert "Keeper" not in Path("out/report_public.html").read_text(encoding="utf-8")
    assert contents(Path("out/releases")) == released
    assert contents(Path("out/internal/pairings")) == other
    assert stat.S_IMODE(Path("out/internal/far.internal.json").stat().st_mode) == 0o600
    assert main(["verify", "out/releases/far.manifest.json", "-q"]) == 0
    assert main(["run", "study.toml", "-o", "out", "-q"]) == 0, "a later run finds its own files"
    assert contents(Path("out/releases")) == released
    assert inside("far")["approved"] == told["approved"]
    assert "“far” was approved by A. Keeper" in Path("out/report.html").read_text(encoding="utf-8")


def test_a_second_approval_replaces_the_first_which_stays_on_record(here, capsys):
    assert main([*APPROVAL, "-q"]) == 0
    first = inside("far")["approved"]
    again = [a if a != "A. Keeper" else "B. Keeper" for a in APPROVAL]
    assert main(again) == 0
    assert "replaces its approval by A. Keeper" in one_line(capsys.readouterr().out)
    assert (inside("far")["approved"]["by"], inside("far")["earlier_approvals"]) == ("B. Keeper", [first])
    assert main([a if a != "far" else "noise" for a in APPROVAL]) == 0
    loud = "“noise” is approved by A. Keeper although it breaks"
    assert loud in one_line(capsys.readouterr().err).replace("\N{NO-BREAK SPACE}", " ")
    assert [inside(n)["chosen"] for n in ("far", "noise")] == [False, True]
    assert inside("noise")["warnings"][0].startswith(loud)
    assert inside("far")["reason"] == "little is found"
    report = Path("out/report.html").read_text(encoding="utf-8")
    assert "“far” was approved by B. Keeper" in report
    assert "“noise” was approved by A. Keeper" in report


@pytest.mark.parametrize("where", ["complete", "write_record"])
def test_an_interrupted_approval_leaves_the_folder_as_it_was(here, monkeypatch, where):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = contents(here)
    monkeypatch.setattr(f"larvatus.pipeline.approve_release.{where}", stop)
    assert main(APPROVAL) == 130
    assert contents(here) == before


@pytest.mark.parametrize("missing", ["--by", "--reason"])
def test_an_approval_needs_an_approver_and_a_reason(here, missing, capsys):
    at = APPROVAL.index(missing)
    assert main([*APPROVAL[: at + 1], " ", *APPROVAL[at + 2 :]]) == 2
    assert f"{missing[2:]}: is empty" in capsys.readouterr().err
    assert main([*APPROVAL[:at], *APPROVAL[at + 2 :]]) == 2


def test_a_reason_needs_a_release(here, capsys):
    assert main(["run", "study.toml", "-o", "new", "--reason", "why not"]) == 2
    assert "reason: no release is chosen" in capsys.readouterr().err
    assert not Path("new").exists()


def test_an_export_has_the_bytes_or_the_values_of_the_release(here):
    before = contents(Path("out"))
    for name in ("copy.csv", "far.parquet"):
        assert main(["export", "out", "--release", "far", "-o", name, "-q"]) == 0
        assert main(["verify", f"{Path(name).stem}.manifest.json", "-q"]) == 0
    assert Path("copy.csv").read_bytes() == Path("out/releases/far.csv").read_bytes()
    pd.testing.assert_frame_equal(pd.read_parquet("far.parquet"), pd.read_csv("copy.csv"))
    assert Path("copy.codebook.csv").read_bytes() == Path("out/releases/far.codebook.csv").read_bytes()
    assert ",null," in Path("far.codebook.csv").read_text(encoding="utf-8")
    assert contents(Path("out")) == before
    data = lv.read("people.csv", lv.Study.read("study.toml").roles)
    for name in ("copy.csv", "far.parquet"):
        lv.risk(data, name, "nearest_record", pairing="out/internal/pairings/far.parquet")
    with pytest.raises(lv.LarvatusError, match="was written in random row order"):
        lv.risk(data, "far.parquet", "nearest_record")


def test_a_parquet_release_is_exported_as_the_csv_that_the_run_would_have_written(here):
    Path("key").write_bytes(b"sixteen bytes or more")
    Path("key").chmod(0o600)
    for form in ("csv", "parquet"):
        assert main(["run", "study.toml", "-o", form, "--format", form, "--secret-file", "key", "-q"]) == 0
    assert main(["export", "parquet", "--release", "far", "-o", "far.csv", "-q"]) == 0
    for end in ("csv", "codebook.csv", "manifest.json"):
        assert Path(f"far.{end}").read_bytes() == Path(f"csv/releases/far.{end}").read_bytes()


@pytest.mark.parametrize(("target", "said"), [
    ("far.por", "a release cannot be exported in this format"), ("far.docx", "a release cannot be exported in this format"),
    ("far", "a release cannot be exported in this format"), ("study.toml", "a release cannot be exported in this format"),
    ("out/releases/x.csv", "is in the folder out/releases"), ("out/internal/x.csv", "is in the folder out/internal"),
    ("people.csv", "people.csv is read"), ("nowhere/far.csv", "folder nowhere does not exist"),
])
def test_what_cannot_be_exported_is_refused(here, target, said, capsys):
    before = contents(here)
    assert main(["export", "out", "--release", "far", "-o", target, "--overwrite"]) == 2
    assert said in one_line(capsys.readouterr().err)
    assert contents(here) == before


COMMANDS = {
    "check": ["check", "out", "--release", "far"], "approve": APPROVAL,
    "export": ["export", "out", "--release", "far", "-o", "far.parquet"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_released_file_changed_by_one_byte_is_refused(here, command, capsys):
    file = Path("out/releases/far.csv")
    whole = bytearray(file.read_bytes())
    whole[-3] = ord("1") if whole[-3] != ord("1") else ord("2")
    file.write_bytes(whole)
    before = contents(here)
    assert main(COMMANDS[command]) == 1
    assert "far.csv does not match its manifest: same size, but different content" in one_line(capsys.readouterr().err)
    assert contents(here) == before
    file.unlink()
    assert main(COMMANDS[command]) == 2
    assert "far.csv does not exist" in one_line(capsys.readouterr().err)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", ["internal", "run.json", "far.internal.json"])
def test_an_internal_folder_of_another_run_is_refused(here, command, what, capsys):
    if what == "internal":
        shutil.rmtree("out/internal")
        shutil.copytree("other/internal", "out/internal")
    else:
        shutil.copy(f"other/internal/{what}", f"out/internal/{what}")
    before = contents(here)
    assert main(COMMANDS[command]) == 1
    assert "are not of the same run" in one_line(capsys.readouterr().err)
    assert contents(here) == before


def another_figure(text: str) -> str:
    """The record with another figure, as an editor or a disk may leave it."""
    return text.replace('"value": 0.', '"value": 1.', 1)


@pytest.mark.parametrize(("command", "file", "damage"), [
    *((command, "run.json", another_figure) for command in COMMANDS),
    *((command, "far.internal.json", lambda text: text.replace('"approved": null', '"approved": [7]')) for command in COMMANDS),
    ("approve", "noise.internal.json", lambda text: text[:100]), ("export", "noise.internal.json", lambda text: "[" * 10**5),
    ("export", "study.toml", lambda text: "[" + text),
    ("approve", "far.internal.json", lambda text: text.replace('"purpose": ""', '"purpose": "\\ud800"')),
])
def test_a_damaged_file_of_the_run_is_refused(here, command, file, damage, capsys):
    path = Path("out/internal") / file
    damaged = damage(path.read_text(encoding="utf-8"))
    assert damaged != path.read_text(encoding="utf-8")
    path.write_text(damaged, encoding="utf-8")
    before = contents(here)
    assert main(COMMANDS[command]) == 2
    assert f"{file} is damaged. Restore it, or run the study again" in one_line(capsys.readouterr().err)
    assert contents(here) == before


def test_a_record_of_an_earlier_version_has_no_digest(here):
    path = Path("out/internal/run.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["digest"]
    path.write_text(json.dumps(record), encoding="utf-8")
    assert main([*APPROVAL, "-q"]) == 0
    assert "digest" in json.loads(path.read_text(encoding="utf-8"))


def test_a_pairing_file_of_another_run_is_refused(here, capsys):
    shutil.copy("other/internal/pairings/far.parquet", "out/internal/pairings/far.parquet")
    assert main(COMMANDS["check"]) == 2
    assert "far.parquet was not written with this release" in one_line(capsys.readouterr().err)
    Path("out/internal/pairings/far.parquet").unlink()
    released = contents(Path("out/releases"))
    assert main(COMMANDS["check"]) == 2
    assert "far.parquet does not exist, so the rows of 'far' cannot be paired" in one_line(capsys.readouterr().err)
    assert main([*APPROVAL, "-q"]) == 0
    assert main(["run", "study.toml", "-o", "out", "-q"]) == 0
    assert contents(Path("out/releases")) == released, "a pairing file that was removed is no reason to draw anew"


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_not_there_is_named(here, command, capsys):
    def message(*changes: tuple[str, str]) -> str:
        given = COMMANDS[command]
        for old, new in changes:
            given = [new if a == old else a for a in given]
        assert main(given) == 2
        return one_line(capsys.readouterr().err)

    assert "out has no release 'fär'; did you mean 'far'?" in message(("far", "fär"))
    assert "nowhere does not exist. Give the output folder of larvatus run" in message(("out", "nowhere"))
    assert "people.csv is a file. Give the output folder of larvatus run" in message(("out", "people.csv"))
    assert "is not the output folder of larvatus run" in message(("out", "."))
    Path("other/internal/run.json").write_text("{", encoding="utf-8")
    assert "run.json is damaged" in message(("out", "other"))
    shutil.rmtree("out/internal")
    assert "an earlier version of larvatus wrote out, or internal/ was removed. Run the study with" in message()


def test_a_release_has_to_be_named_if_there_are_several(here, capsys):
    assert main(["check", "out"]) == 2
    assert "out has 2 releases. Name one of them: noise, far." in one_line(capsys.readouterr().err)


def test_other_output_options_do_not_draw_another_release(here, capsys):
    before = contents(here)
    for more in (["--format", "parquet"], ["--no-pairings"], ["--row-order", "keep"]):
        assert main(["run", "study.toml", "-o", "out", *more]) == 2
        assert "larvatus check, approve or export out --release NAME" in one_line(capsys.readouterr().err)
    assert contents(here) == before
    released = contents(Path("out/releases"))
    assert main(["run", "study.toml", "-o", "out", "-q", "--pairings", "--chosen", "far", "--approved-by", "A. Keeper"]) == 0
    assert contents(Path("out/releases")) == released
    assert "“far” was approved by A. Keeper" in Path("out/report.html").read_text(encoding="utf-8")
