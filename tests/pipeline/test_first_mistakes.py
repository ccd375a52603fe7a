"""First mistakes in Python: misspelt settings, forgotten roles, and whether anything happens at all."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import ReadError, RolesError, StudyError
from larvatus.core.progress import ProgressLines, default_progress, silent

FRAME = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0], "age": [5, 6, 7, 8]})


@pytest.mark.parametrize(("make", "said"), [
    (lambda: lv.Roles(confidental="income"), "Roles.confidental: no such setting; did you mean 'confidential'"),
    (lambda: lv.SubGroups(column="age"), "SubGroups.column: no such setting; did you mean 'columns'"),
    (lambda: lv.Constraints(integer="age"), "Constraints.integer: no such setting; did you mean 'integers'"),
    (lambda: lv.Intruder(knows="age"), "Intruder.knows: no such setting; did you mean 'known'"),
    (lambda: lv.Intruder.preset("realistic", knows="age"), "Intruder.knows: no such setting; did you mean 'known'"),
    (lambda: lv.Domain(name="old", wher="age > 6"), "Domain.wher: no such setting; did you mean 'where'"),
    (lambda: lv.Analysis(formul="income ~ age"), "Analysis.formul: no such setting; did you mean 'formula'"),
    (lambda: lv.Goal(trial=3), "Goal.trial: no such setting; did you mean 'trials'"),
    (lambda: lv.Limits(teir="public"), "Limits.teir: no such setting; did you mean 'tier'"),
    (lambda: lv.masks.AdditiveNoise(varianc=1), "additive_noise.varianc: no such setting; did you mean 'variance'"),
    (lambda: lv.read(FRAME, confidential=3), "Roles.confidential: "),
    (lambda: lv.read(FRAME, confidential="income", sub_groups=3), "SubGroups.columns: "),
], ids=lambda v: v if isinstance(v, str) else "")
def test_a_misspelt_setting_is_reported_with_the_nearest_name(make, said):
    with pytest.raises(StudyError) as error:
        make()
    assert said in str(error.value)
    assert "Extra inputs" not in str(error.value)
    assert "pydantic" not in str(error.value)


def test_a_study_still_reports_all_problems_of_all_parts_together():
    with pytest.raises(StudyError) as error:
        lv.Study.of({"roles": {"confidental": ["x"]}, "sub_groups": {"small": "drop"}, "intruder": {"knows": ["x"]}})
    places = [p.partition(":")[0] for p in error.value.problems]
    assert places[:3] == ["roles.confidental", "sub_groups.small", "intruder.knows"]


def test_reading_without_roles_lists_the_columns(tmp_path):
    FRAME.to_csv(tmp_path / "in.csv", index=False)
    for source in (FRAME, tmp_path / "in.csv"):
        with pytest.raises(RolesError, match=r"Declare at least one \(confidential=\[…\]\); the columns are: income, age\."):
            lv.read(source)
    wide = pd.DataFrame({f"c{i}": [1] for i in range(50)})
    with pytest.raises(RolesError, match=r"c39 and 10 more\."):
        lv.read(wide)


def test_a_plain_frame_is_refused_with_what_to_do():
    said = r"got DataFrame, which does not say .* Use lv\.read\(frame, confidential=\[…\]\)"
    for function in (lv.risk, lv.utility, lv.check):
        with pytest.raises(ReadError, match=said):
            function(FRAME, FRAME)


@pytest.mark.parametrize(("make", "said"), [
    (lambda: lv.Study(sorce="in.csv"), "Study.sorce: no such setting; did you mean 'source'?"),
    (lambda: lv.Study(source=3), "Study.source: "),
    (lambda: lv.Study(roles={"confidental": ["x"]}), "roles.confidental: no such setting; did you mean 'confidential'"),
    (lambda: lv.Study(release=[{"name": "a", "steps": ["additive_noize"]}]), "did you mean 'additive_noise'?"),
    (lambda: lv.Study(release=[{"nam": "a", "steps": ["rounding"]}]), "there is no setting 'nam'; did you mean 'name'?"),
    (lambda: lv.Study(attack=["nearest_recrd"]), "did you mean 'nearest_record'?"),
    (lambda: lv.Study(limits={"nearest_recrd": 0.1}), "limits.nearest_recrd: no score of that name; did you mean"),
    (lambda: lv.Study(limits={"tier": "open"}), "limits.tier: input should be 'public'"),
    (lambda: lv.Scoring(attacks=object()), "from a object. Give a name or a table."),
], ids=lambda v: v if isinstance(v, str) else "")
def test_problems_of_a_study_made_in_python(make, said):
    with pytest.raises(StudyError) as error:
        make()
    assert said in str(error.value)
    assert "pydantic" not in str(error.value)


def test_a_study_made_in_python_reads_tables():
    study = lv.Study(
        roles={"confidential": "income, age"}, limits={"tier": "secure"}, attack=[{"method": "nearest_record"}],
        release=[{"name": "a", "steps": [{"method": "additive_noise", "grid": {"variance": [0.1, 0.2]}}]}],
    )
    assert study.roles.confidential == ("income", "age")
    assert (study.limits.tier, len(study.release), study.attack[0].name()) == ("secure", 2, "nearest_record")


class _Terminal:
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_where_somebody_looks(monkeypatch):
    monkeypatch.delenv("LARVATUS_PROGRESS", raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert default_progress() is silent
    monkeypatch.setattr(sys, "stderr", _Terminal())
    assert isinstance(default_progress(), ProgressLines)
    assert isinstance(lv.Execution().progress, ProgressLines)
    monkeypatch.setenv("LARVATUS_PROGRESS", "off")
    assert default_progress() is silent
    monkeypatch.delenv("LARVATUS_PROGRESS")
    monkeypatch.undo()
    monkeypatch.delenv("LARVATUS_PROGRESS", raising=False)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert isinstance(default_progress(), ProgressLines)


def test_lines_come_every_few_seconds(capsys):
    times = iter([0.0, 2.0, 6.0, 7.0, 400.0, 410.0])
    lines = ProgressLines(now=lambda: next(times))
    for i in range(5):
        lines("attacking", i, 5)
    assert capsys.readouterr().err == "     6 s  attacking (2 of 5)\n   400 s  attacking (4 of 5)\n"


@pytest.mark.parametrize("given", [FRAME, [FRAME]])
def test_a_frame_in_the_wrong_place_is_named_by_its_type_and_not_printed(given):
    data = lv.read(FRAME, confidential="income")
    with pytest.raises(StudyError) as caught:
        lv.compare(data, [{"name": "theirs", "file": given, "paired": False}], ["near_copies"], ["moments"])
    assert f"'theirs'.file: input should be a valid string, got {type(given).__name__}." in str(caught.value)
    assert "income" not in str(caught.value)
