"""A release of several copies: how it is made, attacked, measured, written, read back and told of."""

from __future__ import annotations

import dataclasses
import json
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.data.contracts import Mask, Masked
from larvatus.data.copies import average
from sample import SECRET, people

ROLES = {"confidential": ["income", "wealth"], "non_confidential": ["age"], "sub_groups": ["region"]}
FLAGS = ["--confidential", "income,wealth", "--non-confidential", "age", "--sub-groups", "region"]
THREE = "multiple_imputation(copies=3)"
UNTOLD = lv.Intruder(published="none")


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    return lv.read(people(200), **ROLES)


@pytest.fixture(scope="module")
def release(data) -> lv.Release:
    return lv.mask(data, THREE, secret=SECRET)


@pytest.fixture(scope="module")
def risks(data, release) -> lv.Scores:
    """Every attack on the release, by an intruder who has not read what is published about it."""
    return lv.risk(data, release, intruder=UNTOLD)


class Leaves(Mask):
    """A step that may leave records out."""

    drops: ClassVar[bool] = True

    def apply(self, current, original, random):
        return Masked(current)


class Blanks(Leaves):
    """A step that may blank values."""

    drops: ClassVar[bool] = False
    blanks: ClassVar[bool] = True


def test_every_copy_has_the_same_records_and_other_values(release):
    assert len(release.copies) == 3
    assert "3 copies of 200 records" in repr(release)
    frames = [release.frame(c) for c in range(3)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert frames[one].index.equals(frames[other].index)
        assert (frames[one].age == frames[other].age).all()
        assert (frames[one].wealth != frames[other].wealth).all()
    with pytest.raises(lv.LarvatusError, match=r"copy: there is no copy 3. The release has copies 0 to 2"):
        release.frame(3)


def test_another_number_of_copies_shares_no_draw(data, release):
    two = lv.mask(data, "multiple_imputation(copies=2)", secret=SECRET)
    assert (two.frame(0).wealth != release.frame(0).wealth).all()


def test_steps_before_run_once_and_steps_after_on_every_copy(data):
    noise = lv.masks.AdditiveNoise(columns=("wealth",))
    copies = lv.masks.MultipleImputation(columns=("income",), copies=2)
    before, after = (lv.mask(data, *steps, secret=SECRET) for steps in ((noise, copies), (copies, noise)))
    assert (before.frame(0).wealth == before.frame(1).wealth).all()
    assert (after.frame(0).wealth != after.frame(1).wealth).all()
    income = [r.frame(c).income.dropna() for r in (before, after) for c in (0, 1)]
    assert all((income[i] != income[j]).all() for i, j in ((0, 1), (2, 3)))


def test_steps_that_would_choose_anew_in_every_copy_are_refused(data):
    with pytest.raises(lv.LarvatusError, match="both make several copies"):
        lv.mask(data, THREE, "blank_and_impute(copies=2)", secret=SECRET)
    assert len(lv.mask(data, THREE, "blank_and_impute", secret=SECRET).copies) == 3
    with pytest.raises(lv.LarvatusError, match="leaves after multiple_imputation would choose again in every copy"):
        lv.mask(data, THREE, Leaves(), secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="Put blanks before multiple_imputation"):
        lv.mask(data, THREE, Blanks(), secret=SECRET)
    assert len(lv.mask(data, Leaves(), THREE, secret=SECRET).copies) == 3


def test_what_is_said_of_all_copies_is_said_once(data):
    release = lv.mask(data, "blank_and_impute(copies=2, rate=0.5)", secret=SECRET)
    texts = [n.text for n in release.notes]
    assert len(texts) == len(set(texts))
    assert sum("blanked and imputed" in t for t in texts) == 2
    assert any(t.startswith(("copy 1: ", "copy 2: ")) for t in texts) or all("copy" not in t for t in texts)


def test_risk_is_that_of_the_worst_copy_or_of_their_average(data, release, risks):
    frames = [release.frame(c) for c in range(3)]
    mean = frames[0].assign(**{n: sum(f[n] for f in frames) / 3 for n in ROLES["confidential"]})
    for score in risks:
        rows = score.details["copies"]
        assert rows.column("copy") == ["1", "2", "3", "average"]
        assert score.value == max(rows.column("value"))
        alone = [lv.risk(data, f, score.method, intruder=UNTOLD)[0].value for f in (*frames, mean)]
        assert rows.column("value") == pytest.approx(alone, abs=1e-12)
        assert any("the worst of 3 copies and their average" in n for n in score.notes)


def test_noise_that_copies_do_not_share_averages_out_and_the_attack_sees_it(data):
    steps = [lv.masks.BlankAndImpute(rate=0.05, copies=16), lv.masks.AdditiveNoise(variance=1.0)]
    knows = lv.Intruder(known=("income", "wealth"))
    score = lv.risk(data, lv.mask(data, *steps, secret=SECRET), "nearest_record", intruder=knows)[0]
    rows = {r["copy"]: r["value"] for r in score.details["copies"]}
    assert score.value == rows["average"] > max(v for c, v in rows.items() if c != "average")
    assert any("for the average of the copies" in n for n in score.notes)


def test_loss_is_the_mean_over_copies_with_their_spread(data, release):
    for score in lv.utility(data, release):
        *rows, spread = score.details["copies"]
        alone = [lv.utility(data, release.frame(c), score.method)[0] for c in range(3)]
        assert [r["value"] for r in rows] == pytest.approx([s.value for s in alone], abs=1e-12)
        assert score.value == pytest.approx(np.mean([s.value for s in alone]), abs=1e-12)
        assert spread["copy"] == "standard deviation"
        assert spread["value"] == pytest.approx(np.std([s.value for s in alone], ddof=1), abs=1e-12)
        for i, row in enumerate(score.by_variable):
            assert row["loss"] == pytest.approx(np.mean([s.by_variable[i]["loss"] for s in alone]), abs=1e-12)
        for i, row in enumerate(score.by_group):
            assert row["value"] == pytest.approx(np.mean([s.by_group[i]["value"] for s in alone]), abs=1e-12)
            assert row["records"] == alone[0].by_group[i]["records"]


def test_the_average_keeps_missing_values_names_and_records(data, release):
    mean = average(release.copies)
    frame = mean.frame()
    assert frame.income.isna().equals(people(200).income.isna())
    assert frame.wealth.to_numpy() == pytest.approx(np.mean([release.frame(c).wealth for c in range(3)], axis=0), rel=1e-12)


def test_names_are_those_of_the_first_copy_and_a_file_of_names_alone_has_an_average():
    frame = people(60, missing=False)
    data = lv.read(frame, confidential="house", non_confidential="age")
    assert average([data, data]).frame().house.equals(frame.house)


def test_every_copy_is_the_same_on_another_engine(release):
    again = lv.mask(lv.read(people(200), **ROLES, engine="pieces"), THREE, secret=SECRET)
    for c in range(3):
        assert np.allclose(again.frame(c)[ROLES["confidential"]], release.frame(c)[ROLES["confidential"]], 1e-9, equal_nan=True)


def test_a_report_on_many_releases_says_how_many_copies_each_has(data):
    many = [lv.mask(data, f"additive_noise(variance={v})", secret=SECRET) for v in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)]
    two = lv.mask(data, "multiple_imputation(copies=2)", secret=SECRET)
    page = lv.compare(data, [*many, two], "nearest_record", "moments").html()
    assert page.replace("\N{NO-BREAK SPACE}", " ").count("200 records, 2 copies") == 1


