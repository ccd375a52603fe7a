"""The study that advice writes: what was seen is in its constraints, what was guessed is a comment, and it runs as it is."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.advice.advice import advice
from larvatus.advice.draft_constraints import DraftConstraints
from larvatus.cli.main import main
from larvatus.constraints.rules import parse_rule
from larvatus.study import study_from_advice
from sample import SECRET

FOLDER = Path(os.environ.get("LARVATUS_DATA", ""))
N = 240
REAL = {
    "census.csv": ["--confidential", "AGI,EMCONTRB,FEDTAX,PTOTVAL,STATETAX,POTHVAL,INTVAL,PEARNVAL", "--weight", "AFNLWGT"],
    "households.csv": ["--confidential", "expend,income,savings", "--non-confidential", "age", "--sub-groups", "urbrur,sex"],
    "survey.csv": ["--confidential", "INCOME,MONEY,ASSETS,DEBTS", "--non-confidential", "AGE", "--sub-groups", "SEX,MARSTAT"],
}


def hostile() -> pd.DataFrame:
    """Codes, a stray text cell, dates, signs for thousands, empty and constant columns, and a running number."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=N)
    frame = pd.DataFrame({
        "id": np.arange(1, N + 1), "region": rng.integers(1, 3, N),
        "owns_home": rng.integers(0, 2, N), "rooms": rng.poisson(3, N),
        "born": pd.date_range("1940-01-01", periods=N, freq="31D").strftime("%Y-%m-%d"),
        "income": np.exp(10 + z).round().astype(int).astype(str), "rent": [f"{v:,.0f}" for v in np.exp(8 + rng.normal(size=N))],
        "wealth": np.where(rng.random(N) < 0.3, 0, np.exp(11 + 1.5 * z + rng.normal(size=N))).round(2),
        "change": rng.normal(size=N).round(1), "height": rng.normal(170, 8, N), "nothing": [""] * N, "const": [7] * N,
    })
    frame.loc[[17, 200], "income"] = "refused"
    frame["total"] = frame.rooms + frame.owns_home
    return frame


ROLES = ["--confidential", "owns_home,rooms,total,born,income,rent,wealth,change,height,nothing,const",
         "--non-confidential", "id", "--sub-groups", "region"]


def written(folder: Path, frame: pd.DataFrame, *roles: str) -> tuple[str, lv.Study]:
    frame.to_csv(folder / "in.csv", index=False)
    assert main(["advise", str(folder / "in.csv"), *roles, "-o", str(folder / "study.toml"), "-q"]) == 0
    return (folder / "study.toml").read_text(encoding="utf-8"), lv.Study.read(folder / "study.toml")


def test_what_was_seen_is_written_and_what_was_guessed_is_a_comment(tmp_path):
    text, study = written(tmp_path, hostile(), *ROLES)
    asked = study.constraints
    assert set(asked.rules) == {"total = owns_home + rooms"}
    assert asked.integers == ("owns_home", "rooms"), "the total is whole because its parts are"
    assert asked.non_negative == ("rooms", "wealth"), "the total follows from its parts, and changes go below zero"
    assert (asked.bounds["owns_home"].least, asked.bounds["owns_home"].most) == (0, 1)
    assert dict(asked.decimals) == {"wealth": 2, "change": 1}
    assert '    # "height",' in text, "twenty standard deviations above zero: nothing was seen of a floor"
    assert "height" not in asked.non_negative
    assert study.roles.confidential == ("owns_home", "rooms", "total", "born", "wealth", "change", "height", "const")


def test_guesses_can_be_taken_up_by_taking_the_marks_away(tmp_path):
    text, study = written(tmp_path, hostile().assign(height2=lambda f: f.height + 1), *[*ROLES[:1], "height,height2,rooms"])
    assert "# " in text
    asked = re.sub(r'^(\s*)# ?(?=\[constraints\]|[a-z_]+ = \[|\s*"|\])', r"\1", text, flags=re.M)
    (tmp_path / "all.toml").write_text(asked, encoding="utf-8")
    more = lv.Study.read(tmp_path / "all.toml").constraints
    assert set(more.non_negative) == {"rooms", "height", "height2"}
    assert "height <= height2" in more.rules
    assert study.constraints.rules == ()


def test_a_section_of_guesses_alone_is_a_comment():
    told = DraftConstraints({}, {"non_negative": ("a b",), "rules": ("x <= y",)}).toml()
    assert all(line.startswith("#") for line in told.splitlines())
    assert DraftConstraints().toml() == ""


