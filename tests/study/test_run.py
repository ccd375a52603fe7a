"""Carrying out a study: what is written where, reproducibly, and nothing unasked."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from pyarrow import parquet

import larvatus as lv
from larvatus.core.errors import WriteError
from larvatus.pipeline import file_stem
from sample import SECRET, people

STUDY = """
source = "people.parquet"
purpose = "A purpose."
[roles]
confidential = ["income", "wealth"]
non_confidential = ["age"]
[sub_groups]
columns = ["region"]
[[release]]
name = "noise"
steps = [{ method = "additive_noise", grid.variance = [0.1, 1.0] }]
[[release]]
name = "noise: variance/0.1"
steps = ["additive_noise(variance=0.1)", "additive_noise"]
"""


STEMS = ("noise-variance-0.1", "noise-variance=0.1", "noise-variance=1.0")


def study_in(folder: Path) -> lv.Study:
    people(150).to_parquet(folder / "people.parquet")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    return lv.Study.read(folder / "study.toml")


@pytest.fixture
def study(tmp_path) -> lv.Study:
    return study_in(tmp_path)


@pytest.fixture
def brief(study) -> lv.Study:
    """The same study with one attack and one measure."""
    return study.model_copy(update={"attack": (lv.attacks.Uniqueness(),), "measure": (lv.measures.Moments(),)})


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> tuple[lv.Comparison, Path]:
    """The study with every attack and measure, and the folder with its results, which no test changes."""
    folder = tmp_path_factory.mktemp("ran")
    return lv.run(study_in(folder), folder / "out", secret=SECRET), folder / "out"


def contents(folder: Path) -> dict[str, bytes]:
    """What a person finds there; the folder of finished candidates is the next run's."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*"))
            if p.is_file() and ".larvatus-cache" not in p.parts}


def test_releases_scores_and_report_are_written(ran):
    comparison, out = ran
    assert list(contents(out)) == [
        *(f"internal/{stem}.internal.json" for stem in STEMS), *(f"internal/pairings/{stem}.parquet" for stem in STEMS),
        "internal/run.json", "internal/study.toml",
        *(f"releases/{stem}.{end}" for stem in STEMS for end in ("codebook.csv", "manifest.json", "parquet")),
        "report.html", "scores.csv", "scores.json",
    ]
    scores = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    assert scores == json.loads(json.dumps(comparison.plain()))
    assert [r["name"] for r in scores["releases"]] == ["noise variance=0.1", "noise variance=1.0", "noise: variance/0.1"]
    with (out / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    overall = {(r["release"], r["score"]): float(r["value"]) for r in rows if r["level"] == "overall"}
    assert overall == {(c.name, s.method): s.value for c in comparison.candidates for s in c.scores}
    assert {r["level"] for r in rows} >= {"overall", "sub_group", "variable", "pair"}
    table = parquet.read_table(out / "releases" / "noise-variance=1.0.parquet")
    assert table.column_names == ["region", "age", "income", "wealth"]
    assert table.num_rows == 150


def test_more_noise_less_risk_more_loss(ran):
    weak, strong, _ = ran[0].candidates
    assert weak.scores.nearest_record.value > strong.scores.nearest_record.value > strong.scores.nearest_record.chance
    assert weak.scores.moments.value < strong.scores.moments.value


def test_the_same_secret_gives_the_same_files_to_the_byte(tmp_path, study, ran):
    lv.run(study, tmp_path / "again", secret=SECRET)
    check_same_files(ran[1], tmp_path / "again")


def test_the_same_secret_gives_the_same_text_files_to_the_byte(tmp_path, brief):
    for name in ("one", "two"):
        lv.run(brief, tmp_path / name, secret=SECRET, files=lv.OutputFiles(format="csv"))
    check_same_files(tmp_path / "one", tmp_path / "two")


def check_same_files(first: Path, second: Path) -> None:
    one, two = contents(first), contents(second)
    assert one.keys() == two.keys()
    assert [n for n in one if one[n] != two[n] and n != "report.html"] == []


def test_nothing_is_overwritten_without_force(tmp_path, brief):
    lv.run(brief, tmp_path / "out", secret=SECRET)
    before = contents(tmp_path / "out")
    with pytest.raises(WriteError, match=r"exists already.*--overwrite"):
        lv.run(brief, tmp_path / "out", secret=SECRET[::-1])
    assert contents(tmp_path / "out") == before
    lv.run(brief, tmp_path / "out", secret=SECRET[::-1], overwrite=True)
    assert contents(tmp_path / "out").keys() == before.keys()
    assert contents(tmp_path / "out") != before


@pytest.mark.parametrize("name", ["scores.json", "scores.csv", "report.html", "releases/noise-variance=1.0.parquet",
                                  "releases/noise-variance=1.0.manifest.json"])
def test_one_file_in_the_way_and_nothing_is_written(tmp_path, study, name):
    (tmp_path / "out" / "releases").mkdir(parents=True)
    (tmp_path / "out" / name).write_text("mine", encoding="utf-8")
    with pytest.raises(WriteError, match="exists already"):
        lv.run(study, tmp_path / "out", secret=SECRET)
    assert contents(tmp_path / "out") == {name: b"mine"}


def test_a_folder_that_cannot_be_made(tmp_path, study):
    with pytest.raises(WriteError, match="cannot be created"):
        lv.run(study, tmp_path / "study.toml" / "out", secret=SECRET)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["people.parquet", "study.toml"]


def test_a_run_that_fails_in_a_step_leaves_nothing(tmp_path, study):
    broken = study.model_copy(update={"sub_groups": lv.SubGroups(columns="region, sex, age")})
    with pytest.raises(lv.LarvatusError):
        lv.run(broken, tmp_path / "out", secret=SECRET)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["people.parquet", "study.toml"]


@pytest.mark.parametrize(("name", "stem"), [
    ("noise variance=0.1", "noise-variance=0.1"), ("../../etc/passwd", "etc-passwd"), ("a/b\\c", "a-b-c"),
    (".hidden", "hidden"), ("ä ö", "ä-ö"), ("***", "release"), ("a\x00b", "a-b"),
])
def test_names_as_file_names(name, stem):
    assert file_stem(name) == stem


def test_names_that_become_the_same_file_name_are_kept_apart(tmp_path, brief):
    steps = brief.release[0].steps
    twice = brief.model_copy(update={"release": tuple(
        type(brief.release[0])(name=n, steps=steps) for n in ("a b", "a/b", "a?b"))})
    lv.run(twice, tmp_path / "out", secret=SECRET)
    assert len(list((tmp_path / "out" / "releases").glob("*.parquet"))) == 3


def test_a_release_is_approved_after_it_was_looked_at(tmp_path, brief):
    short = brief.model_copy(update={"release": brief.release[:1]})
    lv.run(short, tmp_path / "out")
    file = next((tmp_path / "out" / "releases").glob("*.parquet"))
    before = file.read_bytes()
    for name in ("A. Board", "B. Board"):
        lv.run(short, tmp_path / "out", decision=lv.Decision(approved_by=name))
        told = json.loads(next((tmp_path / "out" / "internal").glob("*.internal.json")).read_text(encoding="utf-8"))
        assert told["approved"]["by"] == name
    assert file.read_bytes() == before
