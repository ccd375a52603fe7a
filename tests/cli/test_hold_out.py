"""`larvatus hold-out`: two files that together are the source, the same ones with the same secret, and as in Python."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main

SECRET = b"a secret of more than 16 bytes"
ROLES = ["--confidential", "income,wealth", "--non-confidential", "sex", "--identifiers", "name"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(400)], "income": [i * 37 % 401 + 0.5 for i in range(400)],
                          "wealth": [i * 91 % 397 for i in range(400)], "sex": ["m", "f"] * 200})
    frame.to_csv("people.csv", index=False)
    Path("secret.txt").write_bytes(SECRET)
    Path("secret.txt").chmod(0o600)
    return tmp_path


def split(*more: str) -> int:
    return main(["hold-out", "people.csv", "-o", "training.csv", "--held-out", "holdout.csv", *ROLES, *more])


def test_both_parts_are_the_source_as_in_python(here: Path, capsys: pytest.CaptureFixture[str]):
    assert split("--share", "0.25", "--secret-file", "secret.txt") == 0
    training, held = pd.read_csv("training.csv"), pd.read_csv("holdout.csv")
    assert "name" not in training.columns, "identifiers do not go to a generator"
    whole = pd.read_csv("people.csv")[list(training.columns)]
    both = pd.concat([training, held]).sort_values(list(whole.columns), ignore_index=True)
    pd.testing.assert_frame_equal(both, whole.sort_values(list(whole.columns), ignore_index=True))
    data = lv.read("people.csv", confidential=["income", "wealth"], non_confidential=["sex"], identifiers=["name"])
    part = lv.hold_out(data, 0.25, secret=SECRET)
    pd.testing.assert_frame_equal(part.to_pandas().reset_index(drop=True), training, check_dtype=False)
    assert {Path(n).stat().st_mode & 0o077 for n in ("training.csv", "holdout.csv")} == {0}
    said = capsys.readouterr()
    assert f"{len(training)} records for the generator" in said.out
    assert f"{len(held)} records that it must not see" in said.out
    assert main(["risk", "training.csv", "training.csv", "--not-paired", "--holdout", "holdout.csv", *ROLES[:4], "--method",
                 "near_copies", "-q"]) == 0


def test_the_share_of_a_study_is_used_and_a_fresh_secret_is_named(here: Path, capsys: pytest.CaptureFixture[str]):
    Path("study.toml").write_text('source = "people.csv"\n[roles]\nconfidential = ["income"]\n[holdout]\nshare = 0.5\n')
    assert split("--study", "study.toml") == 0
    assert 140 < len(pd.read_csv("holdout.csv")) < 260, "six standard deviations around 200: a false alarm in 1e-9 of runs"
    said = capsys.readouterr()
    assert "--secret-file" in said.out + said.err


@pytest.mark.parametrize(("more", "why"), [
    (("--share", "1.5"), "between 0 and 1"), (("--share", "0.01"), "at least 50 are needed"),
    (("--holdout", "people.csv"), "held out already"), (("--held-out", "people.csv"), "is read"),
    (("--held-out", "training.csv"), "both parts"), (("--held-out", "held.xyz"), "Change the suffix"),
])
def test_what_cannot_be_split_is_refused_and_nothing_is_written(here: Path, capsys: pytest.CaptureFixture[str], more, why: str):
    given = ["hold-out", "people.csv", "-o", "training.csv", *([] if "--held-out" in more else ["--held-out", "holdout.csv"])]
    assert main([*given, *ROLES, "--secret-file", "secret.txt", *more]) == 2
    assert why in capsys.readouterr().err
    assert sorted(p.name for p in here.iterdir()) == ["people.csv", "secret.txt"]


def test_an_earlier_split_is_not_overwritten(here: Path):
    assert split("--secret-file", "secret.txt") == 0
    before = Path("training.csv").read_bytes()
    Path("holdout.csv").unlink()
    assert split("--share", "0.5") == 2
    assert Path("training.csv").read_bytes() == before
    assert not Path("holdout.csv").exists(), "both or none"
    assert split("--secret-file", "secret.txt", "--overwrite") == 0
    assert Path("training.csv").read_bytes() == before, "the same secret gives the same split"
