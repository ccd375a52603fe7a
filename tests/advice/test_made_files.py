"""The study that `advise` writes for a file runs to its end as it is, whatever the file looks like."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import larvatus as lv
from drawn_examples import number_of
from larvatus.advice.advice import advice
from larvatus.cli.main import main
from larvatus.pipeline import try_advice
from made_files import MadeFile, made_files
from sample import SECRET

FOLDER = Path(os.environ.get("LARVATUS_DATA", ""))
QUICK, ALL_ATTACKS = 32, 12
MADE = settings(
    derandomize=True, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
REAL = {
    "census.csv": ["--confidential", "AGI,EMCONTRB,FEDTAX,PTOTVAL,STATETAX,POTHVAL,INTVAL,PEARNVAL", "--weight", "AFNLWGT"],
    "households.csv": ["--confidential", "expend,income,savings", "--non-confidential", "age,hhcivil",
                       "--sub-groups", "urbrur,sex", "--weight", "sampling_weight"],
    "survey.csv": ["--confidential", "INCOME,MONEY,ASSETS,DEBTS", "--non-confidential", "AGE,EDUC1",
                   "--sub-groups", "REGION,SEX,MARSTAT", "--weight", "WEIGHT"],
}


def advised(folder: Path, frame: pd.DataFrame, options: list[str]) -> Path:
    frame.to_csv(folder / "in.csv", index=False)
    assert main(["advise", str(folder / "in.csv"), *options, "-o", str(folder / "study.toml"), "-q"]) == 0
    return folder / "study.toml"


def run_quickly(path: Path) -> lv.Comparison:
    """The study with one attack and one measure, so that making the releases is nearly all of the work."""
    study = lv.Study.read(path)
    data = lv.read(path.parent / "in.csv", study.roles, sub_groups=study.sub_groups)
    numeric = bool(data.numeric(data.confidential))
    attack = lv.attacks.NearestRecord() if numeric else lv.attacks.CategoryDisclosure()
    measure = lv.measures.Moments() if numeric else lv.measures.Table()
    return lv.run(study.model_copy(update={"attack": (attack,), "measure": (measure,)}), path.parent / "out", secret=SECRET)


def all_made(path: Path, comparison: lv.Comparison) -> None:
    assert comparison.not_made == ()
    assert [c.name for c in comparison.candidates] == [r.name for r in lv.Study.read(path).release] != []


@settings(MADE, max_examples=number_of(QUICK))
@given(made=made_files())
def test_made_files_run(made: MadeFile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = advised(Path(folder), made.frame, made.options())
        all_made(path, run_quickly(path))


@pytest.mark.slow
@settings(MADE, max_examples=ALL_ATTACKS)
@given(made=made_files())
def test_made_files_run_with_all_attacks(made: MadeFile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = advised(Path(folder), made.frame, made.options())
        assert main(["run", str(path), "-o", f"{folder}/out", "-q"]) == 0


@pytest.mark.skipif(not (FOLDER / "census.csv").is_file(), reason="no census.csv: LARVATUS_DATA names no folder with it")
@pytest.mark.parametrize("file", REAL)
def test_real_files_run(tmp_path, file):
    path = advised(tmp_path, pd.read_csv(FOLDER / file).sample(400, random_state=1), REAL[file])
    all_made(path, run_quickly(path))


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    z = rng.normal(size=n)
    return pd.DataFrame({
        "region": rng.integers(1, 4, n), "income": np.exp(9 + z).round(), "wealth": 10 + z + rng.normal(size=n),
        "one": ["same"] * n, "rare": [*(["rare"] * 2), *(["usual"] * (n - 2))], "few": [1.5, 2.5, *([np.nan] * (n - 2))],
        "giant": np.where(np.arange(n) == 5, 1e5, 0.01 * np.abs(z)), "kind": rng.choice(["a", "b", "c"], n),
    })


def tried(frame: pd.DataFrame, confidential: list[str], **roles: object) -> lv.Advice:
    return lv.advise(lv.read(frame, confidential=confidential, **roles))


@pytest.mark.parametrize(("column", "why"), [
    ("one", "one (post_randomisation: no value of 'one' could change)"),
    ("rare", "rare (hardly any of its values would change)"),
    ("few", "few (data_shuffling: 'few' has 2 values in the whole file"),
])
def test_a_column_that_cannot_be_masked_is_left_out_and_the_advice_says_so(column, why, tmp_path):
    path = advised(tmp_path, people(), ["--confidential", f"income,wealth,{column}"])
    assert lv.Study.read(path).roles.confidential == ("income", "wealth")
    comments = " ".join(line.removeprefix("#").strip() for line in path.read_text(encoding="utf-8").splitlines())
    assert f"Left out of the study, and so not released: {why}" in comments


def test_many_small_sub_groups_do_not_hide_a_column_that_cannot_be_masked():
    """Nearly every sub-group has one record, so every column is constant in them, but not in the pools."""
    frame = people().assign(town=lambda f: (np.arange(len(f)) + 1) // 2, also=lambda f: f.few + f.income)
    found = tried(frame, ["few", "income", "also"], sub_groups=["town"])
    assert found.plan["roles"]["confidential"] == ["income"]
    assert found.plan["release"]


def test_a_release_that_cannot_be_made_is_left_out_and_the_advice_says_so():
    found = tried(people(), ["wealth", "income"], non_confidential=["giant"])
    assert not [r for r in found.plan["release"] if r["name"].startswith("sufficiency-based")]
    said = next(s for s in found.seen if "Left out of the study: the release 'sufficiency-based, to compare'" in s)
    assert "the non-confidential columns hold records in place" in said
    assert [r["name"] for r in advice(lv.read(people(), confidential=["wealth", "income"], non_confidential=["giant"]))
            .plan["release"]] != [r["name"] for r in found.plan["release"]]


def test_rules_that_no_release_can_obey_become_comments(monkeypatch):
    frame = people().assign(total=lambda f: f.income + f.wealth.round())
    frame["wealth"] = frame.wealth.round()
    data = lv.read(frame, confidential=["income", "wealth", "total"])
    real = try_advice.mask

    def refusing(*given: object, **more: object) -> object:
        if "rules" in (more.get("constraints") or {}):
            raise lv.LarvatusError("rules: no record can obey them. Leave them out.")
        return real(*given, **more)

    before = lv.advise(data).plan
    assert before["constraints"]["rules"] == ["total = income + wealth"]
    monkeypatch.setattr(try_advice, "mask", refusing)
    found = lv.advise(data)
    assert "rules" not in found.plan["constraints"]
    assert found.constraints.guessed["rules"][0] == "total = income + wealth"
    assert "The rules are comments in the study" in found.text()
    assert found.plan["release"] == before["release"]


def test_sub_groups_are_pooled_further_if_that_helps(monkeypatch):
    data = lv.read(people(), confidential=["income", "wealth"], sub_groups=["region"])
    real = try_advice.mask

    def needing_more(given: lv.Microdata, *steps: object, **more: object) -> object:
        if given.sub_groups.smallest < 100:
            raise lv.LarvatusError("shuffling: sub-group (region=1) has too few records. Pool them.")
        return real(given, *steps, **more)

    monkeypatch.setattr(try_advice, "mask", needing_more)
    found = lv.advise(data)
    assert found.plan["sub_groups"] == {"smallest": 120, "small": "pool"}
    assert found.pooling.limit == 120
    assert "fewer than 120 records, because the releases cannot be made with smaller ones" in found.text()
    assert "region=1" not in found.text(), "labels of sub-groups are data"


def test_larger_files_are_tried_on_a_stated_sample(monkeypatch):
    monkeypatch.setattr(try_advice, "MOST_IN_TRIAL", 150)
    data = lv.read(people(400), confidential=["income", "wealth"])
    seen = []
    real = try_advice.mask

    def watching(given: lv.Microdata, *steps: object, **more: object) -> object:
        seen.append(given.rows)
        return real(given, *steps, **more)

    monkeypatch.setattr(try_advice, "mask", watching)
    found = lv.advise(data)
    assert seen
    assert max(seen) < 200
    assert f"The study was tried on a sample of {seen[0]:,} records." in found.text()


def test_the_trial_changes_nothing_that_can_be_made():
    data = lv.read(people(), confidential=["income", "wealth", "kind"], sub_groups=["region"])
    assert lv.advise(data).text() == advice(data).text()
    assert lv.mask(data, *lv.advise(data).plan["release"][0]["steps"], secret=SECRET).data.rows == len(people())
