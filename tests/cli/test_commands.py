"""Every command through the front door: what is printed, what is written, what is returned."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from pyarrow import parquet

import larvatus as lv
from larvatus.cli import demo_study
from larvatus.cli.main import main
from sample import people

SECRET = "a secret line that nobody prints"
ROLES = ["--confidential", "income,wealth", "--non-confidential", "age", "--sub-groups", "region"]
BRIEF = 'attack = ["nearest_record"]\nmeasure = ["moments"]\n'  # all of them take seconds, and a minute in the demonstration


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    people(150).to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "secret").write_text(SECRET + "\n", encoding="utf-8")
    (tmp_path / "secret").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    return tmp_path


def ran(capsys, *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(list(arguments))
    out, err = capsys.readouterr()
    assert SECRET not in out + err
    return code, out, err


def mask(capsys, *more: str, output: str = "out.parquet") -> tuple[int, str, str]:
    return ran(capsys, "mask", "in.csv", "-o", output, *ROLES, "--secret-file", "secret", *more)


def test_mask_tells_what_it_wrote(folder, capsys):
    code, out, err = mask(capsys, "--method", "additive_noise", "--variance", "0.5")
    assert code == 0
    assert "out.parquet: 150 records, 4 columns, 2 of them confidential" in out
    assert "random order" in err
    assert parquet.read_table("out.parquet").column_names == ["region", "age", "income", "wealth"]


def test_a_mask_is_the_same_as_from_python_and_by_step(folder, capsys):
    mask(capsys, "--method", "additive_noise", "--variance", "0.5", "--row-order", "keep")
    mask(capsys, "--step", "additive_noise(variance=0.5)", "--row-order", "keep", output="two.parquet")
    data = lv.read("in.csv", confidential="income, wealth", non_confidential="age", sub_groups="region")
    release = lv.mask(data, "additive_noise(variance=0.5)", secret=SECRET.encode())
    tables = [parquet.read_table(p) for p in ("out.parquet", "two.parquet")]
    assert tables[0].equals(tables[1])
    assert tables[0].to_pydict() == release.frame().to_pydict()


def test_settings_are_toml_values_and_text_needs_no_quotes(folder, capsys):
    code, out, _ = mask(capsys, "--method", "additive_noise", "--variance", "{income = 0.5, wealth = 2}", "--noise", "uniform",
                        "--where", "age > 40", "--json")
    assert code == 0
    assert any("records selected by where" in n["text"] for n in json.loads(out)["notes"])


def test_mask_then_risk_and_utility_with_the_pairing_file(folder, capsys):
    mask(capsys, "--method", "additive_noise", "--pairing", "pairs.parquet")
    files = ("in.csv", "out.parquet", "--pairing", "pairs.parquet", *ROLES)
    code, out, err = ran(capsys, "risk", *files, "--method", "nearest_record(within=[1, 5])")
    assert (code, err) == (0, "")
    assert "nearest_record" in out
    assert "worst sub-groups" in out
    code, out, err = ran(capsys, "utility", *files, "--method", "moments", "--method", "correlation", "--json")
    assert code == 0
    assert [s["method"] for s in json.loads(out)] == ["moments", "correlation"]
    code, _, err = ran(capsys, "risk", "in.csv", "out.parquet", *ROLES)
    assert code == 2
    assert "random row order" in err


@pytest.fixture
def brief_demo(monkeypatch) -> None:
    """The demonstration's own study with one attack and one measure."""
    monkeypatch.setattr(demo_study, "STUDY", BRIEF + demo_study.STUDY)


@pytest.mark.parametrize("command", [
    ("mask", "in.csv", "-o", "x.csv", *ROLES, "--method", "additive_noise", "--secret-file", "secret"),
    ("run", "study.toml", "-o", "results", "--secret-file", "secret"),
    ("demo", "-o", "shown", "--records", "400"),
    ("list",), ("describe", "additive_noise"),
])
@pytest.mark.usefixtures("brief_demo")
def test_json_is_one_value_on_standard_output(folder, capsys, command):
    (folder / "study.toml").write_text(BRIEF + STUDY, encoding="utf-8")
    code, out, _ = ran(capsys, *command, "--json")
    assert code == 0
    assert isinstance(json.loads(out), dict)


@pytest.mark.parametrize("command", [
    ("mask", "in.csv", "-o", "x.csv", *ROLES, "--method", "additive_noise"), ("run", "study.toml", "-o", "results"),
    ("demo", "-o", "shown", "--records", "400"), ("risk", "in.csv", "in.csv", *ROLES), ("utility", "in.csv", "in.csv", *ROLES),
])
@pytest.mark.usefixtures("brief_demo")
def test_quiet_prints_nothing(folder, capsys, command):
    (folder / "study.toml").write_text(BRIEF + STUDY, encoding="utf-8")
    assert ran(capsys, *command, "--quiet") == (0, "", "")


STUDY = """
source = "in.csv"
[roles]
confidential = ["income"]
[[release]]
name = "one"
steps = ["additive_noise"]
[[release]]
name = "two"
steps = ["additive_noise(variance=2.0)"]
"""


def test_run_writes_and_shows_a_table(folder, capsys):
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    code, out, _ = ran(capsys, "run", "study.toml", "-o", "results", "--secret-file", "secret", "--format", "csv")
    assert code == 0
    assert all(words in out for words in ("nearest_record", "moments", "one", "two", "Report: results/report.html"))
    assert sorted(p.name for p in (folder / "results" / "releases").iterdir()) == [
        f"{name}.{end}" for name in ("one", "two") for end in ("codebook.csv", "csv", "manifest.json")]
    for path in (folder / "results").rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


