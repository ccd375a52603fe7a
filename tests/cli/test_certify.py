"""`larvatus certify`, and the switch in a study file."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import StudyError
from larvatus.data.certificate import Certificates


@pytest.fixture
def people(tmp_path):
    draws = np.random.default_rng(2)
    path = tmp_path / "people.csv"
    pd.DataFrame({"income": np.exp(draws.normal(size=90)), "tax": draws.normal(size=90)}).to_csv(path, index=False)
    return path


ROLES = ["--confidential", "income,tax"]


def test_steps_are_certified_and_printed(people, capsys):
    assert main(["certify", str(people), *ROLES, "--step", "data_shuffling"]) == 0
    said = capsys.readouterr().out
    assert "An intruder who knows one person's record and the mask links at most 1.2\xa0%" in said
    assert "whole file" in said
    assert "A limit for this release fails with probability 0.0001 at most." in said


def test_a_file_is_certified_with_the_steps_that_made_it(people, tmp_path, capsys):
    released = tmp_path / "released.csv"
    data = lv.read(people, confidential=["income", "tax"])
    lv.mask(data, "additive_noise(variance=4.0)").write(released, row_order="keep")
    plain = ["certify", str(people), str(released), *ROLES, "--json"]
    paired = tmp_path / "pairing.parquet"
    lv.mask(data, "additive_noise(variance=4.0)").write(tmp_path / "other.csv", pairing=paired)
    plain = ["certify", str(people), str(tmp_path / "other.csv"), *ROLES, "--pairing", str(paired), "--json"]
    assert main(plain) == 0
    alone = Certificates.from_plain(json.loads(capsys.readouterr().out))
    assert main([*plain, "--step", "additive_noise(variance=4.0)"]) == 0
    stated = Certificates.from_plain(json.loads(capsys.readouterr().out))
    assert alone.single_target.expected == 1
    assert stated.single_target.expected < 0.3


def test_neither_a_file_nor_steps(people, capsys):
    assert main(["certify", str(people), *ROLES]) == 2
    assert "give a released file, or the steps" in capsys.readouterr().err


def test_a_study_computes_certificates_on_request(people, tmp_path, capsys):
    """They are stored with the finished release, and appear in the report beside the attacks."""
    study = tmp_path / "study.toml"
    study.write_text(
        'source = "people.csv"\ncertify = true\n[roles]\nconfidential = ["income", "tax"]\n'
        '[[release]]\nname = "shuffled"\nsteps = ["data_shuffling"]\n[[release]]\nname = "noise"\nsteps = ["additive_noise"]\n'
        '[[attack]]\nmethod = "nearest_record"\n[[measure]]\nmethod = "moments"\n')
    assert lv.Study.read(study).certify
    assert lv.Study.of(lv.Study.read(study).plain(), tmp_path).certify
    out = tmp_path / "out"
    assert main(["run", str(study), "-o", str(out), "--quiet"]) == 0
    report = (out / "report.html").read_text()
    assert "What no intruder can do" in report
    assert "no intruder who knows one person" in report
    assert main(["run", str(study), "-o", str(out), "--json", "--overwrite"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [set(r) >= {"certificates"} for r in said["releases"]] == [True, True]
    study.write_text(study.read_text().replace("certify = true\n", ""))
    assert main(["run", str(study), "-o", str(tmp_path / "plain"), "--quiet"]) == 0
    assert "What no intruder can do" not in (tmp_path / "plain" / "report.html").read_text()


def test_a_study_that_keeps_the_order_of_rows_has_no_certificate(people, tmp_path, capsys):
    """Neither bounds nor a budget: each row is in the place of its record."""
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "key").chmod(0o600)
    study = tmp_path / "study.toml"
    study.write_text(
        'source = "people.csv"\ncertify = true\n[roles]\nconfidential = ["income", "tax"]\n[budget]\nkey_file = "key"\n'
        '[[release]]\nname = "shuffled"\nsteps = ["data_shuffling"]\n'
        '[[attack]]\nmethod = "nearest_record"\n[[measure]]\nmethod = "moments"\n')
    assert main(["run", str(study), "-o", str(tmp_path / "out"), "--row-order", "keep", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["releases"][0]
    assert [c["expected"] for c in said["certificates"]["certificates"]] == [1, 1]
    assert "original order" in str(said["certificates"]["refusals"])
    report = (tmp_path / "out" / "report.html").read_text()
    assert "its rows are in the original order" in report


def test_the_switch_is_true_or_false(tmp_path):
    with pytest.raises(StudyError, match="certify: must be true or false"):
        lv.Study.of({"source": "", "certify": "yes", "roles": {"confidential": ["a"]}}, tmp_path)
