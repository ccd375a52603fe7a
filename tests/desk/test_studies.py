"""What clicks do to a study, its history, and forms from the fields of methods."""

from __future__ import annotations

from pathlib import Path

import pytest

from larvatus.core.discovery import file_names
from larvatus.core.errors import LarvatusError
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import method_of
from larvatus.desk.forms import form_fields, grid_values, mask_class, settings_from, step_problems_by_field
from larvatus.desk.refusals import Refusal
from larvatus.desk.study_edits import (
    role_of,
    with_kind,
    with_label,
    with_missing_codes,
    with_release,
    with_role,
    with_steps,
    with_value_label,
)
from larvatus.desk.study_folder import StudyFolder
from larvatus.study import Study

PLAIN = {"source": "data.csv", "roles": {"confidential": ["income"], "non_confidential": ["age", "region"]}}


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    (tmp_path / "data.csv").write_text("income,age,region\n" + "".join(f"{i * 7 % 100},{i % 60},{i % 3}\n" for i in range(90)))
    return StudyFolder.create(tmp_path, "data", {**PLAIN, "source": "../data.csv"}, "data.csv")


def test_a_column_has_one_role():
    plain = with_role(PLAIN, "age", "sub_group")
    assert role_of(plain, "age") == "sub_group"
    assert plain["roles"]["non_confidential"] == ["region"]
    plain = with_role(plain, "age", "weight")
    assert role_of(plain, "age") == "weight"
    assert "sub_groups" not in plain
    plain = with_role(plain, "region", "weight")
    assert [role_of(plain, c) for c in ("age", "region")] == ["none", "weight"], "only one column is the weight"
    assert role_of(with_role(plain, "region", "none"), "region") == "none"
    kept = {**plain, "roles": {**plain["roles"], "release_weight": False}}
    assert with_role(kept, "age", "key")["roles"]["release_weight"] is False
    assert "release_weight" not in with_role(kept, "region", "none")["roles"], "without a weight nothing is said about it"
    with pytest.raises(Refusal):
        with_role(plain, "age", "king")


def test_types_labels_and_codes():
    plain = with_kind(PLAIN, "region", "category", has_labels=False, is_numeric=True)
    assert plain["roles"]["nominal"] == ["region"]
    assert "nominal" not in with_kind(plain, "region", "number", has_labels=False, is_numeric=True)["roles"]
    assert with_kind(PLAIN, "region", "number", has_labels=True, is_numeric=True)["roles"]["numeric"] == ["region"]
    assert with_label(PLAIN, "age", "Age in years")["labels"] == {"age": "Age in years"}
    assert "labels" not in with_label(PLAIN, "age", "")
    assert with_missing_codes(PLAIN, "age", [-9])["roles"]["missing"] == {"age": [-9]}


def test_releases_have_different_names():
    plain = with_release(with_release(PLAIN, "noise", [{"method": "additive_noise"}]), "noise", [{"method": "rounding"}])
    assert [r["name"] for r in plain["release"]] == ["noise", "noise 2"]
    assert len(with_steps(plain, 0, [])["release"]) == 1
    with pytest.raises(Refusal):
        with_steps(plain, 7, [{"method": "rounding"}])


def test_every_change_is_on_disk_and_can_be_undone(folder: StudyFolder):
    first = folder.text()
    folder.change(with_role(folder.plain, "age", "none"), "role", "age", "none")
    folder.change(with_release(folder.plain, "noise", [{"method": "additive_noise"}]), "release", "noise")
    again = StudyFolder(folder.path)
    assert again.text() == folder.text() == (folder.path / "study.toml").read_text()
    assert again.history.undo_change == ("release", "noise")
    again.undo()
    again.undo()
    assert StudyFolder(folder.path).text() == first
    again.redo()
    assert role_of(StudyFolder(folder.path).plain, "age") == "none"
    assert again.history.redo_change == ("release", "noise")
    again.change(with_role(again.plain, "region", "none"), "role", "region", "none")
    assert again.history.redo_change is None, "a new change drops what was undone"


def test_the_file_of_the_study_is_the_study(folder: StudyFolder):
    folder.change(with_release(folder.plain, "noise", [{"method": "additive_noise", "variance": 0.3}]), "release")
    assert Study.read(folder.path / "study.toml").plain() == folder.plain


def test_a_study_that_cannot_run_is_kept_with_its_problems(folder: StudyFolder):
    folder.change(with_role(folder.plain, "income", "none"), "role")
    assert folder.check().study is None
    assert folder.check().problems
    assert "source" in (folder.path / "study.toml").read_text()


def test_a_damaged_history_is_reported(folder: StudyFolder):
    (folder.path / ".larvatus-desk" / "history.json").write_text("{")
    with pytest.raises(LarvatusError):
        StudyFolder(folder.path)


@pytest.mark.parametrize("name", file_names("larvatus.masks"))
def test_every_mask_has_a_form_that_gives_its_settings_back(name: str):
    """What a form shows and is sent unchanged makes the same step."""
    for example in mask_class(name).examples():
        settings = example.model_dump(mode="json", exclude_defaults=True)
        fields = form_fields(mask_class(name), settings, ["a", "b", *(settings.get("columns") or ())])
        sent = {f"setting.{f.name}": list(f.chosen) if f.control == "columns" else [f.value] for f in fields}
        assert method_of(Mask, settings_from(mask_class(name), sent)) == example


def test_problems_are_told_by_setting():
    assert list(step_problems_by_field({"method": "additive_noise", "variance": -1})) == ["variance"]
    assert list(step_problems_by_field({"method": "microaggregation", "k": 1})) == ["k"]
    assert not step_problems_by_field({"method": "additive_noise", "variance": 0.1})


def test_several_values_are_a_grid():
    assert grid_values("0.1; 0.3;0.5") == [0.1, 0.3, 0.5]
    assert grid_values("normal; laplace") == ["normal", "laplace"]


def test_labels_of_codes():
    plain = with_value_label(PLAIN, "region", "1", "North", None)
    assert plain["value_labels"] == {"region": {"1": "North"}}
    assert with_value_label(plain, "region", "2", "South", "South")["value_labels"] == plain["value_labels"], "as in the file"
    assert with_value_label(plain, "region", "2", "", "South")["value_labels"]["region"]["2"] == "", "the label is removed"
    assert "value_labels" not in with_value_label(plain, "region", "1", "", None)
    gone = with_role(with_label(plain, "region", "Where"), "region", "none")
    assert "value_labels" not in gone, "a column that is not released has no labels"
    assert "labels" not in gone