def test_pooled_sub_groups_are_shown_as_declared_too():
    groups = lv.SubGroups(columns=("region", "job"), small="pool", smallest=40)
    data = lv.read(people(300, missing=False), **{**ROLES, "sub_groups": groups})
    score = lv.risk(data, lv.mask(data, THREE, secret=SECRET), "nearest_record")[0]
    assert {"declared_sub_groups", "copies"} <= set(score.details)


@pytest.mark.parametrize("suffix", [pytest.param("parquet", marks=pytest.mark.slow), "csv"])
def test_written_copies_are_read_back_as_one_release(data, release, risks, tmp_path, suffix):
    release.write(tmp_path / f"out.{suffix}", pairing=tmp_path / "pairs.parquet")
    files = [tmp_path / f"out-{c}.{suffix}" for c in (1, 2, 3)]
    back = lv.risk(data, files, pairing=tmp_path / "pairs.parquet", intruder=UNTOLD)
    assert [s.value for s in back] == pytest.approx([s.value for s in risks], abs=1e-12)
    lost = lv.utility(data, files, pairing=tmp_path / "pairs.parquet")
    assert [s.value for s in lost] == pytest.approx([s.value for s in lv.utility(data, release)], abs=1e-9)
    unpaired = lv.utility(data, files, "correlation")[0]
    assert len(unpaired.details["copies"]) == 4
    compared = lv.compare(data, [[release.frame(c) for c in range(3)]], "nearest_record", "correlation")
    assert compared.plain()["releases"][0]["copies"] == 3


