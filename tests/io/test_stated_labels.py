"""Labels that a study states: they replace those of the file, in the release, its codebook and its reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelled_sample import KNOWN, read_spss, survey, write_spss
from larvatus import Study, run
from larvatus.core.errors import StudyError
from larvatus.data.labelling.labels import ColumnLabels, FileLabels

SECRET = b"stated-labels-secret-of-32-bytes"
QUICK = {"attack": [{"method": "nearest_record"}], "measure": [{"method": "moments"}]}
PLAN = {"release": [{"name": "noise", "steps": [{"method": "additive_noise", "variance": 0.3}]}], **QUICK}
ROLES = {"confidential": ["income"], "non_confidential": ["sex", "mood", *KNOWN]}


def test_stated_labels_replace_those_of_the_file():
    own = FileLabels(".sav", {"sex": ColumnLabels("Sex", ((1.0, "Male"), (2.0, "Female"), (9.0, "no answer")), (9.0,))})
    made = own.with_stated({"sex": "Gender"}, {"sex": {"1": "man", "9": "", "3": "other", "x": "text"}}, {})["sex"]
    assert made.label == "Gender"
    assert made.values == ((1.0, "man"), (2.0, "Female"), (3.0, "other"), ("x", "text"))
    assert made.missing == (9.0,)
    assert own["sex"].label_of(1) == "Male", "the labels of the file stay as they are"


def test_a_code_is_the_level_that_the_records_have():
    made = FileLabels().with_stated({}, {"region": {"1": "North", "2": "South"}}, {"region": ("1", 2)})
    assert made["region"].values == (("1", "North"), (2, "South"))


def test_a_study_with_labels_is_the_same_after_writing(tmp_path: Path):
    write_spss(tmp_path / "survey.sav")
    study = Study.of({"source": "survey.sav", "roles": ROLES, **PLAN, "value_labels": {"sex": {"1": "man", "2": ""}}}, tmp_path)
    study.write(tmp_path / "study.toml")
    assert Study.read(tmp_path / "study.toml").plain() == study.plain()


@pytest.mark.parametrize(("stated", "said"), [
    ({"sex": "man"}, "tables by column"), ({"sex": {"1": 2}}, "value_labels.sex.1: must be text"),
    ({"sexes": {"1": "man"}}, "'sexes' is not a released column"),
])
def test_problems_are_reported(tmp_path: Path, stated: dict, said: str):
    write_spss(tmp_path / "survey.sav")
    with pytest.raises(StudyError, match=said):
        Study.of({"source": "survey.sav", "roles": ROLES, **PLAN, "value_labels": stated}, tmp_path)


def test_the_release_has_the_stated_labels(tmp_path: Path):
    """Values, types and codes of missing values are those of the study without stated labels."""
    write_spss(tmp_path / "survey.sav", survey(200))
    plain = {"source": "survey.sav", "roles": ROLES, **PLAN}
    stated = {"labels": {"income": "Income in a year"}, "value_labels": {"sex": {"1": "man", "7": "diverse"}}}
    for place, more in (("before", {}), ("after", stated)):
        run(Study.of({**plain, **more}, tmp_path), tmp_path / place, secret=SECRET)
    before, after = (read_spss(tmp_path / p / "releases" / "noise.sav") for p in ("before", "after"))
    assert after[0] == before[0]
    assert before[1].variable_value_labels["sex"][1.0] == "Male"
    assert after[1].variable_value_labels["sex"] == {1.0: "man", 2.0: "Female", 9.0: "no answer", 7.0: "diverse"}
    assert after[1].column_names_to_labels["income"] == "Income in a year"
    assert after[1].missing_ranges == before[1].missing_ranges
    codebook = (tmp_path / "after" / "releases" / "noise.codebook.csv").read_text()
    assert "1 = man" in codebook
    assert "Male" not in codebook


def test_codes_of_a_text_file_get_labels(tmp_path: Path):
    """They are in the codebook, and the type of the column stays as it was declared."""
    (tmp_path / "people.csv").write_text("income,sex\n" + "".join(f"{i * 7919 % 1000},{1 + i % 2}\n" for i in range(120)))
    roles = {"confidential": ["income"], "non_confidential": ["sex"], "nominal": ["sex"]}
    study = Study.of({"source": "people.csv", "roles": roles, **PLAN, "value_labels": {"sex": {"1": "man"}}}, tmp_path)
    run(study, tmp_path / "out", secret=SECRET)
    codebook = (tmp_path / "out" / "releases" / "noise.codebook.csv").read_text()
    assert "1 = man" in codebook
    assert (tmp_path / "out" / "releases" / "noise.csv").is_file()