def test_few_values_are_too_few_to_tell(tmp_path):
    frame = pd.DataFrame({"x": np.r_[np.arange(12) ** 2, [np.nan] * 40], "y": np.random.default_rng(1).normal(size=52)})
    text, study = written(tmp_path, frame, "--confidential", "x,y")
    assert study.constraints.integers == ()
    assert study.constraints.non_negative == ()
    assert '#     "x",' in text


def released(folder: Path) -> list[pd.DataFrame]:
    return [pd.read_csv(p) for p in sorted(folder.glob("releases/*.csv")) if "codebook" not in p.name]


def test_every_release_obeys_what_was_seen(tmp_path):
    _, study = written(tmp_path, hostile(), *ROLES)
    data = lv.read(tmp_path / "in.csv", study.roles, sub_groups=study.sub_groups)
    for planned in study.release:
        out = lv.mask(data, *planned.steps, secret=SECRET, constraints=study.constraints).frame().to_pandas()
        assert (out[["rooms", "owns_home"]] % 1 == 0).all(axis=None)
        assert (out[["rooms", "wealth", "total"]] >= 0).all(axis=None)
        assert out.owns_home.isin([0, 1]).all()
        assert (out.total == out.rooms + out.owns_home).all()
        assert np.allclose(out.wealth.round(2), out.wealth, rtol=0, atol=1e-9)
        assert {"income", "rent", "nothing"}.isdisjoint(out.columns)
        assert pd.to_datetime(out.born).between("1900-01-01", "2010-01-01").all()


@pytest.mark.slow
@pytest.mark.parametrize("roles", [ROLES, ["--confidential", "wealth"], ["--confidential", "owns_home"]], ids=len)
def test_a_hostile_file_runs_as_it_is(tmp_path, roles):
    written(tmp_path, hostile(), *roles)
    assert main(["run", str(tmp_path / "study.toml"), "-o", str(tmp_path / "out"), "--format", "csv", "-q"]) == 0
    assert len(released(tmp_path / "out")) == len(lv.Study.read(tmp_path / "study.toml").release)


@pytest.mark.slow
@pytest.mark.skipif(not (FOLDER / "census.csv").is_file(), reason="no census.csv: LARVATUS_DATA names no folder with it")
@pytest.mark.parametrize("file", REAL)
def test_real_files_run_as_they_are(tmp_path, file):
    pd.read_csv(FOLDER / file).head(500).to_csv(tmp_path / "in.csv", index=False)
    assert main(["advise", str(tmp_path / "in.csv"), *REAL[file], "-o", str(tmp_path / "study.toml"), "-q"]) == 0
    study = lv.Study.read(tmp_path / "study.toml")
    assert study.constraints.integers
    assert main(["run", str(tmp_path / "study.toml"), "-o", str(tmp_path / "out"), "-q"]) == 0
    assert len(released(tmp_path / "out")) == len(study.release)


@pytest.mark.skipif(not (FOLDER / "census.csv").is_file(), reason="no census.csv: LARVATUS_DATA names no folder with it")
def test_census():
    names = [n for n in pd.read_csv(FOLDER / "census.csv", nrows=1) if n != "AFNLWGT"]
    data = lv.read(FOLDER / "census.csv", confidential=names, weight="AFNLWGT")
    found = advice(data)
    study = study_from_advice(found.plan, data)
    assert set(study.constraints.integers) == {*names} - {"PTOTVAL"}
    assert set(study.constraints.non_negative) == {*names} - {"PTOTVAL"}
    assert study.constraints.rules == ("PTOTVAL = POTHVAL + PEARNVAL",)
    assert not {"POTHVAL <= PTOTVAL", "PEARNVAL <= PTOTVAL"} & {*found.constraints.guessed["rules"]}
    frame = data.frame().to_pandas()
    for rule in found.constraints.guessed["rules"]:
        line = parse_rule(rule).lines[0]
        assert (frame[line.left.lone] <= frame[line.right.lone]).all()


def test_nothing_to_mask_is_said_and_no_study_is_written(tmp_path, capsys):
    pd.DataFrame({"x": [3.0] * 40}).to_csv(tmp_path / "in.csv", index=False)
    asked = ["advise", str(tmp_path / "in.csv"), "--confidential", "x", "-o", str(tmp_path / "study.toml")]
    assert main(asked) == 2
    out, err = capsys.readouterr()
    assert "Constant in every sub-group" in out
    assert "was not written" in err
    assert not (tmp_path / "study.toml").exists()
