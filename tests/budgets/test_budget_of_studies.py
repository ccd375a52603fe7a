"""The budget in a study, in manifests, `check`, the report and `larvatus budget`."""

from __future__ import annotations

import json
import tomllib

import pytest

import larvatus as lv
from budget_sample import KEY, people
from larvatus.cli.main import main
from larvatus.core.errors import StudyError
from larvatus.desk.desk import named_files
from larvatus.study.budget_settings import BudgetSettings

OVER = 4
STUDY = """
source = "people.csv"
[roles]
confidential = ["a", "b", "c"]
[sub_groups]
columns = ["g"]
[budget]
key_file = "keeper.key"
{more}
[[release]]
name = "{name}"
steps = ["{step}"]
[[attack]]
method = "nearest_record"
[[measure]]
method = "moments"
[limits]
nearest_record = 1.0
"""


def filled(folder):
    people().to_csv(folder / "people.csv", index=False)
    (folder / "keeper.key").write_bytes(KEY)
    (folder / "keeper.key").chmod(0o600)
    return folder


@pytest.fixture
def folder(tmp_path):
    return filled(tmp_path)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A folder with the run `first`, for tests that add runs of other names and change nothing."""
    shared = filled(tmp_path_factory.mktemp("released"))
    run(shared, "first")
    return shared


def run(folder, name, more="", step="additive_noise(variance=4.0)", *options):
    study = folder / f"{name}.toml"
    study.write_text(STUDY.format(name=name, more=more, step=step))
    assert main(["run", str(study), "-o", str(folder / name), "--quiet", *options]) == 0
    return folder / name


def manifest(out):
    return next((out / "internal").glob("*.internal.json"))


def test_two_releases_and_a_further_one(released, capsys):
    first = manifest(released / "first")
    second, third = (manifest(run(released, n)) for n in ("second", "third"))
    alone = lv.budget(first)
    assert main(["budget", str(first), str(second), "--further", str(third), "--json", "--bits", "100"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["met"]
    assert [r["release"] for r in said["releases"]] == ["first", "second", "third"]
    added = [r["bits added"] for r in said["releases"]]
    assert alone.bits == pytest.approx(added[0])
    assert added[0] > added[1] > added[2] > 0
    assert main(["budget", str(first), str(second), "--bits", str(alone.bits)]) == OVER
    assert "larger than" in capsys.readouterr().out


def test_neither_manifest_has_the_key_or_a_value(released):
    out = released / "first"
    every = [p for p in out.rglob("*") if p.is_file() and p.suffix in (".json", ".toml", ".html", ".csv")]
    for file in every:
        assert KEY not in file.read_bytes()
    internal = json.loads(manifest(out).read_text())
    assert internal["budget"]["information"]["nats"] > 0
    public = json.loads((out / "releases" / "first.manifest.json").read_text())
    assert "budget" not in public
    assert manifest(out).stat().st_mode & 0o077 == 0


def test_check_refuses_a_release_that_breaks_the_total(released, capsys):
    alone = lv.budget(manifest(released / "first")).bits
    more = f'earlier = ["first/internal/*.internal.json"]\nbits = {1.2 * alone}'
    second = run(released, "beyond", more)
    capsys.readouterr()
    assert main(["check", str(second), "--json"]) == OVER
    said = json.loads(capsys.readouterr().out)
    row = next(r for r in said["limits"] if r["score"] == "budget")
    assert row["met"] in (False, "NO")
    assert row["value"] > 1.2 * alone
    assert "2 releases together tell" in row["reason"]
    shuffled = run(released, "shuffled", more, "data_shuffling")
    capsys.readouterr()
    main(["check", str(shuffled), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert next(r for r in said["limits"] if r["score"] == "budget")["met"] in (True, "yes")


def test_check_without_other_limits_looks_at_the_budget_too(folder, capsys):
    out = run(folder, "first", "bits = 0.001")
    study = out / "internal" / "study.toml"
    record = out / "internal" / "run.json"
    study.write_text(study.read_text().replace("[limits]\nnearest_record = 1.0\n", ""))
    stored = json.loads(record.read_text())
    stored["comparison"]["limits"] = {}
    del stored["digest"]
    record.write_text(json.dumps(stored))
    capsys.readouterr()
    assert main(["check", str(out), "--json"]) == OVER
    assert json.loads(capsys.readouterr().out)["budget"][0]["met"] is False


def test_a_release_is_checked_in_python(folder):
    data = lv.read(folder / "people.csv", confidential=["a", "b", "c"], sub_groups=["g"])
    release = lv.mask(data, "additive_noise(variance=4.0)")
    budget = {"key_file": str(folder / "keeper.key"), "bits": 0.01, "forecast": 1e-6}
    found = lv.check(data, release, scoring=lv.Scoring(budget=budget))
    assert [r["met"] for r in found.rows if r["score"] == "budget"] == [False, False]
    generous = lv.Scoring(budget={**budget, "bits": 50.0, "forecast": 1.0})
    assert [r["met"] for r in lv.check(data, release, scoring=generous).rows if r["score"] == "budget"] == [True, True]
    exact = lv.check(data, lv.mask(data, "rank_swap"), scoring=generous)
    assert [r["met"] for r in exact.rows if r["score"] == "budget"] == [True, False]  # it has no forecast


def test_the_report_says_what_all_releases_tell(released):
    out = run(released, "reported", 'earlier = ["first/internal/first.internal.json"]')
    report = (out / "report.html").read_text()
    assert "What all releases tell together" in report
    assert "Together with 1\N{NO-BREAK SPACE}earlier release" in report
    plain = (released / "plain.toml")
    plain.write_text(STUDY.format(name="plain", more="", step="additive_noise").replace(
        '[budget]\nkey_file = "keeper.key"\n', ""))
    assert main(["run", str(plain), "-o", str(released / "plain"), "--quiet"]) == 0
    assert "What all releases tell together" not in (released / "plain" / "report.html").read_text()


def test_a_key_that_comes_later_makes_the_entry(folder):
    """Finished releases are not reused if the budget changed."""
    (folder / "secret").write_bytes(KEY + b"2")
    (folder / "secret").chmod(0o600)
    secret = ("--secret-file", str(folder / "secret"))
    out = run(folder, "first", "", "additive_noise", *secret)
    before = json.loads(manifest(out).read_text())["budget"]["marks"]
    (folder / "keeper.key").write_bytes(KEY + b" another")
    run(folder, "first", "", "additive_noise", *secret, "--overwrite")
    assert json.loads(manifest(out).read_text())["budget"]["marks"] != before


def test_masking_and_the_stored_study_keep_the_budget(folder, capsys):
    study = folder / "study.toml"
    study.write_text(STUDY.format(name="noise", more='source = "register"', step="additive_noise(variance=4.0)"))
    assert main(["mask", str(folder / "people.csv"), "--study", str(study), "-o", str(folder / "out.csv")]) == 0
    assert lv.budget(folder / "out.internal.json").bits > 0
    out = run(folder, "again", 'source = "register"')
    stored = tomllib.loads((out / "internal" / "study.toml").read_text())["budget"]
    assert (out / "internal" / stored["key_file"]).resolve() == folder / "keeper.key"
    assert lv.Study.read(study).budget.source == "register"


def test_what_is_wrong_is_said(folder, capsys):
    with pytest.raises(StudyError, match="needs key_file"):
        BudgetSettings(bits=3.0)
    study = folder / "bad.toml"
    study.write_text(STUDY.format(name="bad", more='earlier = ["nowhere/*.json"]', step="additive_noise"))
    assert main(["run", str(study), "-o", str(folder / "bad")]) == 2
    assert "matches no file" in capsys.readouterr().err
    (folder / "keeper.key").chmod(0o644)
    assert main(["run", str(study), "-o", str(folder / "bad")]) == 2
    (folder / "keeper.key").unlink()
    study.write_text(STUDY.format(name="bad", more="", step="additive_noise"))
    assert main(["run", str(study), "-o", str(folder / "bad")]) == 2
    assert "budget.key_file" in capsys.readouterr().err


def test_the_desk_looks_at_the_paths_of_the_budget():
    """The desk refuses files outside of its folder, by this list."""
    plain = {"source": "a.csv", "budget": {"key_file": "../k", "earlier": ["../m.json"]}, "holdout": {"file": "../h.csv"}}
    assert {"../k", "../m.json", "../h.csv"} <= set(named_files(plain))