def test_files_that_are_not_copies_of_one_release_are_refused(data, release):
    frames = [release.frame(c) for c in (0, 1)]
    with pytest.raises(lv.LarvatusError, match="no released file is given"):
        lv.risk(data, [])
    with pytest.raises(lv.LarvatusError, match="are not copies of one release"):
        lv.utility(data, [frames[0], frames[1].drop(columns="wealth")], "correlation")
    with pytest.raises(lv.LarvatusError, match="are not copies of one release"):
        lv.utility(data, [frames[0], frames[1].iloc[:100]], "correlation")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    people(150).to_csv(tmp_path / "in.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    return tmp_path


def said(capsys, *arguments: str) -> str:
    capsys.readouterr()
    code = main(list(arguments))
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_the_command_line_writes_and_reads_copies(folder, capsys):
    masked = ["mask", "in.csv", "-o", "out.parquet", *FLAGS, "--method", "multiple_imputation", "--copies", "2"]
    assert "out-1.parquet to out-2.parquet: 150 records" in said(capsys, *masked, "--pairing", "pairs.parquet")
    assert sorted(p.name for p in folder.glob("*.parquet")) == ["out-1.parquet", "out-2.parquet", "pairs.parquet"]
    files = ["in.csv", "out-1.parquet", "out-2.parquet", *FLAGS, "--pairing", "pairs.parquet"]
    scores = json.loads(said(capsys, "risk", *files, "--method", "nearest_record", "--json"))
    assert [r["copy"] for r in scores[0]["details"]["copies"]] == ["1", "2", "average"]
    assert "nearest_record: by copy of the release" in said(capsys, "risk", *files)
    lost = json.loads(said(capsys, "utility", *files, "--method", "moments", "--json"))
    assert len(lost[0]["details"]["copies"]) == 3
    one = json.loads(said(capsys, "risk", "in.csv", "out-1.parquet", *files[3:], "--json"))
    assert "copies" not in one[0]["details"]


def test_a_copy_never_overwrites_the_source(folder, capsys):
    (folder / "in.csv").rename(folder / "in-2.csv")
    arguments = ["mask", "in-2.csv", "-o", "in.csv", *FLAGS, "--step", THREE, "--overwrite"]
    before = (folder / "in-2.csv").read_bytes()
    assert main(arguments) == 2
    assert "is read" in capsys.readouterr().err
    assert (folder / "in-2.csv").read_bytes() == before


STUDY = {
    "source": "in.csv", "roles": {"confidential": ["income", "wealth"], "non_confidential": ["age"]},
    "sub_groups": {"columns": ["region"]},
    "release": [
        {"name": "a-1", "steps": [{"method": "additive_noise"}]},
        {"name": "a", "steps": [{"method": "multiple_imputation", "copies": 2}]},
    ],
    "attack": [{"method": "nearest_record"}], "measure": [{"method": "moments"}, {"method": "distributions"}],
}


def test_a_study_writes_every_copy_scores_and_a_report_that_says_so(folder):
    study = lv.Study.of(STUDY, folder)
    lv.run(study, folder / "out", secret=SECRET, decision=lv.Decision(public="a"), files=lv.OutputFiles(format="parquet"))
    written = sorted(p.name for p in (folder / "out" / "releases").glob("*.parquet"))
    assert written == ["a-1.parquet", "a~2-1.parquet", "a~2-2.parquet"]
    assert sorted(p.name for p in (folder / "out" / "internal" / "pairings").iterdir()) == ["a-1.parquet", "a~2.parquet"]
    plain = json.loads((folder / "out" / "scores.json").read_text(encoding="utf-8"))
    assert [r["copies"] for r in plain["releases"]] == [1, 2]
    assert len(plain["releases"][1]["scores"][0]["details"]["copies"]) == 3
    tidy = pd.read_csv(folder / "out" / "scores.csv").query("level == 'copy' and score == 'nearest_record'")
    assert tidy.of.tolist() == ["1", "2", "average"]
    report = (folder / "out" / "report.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert "150 records, 2 copies. Risk is that of the worst copy or of their average" in report
    public = (folder / "out" / "report_public.html").read_text(encoding="utf-8")
    assert "The release has 2 copies of the same records" in public
    data = lv.read(folder / "in.csv", study.roles, sub_groups=study.sub_groups)
    files = [folder / "out" / "releases" / f"a~2-{c}.parquet" for c in (1, 2)]
    found = lv.risk(data, files, "nearest_record", pairing=folder / "out" / "internal" / "pairings" / "a~2.parquet")[0]
    assert found.value == pytest.approx(plain["releases"][1]["scores"][0]["value"], abs=1e-12)
    with pytest.raises(lv.LarvatusError, match="exists already"):
        lv.run(study, folder / "out", secret=SECRET)


def test_a_release_of_one_copy_is_scored_as_before(data):
    release = lv.mask(data, "additive_noise", secret=SECRET)
    assert len(release.copies) == 1
    risks = lv.risk(data, release)
    assert all("copies" not in s.details for s in (*risks, *lv.utility(data, release)))
    same = dataclasses.replace(release, copies=release.copies * 2)
    for one, two in zip(risks, lv.risk(data, same), strict=True):
        assert two.value == pytest.approx(one.value, abs=1e-12)
    assert isinstance(release.frame(), pd.DataFrame)


def test_what_is_said_of_each_copy_with_other_figures_is_said_of_one(data):
    release = lv.mask(data, THREE, secret=SECRET)
    score = lv.utility(data, release, ["propensity"])[0]
    told = [n for n in score.notes if "logit: N·U_p" in n]
    assert len(told) == 1
    assert told[0].startswith("copy 1: ")
