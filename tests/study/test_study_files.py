"""Study files: read into one frozen value, grids expanded, paths from the study's folder."""

from __future__ import annotations

import tomllib

import pytest
from pydantic import ValidationError

import larvatus as lv
from larvatus.core.errors import StudyError
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import method_of

SOURCE = "id,region,sex,age,income,wealth\n" + "".join(
    f"{i},{'ns'[i % 2]},{i % 3},{20 + i},{(i * 37) % 101 + i / 7},{(i * 53) % 97}\n" for i in range(60))
FULL = """
source = "people.csv"
purpose = "Show \\"all\\" parts."
engine = "memory"

[roles]
confidential = ["income", "wealth"]
non_confidential = "age"
identifiers = ["id"]
ordered = { sex = [0, 2, 1] }

[sub_groups]
columns = ["region", "sex"]
smallest = 5
small = "pool"

[intruder]
known = ["income", "region"]

[[release]]
name = "weak"
steps = ["additive_noise(variance=0.05)"]

[[release]]
name = "strong"
steps = [{ method = "additive_noise", variance = { income = 1, wealth = 2 } }, "additive_noise(where='age > 30')"]

[[attack]]
method = "nearest_record"
within = [1, 2]

[[measure]]
method = "moments"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "study.toml").write_text(FULL, encoding="utf-8")
    return tmp_path


def test_every_part_is_read(folder):
    study = lv.Study.read(folder / "study.toml")
    assert study.roles == lv.Roles(
        confidential="income, wealth", non_confidential="age", identifiers="id", ordered={"sex": (0, 2, 1)})
    assert study.sub_groups == lv.SubGroups(columns="region, sex", smallest=5, small="pool")
    assert study.intruder.known == ("income", "region")
    assert [r.name for r in study.release] == ["weak", "strong"]
    assert study.release[1].steps[1].where == "age > 30"
    assert study.attack == (lv.attacks.NearestRecord(within=(1, 2)),)
    assert study.measure == (lv.measures.Moments(),)
    assert study.source_path() == folder / "people.csv"


def test_it_is_frozen(folder):
    study = lv.Study.read(folder / "study.toml")
    for name, value in (("source", "other"), ("roles", lv.Roles()), ("release", ())):
        with pytest.raises(ValidationError):
            setattr(study, name, value)


def test_writing_and_reading_again_keeps_the_meaning(folder):
    study = lv.Study.read(folder / "study.toml")
    study.write(folder / "again.toml")
    assert lv.Study.read(folder / "again.toml") == study
    with pytest.raises(lv.LarvatusError, match="exists already"):
        study.write(folder / "again.toml")
    study.write(folder / "again.toml", overwrite=True)


def test_defaults_are_left_out_when_written():
    study = lv.Study.of({"roles": {"confidential": ["x"]}, "release": [{"name": "n", "steps": ["additive_noise"]}]})
    assert tomllib.loads(study.toml()) == {
        "roles": {"confidential": ["x"]}, "release": [{"name": "n", "steps": [{"method": "additive_noise"}]}],
    }


def test_no_attack_is_another_thing_than_every_attack():
    for raw, meant in (({}, None), ({"attack": []}, ())):
        study = lv.Study.of({"roles": {"confidential": ["x"]}, **raw})
        assert study.attack == meant
        assert lv.Study.of(tomllib.loads(study.toml())).attack == meant


def expanded(*steps: object) -> lv.Study:
    return lv.Study.of({"roles": {"confidential": ["x"]}, "release": [{"name": "n", "steps": list(steps)}]})


def test_a_grid_gives_one_release_for_each_value():
    study = expanded({"method": "additive_noise", "zeros": "keep", "grid": {"variance": [0.1, 0.5]}})
    assert [r.name for r in study.release] == ["n variance=0.1", "n variance=0.5"]
    assert [r.steps[0] for r in study.release] == [
        method_of(Mask, f"additive_noise(zeros='keep', variance={v})") for v in (0.1, 0.5)]


def test_grids_cross_over_settings_and_steps():
    study = expanded(
        {"method": "additive_noise", "grid": {"variance": [0.1, 0.5], "noise": ["normal", "uniform"]}}, "additive_noise",
        {"method": "additive_noise", "grid": {"variance": [1, 2, 3]}})
    assert len({r.name for r in study.release}) == 12
    assert study.release[0].name == "n variance=0.1, noise=normal, variance=1"
    last = study.release[-1].steps
    assert (last[0].variance, last[0].noise, last[1].variance, last[2].variance) == (0.5, "uniform", 0.25, 3.0)


def test_a_grid_of_lists_and_a_grid_of_one():
    study = expanded({"method": "additive_noise", "grid": {"variance": [[0.1, 0.2], [0.3, 0.4]], "noise": "laplace"}})
    assert [r.steps[0].variance for r in study.release] == [(0.1, 0.2), (0.3, 0.4)]
    assert {r.steps[0].noise for r in study.release} == {"laplace"}


def test_a_grid_is_written_as_what_it_means():
    study = expanded({"method": "additive_noise", "grid": {"variance": [0.1, 0.5]}})
    assert "grid" not in study.toml()
    assert lv.Study.of(tomllib.loads(study.toml())) == study


def test_a_source_is_needed_to_run():
    study = expanded("additive_noise")
    with pytest.raises(StudyError, match="source: is required"):
        lv.run(study)
    with pytest.raises(StudyError, match="release: the study plans no release"):
        lv.run(lv.Study.of({"roles": {"confidential": ["x"]}}))