def test_a_release_of_a_study_by_name(folder, capsys):
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    assert ran(capsys, "mask", "in.csv", "-o", "x.csv", "--study", "study.toml", "--release", "two")[0] == 0
    code, _, err = ran(capsys, "mask", "in.csv", "-o", "y.csv", "--study", "study.toml", "--release", "tow")
    assert code == 2
    assert "did you mean 'two'" in err
    assert not (folder / "y.csv").exists()


def test_options_win_over_the_study(folder, capsys):
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    code, out, _ = ran(capsys, "mask", "in.csv", "-o", "x.csv", "--study", "study.toml", "--release", "one",
                       "--confidential", "wealth", "--json")
    assert code == 0
    assert json.loads(out)["masked"] == ["wealth"]


@pytest.mark.usefixtures("brief_demo")
def test_the_demonstration_leaves_a_study_that_can_be_run_again(folder, capsys):
    run_the_demonstration_twice(folder, capsys)


@pytest.mark.slow
def test_the_demonstration_with_every_attack_and_measure(folder, capsys):
    run_the_demonstration_twice(folder, capsys)


def run_the_demonstration_twice(folder: Path, capsys) -> None:
    assert ran(capsys, "demo", "-o", "shown", "--records", "400")[0] == 0
    assert sorted(p.name for p in (folder / "shown").iterdir()) == [
        ".larvatus-cache", "households.csv", "internal", "releases", "report.html", "scores.csv", "scores.json", "study.toml"]
    tomllib.loads((folder / "shown" / "study.toml").read_text(encoding="utf-8"))
    assert ran(capsys, "run", "shown/study.toml", "-o", "again", "-q")[0] == 0
    code, _, err = ran(capsys, "demo", "-o", "shown")
    assert code == 2
    assert "--overwrite" in err


def test_list_and_describe_use_the_methods_own_words(folder, capsys):
    code, out, _ = ran(capsys, "list")
    assert code == 0
    assert all(name in out for name in ("additive_noise", "nearest_record", "moments", "engines: duckdb, memory"))
    code, out, _ = ran(capsys, "describe", "nearest_record")
    assert code == 0
    assert "numbers of nearest records that count" in out


def test_help_of_mask_lists_the_settings_of_its_method(folder, capsys):
    code, out, _ = ran(capsys, "mask", "--method", "additive_noise", "--help")
    assert code == 0
    assert "noise variance as a fraction" in out


def test_a_quoted_pattern_of_copies_is_a_release_of_several_copies(folder, capsys):
    made = mask(capsys, "--method", "multiple_imputation", "--copies", "11", "--pairing", "p.parquet", output="mi.csv")
    assert made[0] == 0
    common = [*ROLES, "--pairing", "p.parquet", "--json"]
    listed = ran(capsys, "utility", "in.csv", *[f"mi-{i}.csv" for i in range(1, 12)], *common, "--method", "moments")
    pattern = ran(capsys, "utility", "in.csv", "mi-*.csv", *common, "--method", "moments")
    assert pattern[0] == 0
    assert pattern[1] == listed[1]
    risky = ran(capsys, "risk", "in.csv", "mi-*.csv", *common, "--method", "rank_disclosure")
    assert "worst of 11 copies" in risky[1] + risky[2]


def test_only_files_numbered_from_one_are_copies(folder):
    from larvatus.cli.inputs import copies_of

    for name in ("a-1.csv", "a-2.csv", "a-10.csv", "part-01.csv", "part-02.csv", "b-1.csv", "b-2.csv", "b-rest.csv"):
        (folder / name).touch()
    assert copies_of(["b-[12].csv", "x.csv"]) == ["b-1.csv", "b-2.csv", "x.csv"]
    for whole in ("a-*.csv", "part-*.csv", "b-*.csv", "[ab]-[12].csv", "none-*.csv", "a-1.csv"):
        assert copies_of([whole]) == [whole]


def test_notes_of_some_attacks_say_whose_they_are(folder, capsys):
    mask(capsys, "--method", "additive_noise", "--pairing", "pairs.parquet")
    _, _, err = ran(capsys, "risk", "in.csv", "out.parquet", "--pairing", "pairs.parquet", *ROLES, "--intruder", "realistic",
                    "--method", "nearest_record", "--method", "value_disclosure")
    assert "note: nearest_record: the intruder's numbers have a relative error of 0.05" in err
    assert "note: value_disclosure: intruder.error has no effect on this attack" in err


@pytest.mark.parametrize(("options", "size"), [
    ((), 70), (("--targets", "all"), 150), (("--targets", "20"), 20), (("--at-risk", "ids.csv"), 150),
])
def test_targets_of_a_large_file_and_of_a_list_of_records_at_risk(folder, capsys, monkeypatch, options, size):
    """A file with more records than an attack takes as targets is sampled; all are attacked on request, and for the list."""
    monkeypatch.setattr(lv.attacks.NearestRecord, "most_targets", 70)
    seen: list[int] = []
    attack = lv.attacks.NearestRecord.attack

    def noted(*given):
        score = attack(*given)
        seen.append(len(score.records))
        return score

    monkeypatch.setattr(lv.attacks.NearestRecord, "attack", noted)
    mask(capsys, "--method", "additive_noise", "--pairing", "pairs.parquet")
    code, _, err = ran(capsys, "risk", "in.csv", "out.parquet", "--pairing", "pairs.parquet", *ROLES, "--method",
                       "nearest_record", *options)
    assert code == 0, err
    assert seen == [size]
