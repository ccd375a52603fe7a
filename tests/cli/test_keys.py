"""`larvatus keys`: figures of the original alone, roles that are filled in, errors with a way out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from larvatus.cli.main import main


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "age": rng.integers(18, 40, 300), "sex": rng.choice(["f", "m"], 300), "region": rng.choice(["n", "s"], 300),
        "income": rng.normal(size=300), "w": rng.uniform(5, 15, 300),
    })
    frame.to_csv(tmp_path / "people.csv", index=False)
    return str(tmp_path / "people.csv"), frame


def test_tables_of_the_original(file, capsys):
    assert main(["keys", file[0], "--keys", "age", "--keys", "sex"]) == 0
    shown = capsys.readouterr()
    size = file[1].groupby(["age", "sex"]).age.transform("size")
    assert f"Mean individual risk: {(1 / size).mean():.4g}" in shown.out
    assert "Risk without each key" in shown.out
    assert "Population uniques" not in shown.out
    assert "taken as the whole population" in shown.err
    assert "treated as true" not in shown.err


def test_the_estimate_is_named(file, capsys):
    asked = ["keys", file[0], "--keys", "age", "--keys", "sex", "--weight", "w"]
    assert main(asked) == 0
    shown = capsys.readouterr().out
    assert "Mean individual risk by the log-linear model: " in shown
    assert "mean individual risk by weights; sdcMicro's global risk" in shown
    assert main([*asked, "--estimate", "weights"]) == 0
    assert "Mean individual risk by weights: " in capsys.readouterr().out


def test_json_with_weights_and_roles(file, capsys):
    assert main(["keys", file[0], "--keys", "age", "--weight", "w", "--confidential", "income", "--sub-groups", "region",
                 "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["method"] == "key_risk"
    assert len(found["by_group"]) == 2
    assert {"log_linear", "superpopulation", "diversity"} <= found["details"].keys()


def test_all_keys_of_a_study(file, tmp_path, capsys):
    study = tmp_path / "study.toml"
    study.write_text('[roles]\nconfidential = ["income"]\nnon_confidential = ["age", "sex"]\n')
    assert main(["keys", file[0], "--study", str(study), "--sampled", "0.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["variable"] for row in found["details"]["without_key"]] == ["age", "sex"]


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "no key variable is named. Add --keys A --keys B; the file has: age, sex"),
    (["--keys", "agee"], "keys: no column 'agee'; did you mean 'age'?"),
    (["--keys", "age", "--sampled", "2"], "key_risk.sampled: must be at most 1"),
    (["--keys", "age", "--weight", "sex"], "must be numeric"),
])
def test_errors(file, arguments, message, capsys):
    assert main(["keys", file[0], *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_no_value_of_a_record_is_shown(file, capsys):
    assert main(["keys", file[0], "--keys", "income", "--keys", "sex"]) == 0
    shown = capsys.readouterr()
    assert not any(f"{v:.6f}" in shown.out + shown.err for v in file[1].income)


STEP = "recoding(columns=['age'], cuts=[25, 32], replacement='label')"


def test_steps_side_by_side(file, capsys):
    arguments = ["keys", file[0], "--key", "age,sex", "--confidential", "income", "--json", "--step", STEP]
    assert main([*arguments, "--step", "local_suppression(columns=['age'], known=['sex'], k=3)"]) == 0
    found = json.loads(capsys.readouterr().out)
    first, recoded, last = found["stages"]
    assert first["mean risk"] > recoded["mean risk"] >= last["mean risk"] == found["value"]
    assert (recoded["recoded"], recoded["suppressed"]) == (300, 0)
    assert last["smallest class"] >= 3


def test_a_released_file_beside_its_original(file, tmp_path, capsys):
    released, pairing = str(tmp_path / "out.csv"), str(tmp_path / "pairing.parquet")
    roles = ["--key", "age,sex", "--confidential", "income"]
    assert main(["mask", file[0], *roles, "--step", STEP, "--step", "additive_noise", "-o", released, "--pairing",
                 pairing]) == 0
    capsys.readouterr()
    assert main(["keys", file[0], released, *roles, "--pairing", pairing]) == 0
    shown = capsys.readouterr().out
    assert "Risk before and after each step" in shown
    assert "Cells of each key that were suppressed or recoded" in shown


def test_a_release_of_a_run(file, tmp_path, capsys):
    study = tmp_path / "study.toml"
    study.write_text("""
source = "people.csv"
[roles]
confidential = ["income"]
key = ["age", "sex"]
[[release]]
name = "coarse"
steps = [{ method = "additive_noise" }, { method = "recoding", columns = ["age"], cuts = [25, 32], replacement = "label" }]
[[attack]]
method = "key_risk"
[[measure]]
method = "moments"
""")
    out = tmp_path / "out"
    assert main(["run", str(study), "-o", str(out), "--jobs", "1"]) == 0
    capsys.readouterr()
    for where in ([str(out)], [str(out), "--release", "coarse"], [str(out / "releases" / "coarse.csv")]):
        assert main(["keys", *where, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [s["stage"] for s in found["stages"]] == ["original", "coarse"]
        assert found["stages"][1]["recoded"] == 300


@pytest.mark.parametrize(("arguments", "message"), [
    (["--key", "age,sex", "--step", "additive_noise"], "name the keys that it changes"),
    (["--key", "age", "--step", "recoding(columns=['income'])"], "'income' is not a key"),
    (["--key", "age", "--release", "a"], "names a release in the output folder"),
])
def test_errors_of_steps(file, arguments, message, capsys):
    assert main(["keys", file[0], *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_households_and_what_the_weight_singles_out(file, tmp_path, capsys):
    frame = file[1].assign(family=np.arange(300) // 3)
    frame["w"] = frame.groupby("family").w.transform("first")
    frame.to_csv(tmp_path / "families.csv", index=False)
    assert main(["keys", str(tmp_path / "families.csv"), "--keys", "age", "--keys", "sex", "--household", "family",
                 "--weight", "w"]) == 0
    shown = capsys.readouterr().out
    assert "Risk of households: that any member is found" in shown
    assert "Risk of households by number of members" in shown
    start = "records whose household is singled out by the weight alone"
    row = next(line for line in shown.splitlines() if line.startswith(start))
    assert row.split()[-2:] == ["300", "300"]


def test_masks_of_households_and_weights_on_the_command_line(file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    frame = file[1].assign(family=np.arange(300) // 3, rent=rng.normal(size=100)[np.arange(300) // 3])
    frame.to_csv("families.csv", index=False)
    (tmp_path / "secret").write_bytes(b"sixteen bytes or more for tests")
    (tmp_path / "secret").chmod(0o600)
    roles = ["--confidential", "income,rent", "--non-confidential", "age,sex", "--household", "family", "--household-columns",
             "rent", "--weight", "w", "--secret-file", "secret"]
    steps = ["--step", "additive_noise", "--step", "weight_grouping(k=20, scope='file')",
             "--step", "weight_calibration(margins=['sex'])"]
    assert main(["mask", "families.csv", "-o", "out.csv", *roles, *steps, "--row-order", "keep"]) == 0
    out = pd.read_csv("out.csv")
    assert "family" not in out.columns
    assert (out.rent.groupby(frame.family).nunique() == 1).all()
    np.testing.assert_allclose(out.groupby("sex").w.sum(), frame.groupby("sex").w.sum(), rtol=1e-9)
    assert main(["mask", "families.csv", "-o", "less.csv", *roles, "--no-release-weight", "--step", "additive_noise"]) == 0
    assert "w" not in pd.read_csv("less.csv").columns
