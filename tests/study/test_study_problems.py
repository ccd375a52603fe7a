"""All problems of a study in one error, each with a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

import larvatus as lv
from larvatus.core.errors import StudyError

GOOD: dict = {"roles": {"confidential": ["x"]}, "release": [{"name": "n", "steps": ["additive_noise"]}]}


def problems(raw: dict, folder: Path | None = None) -> tuple[str, ...]:
    with pytest.raises(StudyError) as caught:
        lv.Study.of({**GOOD, **raw}, folder)
    assert str(caught.value).count("\n") >= len(caught.value.problems)
    return caught.value.problems


def test_three_mistakes_are_all_named(tmp_path):
    (tmp_path / "in.csv").write_text("income,region\n1,2\n3,4\n", encoding="utf-8")
    (tmp_path / "study.toml").write_text("""
source = "in.csv"
[roles]
confidential = ["incme"]
[[release]]
name = "first"
steps = [{ method = "additive_noise", varance = 0.5 }]
[[attack]]
method = "nearest_recrod"
""", encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        lv.Study.read(tmp_path / "study.toml")
    assert sorted(caught.value.problems) == [
        "attack 1: no attack 'nearest_recrod'; did you mean 'nearest_record'?",
        "confidential: no column 'incme'; did you mean 'income'?",
        "release 'first': additive_noise.varance: no such setting; did you mean 'variance'?",
    ]
    assert str(caught.value).splitlines()[0] == "study.toml has 3 problems:"
    assert [line[:5] for line in str(caught.value).splitlines()[1:]] == ["  1. ", "  2. ", "  3. "]


@pytest.mark.parametrize(("raw", "said"), [
    ({"sorce": "a.csv"}, "sorce: a study has no such part; did you mean 'source'?"),
    ({"folder": "x"}, "folder: a study has no such part; there are: source"),
    ({"roles": {"confidental": ["x"]}}, "roles.confidental: no such setting; did you mean 'confidential'"),
    ({"roles": {"confidential": [1]}}, "roles.confidential.0: input should be a valid string, got 1."),
    ({"roles": "x"}, "roles: must be a table, [roles], got str."),
    ({"sub_groups": {"columns": ["g"], "small": "drop"}},
     "sub_groups.small: input should be 'refuse', 'pool', 'pool_all' or 'suppress'"),
    ({"sub_groups": {"smallest": 0}}, "sub_groups.smallest: must be at least 1, got 0."),
    ({"intruder": {"knows": ["x"]}}, "intruder.knows: no such setting; did you mean 'known'?"),
    ({"intruder": {"known": ["xx"]}}, "intruder.known: 'xx' is not a released column; did you mean 'x'?"),
    ({"engine": "memry"}, "engine: there is no engine 'memry'; did you mean 'memory'?"),
    ({"engine": 5}, "engine: must be text, got int."),
    ({"release": {"name": "n"}}, "release: write [[release]] with double brackets, once for each."),
    ({"release": [5]}, "release 1: must be a table with name and steps."),
    ({"release": [{"name": "n"}]}, "release 'n': it has no steps. Give one"),
    ({"release": [{"name": "n", "steps": [], "step": 1}]}, "release 'n': there is no setting 'step'; did you mean 'steps'?"),
    ({"release": [{"name": "", "steps": ["additive_noise"]}]}, "release 1.name: string should have at least 1 character"),
    ({"release": [{"name": "n" * 121, "steps": ["additive_noise"]}]}, "release 1.name: string should have at most 120"),
    ({"release": [{"name": "n", "steps": [{"method": "additive_noise", "grid": {"variance": []}}]}]},
     "release 'n': grid.variance is empty. Give it at least one value."),
    ({"release": [GOOD["release"][0], GOOD["release"][0]]}, "two releases are named 'n'. Give each a different name."),
    ({"measure": ["nothing"]}, "measure 1: no measure 'nothing'; there are:"),
    ({"measure": [{"name": "moments"}]}, 'measure 1: a measure needs method = "…"'),
    ({"attack": "nearest_record"}, "attack: write [[attack]] with double brackets"),
    ({"roles": {"confidential": ["x"], "non_confidential": ["x"]}}, "'x' is both confidential and non_confidential."),
    ({"roles": {}}, "roles.confidential: no column is declared"),
])
def test_one_mistake_one_problem_with_a_way_out(raw, said):
    found = problems(raw)
    assert found[0].startswith(said) or found[-1].startswith(said), found
    assert len(found) <= 2


def test_one_step_may_stand_without_brackets():
    assert lv.Study.of({**GOOD, "release": [{"name": "n", "steps": "additive_noise"}]}) == lv.Study.of(GOOD)


def test_a_mistake_in_a_grid_is_named_once():
    step = {"method": "additive_noise", "varance": 1, "grid": {"noise": ["normal", "uniform", "laplace"]}}
    assert len(problems({"release": [{"name": "n", "steps": [step]}]})) == 1
    step = {"method": "additive_noise", "grid": {"variance": [0.5, -1.0, 0.0]}}
    assert len(problems({"release": [{"name": "n", "steps": [step]}]})) == 2


def test_mistakes_in_every_part_are_counted():
    found = problems({
        "roles": 5, "sub_groups": [1], "release": [{"name": "n", "steps": ["additive_nose"]}], "attack": ["x"],
        "measure": ["y"], "intruder": {"k": 1}, "purpose": 3, "extra": 1,
    })
    assert len(found) == 8


def test_a_source_that_is_not_there_and_what_else_is_wrong(tmp_path):
    (tmp_path / "people.csv").write_text("x\n1\n", encoding="utf-8")
    found = problems({"source": "peple.csv", "roles": {"confidential": []}}, tmp_path)
    assert len(found) == 2
    assert "did you mean 'people.csv'?" in found[0]


@pytest.mark.parametrize("content", [b"not toml at all", b"a = ", b"\xff\xfe", b"[roles]\n[roles]\n"])
def test_a_file_that_is_not_toml(tmp_path, content):
    (tmp_path / "study.toml").write_bytes(content)
    with pytest.raises(StudyError, match=r"^study\.toml has 1 problem:\n  1\. it is not valid TOML: "):
        lv.Study.read(tmp_path / "study.toml")


def test_a_study_that_is_not_there(tmp_path):
    with pytest.raises(StudyError, match="there is no such file"):
        lv.Study.read(tmp_path / "study.toml")
